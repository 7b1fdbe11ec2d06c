"""A gradient that does not come back, or should not, or is scaled on its way back.

These are asked of the backward pass alone, which `compare(..., gradients=True)` compares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, as_it_is, cause
from parity.diagnosis.causes._sources import twins
from parity.diagnosis.causes._substitution import (
    alone,
    fits,
    in_candidate,
    inside_candidate,
    inside_reference,
    with_value,
)
from parity.diagnosis.causes.operations import bypasses
from parity.numerics.difference import residual
from parity.operations import ADDITIONS
from parity.outputs.gradients import NO_GRADIENT
from parity.tape import Array, Op

_SAME_RATIO = 1e-9  # of two gradients in float64, at every element
_PLACES = 3  # in a summary


@cause("gradient-missing", "gradient-not-stopped", tier=1)
def stopped(case: Case) -> Iterator[Explanation]:
    """A gradient does not come back through a branch, or comes back where the reference stops it.

    Looks like: a `detach()`, a `stop_gradient` or a `no_grad()` that one model alone has.
    Proof: the backward pass without what comes back through that branch gives the other's gradient.
    """
    if _has_none(case):
        yield Explanation(
            "gradient-missing",
            "no gradient comes back here; the reference's does",
            lambda trial: np.zeros_like(trial.reference),
            parameters={"gradient": ("comes back", "stopped")},
        )
        return
    if not _is_backward(case):
        return
    for value, source, left_out in bypasses(inside_reference(case)):
        predict = with_value(case, value, alone, source)
        if fits(predict, case.first, case.first.candidate):
            yield Explanation(
                "gradient-missing",
                f"no gradient comes back through {_listed(left_out)}; the reference's does",
                predict,
                parameters={"gradient": ("comes back", "stopped")},
                unproved=twins(case),
            )
            return
    for value, source, left_out in bypasses(inside_candidate(case)):
        fixed = in_candidate(case, value, alone, source)
        if fits(fixed, case.first, case.first.reference):
            yield Explanation(
                "gradient-not-stopped",
                f"a gradient comes back through {_listed(left_out)}; the reference stops it",
                as_it_is,
                fixed,
                {"gradient": ("stopped", "comes back")},
                unproved=twins(case),
            )
            return


@cause("gradient-missing", "gradient-not-stopped", tier=1)
def of_some_rows(case: Case) -> Iterator[Explanation]:
    """Some rows of a table have no gradient in one of the models.

    Looks like: `padding_idx` of an embedding in torch, which Keras has not: its row stays as it is.
    Proof: the other model's gradient with those rows zero.
    """
    a, b = case.first.reference, case.first.candidate
    if not _is_backward(case) or a.ndim < 2 or a.shape != b.shape:
        return
    rows = tuple(range(1, a.ndim))
    size = np.abs(a).max(rows) + np.abs(b).max(rows)
    differ = np.flatnonzero(np.abs(a - b).max(rows) > _SAME_RATIO * size)
    if not 0 < len(differ) <= len(a) // 2:
        return
    named = f"row{'s' * (len(differ) > 1)} {', '.join(map(str, differ[:_PLACES]))}"
    if not b[differ].any():
        yield Explanation(
            "gradient-missing",
            f"{named} of the table have no gradient; the reference's do",
            lambda trial: _without(trial.reference, differ),
            parameters={"gradient": ("comes back", "stopped")},
        )
    elif not a[differ].any():
        yield Explanation(
            "gradient-not-stopped",
            f"{named} of the table have a gradient; the reference's have none, as with padding_idx",
            as_it_is,
            lambda trial: _without(trial.candidate, differ),
            {"gradient": ("stopped", "comes back")},
        )


def _without(array: Array, rows: Array) -> Array:
    found: Array = array.copy()
    found[rows] = 0.0
    return found


@cause("gradient-scale", tier=1)
def scaled(case: Case) -> Iterator[Explanation]:
    """The gradient is the reference's times a number.

    Looks like: `0.5 * x + 0.5 * x.detach()`, a gradient hook that scales, a custom gradient with a
    factor too many.
    Proof: the reference's gradient times that number is the candidate's.
    """
    a, b = case.first.reference, case.first.candidate
    if not _is_backward(case) or a.shape != b.shape or not np.square(a).sum() > 0:
        return
    factor = float((a * b).sum() / np.square(a).sum())
    if residual(b, factor * a) > _SAME_RATIO or factor == 0:
        return
    yield Explanation(
        "gradient-scale",
        f"the gradient is {factor:.6g} times the reference's",
        lambda trial: factor * trial.reference,
        parameters={"scale": (1.0, factor)},
    )


def _is_backward(case: Case) -> bool:
    """Whether what differs is made by the backward pass of both models."""
    makers = [view.tape.producer(view.end) for view in (case.reference, case.candidate)]
    return all(maker is not None and maker.site.stage for maker in makers)


def _has_none(case: Case) -> bool:
    """Whether the candidate has zeros in the place of a gradient that it has not."""
    maker = case.candidate.tape.producer(case.candidate.end)
    return maker is not None and maker.kind == NO_GRADIENT


def _listed(ops: Sequence[Op]) -> str:
    """The layers and lines whose backward pass operations are; sums are of no branch's own."""
    computing = [op for op in ops if op.role != "move"]
    sites = [op.site for op in computing if op.word not in ADDITIONS] or [computing[-1].site]
    names = [
        f"{site.layer} ({line})" if site.layer else line or site.op
        for site in sites
        for line in [site.source.rsplit("/", 1)[-1]]
    ]
    return ", ".join([*dict.fromkeys(names)][:_PLACES])
