"""Numbers and places of a report in few words, for every renderer."""

from __future__ import annotations

import os
from math import inf, isinf, isnan, nan
from typing import Any

# Of a note, by its kind: why what differs is no divergence.
WHY_NO_FAULT = {
    "constant-precision": "as much as constants rounded to float32 explain",
    "rounding": "it shrinks with the precision: the operation is ill-conditioned",
    "low-precision": "as much as rounding to half precision explains",
    "no-effect": "no output changes with it on these inputs",
    "random": "the rest was compared with the same draws",
}


def share(residual: float) -> str:
    if isinf(residual):
        return "throughout"
    if residual >= 100:
        return f"by {residual:.1e} times their size"
    if residual >= 0.001:
        return f"by {residual:.1%} of their size"
    return f"by {residual:.1e} of their size"


def effect(before: float, after: float) -> str:
    """What the reference's value alone, put in at one divergence, does to the outputs.

    It also undoes what earlier divergences have done to that value.
    """
    if share(before) == share(after):
        return f"the outputs differ as they did, {share(before)}"
    if after > before:
        return f"the outputs differ more, {share(after)} instead of {share(before)}"
    return f"the outputs differ {share(after)} instead of {share(before)}"


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
