"""The pages that are made from the code say what the code says, and leave nothing out."""

from __future__ import annotations

import argparse
import ast
import re
from pathlib import Path

import pytest

import parity
from benchmarks import api, messages, modules, options
from parity.cli import parser

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    "options": options.page,
    "messages": messages.page,
    "api": api.page,
    "modules": modules.page,
}


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_up_to_date(name):
    written = (DOCS / f"{name}.md").read_text()
    assert written == PAGES[name](), f"run: python -m benchmarks.{name} --write docs/{name}.md"


def test_every_module_that_the_architecture_names_is_there():
    page = (DOCS / "architecture.md").read_text()
    found = {
        path.replace("<framework>", framework)
        for path in re.findall(r"`([\w/<>.]+\.py)`", page)
        for framework in ("torch", "tensorflow", "chainer")
    }
    assert len(found) > 100 and "diagnosis/causes/softmax.py" in found
    package = Path(parity.__file__).parent
    there = [path for path in found if (package / path).exists() or (DOCS.parent / path).exists()]
    assert not found - set(there)


def words_of(parser):
    """The option strings of a parser and of all commands below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from words_of(command)
        yield from action.option_strings


def test_every_option_of_the_command_is_there():
    page = (DOCS / "options.md").read_text()
    found = set(words_of(parser())) - {"-h", "--help", "--version"}
    assert {"--inputs", "--json", "--adapt-variances", "--until"} <= found
    assert not [word for word in found if not re.search(rf"`{word}[` ]", page)]


def test_every_option_of_pytest_is_there(pytester):
    page = (DOCS / "options.md").read_text()
    shown = pytester.runpytest("--help").stdout.str()
    found = set(re.findall(r"--parity-\w+|parity_\w+_\w+", shown))
    assert {"--parity-junit", "--parity-baseline", "parity_baseline_factor"} <= found
    assert not [word for word in found if f"`{word}" not in page]


def literals(package):
    """The first text of each `raise` of an error of parity's, read off the source another way."""
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
                continue
            name = ast.unparse(node.exc.func).rpartition(".")[2]
            if not issubclass(getattr(parity.errors, name, type(None)), parity.ParityError):
                continue
            texts = [
                part.value
                for part in ast.walk(node.exc.args[0])
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
            if texts and len(max(texts, key=len)) > 12:
                yield max(texts, key=len)


def test_every_message_is_there():
    page = " ".join((DOCS / "messages.md").read_text().split())
    found = [" ".join(text.split()) for text in literals(Path(parity.__file__).parent)]
    assert len(found) > 150
    assert not [text for text in found if text not in page]


def test_a_message_that_is_added_is_seen(tmp_path):
    (tmp_path / "new.py").write_text(
        "FORM = 'as a:b'\n"
        "def check(name):\n"
        "    raise UsageError(f'{name} is no model; write it {FORM}, ' + 'or leave it.')\n"
        "    raise FileError(str(name))\n"
        "    raise ValueError('not of parity')\n"
    )
    [found] = messages.messages(tmp_path)
    assert (found.kind, found.text) == (
        "UsageError",
        "… is no model; write it as a:b, or leave it.",
    )
    assert found.stem == "is no model; write it as a:b, or leave it."


def test_every_public_name_is_in_the_reference():
    page = (DOCS / "api.md").read_text()
    names = [*parity.__all__, *parity.rl.__all__, "AssertParity", "Divergence", "listening"]
    modules = {"rl", "observations"}
    assert not [name for name in names if name not in modules and f"### `{name}`" not in page]


def test_a_docstring_becomes_markdown():
    def thing(a: int, mode: str = "eval", *rest: float) -> None:
        """Does it.

        Args:
            a: the first,
                at length.
            mode: how.

        Raises:
            ValueError: never.
        """

    assert api._docs(thing) == (
        "Does it.\n\n**Args:**\n\n- `a`: the first,\nat length.\n- `mode`: how.\n\n"
        "**Raises:**\n\n- `ValueError`: never."
    )
    signature = "".join(api._signature("thing", thing))
    assert "thing(a: int, mode: str = 'eval', *rest: float)" in signature
