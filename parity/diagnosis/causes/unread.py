"""An input that one model reads and the other fills with a number."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._masks import is_mask_of
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes.combinators import fix
from parity.diagnosis.trial import Trial
from parity.operations import CONVOLUTIONS, FILLED, PRODUCTS, SOFTMAXES
from parity.tape import Array, Op


@cause("input-unread", "attention-mask-missing", "sequence-mask")
def unread(case: Case) -> Iterator[Explanation]:
    """An array of one number is computed with, where the other model reads an input.

    Looks like: an input that changes one model's outputs alone, as a mask that is not passed on.
    Proof: the number in the place of the input is the one side's value, the input the other's.
    """
    for reads, fills in (sides(case), sides(case)[::-1]):
        number = _number(fills)
        name = _input(reads)
        if number is None or not name:
            continue
        array = reads.end(case.first)
        kind, what = "input-unread", f"input {name!r}"
        if is_mask_of(array):
            kind = "attention-mask-missing" if _is_masking_scores(reads) else "sequence-mask"
            what = f"the mask {name!r}"
        filled, constant = partial(_filled, number), f"{number:g} throughout"
        if reads.is_candidate:
            summary = f"{what} is read here, where the reference computes with {constant}"
            yield fix(filled, kind, summary, parameters={"value": (constant, what)})
        else:
            summary = f"{what} is not read: the candidate computes with {constant}"
            yield Explanation(kind, summary, filled, parameters={"value": (what, constant)})


def _filled(number: float, trial: Trial) -> Array:
    return np.full_like(trial.reference, number)


def _number(side: CaseSide) -> float | None:
    """The number that a side fills an array with, whatever the inputs."""
    makers = [op for op in side.view.ops if op.role != "move"]
    if not makers or any(op.word not in FILLED for op in makers):
        return None
    different = np.unique(side.end(side.case.first))
    return float(different[0]) if different.size == 1 else None


def _input(side: CaseSide) -> str:
    """The name of the input that a side's value is."""
    value = side.view.tape.values[side.view.end]
    return "" if side.view.ops or value.kind != "input" else value.name or "input"


def _is_masking_scores(side: CaseSide) -> bool:
    """Whether a softmax sees it before anything is multiplied by weights or values."""

    def goes_on(op: Op) -> bool:
        return op.word not in PRODUCTS | CONVOLUTIONS | SOFTMAXES

    reading = side.view.tape.graph.readers_onward([side.view.end], goes_on)
    return any(op.word in SOFTMAXES or op.word == "attention" for op in reading)
