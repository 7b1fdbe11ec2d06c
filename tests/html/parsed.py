"""A page read as a browser would, by the standard library: its elements, in a tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "input", "br", "img", "link", "hr", "wbr"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    def all(self, tag: str = "", **attributes: str) -> list[Element]:
        """Elements below, of a tag and with attributes; `kind` stands for a class among others."""
        kind = attributes.pop("kind", "")
        return [
            one
            for one in self._below()
            if (not tag or one.tag == tag)
            and (not kind or kind in one.attributes.get("class", "").split())
            and attributes.items() <= one.attributes.items()
        ]

    def one(self, tag: str = "", **attributes: str) -> Element:
        (found,) = self.all(tag, **attributes)
        return found

    @property
    def text(self) -> str:
        return "".join(one if isinstance(one, str) else one.text for one in self.children)

    def _below(self) -> Iterator[Element]:
        for one in self.children:
            if isinstance(one, Element):
                yield one
                yield from one._below()


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        assert len(attrs) == len(element.attributes), f"{tag} has an attribute twice"
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data[:60]}")


def parse(html: str) -> Element:
    """The page; an element that is not closed, or closed twice, is an error."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    assert len(parser.open) == 1, f"<{parser.open[-1].tag}> is never closed"
    return parser.open[0]
