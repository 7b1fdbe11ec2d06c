"""Writes docs/modules.md: every module of parity in a line, from their docstrings.

python -m benchmarks.modules [--write docs/modules.md]
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import parity
from benchmarks.pages import write

_HEAD = """\
# Every module

[Architecture](architecture.md) says how they work together. This page is written from the modules'
docstrings by `python -m benchmarks.modules --write docs/modules.md`.
"""


def page() -> str:
    """Every module of parity, package by package, with the first line of its docstring."""
    root = Path(parity.__file__).parent
    packages = sorted({file.parent for file in root.rglob("*.py")})
    lines = [_HEAD]
    for package in packages:
        lines += _package(package, package.relative_to(root.parent).as_posix())
    return "\n".join(lines).rstrip() + "\n"


def _package(folder: Path, name: str) -> Iterator[str]:
    yield f"## {name}/\n"
    yield _first_line(folder / "__init__.py") + "\n"
    modules = [file for file in sorted(folder.glob("*.py")) if file.stem != "__init__"]
    for file in modules:
        yield f"- `{file.name}`: {_first_line(file)}"
    yield ""


def _first_line(file: Path) -> str:
    found = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return found.partition("\n")[0]


if __name__ == "__main__":
    sys.exit(write("benchmarks.modules", page))
