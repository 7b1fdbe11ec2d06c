"""Numbers, counts and places in few words, for messages and reports; verdicts by severity."""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import inf, isinf, isnan, nan
from typing import Any

SEVERITY = {"parity": 0, "unverified": 1, "diverged": 2}


def share(residual: float) -> str:
    """How large a difference is beside the values: `by 3.1% of their size`."""
    if isinf(residual):
        return "throughout"
    if residual >= 100:
        return f"by {residual:.1e} times their size"
    if residual >= 0.001:
        return f"by {residual:.1%} of their size"
    return f"by {residual:.1e} of their size"


def relative(source: str) -> str:
    """`file:line` with the file relative to the working directory where it lies below it."""
    file, _, line = source.rpartition(":")
    if not file:
        return source
    try:
        short = os.path.relpath(file)
    except ValueError:  # another drive
        return source
    return source if short.startswith("..") else f"{short}:{line}"


def number(value: Any) -> float:
    """A number of the report: JSON has no NaN and no infinity, null and text stand for them."""
    if value is None:
        return nan
    return {"inf": inf, "-inf": -inf}[value] if isinstance(value, str) else float(value)


def short(value: Any) -> str:
    """A number for a narrow cell."""
    found = number(value)
    if isnan(found):
        return "–"
    if isinf(found):
        return "∞" if found > 0 else "-∞"
    return "0" if found == 0 else f"{found:.1e}"


def count(number: int, noun: str) -> str:
    """`1 entry`, `2 entries`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"


def shape_text(shape: tuple[int, ...]) -> str:
    """`(2,3)`."""
    return f"({','.join(map(str, shape))})"


def listed(names: Sequence[str], most: int) -> str:
    """Names with commas between, the first of many."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
