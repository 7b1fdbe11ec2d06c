"""Divergences whose values are too large to be explained whole, explained on a few samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from parity import budget
from parity.diagnosis.replay_check import PlainRuns
from parity.findings import Divergence
from parity.model import flatten_inputs, map_arrays, wrap
from parity.result import Comparison, Result
from parity.tape import Array

_ELEMENTS = 1 << 18  # of the largest value, on the samples


def explained_on_samples(
    found: Comparison, runs: PlainRuns, compare: Callable[..., Result]
) -> Comparison:
    """A comparison whose divergences lacked memory to be explained, with causes of a smaller one.

    A cause is noted where the smaller one finds a divergence at the same two places. It is not
    proved: the other samples may differ for another reason.

    Args:
        compare: `parity.compare`.
    """
    left = budget.current()
    if budget.MEMORY not in left.missed:
        return found
    arrays = [array for one in runs for array in flatten_inputs(one.inputs).values()]
    counts = {len(array) if array.ndim else 0 for array in arrays}
    largest = max(value.size for one in runs for value in one.tape.values)
    count = next(iter(counts))
    few = max(2, count * _ELEMENTS // largest)
    if len(counts) > 1 or few >= count or left.seconds_left <= 0:
        return found

    def first(array: Array) -> Array:
        return array[:few]

    gradients = runs[0].model.cotangents is not None
    smaller = [
        wrap(replace(one.model, cotangents=None), inputs=map_arrays(first, one.inputs))
        for one in runs
    ]
    report = compare(*smaller, gradients=gradients, seconds=left.seconds_left)
    note = f"explained on the first {few:,} of {count:,} samples: all do not fit into the budget"
    return replace(found, divergences=_explained(found.divergences, report.divergences, note))


def _explained(
    found: Sequence[Divergence], smaller: Sequence[Divergence], note: str
) -> tuple[Divergence, ...]:
    causes = {_places(one): one.cause for one in reversed(smaller)}
    explained = []
    for one in found:
        cause = causes.get(_places(one)) if one.cause is None else None
        if cause is not None:
            detail = one.detail.replace(budget.NOT_EXPLAINED, "").removesuffix("; ")
            unproved = "; ".join(filter(None, (cause.unproved, note)))
            cause = replace(cause, confirmed=False, unproved=unproved)
            one = replace(one, cause=cause, detail=detail)
        explained.append(one)
    return tuple(explained)


def _places(found: Divergence) -> tuple[tuple[str, str, str], ...]:
    return tuple((site.op, site.layer, site.source) for site in (found.reference, found.candidate))
