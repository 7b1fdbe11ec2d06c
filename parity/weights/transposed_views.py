"""A tensor as an operation reads it, where that is only another order of its axes.

Most weights are transposed at most. Where each element lies is then given by an offset and a stride
for each axis, and no address of any element need be worked out, which would take many times the
weight's own room.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided

from parity.tape import Array, Op, Tape
from parity.weights.element_index import Addresses, move


@dataclass(frozen=True)
class Strided:
    """Where the elements of a part lie in the one tensor that it is.

    Attributes:
        number: of the tensor.
        shape: of the part.
        strides: in elements, for each axis.
    """

    number: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def of(self, tensor: Array) -> Array:
        """The part of a tensor's contents: a view of an array that lies in order."""
        steps = tuple(stride * tensor.itemsize for stride in self.strides)
        return as_strided(tensor, self.shape, steps)


def strided(addresses: Addresses, value: int, arranged: Callable[[Array], Array]) -> Strided | None:
    """How a value lies in its tensor; None where more than axes is moved.

    Args:
        arranged: puts an array of the value's shape into the arrangement of its part.
    """
    transposed = False
    while value not in addresses.leaves:
        tape = addresses.tape
        op = tape.producer(value) if tape else None
        if tape is None or op is None or not op.static or not _is_transpose(tape, op):
            return None
        value, transposed = op.inputs[0], not transposed
    number = addresses.leaves[value]
    shape = addresses.tensors[number].shape
    # one byte for each element, never written to: where a view of it starts and steps is enough
    bytes_ = np.zeros(shape, np.int8)
    view = arranged(bytes_.T if transposed else bytes_)
    same = view.__array_interface__["data"][0] == bytes_.__array_interface__["data"][0]
    if not same or view.size != bytes_.size or not np.shares_memory(view, bytes_, max_work=1):
        return None
    return Strided(number, view.shape, view.strides)


def _is_transpose(tape: Tape, op: Op) -> bool:
    """Whether an operation swaps the axes of a matrix, as it does with a small one."""
    if op.word != "transpose" or len(tape.values[op.inputs[0]].shape) != 2:
        return False
    small = np.arange(1, 7).reshape(2, 3)
    moved = move(tape, op, [small, *(None for _ in op.inputs[1:])])
    return moved is not None and np.array_equal(moved[0], small.T)
