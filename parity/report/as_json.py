"""The report as JSON: a versioned schema, documented in docs/report.md.

A dataclass is an object of its fields in their order; fields that its repr leaves out, such as
whole arrays, are not written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from parity.measures.histogram import Spread, spread
from parity.report.schema import SCHEMA
from parity.result import Comparison, Coverage, LayerRow, Result
from parity.tape import Site

SPREADS = 12  # divergences of a comparison whose values are measured; a map has 4,096 at most
# Properties that are written as well: first, before the fields, or last.
_FIRST = {Coverage: ("values", "outputs")}
_LAST = {LayerRow: ("amplified",)}
_ALL = {Site: ("op", "layer", "source", "code", "frames")}


def to_dict(report: Result) -> dict[str, Any]:
    """The report as data that `json.dumps(..., allow_nan=False)` takes."""
    return {
        "schema": SCHEMA,
        "verdict": report.verdict,
        "odd_one_out": report.odd_one_out,
        "reference": encoded(report.reference),
        "comparisons": [_comparison(found) for found in report.comparisons],
        "versions": encoded(report.versions),
        "seconds": round(report.seconds, 3),
    }


def encoded(found: Any) -> Any:
    """Data as JSON has it; what it has no form for is written as text."""
    if is_dataclass(found):
        return {name: encoded(getattr(found, name)) for name in _keys(type(found))}
    if isinstance(found, Mapping):
        return {name: encoded(one) for name, one in found.items()}
    if isinstance(found, tuple | list):
        return [encoded(one) for one in found]
    if isinstance(found, float):
        return _number(found)
    return found if isinstance(found, bool | int | str) or found is None else str(found)


def _keys(kind: Any) -> tuple[str, ...]:
    shown = tuple(field.name for field in fields(kind) if field.repr)
    return _ALL.get(kind) or (*_FIRST.get(kind, ()), *shown, *_LAST.get(kind, ()))


def _number(value: float) -> float | str | None:
    """JSON has no NaN and no infinity: NaN is null, infinity a string."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def _comparison(found: Comparison) -> dict[str, Any]:
    data: dict[str, Any] = encoded(found)
    data["heads"] = dict(zip(("reference", "candidate"), data["heads"], strict=True))
    for number, divergence in enumerate(found.divergences):
        capture = divergence.capture if number < SPREADS else None
        measured = spread(capture) if capture is not None else None
        data["divergences"][number]["spread"] = _spread(measured) if measured else None
    return data


def _spread(found: Spread) -> dict[str, Any]:
    sides = encoded(found.values.counts) or [[], []]
    return {
        "shape": encoded(found.shape),
        "values": {
            "edges": encoded(found.values.edges),
            "reference": sides[0],
            "candidate": sides[1],
        },
        "differences": {
            "edges": encoded(found.differences.edges),
            "counts": encoded(found.differences.counts[0]) if found.differences.counts else [],
        },
        "axes": [
            {"size": size, "largest": encoded(profile)}
            for size, profile in zip(found.shape, found.axes, strict=True)
        ],
        "map": {"axes": encoded(found.map_axes), "largest": encoded(found.map)}
        if found.map_axes
        else None,
    }
