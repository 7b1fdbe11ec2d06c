"""What masks: arrays of two values by which numbers are hidden, and not merely computed with."""

from __future__ import annotations

import numpy as np

from parity.diagnosis.causes._attested import adds
from parity.diagnosis.causes._limits import HIDDEN
from parity.diagnosis.causes._sides import CaseSide
from parity.diagnosis.view import RegionView
from parity.operations import LOOK_UPS, MULTIPLICATIONS, SUBTRACTIONS
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
    """Arrays of two numbers among what a region is given, as a mask that is an input.

    They are masks where the region hides something by them, or by what it makes of them.
    """
    run, ops, tape = side.model.run, side.view.ops, side.view.tape
    made = {value for op in ops for value in op.outputs}
    read = dict.fromkeys(value for op in ops for value in op.inputs if value not in made)
    found = []
    for value in filter(tape.is_live, read):
        array = run.array(value)
        if np.unique(array).size != 2 or not is_mask_of(array):
            continue
        if _hides(side.view, run, value) or _becomes_a_mask(side, value):
            found.append((value, array))
    return found


def _becomes_a_mask(side: CaseSide, value: int) -> bool:
    """Whether a region makes of zeros and ones alone an array that hides what it meets."""
    tape, run = side.view.tape, side.model.run
    made = {value}
    for op in side.view.ops:
        live = [one for one in op.inputs if tape.is_live(one)]
        if not live or not made.issuperset(live):
            continue
        if op.word in LOOK_UPS:
            return False  # they are indices
        made.update(op.outputs)
        if any(is_mask_of(run.array(one)) and _hides(side.view, run, one) for one in op.outputs):
            return True
    return False


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
    if adds(op) or op.word in SUBTRACTIONS or np.unique(array).size > 2:
        return False  # what is made of an identity matrix and others is no mask
    return op.word not in MULTIPLICATIONS or bool((array == 0).any())
