"""Writes docs/api.md: the public classes and functions, from their docstrings.

python -m benchmarks.api [--write docs/api.md]
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.pages import write

_HEAD = """\
# API reference

What is public: `parity`, the fixture `assert_parity`, and the modules below. This page is written
from the docstrings by `python -m benchmarks.api --write docs/api.md`.
"""
# module: the names that are public; None where `__all__` says
MODULES: dict[str, tuple[str, ...] | None] = {
    "parity": None,
    "parity.pytest_run.asserting": ("AssertParity",),
    "parity.findings": None,
    "parity.result": (
        *("Comparison", "ModelSummary", "LayerRow", "OutputRow", "Coverage"),
        *("Heads", "Trunk", "ByFormula", "FormulaRow", "Held"),
    ),
    "parity.numerics.difference": ("Difference",),
    "parity.rl.decisions": ("Decisions",),
    "parity.rl": None,
    "parity.observations": None,
    "parity.observations.saved": ("load",),
    "parity.weights.files": ("read_weights", "write_weights"),
    "parity.frameworks": ("register", "unregister", "Registered"),
    "parity.frameworks.protocol": ("Framework", "Traits", "WeightRules"),
    "parity.progress": ("listening", "Step"),
    "parity.errors": None,
}
_SECTION = re.compile(r"^(Args|Returns|Raises|Attributes|Yields):$")


def page() -> str:
    """Writes docs/api.md from the docstrings."""
    return "\n".join([_HEAD, *_modules()]).rstrip() + "\n"


def _modules() -> Iterator[str]:
    written: set[int] = set()
    for name, names in MODULES.items():
        module = importlib.import_module(name)
        yield f"## `{name}`\n"
        yield f"{_docs(module)}\n"
        for own in names if names is not None else _public(module):
            thing = getattr(module, own)
            if id(thing) not in written and not inspect.ismodule(thing):
                written.add(id(thing))
                yield from _thing(own, thing)


def _public(module: Any) -> list[str]:
    return sorted(getattr(module, "__all__", None) or _defined(module))


def _defined(module: Any) -> Iterator[str]:
    for name, thing in vars(module).items():
        own = getattr(thing, "__module__", None) == module.__name__
        if own and callable(thing) and not name.startswith("_"):
            yield name


def _thing(name: str, thing: Any) -> Iterator[str]:
    if not callable(thing):
        return
    yield f"### `{name}`\n"
    if inspect.isclass(thing):
        yield from _signature(name, thing)
        yield f"{_docs(thing)}\n"
        for own, member in _members(thing).items():
            yield from _member(name, own, member)
    else:
        yield from _signature(name, thing)
        yield f"{_docs(thing)}\n"


def _members(thing: type) -> dict[str, Any]:
    """What a class has of its own and of the bases that are parity's."""
    found: dict[str, Any] = {}
    for base in reversed(thing.__mro__):
        if base.__module__.startswith("parity.") and not issubclass(base, BaseException):
            found |= vars(base)
    return found


def _member(owner: str, name: str, member: Any) -> Iterator[str]:
    function = member.fget if isinstance(member, property) else member
    if isinstance(member, (classmethod, staticmethod)):
        function = member.__func__
    if not inspect.isfunction(function) or (name.startswith("_") and name != "__call__"):
        return
    if name == "__call__":
        yield f"#### `{owner}(...)`\n"
    elif isinstance(member, property):
        yield f"#### `{owner}.{name}`, a property\n"
    else:
        yield f"#### `{owner}.{name}`\n"
    if not isinstance(member, property):
        yield from _signature(name, function)
    if function.__doc__:
        yield f"{_docs(function)}\n"


def _signature(name: str, thing: Any) -> Iterator[str]:
    """The arguments, one a line where they are many; enough to call it by."""
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return
    try:
        found = inspect.signature(thing)
    except ValueError:
        return
    words = [_parameter(one) for one in found.parameters.values() if one.name != "self"]
    line = f"{name}({', '.join(words)})"
    if len(line) > 88:
        inner = "".join(f"    {word},\n" for word in words)
        line = f"{name}(\n{inner})"
    yield f"```text\n{line}\n```\n"


def _parameter(found: inspect.Parameter) -> str:
    stars = {found.VAR_POSITIONAL: "*", found.VAR_KEYWORD: "**"}.get(found.kind, "")
    text = f"{stars}{found.name}"
    if found.annotation is not found.empty:
        text += f": {found.annotation}"
    return text if found.default is found.empty else f"{text} = {_default(found.default)}"


def _default(found: Any) -> str:
    """A default as it is written; that of a dataclass's factory is not stated there."""
    return "..." if "<" in repr(found) else repr(found)


def _docs(thing: Any) -> str:
    """A Google docstring as Markdown; one that a dataclass makes of its fields is none."""
    text = inspect.getdoc(thing) or ""
    if inspect.isclass(thing) and text.startswith(f"{thing.__name__}("):
        return ""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if _SECTION.match(line):
            inside = True
            lines += [f"**{line}**", ""]
        elif inside and re.match(r"^    \S", line):
            lines.append(re.sub(r"^    ([\w, *`.]+?):( |$)", r"- `\1`:\2", line).replace("``", "`"))
            if not lines[-1].startswith("- "):
                lines[-1] = line.strip()
        else:
            inside = inside and (not line or line.startswith(" "))
            lines.append(line.strip() if inside else line)
    return "\n".join(lines).strip()


if __name__ == "__main__":
    sys.exit(write("benchmarks.api", page))
