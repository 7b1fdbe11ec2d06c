"""What masks: arrays of two values by which numbers are hidden, and not merely computed with."""

from __future__ import annotations

import numpy as np

from parity.diagnosis.causes._attested import adds
from parity.diagnosis.causes._limits import HIDDEN
from parity.diagnosis.causes._sides import CaseSide
from parity.diagnosis.view import RegionView
from parity.operations import MULTIPLICATIONS, SUBTRACTIONS
from parity.tape import Array, Op, Replay
from parity.walk_once import Once


def masks_of(side: CaseSide) -> list[tuple[int, Array]]:
    """Arrays of two numbers that a region reads, that no input reaches, and that hide something."""
    view, run = side.view, side.model.run
    found = []
    read = [value for op in view.ops for value in op.inputs]
    for value in dict.fromkeys((*read, *(leaf.id for leaf in view.leaves))):
        if view.tape.is_live(value) or view.tape.values[value].size < 2:
            continue
        producer = view.tape.producer(value)
        if producer is not None and producer.index in {op.index for op in view.ops}:
            continue
        array = run.array(value)
        if is_mask_of(array) and _hides(view, run, value):
            found.append((value, array))
    return found


def given_masks(side: CaseSide) -> list[tuple[int, Array]]:
    """Arrays of zeros and ones among what a region is given, as a mask that is an input."""
    run, ops = side.model.run, side.view.ops
    read = dict.fromkeys(value for op in ops for value in op.inputs if value in side.entering)
    arrays = ((value, run.array(value)) for value in read)
    return [(value, array) for value, array in arrays if is_zero_one(array)]


def is_mask_of(array: Array) -> bool:
    return array.dtype.kind == "b" or (array.dtype.kind in "iuf" and _is_mask(array))


def is_zero_one(array: Array) -> bool:
    """Whether an array holds zeros and ones, and both."""
    return array.size > 1 and set(np.unique(array).tolist()) == {0, 1}


def _is_mask(array: Array) -> bool:
    different = np.unique(array)
    if different.size != 2:
        return False
    low, high = float(different[0]), float(different[1])
    return (low, high) == (0.0, 1.0) or (low <= HIDDEN and high == 0.0)


def _hides(view: RegionView, run: Replay, value: int) -> bool:
    """Whether an array of two values hides what it meets: by a product, a choice, a huge number.

    What is added as 0 and 1, or multiplies by 1 and 2, hides nothing.
    """
    tape, inside = view.tape, {op.index for op in view.ops}
    made = Once([value])
    for one in made:
        array = run.array(one)
        if array.dtype.kind == "b" or (array.size and array.min() <= HIDDEN):
            return True
        for index in tape.consumers[one]:
            op = tape.ops[index]
            if op.static or op.role == "move":
                made.add(op.outputs)
            elif index in inside and _is_hidden_by(op, array):
                return True
    return False


def _is_hidden_by(op: Op, array: Array) -> bool:
    if adds(op) or op.word in SUBTRACTIONS:
        return False
    return op.word not in MULTIPLICATIONS or bool((array == 0).any())
