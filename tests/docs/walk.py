"""Follows a page to the letter: writes its files, runs its commands, compares what they print.

A `python` block whose first line is `# NAME.py` is that file. In a `console` block lines after `$ `
are commands, and the others what they print.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = "/home/you/port"  # as pages call the reader's folder
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHIM = '#!/bin/sh\nexec "{python}" -c "import sys; sys.argv[0] = \'{name}\'; {code}" "$@"\n'
_COMMANDS = {
    "parity": "from parity.cli import main; sys.exit(main())",
    "pytest": "import pytest; sys.exit(pytest.main())",
}


@dataclass(frozen=True)
class Ran:
    """A command of a page, what the page says it prints, and what it did."""

    command: str
    expected: str
    printed: str
    error: str
    code: int


def walk(page: str, folder: Path) -> Iterator[Ran]:
    """Runs a page in a folder, from its top to its end."""
    environment = _environment(folder.parent)
    code = 0
    for language, block in _BLOCK.findall(page):
        name = re.match(r"# (\w+\.py)\n", block)
        if language == "python" and name:
            (folder / name[1]).write_text(block)
        elif language == "console":
            for command, expected in commands(block):
                done = subprocess.run(
                    ["bash", "-c", f"(exit {code}); {command}"],
                    cwd=folder, env=environment, capture_output=True, text=True,
                )  # fmt: skip
                code = done.returncode
                printed = done.stdout.replace(str(folder), FOLDER)
                yield Ran(command, expected, printed, done.stderr, code)


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a `console` block with what stands below each."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    assert parts[0] == "", "a console block begins with a command"
    return list(zip(parts[1::2], parts[2::2], strict=True))


def normalized(text: str) -> str:
    """A text without what differs from machine to machine: rounding, times, the width of a rule."""
    text = re.sub(r"\b\d(\.\d+)?e-(0[5-9]|1\d)\b|(?<=  )0(?=  )", "ROUNDING", text)
    text = re.sub(r"ROUNDING at \(.*?\): \S+ and [^;\s]+", "ROUNDING", text)
    text = re.sub(r"-?\b\d+\.\d{5,}\b", lambda found: f"{float(found[0]):.4g}", text)
    text = re.sub(r"\d+\.\d+ ?s\b", "TIME", text)
    text = re.sub("─+", "─", re.sub(r"(?m)^slowest: .*\n", "", text))
    lines = [re.sub(r"(?<=\S)  +", " ", line.rstrip()) for line in text.strip().splitlines()]
    return "\n".join(lines)


def _environment(folder: Path) -> dict[str, str]:
    """As a newcomer's shell, with the commands of this checkout."""
    shims = folder / "bin"
    shims.mkdir(exist_ok=True)
    for name, code in _COMMANDS.items():
        shim = shims / name
        shim.write_text(_SHIM.format(python=sys.executable, name=name, code=code))
        shim.chmod(0o755)
    left = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith(("PYTEST", "GITHUB", "COLUMNS", "NO_COLOR")) and name != "CI"
    }
    path = os.pathsep.join([str(ROOT), *(entry for entry in sys.path if entry)])
    return {**left, "PATH": f"{shims}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": path}
