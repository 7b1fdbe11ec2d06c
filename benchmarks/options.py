"""Writes docs/options.md: each option of the command and of the plugin, from the parsers.

python -m benchmarks.options [--write docs/options.md]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.pages import cell, write

_HEAD = """\
# Each option

This page is written from the parsers by `python -m benchmarks.options --write docs/options.md`;
`parity COMMAND --help` and `pytest --help` say the same.
"""
_TAIL = """
## The environment

| variable | |
|---|---|
| `NO_COLOR` | no colours, neither in a report on a terminal nor in the bar |
| `TERM=dumb` | the same, and no bar |
| `GITHUB_ACTIONS`, `GITHUB_WORKSPACE`, `GITHUB_STEP_SUMMARY` | where the first is `true`: [annotations and the job's summary](test-run.md#github-actions) |
| `OMP_NUM_THREADS`, `TF_CPP_MIN_LOG_LEVEL` | the frameworks' own: threads, which change the order of sums; TensorFlow's log |
| `TMPDIR` | where `transfer` keeps the target's old weights while it tries |

## Progress

On a terminal a command that takes more than two seconds shows its phase and the time that is left, on
stderr, and nothing of it afterwards. Other programs hear the same:

```python
import numpy as np

import parity
from parity.progress import listening

with listening(lambda step: print(step.phase, step.share)):
    parity.compare(np.tanh, np.tanh, inputs=np.arange(1.0, 15.0).reshape(2, 7))
```
"""  # noqa: E501


def page() -> str:
    """Writes docs/options.md from the parsers."""
    from parity.cli import parser

    lines = [_HEAD, *_commands(parser()), *_plugin()]
    return "\n".join(lines) + "\n" + _TAIL


def _commands(parser: argparse.ArgumentParser, depth: int = 2) -> Iterator[str]:
    """A section for each command, and for those below it."""
    for command in _below(parser):
        yield f"{'#' * depth} `{command.prog}`\n"
        if command.description:
            yield from _description(command.description)
        rows = list(_rows(command))
        if rows:
            yield "| | |\n|---|---|"
            yield from rows
            yield ""
        if command.epilog:
            yield f"```text\n{command.epilog}\n```\n"
        yield from _commands(command, depth + 1)


def _below(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    actions = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    return [command for action in actions for command in action.choices.values()]


def _description(text: str) -> Iterator[str]:
    """Paragraphs as they are; what is indented stays so."""
    head, _, rest = text.partition("\n\n")
    yield f"{head}\n"
    if rest:
        yield f"```text\n{rest}\n```\n"


def _rows(command: argparse.ArgumentParser) -> Iterator[str]:
    for action in command._actions:
        if isinstance(action, (argparse._HelpAction, argparse._SubParsersAction)):
            continue
        yield f"| {_name(action)} | {cell(_help(action))} |"


def _name(action: argparse.Action) -> str:
    takes = action.metavar or (action.dest.upper() if action.nargs != 0 else "")
    if not action.option_strings:
        return f"`{takes}`" + (", one or more" if action.nargs == "+" else "")
    return ", ".join(f"`{f'{option} {takes}'.strip()}`" for option in action.option_strings)


def _help(action: argparse.Action) -> str:
    text = action.help or ""
    return f"{text}; needed" if action.option_strings and action.required else text


class _Options:
    """Stands in for pytest's parser, and keeps what the plugin adds."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.inis: list[str] = []

    def getgroup(self, *_: str) -> _Options:
        return self

    def addoption(self, name: str, metavar: str = "", help: str = "", **_: Any) -> None:
        self.rows.append(f"| `{f'{name} {cell(metavar)}'.strip()}` | {cell(help)} |")

    def addini(self, name: str, help: str, **_: Any) -> None:
        self.inis.append(f"| `{name}` | {cell(help)} |")


def _plugin() -> Iterator[str]:
    from parity.pytest_plugin import pytest_addoption

    found = _Options()
    pytest_addoption(found)  # type: ignore[arg-type]
    yield "## `pytest`\n"
    yield "| | |\n|---|---|"
    yield from found.rows
    yield "\nIn the file that configures pytest:\n"
    yield "| | |\n|---|---|"
    yield from found.inis


if __name__ == "__main__":
    sys.exit(write("benchmarks.options", page))
