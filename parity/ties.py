"""Gradients that differ in a tie or on a kink alone, where the derivative is a choice.

Where two values are equal, the gradient of their maximum goes to the first of them, to the last, or
to both by halves; at the kink of an activation it is the slope of either side. Frameworks choose,
and functions of one framework choose differently. Inputs that are moved a little are in no tie.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace

import numpy as np

from parity import budget
from parity.diagnosis.replay_check import PlainRuns
from parity.findings import Note
from parity.model import Inputs, flatten_inputs, lay_out, map_arrays, wrap
from parity.result import Comparison, Result
from parity.tape import Array

_moved_already: ContextVar[bool] = ContextVar("parity.ties.moved_already", default=False)
_STEP = 1e-4  # of an element, and of what is usual: a thousand roundings of float32
_GOLDEN = (np.sqrt(5) - 1) / 2
_SAID = (
    "the gradients were compared on inputs that are moved by 1e-4 of their size: on those given "
    "they differ in ties or on kinks, where each framework chooses the derivative"
)


def without_ties(found: Comparison, runs: PlainRuns, compare: Callable[..., Result]) -> Comparison:
    """A comparison in which gradients alone diverge, on inputs in no tie if they agree there.

    Args:
        compare: `parity.compare`.
    """
    if _moved_already.get() or not _in_gradients_alone(found):
        return found
    first, second = runs
    layouts = first.model.input_layout, second.model.input_layout
    if not _same(lay_out(first.inputs, *layouts), second.inputs):
        return found
    moved = map_arrays(_moved, first.inputs)
    models = (
        wrap(replace(run.model, cotangents=None), inputs=given)
        for run, given in zip(runs, (moved, lay_out(moved, *layouts)), strict=True)
    )
    left = budget.current().seconds_left
    token = _moved_already.set(True)
    try:
        report = compare(*models, gradients=True, seconds=max(left, budget.LEAST))
    finally:
        _moved_already.reset(token)
    if report.verdict != "parity":
        return found
    other = report.comparisons[0]
    ties = (Note("tie", one.reference, one.candidate, one.residual) for one in found.divergences)
    return replace(other, notes=(*other.notes, *ties), caveats=(_SAID, *other.caveats))


def _in_gradients_alone(found: Comparison) -> bool:
    rows = [row for row in found.outputs if row.verdict == "diverged"]
    sites = [(one.reference, one.candidate) for one in found.divergences]
    back = all(any(site.stage for site in both) for both in sites)
    return bool(rows) and bool(sites) and back and all(row.is_gradient for row in rows)


def _same(one: Inputs, other: Inputs) -> bool:
    arrays = [list(flatten_inputs(inputs).values()) for inputs in (one, other)]
    return len(arrays[0]) == len(arrays[1]) and all(map(np.array_equal, *arrays))


def _moved(array: Array) -> Array:
    """Elements moved by multiples of the golden ratio, of which no two that are near are equal."""
    if array.dtype.kind != "f" or not array.size:
        return array
    size = np.abs(array) + np.sqrt(np.mean(np.square(array, dtype=np.float64)))
    steps = (np.arange(array.size).reshape(array.shape) * _GOLDEN) % 1 - 0.5
    moved: Array = array + _STEP * size * steps
    return moved.astype(array.dtype)
