"""The same numbers in another order: which order, as axes split, permuted, turned and merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parity.tape import Array

_SAME = 1e-6  # relative to the largest: two numbers of a float32 model, computed in float64
_FEW_AXES = 8


@dataclass(frozen=True)
class Arrangement:
    """How an array's numbers lie in another of the same size.

    Attributes:
        fine: the shape that the array is split to.
        axes: the permutation of those axes.
        turned: axes of the permuted array that run backwards.
        shape: the shape of the result.
    """

    fine: tuple[int, ...]
    axes: tuple[int, ...]
    turned: tuple[int, ...]
    shape: tuple[int, ...]

    def __call__(self, array: Array) -> Array:
        permuted = np.flip(array.reshape(self.fine).transpose(self.axes), self.turned)
        return permuted.reshape(self.shape)

    def __str__(self) -> str:
        text = f"{self.fine} read as {tuple(self.fine[axis] for axis in self.axes)}"
        if self.axes != tuple(range(len(self.axes))):
            text += f", axes {self.axes}"
        return text + (f", axes {self.turned} backwards" if self.turned else "")


@dataclass(frozen=True)
class AxisOrder:
    """The entries of one axis in another order: entry i is entry `order[i]` of the other array."""

    axis: int
    order: tuple[int, ...]

    def __call__(self, array: Array) -> Array:
        return np.take(array, self.order, self.axis)

    @property
    def backwards(self) -> bool:
        return self.order == tuple(range(len(self.order)))[::-1]

    @property
    def blocks(self) -> tuple[int, ...]:
        """Lengths of the runs of neighbours that stay together."""
        cuts = np.flatnonzero(np.diff(self.order) != 1) + 1
        return tuple(int(n) for n in np.diff([0, *cuts, len(self.order)]))

    @property
    def interleaves(self) -> tuple[int, int] | None:
        """(rows, columns) if the axis, read as such a table, is read column by column."""
        step = self.order[1] - self.order[0] if len(self.order) > 1 else 1
        if step < 2 or len(self.order) % step:
            return None
        table = np.arange(len(self.order)).reshape(-1, step)
        return (len(table), step) if tuple(table.T.ravel()) == self.order else None

    def __str__(self) -> str:
        if self.backwards:
            return f"axis {self.axis} backwards"
        if self.interleaves:
            return f"axis {self.axis} as {self.interleaves}, column by column"
        if 1 < len(self.blocks) <= 4:
            return f"axis {self.axis} in blocks of {self.blocks} in another order"
        shown = ", ".join(map(str, self.order[:8])) + (", ..." if len(self.order) > 8 else "")
        return f"axis {self.axis} in the order {shown}"


def arrangement(source: Array, target: Array) -> Arrangement | AxisOrder | None:
    """How `source` is to be arranged to give `target`; None where it is no such thing.

    The arrays must hold the same numbers, all different; what is already in order is no
    arrangement. Orders of one axis come before splits of several.
    """
    index = index_of(source, target)
    if index is None or np.array_equal(index, np.arange(source.size)):
        return None
    if source.shape == target.shape:
        found = _of_one_axis(index.reshape(target.shape))
        if found is not None:
            return found
    return of_index(index, target.shape)


def index_of(source: Array, target: Array) -> Array | None:
    """For each number of `target` where it is in `source`, both flattened."""
    if source.size != target.size or source.size < 2:
        return None
    if not same_bag_at_a_glance(source, target):
        return None
    a, b = source.ravel(), target.ravel()
    rows, columns = np.argsort(a, kind="stable"), np.argsort(b, kind="stable")
    ordered = a[rows]
    bound = _SAME * float(np.abs(ordered[[0, -1]]).max())
    if not np.allclose(ordered, b[columns], 0, bound) or (np.diff(ordered) == 0).any():
        return None
    index = np.empty(a.size, np.int64)
    index[columns] = rows
    return index


def same_bag_at_a_glance(a: Array, b: Array) -> bool:
    """Whether the smallest, the largest, and the sums agree: it costs little to be told no."""
    scale = float(np.abs(a).max())
    ours, theirs = ([x.min(), x.max(), x.mean(), x.std()] for x in (a, b))
    return bool(np.allclose(ours, theirs, 0, _SAME * scale))


def _of_one_axis(index: Array) -> AxisOrder | None:
    shape = index.shape
    places = np.unravel_index(index, shape)
    own = np.indices(shape, sparse=True)
    moved = [axis for axis in range(len(shape)) if (places[axis] != own[axis]).any()]
    if len(moved) != 1:
        return None
    axis = moved[0]
    along = np.moveaxis(places[axis], axis, 0).reshape(shape[axis], -1)
    if (along != along[:, :1]).any():
        return None
    return AxisOrder(axis, tuple(int(i) for i in along[:, 0]))


def of_index(index: Array, shape: tuple[int, ...]) -> Arrangement | None:
    """The splits and permutations that give an index; None if it is none such."""
    digits: list[tuple[int, int]] = []  # (length, stride) of the result's axes, the last first
    at = index.ravel()
    while at.size > 1:
        steps = np.diff(at)
        breaks = np.flatnonzero(steps != steps[0])
        length = int(breaks[0]) + 1 if breaks.size else at.size
        if at.size % length or len(digits) == _FEW_AXES:
            return None
        rows = at.reshape(-1, length)
        if (rows != rows[:, :1] + steps[0] * np.arange(length)).any():
            return None
        digits.append((length, int(steps[0])))
        at = rows[:, 0]
    return _from_digits(digits[::-1], shape)


def _from_digits(digits: Sequence[tuple[int, int]], shape: tuple[int, ...]) -> Arrangement | None:
    largest_first = sorted(range(len(digits)), key=lambda i: -abs(digits[i][1]))
    expected = 1
    for i in reversed(largest_first):
        length, stride = digits[i]
        if abs(stride) != expected:
            return None
        expected *= length
    return Arrangement(
        tuple(digits[i][0] for i in largest_first),
        tuple(largest_first.index(i) for i in range(len(digits))),
        tuple(i for i, (_, stride) in enumerate(digits) if stride < 0),
        shape,
    )
