"""The values that an array may hold, element by element, and which of them are the simplest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from parity.tape import Array

# Where a space sets no bound, values of these sizes: what a normalised observation looks like.
NEAR_FLOAT = 3.0
NEAR_INTEGER = 100
# A bound farther out than these is none: CartPole bounds its speeds by the greatest float32.
FAR_FLOAT = 1e6
FAR_INTEGER = 2**31 - 1
# Integers of a range up to this size are all within reach of single drawn elements.
TICKS_INTEGER = 2**16
TICKS_FLOAT = 2**8


@dataclass(frozen=True, eq=False)  # equal by identity, so that what is computed can be kept
class Range:
    """What each element of an array may be.

    Attributes:
        shape: the array's shape; the arrays below are flat, of its size.
        dtype: of floats, integers or booleans.
        low, high: the bounds, inclusive, of `dtype`; infinite where there is none.
        rest: the simplest value: 0; where that is out of bounds the low end, or the high end if
            the low one is far out; of `dtype`.
        below, above: how far values go below and above `rest` unless asked otherwise; float64.
        step: the distance between simple values; float64, a power of two.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    low: Array
    high: Array
    rest: Array
    below: Array
    above: Array
    step: Array

    @property
    def size(self) -> int:
        return len(self.rest)

    @property
    def integral(self) -> bool:
        return self.dtype.kind != "f"

    def at(self, offsets: Array) -> Array:
        """The values at these distances from `rest`: float64 of shape (..., size) to `dtype`."""
        if not self.integral:
            floats = (self.rest.astype(np.float64) + offsets).astype(self.dtype)
            return floats.clip(self.low, self.high)
        if self.dtype.kind == "b":
            return (self.rest + offsets).astype(bool)
        # Sums of integers wrap around, so an offset of 255 from -128 is right in int8 too.
        values: Array = self.rest + offsets.astype(np.int64).astype(self.dtype)
        return values

    def shaped(self, values: Array, batch: int | None) -> Array:
        return values.reshape(self.shape if batch is None else (batch, *self.shape))

    def holds(self, value: float) -> bool:
        """Whether every element may be `value`."""
        return bool(np.all((self.low <= value) & (value <= self.high)))

    @cached_property
    def ticks(self) -> Array:
        """How many simple values each element may be; int64 (size,)."""
        steps: Array = self.below // self.step + self.above // self.step
        return steps.astype(np.int64) + 1

    @cached_property
    def windows(self) -> tuple[Array, Array]:
        """The first element of each window of values; the number of each element's (size,)."""
        return _groups(self.below, self.above, self.step)

    def tick(self, index: int, ranks: Any) -> Array:
        """Offsets of simple values of one element, by their ranks: the simplest has rank 0."""
        step = float(self.step[index])
        down, up = (int(side[index] // step) for side in (self.below, self.above))
        if step < 1:
            fine: Array = _fine_ticks(down, up, step)[ranks]
            return fine
        both = min(down, up)
        turns = np.where(ranks % 2 == 1, (ranks + 1) // 2, -(ranks // 2))
        past = ranks - both if up > down else both - ranks
        offsets: Array = np.where(ranks <= 2 * both, turns, past) * step
        return offsets


def bounded(low: Any, high: Any, shape: tuple[int, ...], dtype: Any) -> Range:
    """The range between two bounds, scalars or arrays that broadcast to `shape`."""
    dtype = np.dtype(dtype)
    low, high = (np.asarray(end, dtype) for end in (low, high))
    if _alike(low) and _alike(high):  # as for images: one pair of bounds stands for all elements
        low, high = low.ravel()[:1], high.ravel()[:1]
    else:
        low, high = (np.broadcast_to(end, shape).ravel() for end in (low, high))
    firsts, group = _groups(low, high)
    # As Python's numbers, in which no difference of integers overflows.
    windows = [_window(low[first].item(), high[first].item(), dtype) for first in firsts]
    columns = np.array([[float(number) for number in window[1:]] for window in windows])
    rests = np.array([window[0] for window in windows], dtype)[group]
    each = (low, high, rests, *columns.reshape(-1, 3)[group].T)
    return Range(shape, dtype, *(np.broadcast_to(one, math.prod(shape)) for one in each))


def _alike(array: Array) -> bool:
    """Whether an array has elements, all of them equal."""
    return bool(array.size and (array == array.flat[0]).all())


def _groups(*arrays: Array) -> tuple[Array, Array]:
    """The index of the first of each kind of elements, and the number of each element's kind."""
    if all(map(_alike, arrays)):
        return np.zeros(1, np.intp), np.zeros(arrays[0].shape, np.intp)
    _, firsts, group = np.unique(np.stack(arrays), axis=1, return_index=True, return_inverse=True)
    return firsts, group.ravel()


def _window(low: Any, high: Any, dtype: np.dtype[Any]) -> tuple[Any, float, float, float]:
    """Of one pair of bounds: the simplest value, the reach below and above it, the step."""
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        near, far = NEAR_FLOAT, min(FAR_FLOAT, float(limits.max) / 16)
    else:
        near, far = NEAR_INTEGER, FAR_INTEGER
        low, high = int(low), int(high)
    first, last = _near(low, high, near, far)
    if dtype.kind == "f":
        # Near the end of its dtype a range without a bound would reach beyond it.
        first, last = max(first, float(limits.min)), min(last, float(limits.max))
    rest = 0 if first <= 0 <= last else first if low > -far else last
    below, above = rest - first, last - rest
    return rest, below, above, _step(below + above, max(abs(first), abs(last)), dtype)


def _near(low: Any, high: Any, near: Any, far: Any) -> tuple[Any, Any]:
    """The part of an interval in which values are drawn: all of it unless a bound is far out."""
    if low <= -far and high >= far:
        return -near, near
    if low <= -far:
        return max(low, min(high - max(2 * near, abs(high) // 8), -high)), high
    if high >= far:
        return low, min(high, max(low + max(2 * near, abs(low) // 8), -low))
    return low, high


def _step(width: Any, greatest: Any, dtype: np.dtype[Any]) -> float:
    """The power of two that cuts a window into some hundreds of ticks, or integers into all."""
    if dtype.kind != "f":
        return max(1.0, floor_power(width / TICKS_INTEGER))
    # Towards zero, for beyond the greatest number of a dtype lies infinity.
    spacing = float(np.spacing(np.nextafter(np.asarray(greatest, dtype), dtype.type(0))))
    return max(floor_power(width / TICKS_FLOAT), spacing)


def floor_power(number: float) -> float:
    """The greatest power of two up to a number; 1 for 0."""
    return float(2.0 ** np.floor(np.log2(number))) if number > 0 else 1.0


@lru_cache(maxsize=1024)
def _fine_ticks(down: int, up: int, step: float) -> Array:
    """Multiples of `step` from -down to up: the fewest binary places first, then the smallest."""
    index = np.arange(-down, up + 1)
    places = np.zeros(len(index), int)
    unit = 1.0
    while unit > step:
        places += (index * step) % unit != 0
        unit /= 2
    ticks: Array = index[np.lexsort((index < 0, abs(index), places))] * step
    return ticks
