"""The report as JSON: a versioned schema, documented in docs/report.md."""

from __future__ import annotations

from functools import partial
from typing import Any

from parity.measures.histogram import spread
from parity.report.schema import SCHEMA
from parity.result import Comparison, Coverage, LayerRow, Result
from parity.safe_json import as_data, written_fields
from parity.tape import Site

SPREADS = 12  # divergences of a comparison whose values are measured; a map has 4,096 at most
# Properties that are written as well: first, before the fields, or last.
_FIRST = {Coverage: ("values", "outputs")}
_LAST = {LayerRow: ("amplified",)}
_ALL = {Site: ("op", "layer", "source", "code", "frames", "stage")}


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


def _keys(kind: Any) -> tuple[str, ...]:
    return _ALL.get(kind) or (*_FIRST.get(kind, ()), *written_fields(kind), *_LAST.get(kind, ()))


encoded = partial(as_data, keys=_keys)


def _comparison(found: Comparison) -> dict[str, Any]:
    data: dict[str, Any] = encoded(found)
    data["heads"] = dict(zip(("reference", "candidate"), data["heads"], strict=True))
    for number, divergence in enumerate(found.divergences):
        capture = divergence.capture if number < SPREADS else None
        data["divergences"][number]["spread"] = encoded(spread(capture)) if capture else None
    return data
