"""The same values in another order: which order, as axes split, permuted, flipped and merged."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from parity.diagnosis.causes._limits import AXES_OF_AN_ORDER, STEPS_TRIED
from parity.numerics.limits import ALIKE
from parity.tape import Array


@dataclass(frozen=True)
class Arrangement:
    """How an array's values lie in another of the same size."""

    fine: tuple[int, ...]  # what the array is split to
    axes: tuple[int, ...]  # the permutation of those axes
    flipped: tuple[int, ...]  # axes of the permuted array that run backwards
    shape: tuple[int, ...]

    def __call__(self, array: Array) -> Array:
        permuted = np.flip(array.reshape(self.fine).transpose(self.axes), self.flipped)
        return permuted.reshape(self.shape)

    def __str__(self) -> str:
        text = f"{self.fine} read as {tuple(self.fine[axis] for axis in self.axes)}"
        if self.axes != tuple(range(len(self.axes))):
            text += f", axes {self.axes}"
        return text + (f", axes {self.flipped} backwards" if self.flipped else "")


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

    @property
    def split(self) -> Arrangement | None:
        """How the axis is split and its parts are permuted; None if the order is no such thing."""
        found = of_index(np.array(self.order), np.ones(len(self.order), bool), (len(self.order),))
        return found if found is not None and len(found.fine) > 1 else None

    @property
    def sentence(self) -> str:
        """The order as a sentence of its own."""
        axis = f"axis {self.axis}"
        if self.backwards:
            return f"{axis} is in reverse order"
        return str(self).replace(axis, f"{axis} is read", 1)

    def __str__(self) -> str:
        if self.backwards:
            return f"axis {self.axis} backwards"
        if self.interleaves:
            return f"axis {self.axis} as {self.interleaves}, column by column"
        if 1 < len(self.blocks) <= 4:
            return f"axis {self.axis} in blocks of {self.blocks} in another order"
        first, last = self._moved
        # the first and the last entry of what is transposed stay where they are
        start, end = max(first - 1, 0), min(last + 1, len(self.order))
        part = AxisOrder(self.axis, tuple(n - start for n in self.order[start:end]))
        if part != self and part.split is not None:
            return f"axis {self.axis} from {start} to {end - 1} in another order: {part.split}"
        shown = ", ".join(map(str, self.order[first : first + 8]))
        shown += ", ..." if len(self.order) > first + 8 else ""
        return f"axis {self.axis} in the order {shown}" + (f" from {first} on" if first else "")

    @property
    def _moved(self) -> tuple[int, int]:
        """The first entry that is another one, and one more than the last."""
        moved = np.flatnonzero(np.array(self.order) != np.arange(len(self.order)))
        return (int(moved[0]), int(moved[-1]) + 1) if moved.size else (0, len(self.order))


def arrangement(source: Array, target: Array) -> Arrangement | AxisOrder | None:
    """How `source` is to be arranged to give `target`; None where it is no such thing.

    The arrays must hold the same values, most of them different: among some ten thousand float32
    values a few are equal by chance. What is already in order is no arrangement. Orders of one
    axis come before splits of several.
    """
    if not same_bag_at_a_glance(source, target) or alike(source, target):
        return None
    if source.shape == target.shape:
        for axis in range(source.ndim):
            moved = _of_one_axis(source, target, axis)
            if moved is not None:
                return moved
    found = _index_of(source, target)
    order = None if found is None else of_index(*found, target.shape)
    # of equal values any may be meant: the arrays themselves decide
    return order if order is not None and alike(order(source), target) else None


def order_in_words(source: Array, target: Array) -> str:
    """How `source` is arranged to give `target`, after a colon; "" where that is not known.

    Of a few axes that are exchanged it is known even where many values are equal.
    """
    for fine in _split_like_others(source.shape) if source.shape == target.shape else ():
        for i, j in itertools.combinations(range(len(fine)), 2):
            if fine[i] == fine[j] > 1 and alike(
                np.swapaxes(source.reshape(fine), i, j).reshape(target.shape), target
            ):
                return f": as {fine}, axes {i} and {j} are exchanged"
    order = arrangement(source, target)
    return f": {order}" if order is not None else ""


def _split_like_others(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """A shape, and with one axis split into the length of another and the rest, either way."""
    yield shape
    for axis, length in enumerate(shape):
        for other in sorted({n for n in shape if 1 < n < length and length % n == 0}):
            for pair in ((length // other, other), (other, length // other)):
                yield (*shape[:axis], *pair, *shape[axis + 1 :])


def alike(a: Array, b: Array) -> bool:
    """Whether two arrays are one but for rounding."""
    return a.shape == b.shape and bool(np.allclose(a, b, 0, ALIKE * float(np.abs(b).max())))


def _index_of(source: Array, target: Array) -> tuple[Array, Array] | None:
    """Where each value of the target is in the flat source, and whether no other equals it."""
    if source.size != target.size or source.size < 2:
        return None
    a, b = source.ravel(), target.ravel()
    rows, columns = np.argsort(a, kind="stable"), np.argsort(b, kind="stable")
    ordered = a[rows]
    if not np.allclose(ordered, b[columns], 0, ALIKE * float(np.abs(ordered[[0, -1]]).max())):
        return None
    equal = np.diff(ordered) == 0
    alone = ~(np.append(equal, False) | np.insert(equal, 0, False))
    if 2 * alone.sum() <= alone.size:
        return None
    index, sure = np.empty(a.size, np.int64), np.empty(a.size, bool)
    index[columns], sure[columns] = rows, alone
    return index, sure


def same_bag_at_a_glance(a: Array, b: Array) -> bool:
    """Whether the smallest, the largest, and the sums agree: quick where they do not."""
    scale = float(np.abs(a).max())
    reference, candidate = ([x.min(), x.max(), x.mean(), x.std()] for x in (a, b))
    return bool(np.allclose(reference, candidate, 0, ALIKE * scale))


def _of_one_axis(source: Array, target: Array, axis: int) -> AxisOrder | None:
    """The order of the slices along an axis, each known by a sum with random weights."""
    slices, others = (np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1) for x in (source, target))
    weights = np.random.default_rng(0).standard_normal(slices.shape[1])
    keys, wanted = slices @ weights, others @ weights
    rows, columns = np.argsort(keys, kind="stable"), np.argsort(wanted, kind="stable")
    bound = ALIKE * float(np.abs(keys).max())
    if not np.allclose(keys[rows], wanted[columns], 0, bound):
        return None
    order = np.empty(len(keys), np.int64)
    order[columns] = rows
    found = AxisOrder(axis, tuple(order.tolist()))
    return found if alike(found(source), target) else None


def of_index(index: Array, sure: Array, shape: tuple[int, ...]) -> Arrangement | None:
    """The splits and permutations that give an index where it is `sure`; None if none do."""
    digits: list[tuple[int, int]] = []  # (length, stride) of the result's axes
    while index.size > 1:
        inner = _innermost(index, sure)
        if inner is None or len(digits) == AXES_OF_AN_ORDER:
            return None
        length, stride, index, sure = inner
        digits.insert(0, (length, stride))
    largest_first = sorted(range(len(digits)), key=lambda i: -abs(digits[i][1]))
    expected = 1
    for length, stride in (digits[i] for i in reversed(largest_first)):
        if abs(stride) != expected:
            return None
        expected *= length
    return Arrangement(
        tuple(digits[i][0] for i in largest_first),
        tuple(largest_first.index(i) for i in range(len(digits))),
        tuple(i for i, (_, stride) in enumerate(digits) if stride < 0),
        shape,
    )


def _innermost(at: Array, known: Array) -> tuple[int, int, Array, Array] | None:
    """The axis that runs fastest: its length and stride, and where its rows start, if known."""
    pairs = np.flatnonzero(known[1:] & known[:-1])
    steps = at[pairs + 1] - at[pairs]
    for stride in dict.fromkeys(steps[:STEPS_TRIED].tolist()):  # the first is one within a row
        ends = pairs[steps != stride] + 1
        most = int(np.gcd.reduce([*ends.tolist(), at.size]))
        # the end of a row may lie at a value that is not known
        for parts in range(1, STEPS_TRIED):
            if most % parts or most == parts:
                continue
            length = most // parts
            starts = at.reshape(-1, length) - stride * np.arange(length)
            rows = known.reshape(-1, length)
            start = starts[np.arange(len(starts)), rows.argmax(axis=1)]
            if not ((starts != start[:, None]) & rows).any():
                return length, stride, start, np.asarray(rows.any(axis=1))
    return None


def holds_two_numbers(array: Array) -> bool:
    """Whether it holds too little to prove an order: one-hot vectors may be of another index."""
    return len(np.unique(array)) <= 2
