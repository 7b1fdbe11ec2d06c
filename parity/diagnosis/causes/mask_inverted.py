"""Masks that are read the other way round: what one model hides the other sees."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import MASK_INVERTED, MASKS_TRIED
from parity.diagnosis.causes._masks import given_masks, masks_of
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.tape import Array


@cause("mask-pattern", tier=2)
@first_fitting
def mask_inverted(case: Case) -> Iterator[Explanation]:
    """A mask is read the other way round: what the reference hides is seen, and the rest hidden.

    Looks like: a mask that marks what is hidden (True is padding) where one is read that marks what
        is seen, as of attention in two frameworks.
    Proof: one side's own operations with its mask inverted give the other side's value.
    """
    for side in sides(case)[::-1]:
        for mask in _masks(side)[:MASKS_TRIED]:
            yield side.changed(
                Explanation(
                    "mask-pattern",
                    f"the mask, {named(side.view.tape, mask)}, is inverted: what the reference "
                    "hides is seen, and what it sees is hidden",
                    partial(_with_inverted, side, mask),
                    parameters={"mask": ("mask", "not mask")},
                    cost=MASK_INVERTED,
                )
            )


def _masks(side: CaseSide) -> list[int]:
    """What hides something, and any flags that a region reads or makes, of both kinds."""
    tape, run = side.view.tape, side.model.run
    found = dict.fromkeys(value for value, _ in (*masks_of(side), *given_masks(side)))
    for op in side.view.ops:
        for value in (*op.inputs, *op.outputs):
            array = run.array(value)
            if array.dtype.kind == "b" and array.any() and not array.all() and tape.is_live(value):
                found.setdefault(value)
    return list(found)


def _with_inverted(side: CaseSide, mask: int, trial: Trial) -> Array:
    (array,) = side.values(trial.given, (mask,))
    return side.run(trial.given, {mask: _inverted(array)})


def _inverted(array: Array) -> Array:
    if array.dtype.kind == "b":
        return ~array
    return np.where(array == array.max(), array.min(), array.max()).astype(array.dtype)
