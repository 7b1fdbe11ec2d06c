"""Reads which tensors belong together, from JSON or TOML; both say the same."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parity.errors import UsageError
from parity.safe_json import parsed

_FORM = (
    'A map is {"pairs": [{"role": "kernel", "source": ["conv.weight"], "target": ["conv/kernel"]}, '
    "...]}, or the same in TOML: [[pairs]] and three lines for each."
)


def read_map(given: Mapping[str, Any] | str | Path) -> Mapping[str, Any]:
    """A map as `Pairing.to_map` gives it, or the file that one was saved to.

    Args:
        given: of a file the suffix `.toml` shows that it is no JSON.

    Raises:
        UsageError: it is none.
    """
    where = "The map"
    if isinstance(given, (str, Path)):
        where, given = str(given), _parsed(Path(given))
    entries = given.get("pairs") if isinstance(given, Mapping) else None
    if not isinstance(entries, list):
        raise UsageError(f"{where} has no list of pairs. {_FORM}")
    for number, entry in enumerate(entries, 1):
        if not _is_entry(entry):
            raise UsageError(f"{where}: pair {number} is {entry!r}. {_FORM}")
    return given  # type: ignore[return-value]


def _parsed(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            # pytest brings tomli where Python itself has no tomllib
            reader = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
            return reader.loads(text)
        return parsed(text)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as a map: {error}") from error


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("role"), str):
        return False
    axes = entry.get("axes", [])
    if not isinstance(axes, list) or not all(isinstance(axis, int) for axis in axes):
        return False
    return all(
        isinstance(entry.get(side), list) and all(isinstance(name, str) for name in entry[side])
        for side in ("source", "target")
    )
