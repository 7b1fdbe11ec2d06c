"""Saved reports, of one comparison or of a run: read, and brought to this version's keys."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from parity.errors import FileError
from parity.safe_json import parsed

SCHEMA = 2
READ = (1, SCHEMA)
# What reading data raises that is not what it seems to be.
MALFORMED = LookupError, TypeError, ValueError, AttributeError, RecursionError
_RENAMED = {  # since 1
    "met": "reconverges",
    "equally": "alternatives",
    "masks_differ": "nonfinite_differ",
    "top": "top3",
}
_NAMED_BY_USERS = "parameters", "versions"


def read(path: str | os.PathLike[str], advice: str) -> Any:
    """What a saved file holds, of whatever schema.

    Raises:
        FileError: there is no such file, or it is no JSON.
    """
    try:
        return parsed(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is no JSON ({error}). {advice}") from error


def current(data: Any) -> Any:
    """A report, or a run's, with the keys of this version."""
    return {**_renamed(data), "schema": SCHEMA} if data["schema"] < SCHEMA else data


def _renamed(data: Any) -> Any:
    if isinstance(data, list):
        return [_renamed(one) for one in data]
    if not isinstance(data, dict):
        return data
    return {
        _RENAMED.get(key, key): one if key in _NAMED_BY_USERS else _renamed(one)
        for key, one in data.items()
    }
