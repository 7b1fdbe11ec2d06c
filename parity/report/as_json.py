"""The report as JSON: a versioned schema, documented in docs/report.md."""

from __future__ import annotations

import math
from typing import Any

from parity.findings import Cause, Divergence, Note, StructuralDifference
from parity.measures.histogram import Spread, spread
from parity.numerics.difference import Difference
from parity.result import (
    SCHEMA,
    ByFormula,
    Comparison,
    Heads,
    Held,
    LayerRow,
    ModelSummary,
    OutputRow,
    Result,
)
from parity.rl.decisions import Decisions
from parity.tape import Site

SPREADS = 12  # divergences of a comparison whose values are told; a map has up to 4,096 numbers


def to_dict(report: Result) -> dict[str, Any]:
    """The report as data that `json.dumps(..., allow_nan=False)` takes."""
    return {
        "schema": SCHEMA,
        "verdict": report.verdict,
        "odd_one_out": report.odd_one_out,
        "reference": _model(report.reference),
        "comparisons": [_comparison(found) for found in report.comparisons],
        "versions": {name: dict(found) for name, found in report.versions.items()},
        "seconds": round(report.seconds, 3),
    }


def _model(model: ModelSummary) -> dict[str, Any]:
    return {"name": model.name, "framework": model.framework, "operations": model.operations}


def _comparison(found: Comparison) -> dict[str, Any]:
    return {
        "candidate": _model(found.candidate),
        "verdict": found.verdict,
        "reasons": list(found.reasons),
        "divergences": [
            _divergence(divergence, number < SPREADS)
            for number, divergence in enumerate(found.divergences)
        ],
        "notes": [_note(note) for note in found.notes],
        "caveats": list(found.caveats),
        "structure": [_structural(one) for one in found.structure],
        "layers": [_layer(row) for row in found.layers],
        "outputs": [_output(row) for row in found.outputs],
        "heads": {
            side: _heads(heads)
            for side, heads in zip(("reference", "candidate"), found.heads, strict=True)
        },
        "by_formula": _by_formula(found.by_formula) if found.by_formula else None,
        "coverage": {
            "values": found.coverage.values,
            "outputs": found.coverage.outputs,
            "reference_values": found.coverage.reference_values,
            "reference_matched": found.coverage.reference_matched,
            "candidate_values": found.coverage.candidate_values,
            "candidate_matched": found.coverage.candidate_matched,
            "outputs_compared": found.coverage.outputs_compared,
            "outputs_total": found.coverage.outputs_total,
        },
    }


def _heads(found: Heads) -> dict[str, Any]:
    return {
        "trunks": [
            {
                "outputs": list(trunk.outputs),
                "layers": list(trunk.layers),
                "tensors": list(trunk.tensors),
            }
            for trunk in found.trunks
        ],
        "equal": found.equal,
    }


def _structural(found: StructuralDifference) -> dict[str, Any]:
    return {
        "kind": found.kind,
        "step": found.step,
        "name": found.name,
        "text": found.text,
        "reference": _site(found.reference) if found.reference else None,
        "candidate": _site(found.candidate) if found.candidate else None,
    }


def _divergence(found: Divergence, with_spread: bool) -> dict[str, Any]:
    measured = spread(found.capture) if with_spread and found.capture else None
    return {
        "reference": _site(found.reference),
        "candidate": _site(found.candidate),
        "residual": _number(found.residual),
        "reference_region": [_site(site) for site in found.reference_region],
        "candidate_region": [_site(site) for site in found.candidate_region],
        "shapes": [list(shape) for shape in found.shapes] if found.shapes else None,
        "order": found.order,
        "leaves": [
            {"reference": leaf.reference, "candidate": leaf.candidate, "relation": leaf.relation}
            for leaf in found.leaves
        ],
        "met": found.met,
        "random": list(found.random),
        "detail": found.detail,
        "cause": _cause(found.cause) if found.cause else None,
        "closest": (
            {
                "kind": found.closest.kind,
                "summary": found.closest.summary,
                "share": found.closest.share,
            }
            if found.closest
            else None
        ),
        "output_before": _number(found.output_before),
        "output_after": _number(found.output_after),
        "times": found.times,
        "spread": _spread(measured) if measured else None,
    }


def _spread(found: Spread) -> dict[str, Any]:
    counts = found.values.counts or ((), ())
    return {
        "shape": list(found.shape),
        "values": {
            "edges": list(found.values.edges),
            "reference": list(counts[0]),
            "candidate": list(counts[1]),
        },
        "differences": {
            "edges": list(found.differences.edges),
            "counts": list(found.differences.counts[0]) if found.differences.counts else [],
        },
        "axes": [
            {"size": size, "largest": _plain(profile)}
            for size, profile in zip(found.shape, found.axes, strict=True)
        ],
        "map": {"axes": list(found.map_axes), "largest": _plain(found.map)}
        if found.map_axes
        else None,
    }


def _cause(cause: Cause) -> dict[str, Any]:
    return {
        "kind": cause.kind,
        "summary": cause.summary,
        "parameters": {
            name: [_plain(ours), _plain(theirs)]
            for name, (ours, theirs) in cause.parameters.items()
        },
        "confirmed": cause.confirmed,
        "residual_before": _number(cause.residual_before),
        "residual_after": _number(cause.residual_after),
        "inputs": cause.inputs,
        "evidence": list(cause.evidence),
        "edit": list(cause.edit) if cause.edit else None,
        "equally": list(cause.equally),
        "unproved": cause.unproved,
    }


def _plain(parameter: Any) -> Any:
    """A cause's parameter as JSON has it: numbers, text, lists of them."""
    if isinstance(parameter, tuple | list):
        return [_plain(one) for one in parameter]
    if isinstance(parameter, bool | int | str) or parameter is None:
        return parameter
    return _number(float(parameter)) if isinstance(parameter, float) else str(parameter)


def _site(site: Site) -> dict[str, Any]:
    return {
        "op": site.op,
        "layer": site.layer,
        "source": site.source,
        "code": site.code,
        "frames": [
            {"file": frame.file, "line": frame.line, "function": frame.function}
            for frame in site.frames
        ],
    }


def _note(note: Note) -> dict[str, Any]:
    return {
        "kind": note.kind,
        "reference": _site(note.reference),
        "candidate": _site(note.candidate),
        "residual": _number(note.residual),
        "detail": note.detail,
    }


def _layer(row: LayerRow) -> dict[str, Any]:
    return {
        "reference": row.reference,
        "candidate": row.candidate,
        "reference_shape": list(row.reference_shape) if row.reference_shape is not None else None,
        "candidate_shape": list(row.candidate_shape) if row.candidate_shape is not None else None,
        "order": row.order,
        "difference": _difference(row.difference),
        "verdict": row.verdict,
        "rounding": None if row.rounding is None else _number(row.rounding),
        "local": None if row.local is None else _number(row.local),
        "inherited": None if row.inherited is None else _number(row.inherited),
        "amplified": None if row.amplified is None else _number(row.amplified),
    }


def _output(row: OutputRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "verdict": row.verdict,
        "reference_shape": list(row.reference_shape),
        "candidate_shape": list(row.candidate_shape),
        "difference": _difference(row.difference),
        "decisions": None if row.decisions is None else _decisions(row.decisions),
    }


def _decisions(found: Decisions) -> dict[str, Any]:
    return {
        "greedy": found.greedy,
        "ties": found.ties,
        "margin": _number(found.margin),
        "top": found.top,
        "sampled": _number(found.sampled),
    }


def _by_formula(found: ByFormula) -> dict[str, Any]:
    return {
        "formula": found.formula,
        "right": found.right,
        "outputs": [
            {
                "name": row.name,
                "shape": list(row.shape),
                "reference": _held(row.reference),
                "candidate": _held(row.candidate) if row.candidate else None,
            }
            for row in found.outputs
        ],
        "problems": list(found.problems),
    }


def _held(found: Held) -> dict[str, Any]:
    return {
        "shape": list(found.shape),
        "residual": _number(found.residual),
        "as_ran": _number(found.as_ran),
        "right": found.right,
    }


def _difference(found: Difference | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "largest": _number(found.largest),
        "relative": _number(found.relative),
        "cosine": _number(found.cosine),
        "index": list(found.index),
        "reference": _number(found.reference),
        "candidate": _number(found.candidate),
        "masks_differ": found.masks_differ,
        "unequal": found.unequal,
        "size": found.size,
    }


def _number(value: float | None) -> float | str | None:
    """JSON has no NaN and no infinity: NaN is null, infinity a string."""
    if value is None or math.isnan(value):
        return None
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")
