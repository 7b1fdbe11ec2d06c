"""Dropout that is active where it should not be, or drops another share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, as_it_is, cause, of_x
from parity.diagnosis.causes._limits import ELEMENTS_OF_A_MASK, SIGMAS_OF_SHARE
from parity.diagnosis.causes._substitution import (
    Inside,
    alone,
    close,
    in_candidate,
    inside_candidate,
    inside_reference,
    rounded,
    with_value,
)
from parity.diagnosis.causes.combinators import all_that_fit, fix
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView
from parity.draws.units import origins
from parity.matching.axis_order import Order
from parity.tape import Array

_MASKS = "samples are not repeated: the rates are read off the masks of this one run"


@dataclass(frozen=True)
class Dropout:
    """A value that is another one with some of it zero, and the rest scaled up."""

    source: int
    value: int
    rate: float  # that is dropped, from the scale of the rest: 1 - 1 / scale
    share: float  # of zeros that were drawn

    @property
    def text(self) -> str:
        return (
            f"{self.share:.0%} of the elements are 0, the rest is scaled by 1 / {1 - self.rate:g}"
        )


@cause("dropout-active", "dropout-rate")
def dropout(case: Case) -> Iterator[Explanation]:
    """Dropout is active in one of the models only, or drops another share.

    Looks like: outputs that change from run to run; some elements are 0, the rest is scaled up.
    Proof: the model with the active dropout gives the other's value without it. For another share:
        the reference's mask in the candidate gives the reference's value.
    """
    yield from _of_masks(case)
    reference = _dropout(inside_reference(case)) if draws_there(case.reference) else None
    candidate = _dropout(inside_candidate(case)) if draws_there(case.candidate) else None
    yield from all_that_fit(case, _of_rates(case, reference, candidate))


def _of_rates(
    case: Case, reference: Dropout | None, candidate: Dropout | None
) -> Iterator[Explanation]:
    if candidate is not None and reference is None:
        yield fix(
            in_candidate(case, candidate.value, alone, candidate.source),
            "dropout-active",
            f"dropout of {candidate.rate:g} is active here; the reference has none here",
            parameters={"rate": (0.0, candidate.rate)},
            evidence=(candidate.text,),
        )
    elif reference is not None and candidate is None:
        yield Explanation(
            "dropout-active",
            f"no dropout is active here; the reference drops {reference.rate:g} here",
            with_value(case, reference.value, alone, reference.source),
            parameters={"rate": (reference.rate, 0.0)},
            evidence=(reference.text,),
        )
    elif reference is not None and candidate is not None:
        pair = case.repaired.pairs.get(candidate.source)
        if pair is not None and not np.isclose(reference.rate, candidate.rate, 1e-3):
            yield fix(
                partial(_with_mask_of, case, reference, candidate, pair.order),
                "dropout-rate",
                f"dropout drops {candidate.rate:g}; the reference drops {reference.rate:g}",
                parameters={"rate": (reference.rate, candidate.rate)},
                evidence=(candidate.text,),
                unproved=_MASKS,  # the reference's mask in the candidate is the answer itself
            )


def _of_masks(case: Case) -> Iterator[Explanation]:
    """The same where the mask is a value by itself, or is scaled in a step by itself."""
    first = case.first
    mask = first.x
    if _is_mask(first.reference) and _is_mask(first.candidate):
        if not (draws_there(case.reference) and draws_there(case.candidate)):
            return
        rates = _scale_of_mask(case.reference), _scale_of_mask(case.candidate)
        predict: Predict = as_it_is
        unproved = _MASKS
        text = f"{1 - float(first.candidate.mean()):.0%} of the mask's elements are 0"
    elif _is_mask(mask) and mask.shape == first.reference.shape == first.candidate.shape:
        scales = float(first.reference.max()), float(first.candidate.max())
        rates = _rate_of(scales[0]), _rate_of(scales[1])
        predict = of_x(np.multiply, scales[1])
        unproved = ""
        text = f"what is kept is multiplied by {scales[1]:g}"
    else:
        return
    if rates[0] is None or rates[1] is None or np.isclose(rates[0], rates[1], 1e-3):
        return
    yield Explanation(
        "dropout-rate",
        f"dropout drops {rates[1]:g}; the reference drops {rates[0]:g}",
        predict,
        parameters={"rate": rates},
        evidence=(text,),
        unproved=unproved,
    )


def _is_mask(array: Array) -> bool:
    if array.size < ELEMENTS_OF_A_MASK or array.min() == array.max():
        return False
    return bool(((array == 0) | (array == 1)).all())


def _scale_of_mask(view: RegionView) -> float | None:
    """The share that a mask drops, from what it is divided by next; None for another mask."""
    tape = view.tape
    mask = tape.adapter.to_numpy(tape.recorded[view.end])
    for op in view.readers():
        made = tape.adapter.to_numpy(tape.recorded[op.outputs[0]])
        if made.shape != mask.shape or not _is_mask(mask):
            continue
        scale = float(made.max())
        rate = _rate_of(scale)
        if rate is None or not np.allclose(made, scale * mask):
            continue
        if abs(1 - mask.mean() - rate) < SIGMAS_OF_SHARE * np.sqrt(rate * (1 - rate) / mask.size):
            return rate
    return None


def _rate_of(scale: float) -> float | None:
    return rounded(1 - 1 / scale, 4) if scale > 1 + 1e-6 else None


def draws_there(view: RegionView) -> bool:
    """Whether random samples are drawn there, or read: those that are paired lie before it."""
    noise = origins(view.tape).noise
    return any(
        op.role == "random" or op.word == "dropout" or not noise.isdisjoint(op.inputs)
        for op in view.ops
    )


def _dropout(inside: Inside) -> Dropout | None:
    for value, source in inside.derived():
        found = rate_of_dropout(inside.array(source), inside.array(value))
        if found is not None:
            return Dropout(source, value, *found)
    return None


def rate_of_dropout(x: Array, made: Array) -> tuple[float, float] | None:
    """The share that is dropped, and that of zeros; None if the elements are not 0 or scaled."""
    if x.shape != made.shape or not x.size:
        return None
    kept, there = (made != 0) & (x != 0), x != 0
    count, dropped = int(kept.sum()), int((there & ~kept).sum())
    if not count or not dropped or count + dropped < ELEMENTS_OF_A_MASK:
        return None
    scale = float(np.median(made[kept] / x[kept]))
    rate = _rate_of(scale)
    if rate is None or not close(scale * x[kept], made[kept]):
        return None
    return rate, dropped / (count + dropped)


def _with_mask_of(
    case: Case, reference: Dropout, candidate: Dropout, order: Order, trial: Trial
) -> Array:
    """What the candidate gives with the reference's mask."""
    x, made = case.reference_values(trial.given, (reference.source, reference.value))
    mask = np.divide(made, x, out=np.zeros_like(made), where=x != 0)
    masked = partial(np.multiply, order.apply(mask))
    return in_candidate(case, candidate.value, masked, candidate.source)(trial)
