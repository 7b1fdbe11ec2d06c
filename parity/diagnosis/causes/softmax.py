"""Softmax over another axis, over several, twice, at another temperature, or in logarithms."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Edit, Explanation, cause, of_x
from parity.tape import Array

Axes = tuple[int, ...]


def softmax(x: Array, axes: Axes) -> Array:
    """exp(x) / sum(exp(x)) over `axes`, in float64."""
    e = np.exp(x - x.max(axis=axes, keepdims=True))
    result: Array = e / e.sum(axis=axes, keepdims=True)
    return result


def log_softmax(x: Array, axes: Axes) -> Array:
    """Logarithm of softmax, x - log(sum(exp(x))) over `axes`, in float64."""
    shifted = x - x.max(axis=axes, keepdims=True)
    result: Array = shifted - np.log(np.exp(shifted).sum(axis=axes, keepdims=True))
    return result


FORMS = {"softmax": softmax, "log_softmax": log_softmax}


@cause("softmax-axis", "softmax-flattened", enclosures=True)
def softmax_axis(case: Case) -> Iterator[Explanation]:
    """Softmax is taken over another axis, or over several at once.

    Looks like: probabilities that do not add up to 1 over the axis that they should; with a batch
        of one and softmax over the batch all of them are 1.
    Proof: softmax of the reference's logits over the other axis gives the candidate's
        probabilities, and over the reference's axis the reference's.
    """
    x = case.first.x
    if x.shape != case.first.reference.shape or x.ndim < 2:
        return
    for name, form in FORMS.items():
        ours = next((k for k in _axes(x) if _is(form(x, k), case.first.reference)), None)
        theirs = next((k for k in _axes(x) if _is(form(x, k), case.first.candidate)), None)
        if ours is None or theirs is None or ours == theirs:
            continue
        kind = "softmax-axis" if len(theirs) == 1 else "softmax-flattened"
        axes = _named(case, ours, False), _named(case, theirs, True)
        sums = np.exp(case.first.candidate) if form is log_softmax else case.first.candidate
        totals = sums.sum(axis=ours)
        yield Explanation(
            kind,
            f"{name} over axis {axes[1]} of {x.shape}; the reference takes axis {axes[0]}",
            of_x(form, theirs),
            of_x(form, ours),
            {"axis": axes},
            Edit((name,), ("axis", "dim"), repr(_named(case, ours, True)), 1),
            evidence=(
                f"over axis {axes[0]} the candidate's probabilities add up to "
                f"{totals.min():.3g} .. {totals.max():.3g}, not 1",
            ),
        )


def _axes(x: Array) -> Iterator[Axes]:
    """Single axes, the last first; then several."""
    last_first = range(x.ndim - 1, -1, -1)
    for count in range(1, x.ndim + 1):
        yield from itertools.combinations(last_first, count)


def _named(case: Case, axes: Axes, as_candidate: bool) -> int | tuple[int, ...]:
    """Axes as one writes them: -1 for the last."""
    rank = case.first.reference.ndim
    named = [
        case.candidate_axis(axis) if as_candidate else (-1 if axis == rank - 1 else axis)
        for axis in sorted(axes)
    ]
    return named[0] if len(named) == 1 else tuple(named)


def _is(predicted: Array, actual: Array) -> bool:
    return predicted.shape == actual.shape and bool(np.allclose(predicted, actual, 1e-5, 1e-7))
