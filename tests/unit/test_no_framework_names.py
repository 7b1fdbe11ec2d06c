"""Code outside the adapters names no framework: what differs between them is asked of an adapter.

Docstrings and comments may name them, and so may sentences for people. What code still does is
listed in `ALLOWED` with its reason; an entry that is no longer needed fails, so the list shrinks.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "parity"
OWN_FOLDERS = ("frameworks", "weights/files")  # each file there is about one framework, or a format
NAMES = re.compile(
    r"torch|tensorflow|keras|chainer|(?<![a-z])(?:jax|tf)(?![a-z0-9])", re.IGNORECASE
)

# By file the names that its code still says, and why.
ALLOWED: dict[str, tuple[str, tuple[str, ...]]] = {
    "commands/demo.py": (
        "the demo compares the networks of one example, which is written in these",
        (
            *("torch", "tensorflow", "Keras", "Chainer"),
            *("torch_model", "keras_model", "chainer_model"),
        ),
    ),
}


def code_files() -> Iterator[Path]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if not path.relative_to(PACKAGE).as_posix().startswith(OWN_FOLDERS):
            yield path


def names_in(path: Path) -> dict[str, int]:
    """What code says of frameworks, with the line of its first use."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    silent = set(_prose(tree))
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        for word in _said(node) if id(node) not in silent else ():
            if NAMES.search(word):
                found.setdefault(word, getattr(node, "lineno", 0))
    return found


def _said(node: ast.AST) -> Iterator[str]:
    """The identifiers, attributes, imports and strings of a node."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, (ast.arg, ast.keyword)):
        yield node.arg or ""
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.ImportFrom):
        yield node.module or ""
    elif isinstance(node, ast.alias):
        yield node.name
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def _prose(tree: ast.Module) -> Iterator[int]:
    """By `id` docstrings, and strings that are sentences: of several words, and not split up."""
    documented = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    split = {
        id(node.func.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "split"
    }
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            yield id(node.body[0].value)  # type: ignore[attr-defined]
        if isinstance(node, ast.JoinedStr):  # a part of a sentence may be a single word
            parts = [one.value for one in node.values if isinstance(one, ast.Constant)]
            if any(" " in str(one) for one in parts):
                yield from map(id, node.values)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if " " in node.value.strip() and id(node) not in split:
                yield id(node)


@pytest.mark.parametrize("path", [*code_files()], ids=lambda path: str(path.relative_to(PACKAGE)))
def test_code_outside_the_adapters_names_no_framework(path: Path) -> None:
    name = path.relative_to(PACKAGE).as_posix()
    _, allowed = ALLOWED.get(name, ("", ()))
    found = names_in(path)
    wrong = {word: line for word, line in found.items() if word not in allowed}
    assert not wrong, f"{name} names a framework; ask its adapter (parity/frameworks/protocol.py)"
    assert not set(allowed) - set(found), f"{name} needs these no longer: shorten ALLOWED"


def test_what_is_allowed_is_there_and_has_a_reason() -> None:
    assert all((PACKAGE / name).is_file() for name in ALLOWED)
    assert all(reason and words for reason, words in ALLOWED.values())


@pytest.mark.parametrize(
    "code",
    [
        "import torch",
        "from parity.frameworks.tensorflow import name",
        "def is_keras(x): ...",
        "x = tape.framework == 'chainer'",
        "x = 'torch numpy'.split()",
        "x = {}.get('tf')",
        "x = layer.torch_like",
    ],
)
def test_a_name_in_code_is_seen(tmp_path: Path, code: str) -> None:
    (tmp_path / "code.py").write_text(code)
    assert names_in(tmp_path / "code.py")


@pytest.mark.parametrize(
    "code",
    [
        '"""What torch does."""',
        "x = 1  # as Keras has it",
        "x = 'Hand in a torch model.'",
        "def f():\n    '''As of torch.'''\n    return f'{x} of a torch {y}'",
        "software, transfer = 1, 2",
    ],
)
def test_prose_may_name_them(tmp_path: Path, code: str) -> None:
    (tmp_path / "code.py").write_text(code)
    assert not names_in(tmp_path / "code.py")
