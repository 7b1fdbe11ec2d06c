"""The baseline's file: JSON to be reviewed, sorted, with a line for each layer.

Whoever changes it holds a lock, reads it anew, and puts a whole new file in its place. So writers
at the same time lose nothing, and one that is killed leaves the old file or the new one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from parity.atomic import write_whole
from parity.baseline.entry import Acceptance, Entry, Layer
from parity.errors import FileError, UsageError
from parity.format import SEVERITY
from parity.safe_json import parsed

SCHEMA = 1
_KEYS = {
    *("test", "fixture", "verdict", "accepted", "generated"),
    *("coverage", "decisions", "environment", "layers"),
}
_ADVICE = (
    "Put it right by hand, or take it from version control; or delete it, and `--parity-update` "
    "writes a new one."
)


class Damaged(Exception):
    """What is wrong, and where."""


def read(path: Path) -> dict[str, Entry]:
    """The entries by name.

    Raises:
        UsageError: there is no such file.
        FileError: it is no baseline; the message says where.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(
            f"There is no baseline {path}. Write it with `pytest --parity-baseline {path} "
            "--parity-update`, look it over, and commit it."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path} cannot be read: {error}. {_ADVICE}") from error
    try:
        return _entries(parsed(text, _without_twins))
    except RecursionError:
        raise FileError(f"{path} is no baseline: it is nested far too deep. {_ADVICE}") from None
    except json.JSONDecodeError as error:
        conflict = " There are conflict markers of a merge in it." if "<<<<<<<" in text else ""
        raise FileError(
            f"{path}, line {error.lineno}: this is no JSON: {error.msg}.{conflict} {_ADVICE}"
        ) from error
    except (Damaged, ValueError) as error:
        raise FileError(f"{path} is no baseline that can be used: {error}. {_ADVICE}") from error


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON's last of two equal keys would hide the first: a merge gone wrong."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise Damaged(f"{twin!r} stands in it twice")
    return found


def _entries(data: Any) -> dict[str, Entry]:
    root = _mapping(data, "the file")
    if root.get("schema") != SCHEMA:
        raise Damaged(f"its schema is {root.get('schema')!r}, and this version reads {SCHEMA}")
    entries = _mapping(root.get("entries"), "entries")
    return {name: entry_from(_mapping(found, name), name) for name, found in entries.items()}


def entry_from(data: Mapping[str, Any], name: str) -> Entry:
    """An entry from what `Entry.to_dict` gives."""
    unknown = sorted(set(data) - _KEYS)
    if unknown:
        raise Damaged(f"{name}: nothing is known of {unknown[0]!r}")
    shared = "fixture" in data
    if data.get("verdict") not in (*SEVERITY,):
        raise Damaged(f"{name}: its verdict is {data.get('verdict')!r}")
    layers = _mapping(data.get("layers"), f"{name}: layers")
    environment = _mapping(data.get("environment"), f"{name}: environment")
    return Entry(
        source=_words(data.get("fixture" if shared else "test"), f"{name}: test"),
        shared=shared,
        verdict=data["verdict"],
        coverage=_shares(
            data.get("coverage"),
            f"{name}: coverage",
            () if data.get("generated") else ("values", "outputs"),
        ),
        decisions=_shares(data.get("decisions"), f"{name}: decisions"),
        layers={
            layer: _layer(_mapping(found, f"{name}: {layer}"), f"{name}: {layer}")
            for layer, found in layers.items()
        },
        environment={
            one: {
                fact: _words(text, f"{name}: {one}: {fact}")
                for fact, text in _mapping(facts, f"{name}: {one}").items()
            }
            for one, facts in environment.items()
        },
        generated=data.get("generated", False) is True,
        accepted=_acceptance(data["accepted"], f"{name}: accepted") if "accepted" in data else None,
    )


def _layer(data: Mapping[str, Any], where: str) -> Layer:
    difference = data.get("difference")
    return Layer(
        _words(data.get("verdict"), f"{where}: verdict"),
        None if difference is None else _number(difference, f"{where}: difference"),
        _number(data.get("rounding"), f"{where}: rounding"),
    )


def _acceptance(data: Any, where: str) -> Acceptance:
    found = _mapping(data, where)
    reason = _words(found.get("reason"), f"{where}: reason")
    until = _words(found.get("until"), f"{where}: until")
    if not reason.strip():
        raise Damaged(f"{where}: there is no reason; say why it may stay")
    return Acceptance(reason, _day(until, where))


def _day(text: str, where: str) -> str:
    """A date as it is written everywhere, 2026-12-31."""
    try:
        if date.fromisoformat(text).isoformat() == text:
            return text
    except ValueError:
        pass
    raise Damaged(f"{where}: {text!r} is no date; write it as 2026-12-31")


def _mapping(data: Any, where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise Damaged(f"{where}: here stands {json.dumps(data)[:40]}, not an object")
    return data


def _words(data: Any, where: str) -> str:
    if not isinstance(data, str):
        raise Damaged(f"{where}: here stands {json.dumps(data)[:40]}, not text")
    return data


def _number(data: Any, where: str) -> float:
    number = float("inf") if data == "inf" else data
    if isinstance(number, bool) or not isinstance(number, int | float) or not number >= 0:
        raise Damaged(f"{where}: here stands {json.dumps(data)[:40]}, not a number from 0")
    return float(number)


def _shares(data: Any, where: str, names: tuple[str, ...] = ()) -> dict[str, float]:
    found = {
        name: _number(share, f"{where}: {name}") for name, share in _mapping(data, where).items()
    }
    for name, share in found.items():
        if share == float("inf"):
            raise Damaged(f"{where}: {name}: a share is a number, not infinity")
    for name in names:
        if name not in found:
            raise Damaged(f"{where}: {name!r} is missing")
    return found


# --- writing -------------------------------------------------------------------------------------


@contextlib.contextmanager
def changing(path: Path) -> Iterator[dict[str, Entry]]:
    """The entries, to be changed; they are written when the block ends without an error.

    Other writers wait at `.NAME.lock` beside the file.

    Raises:
        FileError: as `read`, but where there is no file the entries are empty; or it cannot be
            written.
    """
    path = path.resolve()  # a link stays one
    try:
        with _locked(path.with_name(f".{path.name}.lock")):
            _sweep(path)
            entries = read(path) if path.exists() else {}
            before = to_text(entries)
            yield entries
            if to_text(entries) != before or not path.exists():
                write_whole(path, to_text(entries).encode())
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error}") from error


def _sweep(path: Path) -> None:
    """Removes what writers that were killed have left of a new file; under the lock none writes."""
    half = re.compile(re.escape(f".{path.name}.") + "[0-9a-f]{16}")
    for file in path.parent.iterdir():
        if half.fullmatch(file.name):
            file.unlink()


@contextlib.contextmanager
def _locked(lock: Path) -> Iterator[None]:
    """Waits until nobody else holds the lock; a holder that is killed lets go of it."""
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _wait(handle)
            # who had it before has removed it: what is locked here may be no file any more
            if os.path.samestat(os.fstat(handle), os.stat(lock)):
                break
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
    try:
        yield
    finally:
        if sys.platform != "win32":  # which removes no open file; there it stays
            os.unlink(lock)
        os.close(handle)


def _wait(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)


def to_text(entries: Mapping[str, Entry]) -> str:
    """The file's text, sorted by entry: the same entries give the same text."""
    data = {
        "schema": SCHEMA,
        "entries": {name: entries[name].to_dict() for name in sorted(entries)},
    }
    return _opened(data, "") + "\n"


def _opened(data: Mapping[str, Any], indent: str) -> str:
    """An object with a line for each item; those that hold no further objects are one line."""
    inner = indent + " "
    lines = []
    for key, item in data.items():
        deep = isinstance(item, dict) and any(isinstance(one, dict) for one in item.values())
        text = (
            _opened(item, inner) if deep else json.dumps(item, ensure_ascii=False, allow_nan=False)
        )
        lines.append(f"{inner}{json.dumps(key, ensure_ascii=False)}: {text}")
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
