"""Masks that are one place off, or that hide something else."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._masks import masks_of
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes.combinators import first_fitting, first_that_fits
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


@cause("mask-pattern", tier=1, enclosures=True)
@first_fitting
def mask_pattern(case: Case) -> Iterator[Explanation]:
    """A mask hides other elements than the reference's.

    Looks like: a window that is one longer, a causal mask that leaves out the steps remembered.
    Proof: the reference's own operations with the candidate's mask in place of their own give the
        candidate's value.
    """
    reference, candidate = map(masks_of, sides(case))
    for (mask, array), (_, other) in itertools.product(reference, candidate):
        for pattern in _patterns(other, array):
            changed = int((pattern != array).sum())
            if changed:
                yield Explanation(
                    "mask-pattern",
                    f"the mask hides other elements than the reference's: {changed} of "
                    f"{array.size} differ, first {np.argwhere(pattern != array)[0].tolist()}",
                    partial(_with_mask, sides(case)[0], mask, pattern),
                )


def _patterns(other: Array, array: Array) -> Iterator[Array]:
    """A mask of the candidate's in the numbers of the reference's, either way round."""
    try:
        first = np.broadcast_to(other.reshape(_without_ones(other, array.ndim)), array.shape)
    except ValueError:
        return
    low, high = array.min(), array.max()
    for set_ in (first != first.max(), first == first.max()):
        yield np.where(set_, high, low).astype(array.dtype)


def _without_ones(array: Array, axes: int) -> tuple[int, ...]:
    """A shape of so many axes, those of length 1 at its front left out."""
    shape = array.shape
    while len(shape) > axes and shape[0] == 1:
        shape = shape[1:]
    return shape
