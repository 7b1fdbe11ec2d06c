"""The history's file: every run that was added, in SQLite.

A run is added in one transaction. So a writer that is killed leaves the file as it was, or with the
whole run in it, and writers at the same time wait for one another.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from parity.baseline.entry import Entry
from parity.baseline.file import Damaged, entry_from
from parity.errors import FileError
from parity.safe_json import parsed

SCHEMA = 1  # the file's user_version
_APPLICATION = 0x70617269  # the file's application_id, "pari": what marks it among SQLite files
_PATIENCE = 60.0  # seconds to wait for other writers
_TABLES = (
    "CREATE TABLE runs (number INTEGER PRIMARY KEY AUTOINCREMENT, revision TEXT NOT NULL, "
    "added TEXT NOT NULL, parity TEXT NOT NULL)",
    "CREATE TABLE comparisons (run INTEGER NOT NULL REFERENCES runs (number), "
    "name TEXT NOT NULL, entry TEXT NOT NULL, UNIQUE (name, run))",
)
_NO_RUNS = "{} has no runs. Add one: `parity history add RUN.json`."
_ADVICE = "Take it from a backup; or delete it, and `parity history add` begins a new one."


@dataclass(frozen=True)
class Run:
    """A run that was added.

    Attributes:
        number: counts from 1 in the order in which they were added.
        revision: the commit, in full, or what --commit named.
        added: when, in UTC, as 2026-12-31T23:59:59+00:00.
        parity: the version that wrote its report.
    """

    number: int
    revision: str
    added: str
    parity: str

    def __str__(self) -> str:
        return f"{self.short} (run {self.number})"

    @property
    def short(self) -> str:
        """The commit as git abbreviates it; another name as it is."""
        digits, dash, dirty = self.revision.partition("-")
        if len(digits) < 40 or set(digits) - set("0123456789abcdef"):
            return self.revision
        return f"{digits[:9]}{dash}{dirty}"


def add(path: Path, revision: str, parity: str, entries: Mapping[str, Entry]) -> Run:
    """Adds a run; the file is made where there is none.

    Args:
        entries: of the run, by name.

    Raises:
        FileError: it is no history, or cannot be written.
    """
    added = datetime.now(timezone.utc).isoformat(timespec="seconds")
    with _opened(path, "rwc") as database:
        _check(database, path)
        # readers then need not wait; where the file system knows no WAL it stays as it is
        _patiently(database, "PRAGMA journal_mode = WAL")
        with _transaction(database):
            if _check(database, path):
                for table in _TABLES:
                    database.execute(table)
                database.execute(f"PRAGMA application_id = {_APPLICATION}")
                database.execute(f"PRAGMA user_version = {SCHEMA}")
            number = database.execute(
                "INSERT INTO runs (revision, added, parity) VALUES (?, ?, ?)",
                (revision, added, parity),
            ).lastrowid
            database.executemany(
                "INSERT INTO comparisons VALUES (?, ?, ?)",
                [(number, name, json.dumps(one.to_dict())) for name, one in entries.items()],
            )
    assert number is not None
    return Run(number, revision, added, parity)


class History:
    """The runs of a file, to be read."""

    def __init__(self, database: sqlite3.Connection, path: Path) -> None:
        self._database = database
        self._path = path

    def runs(self) -> list[Run]:
        """In the order in which they were added; there is one at least.

        Raises:
            FileError: there is none.
        """
        found = self._database.execute(
            "SELECT number, revision, added, parity FROM runs ORDER BY number"
        ).fetchall()
        if not found:
            raise FileError(_NO_RUNS.format(self._path))
        return [Run(*self._typed(row, int, str, str, str)) for row in found]

    def names(self, run: Run) -> list[str]:
        """The comparisons of a run, sorted."""
        found = self._database.execute(
            "SELECT name FROM comparisons WHERE run = ? ORDER BY name", (run.number,)
        )
        return [name for (name,) in (self._typed(row, str) for row in found)]

    def entries(self, name: str) -> dict[int, Entry]:
        """A comparison in all runs that made it, by their numbers."""
        found = self._database.execute(
            "SELECT run, entry FROM comparisons WHERE name = ? ORDER BY run", (name,)
        )
        rows = (self._typed(row, int, str) for row in found)
        return {run: self._entry(text, name) for run, text in rows}

    def _typed(self, row: tuple[Any, ...], *types: type) -> tuple[Any, ...]:
        """A row whose values are of certain types: SQLite keeps any in any column."""
        for value, kind in zip(row, types, strict=True):
            if not isinstance(value, kind):
                raise FileError(
                    f"{self._path} is damaged: {str(value)[:40]!r} stands where {kind.__name__} "
                    f"belongs. {_ADVICE}"
                )
        return row

    def _entry(self, text: str, name: str) -> Entry:
        try:
            return entry_from(parsed(text), name)
        except (ValueError, RecursionError, AttributeError, TypeError, Damaged) as error:
            raise FileError(
                f"{self._path} is damaged: {name} cannot be read: {error}. {_ADVICE}"
            ) from error


@contextlib.contextmanager
def reading(path: Path) -> Iterator[History]:
    """The history in a file.

    Raises:
        FileError: there is none, it is another file, of a newer schema, or damaged.
    """
    if not path.exists():
        raise FileError(
            f"There is no history {path}. `parity history add RUN.json` makes it, of what "
            "`pytest --parity-report RUN.json` wrote."
        )
    with _opened(path, "rw") as database:
        if _check(database, path):
            raise FileError(_NO_RUNS.format(path))
        yield History(database, path)


@contextlib.contextmanager
def _opened(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """The database; SQLite's errors become a `FileError`."""
    if not path.absolute().parent.is_dir():
        raise FileError(f"{path}: there is no folder {path.absolute().parent}.")
    try:
        database = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode={mode}",
            uri=True,
            timeout=_PATIENCE,
            isolation_level=None,  # transactions begin where they are said to
        )
        with contextlib.closing(database):
            yield database
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        said = str(error)
        # no such folder, a full disk, locked, read-only
        if isinstance(error, sqlite3.OperationalError) and "decode" not in said:
            raise FileError(f"{path} cannot be used: {said}.") from error
        what = "is no history" if "not a database" in said else "is damaged"
        raise FileError(f"{path} {what}: {error}. {_ADVICE}") from error


_STATE = """SELECT (SELECT application_id FROM pragma_application_id),
    (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_master)"""
# views, which may have no end, triggers, and tables of other columns are not of a history
_MADE = """SELECT sql FROM sqlite_master
    WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite/_%' ESCAPE '/' ORDER BY sql DESC"""


def _check(database: sqlite3.Connection, path: Path) -> bool:
    """Refuses what is no history; whether the file is empty, and may become one."""
    # in one statement: another process may make the history between two
    application, schema, tables = database.execute(_STATE).fetchone()
    if not application and not schema and not tables:
        return True
    if application != _APPLICATION:
        raise FileError(f"{path} is a SQLite file of another program. Name another with --file.")
    if schema != SCHEMA:
        raise FileError(
            f"{path}: its schema is {schema}, and this parity reads {SCHEMA}. Use the version of "
            "parity that wrote it, or another --file."
        )
    if database.execute(_MADE).fetchall() != [(table,) for table in _TABLES]:
        raise FileError(f"{path} is damaged: its tables are not those of a history. {_ADVICE}")
    return False


@contextlib.contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    """All of a block, or nothing; other writers wait until it ends."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _patiently(database: sqlite3.Connection, statement: str) -> None:
    """Runs what SQLite refuses at once, rather than waiting, while another process writes."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            database.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)
