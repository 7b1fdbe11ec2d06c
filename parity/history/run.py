"""A run as it is added: its entries, from what `--parity-report` wrote, and its commit."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

from parity.baseline.entry import Entry, entries_of, merged
from parity.errors import FileError, UsageError
from parity.report.schema import MALFORMED, READ, SCHEMA, current
from parity.report.schema import read as read_saved


def read(path: Path) -> tuple[str, dict[str, Entry]]:
    """The version of parity that made a run, and the run's entries by name.

    Raises:
        FileError: there is no such file, or it is no report of a run.
        UsageError: no comparison was made in the run.
    """
    run = read_saved(path, _WRITE)
    if not isinstance(run, dict) or "reference" in run or "comparisons" not in run:
        raise FileError(f"{path} is no report of a run. {_WRITE}")
    if run.get("schema") not in READ:
        raise FileError(
            f"{path}: its schema is {run.get('schema')!r}, and this parity reads up to {SCHEMA}. "
            f"{_WRITE}"
        )
    try:
        entries = _entries(current(run))
    except MALFORMED as error:
        raise FileError(
            f"{path} cannot be used ({type(error).__name__}: {error}). {_WRITE}"
        ) from error
    if not entries:
        raise UsageError(f"{path} has no comparisons: nothing is added.")
    return str(run["parity"]), entries


_WRITE = "Write one with `pytest --parity-report RUN.json`, with the parity that is installed here."


def _entries(run: dict[str, Any]) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for compared in run["comparisons"]:
        if compared["report"] is None:
            continue
        made = entries_of(compared["report"], compared["test"])
        for name, entry in zip(compared["entries"], made.values(), strict=True):
            if not isinstance(name, str):
                raise TypeError(f"{name!r} is no name of a comparison")
            # the run's machine is not known, this one's says nothing
            environment = {**entry.environment, "machine": {"parity": str(run["parity"])}}
            entry = replace(entry, environment=environment)
            found[name] = _generated(found[name], entry) if name in found else entry
    return found


def _generated(one: Entry, other: Entry) -> Entry:
    """Of inputs that hypothesis draws anew in every run the verdict alone can be compared."""
    return replace(merged(one, other), generated=True, layers={}, coverage={}, decisions={})


def commit() -> str:
    """Git's HEAD, in full; with `-dirty` where files that git knows have been changed.

    Raises:
        UsageError: there is no git, or this folder is in no repository.
    """
    head = _git("rev-parse", "--verify", "HEAD")
    if not head:
        raise UsageError(
            "Which commit is this run of? Git knows none in this folder; name it with --commit."
        )
    return f"{head}-dirty" if _git("status", "--porcelain", "--untracked-files=no") else head


def _git(*words: str) -> str:
    """What git prints; "" where it fails, or is not there."""
    try:
        done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
