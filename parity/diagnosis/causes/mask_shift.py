"""Masks that are one place off."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._masks import masks_of
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes.combinators import first_that_fits
from parity.diagnosis.trial import Trial
from parity.tape import Array


@cause("mask-shift", enclosures=True)
def mask_shift(case: Case) -> Iterator[Explanation]:
    """A mask is one place off, as the diagonal of a causal mask.

    Looks like: steps that see one step too many, as the one that they predict, or not themselves.
    Proof: one side's own operations with its mask moved by one place give the other side's value.
    """
    yield from first_that_fits(case, _moved_masks(case))


def _moved_masks(case: Case) -> Iterator[Explanation]:
    for side in sides(case):
        for mask, array in masks_of(side):
            for places in (1, -1):
                for moved in _moved(array, places):
                    yield side.changed(_explanation(side, mask, moved, places))


def _explanation(side: CaseSide, mask: int, moved: Array, places: int) -> Explanation:
    off = -places if side.is_candidate else places
    return Explanation(
        "mask-shift",
        f"the mask is one place {'further' if off > 0 else 'earlier'} along its last axis",
        partial(_with_mask, side, mask, moved),
        parameters={"shift": (0, off)},
        cost=-1,
    )


def _with_mask(side: CaseSide, mask: int, moved: Array, trial: Trial) -> Array:
    return side.run(trial.given, {mask: moved})


def _moved(array: Array, places: int) -> Iterator[Array]:
    """A mask moved along its last axis; what comes in at the end is masked, or is not."""
    length = array.shape[-1]
    if length < 2:
        return
    for end in np.unique(array):
        moved = np.roll(array, places, -1)
        moved[..., 0 if places > 0 else length - 1] = end
        if np.unique(moved).size > 1 and not np.array_equal(moved, array):  # it still hides some
            yield moved
