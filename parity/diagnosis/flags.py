"""Inputs of zeros and ones that a model compares: of other numbers it would make another mask."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from parity.diagnosis.view import RegionView
from parity.tape import Array

_COMPARING = frozenset(
    ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_not")
)


def compared(
    reference: RegionView,
    candidate: RegionView,
    partners: Mapping[int, int],
    arrays: Mapping[int, Array],
) -> frozenset[int]:
    """Which of the reference's values are zeros and ones that a comparison reads in either region.

    Of a number between, `1 - mask` hides a part and `mask > 0` hides nothing: the two models agree
    on flags alone.

    Args:
        partners: the reference's value that each input of the candidate's region is.
        arrays: the values to choose from, before moves.
    """
    read, there = _read(reference), _read(candidate)
    read |= {own for one, own in partners.items() if one in there}
    roots = set(map(reference.tape.before_moves, read))
    return frozenset(root for root, array in arrays.items() if root in roots and is_flags(array))


def _read(view: RegionView) -> set[int]:
    """What the comparisons of a region are of, in it or before it."""
    compared = [value for op in view.ops if op.word in _COMPARING for value in op.inputs]
    inside = {op.index for op in view.ops}
    return {at for at, _ in view.tape.graph.backward(compared, lambda _, op: op.index in inside)}


def exchanged(array: Array, random: np.random.Generator) -> Array:
    """As many ones in each row, at other places: none is all zeros that was not; else in all."""
    longer = [axis for axis, length in enumerate(array.shape) if length > 1]
    made = random.permuted(array, axis=longer[-1])
    return made if (made != array).any() else random.permuted(array.ravel()).reshape(array.shape)


def is_flags(array: Array) -> bool:
    """Whether an array of floating numbers holds zeros and ones, and both."""
    if array.dtype.kind != "f" or array.size < 2:
        return False
    ones = array == 1
    return bool(ones.any() and not ones.all() and (array[~ones] == 0).all())
