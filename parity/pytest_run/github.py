"""What a run says where GitHub Actions runs it: annotations on lines, and the job's summary.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from parity.escape import visible
from parity.pytest_run.summary_data import Place
from parity.pytest_run.summary_text import Tested, lines

Line = tuple[str, int]  # file and line
_MOST = 10  # annotations of one kind; GitHub shows no more of a step
_ROWS = 100  # of the table; a summary may have 1 MiB


def report(found: Sequence[Tested], tests: Mapping[str, Line]) -> list[str]:
    """Writes the job's summary, and gives the lines that make annotations; none elsewhere.

    Args:
        found: what was compared, with the test's id.
        tests: where each test is, for what has no line of its own.
    """
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return []
    commands = list(dict.fromkeys(_annotations(found, tests)))
    shown: list[str] = []
    for kind in ("error", "warning", "notice"):
        shown += [line for line in commands if line.startswith(f"::{kind} ")][:_MOST]
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        try:
            with open(path, "a", encoding="utf-8", errors="replace") as file:
                file.write(summary(found))
        except OSError as error:
            shown.append(f"parity: GITHUB_STEP_SUMMARY could not be written: {error}")
    return shown


def _annotations(found: Sequence[Tested], tests: Mapping[str, Line]) -> Iterator[str]:
    for test, one in found:
        if one.verdict == "parity":
            continue
        kind = "warning" if one.accepted else "error"
        placed = False
        for place in one.places:
            line = _at(place.candidate)
            if line is not None:
                placed = True
                yield command(kind, line, f"{place.why}\n{one.models}, in {test}")
            line = _at(place.reference)
            if line is not None:
                other = _shown(place) or "a line of a library"
                text = f"{one.candidate} diverges from this line at {other}\nin {test}"
                yield command("notice", line, text)
        if not placed and test in tests:
            line = _in_workspace(*tests[test])
            if line is not None:
                why = one.places[0].why if one.places else one.reason
                yield command(kind, line, f"{one.models or 'parity'}: {why or one.verdict}")


def _shown(place: Place) -> str:
    line = _at(place.candidate)
    return f"{line[0]}:{line[1]}" if line is not None else place.candidate


def _at(source: str) -> Line | None:
    """`file:line` as GitHub takes it; None where it lies outside the workspace."""
    file, _, line = source.rpartition(":")
    return _in_workspace(file, int(line)) if file and line.isdigit() else None


def _in_workspace(file: str, line: int) -> Line | None:
    root = Path(os.environ.get("GITHUB_WORKSPACE") or os.getcwd()).resolve()
    try:
        return Path(file).resolve().relative_to(root).as_posix(), line
    except ValueError:
        return None


def command(kind: str, line: Line, text: str) -> str:
    """A workflow command, escaped as the runner unescapes it."""
    file = _escaped(line[0]).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} file={file},line={line[1]},title=parity::{_escaped(text)}"


def _escaped(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def summary(found: Sequence[Tested]) -> str:
    """The job's summary, as Markdown: what is not parity first."""
    head = [f"- {_cell(line)}" for line in lines(found)]
    rows = sorted(found, key=lambda item: item[1].verdict == "parity")
    table = ["| verdict | test | models | where | why |", "|---|---|---|---|---|"]
    for test, one in rows[:_ROWS]:
        place = one.places[0] if one.places else None
        verdict = f"{one.verdict}, accepted" if one.accepted else one.verdict
        where = _shown(place) if place else ""
        why = place.why if place else one.reason
        cells = (verdict, test, one.models, where, why)
        table.append(f"| {' | '.join(map(_cell, cells))} |")
    left = len(rows) - _ROWS
    more = [f"\nand {left} more"] if left > 0 else []
    return "\n".join(["## parity", "", *head, "", *table, *more, "", ""])


def _cell(text: str) -> str:
    """Text that stays in its cell and makes no markup."""
    text = escape(visible(" ".join(text.split())), quote=False)
    for mark in "\\`*_[]|~":
        text = text.replace(mark, f"&#{ord(mark)};")
    return text
