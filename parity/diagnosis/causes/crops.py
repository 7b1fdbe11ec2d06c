"""A part of an image is cut out at another place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._context import makers, moves_only
from parity.diagnosis.causes._sides import sides
from parity.diagnosis.trial import Trial
from parity.tape import Array

Places = tuple[int, ...]


@cause("transposed-conv-crop")
def cut_elsewhere(case: Case) -> Iterator[Explanation]:
    """What a transposed convolution gives is cut at other sides.

    Looks like: an image shifted by a pixel, right in size, with another border.
    Proof: the same number of pixels, cut from the candidate's place, is the candidate's value, and
        from the reference's the reference's.
    """
    tape = case.reference.tape
    before = (tape.window(op) for op in makers(sides(case)[0]))
    if not any(window is not None and window.transposed for window in before):
        return
    starts = cuts(case)
    if starts is None or starts[0] == starts[1]:
        return
    reference, candidate = starts
    yield Explanation(
        "transposed-conv-crop",
        f"cut from {candidate} on, the reference from {reference}",
        _cut(candidate),
        _cut(reference),
        {"start": (reference, candidate)},
    )


def cuts(case: Case) -> tuple[Places, Places] | None:
    """Where both sides cut their value out of what is read; None where one is no such part."""
    first = case.first
    if not moves_only(case):
        return None
    if first.x.ndim != first.reference.ndim or first.reference.shape != first.candidate.shape:
        return None
    random = np.random.default_rng(0)  # no number twice, so that each shows its place
    trial = case.probe(case.redrawn(lambda array: random.standard_normal(array.shape)))
    reference, candidate = (_start(trial.x, value) for value in (trial.reference, trial.candidate))
    return (reference, candidate) if reference is not None and candidate is not None else None


def _start(x: Array, part: Array) -> Places | None:
    if not part.size:
        return None
    found = np.argwhere(x == part.flat[0])
    if len(found) != 1:
        return None
    start = tuple(int(place) for place in found[0])
    return start if np.array_equal(x[_slices(start, part.shape)], part) else None


def _slices(start: Places, shape: Places) -> tuple[slice, ...]:
    return tuple(slice(at, at + length) for at, length in zip(start, shape, strict=True))


def _cut(start: Places) -> Predict:
    def predict(trial: Trial) -> Array:
        return trial.x[_slices(start, trial.reference.shape)]

    return predict
