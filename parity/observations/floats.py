"""Numbers that bring faults to light: of both signs, all different, with all their digits.

A fault hides where values are equal, zero, or of one sign: a softmax over the wrong axis of equal
logits is right. So an array never has all its elements equal, unless an edge is asked for
(`parity.observations.edges`), and no two elements are equal as far as their bounds and dtype have
room for that.

A small array is drawn element by element. A large one would cost hypothesis an integer per pixel:
it is filled by a generator whose seed hypothesis draws, one value from each of as many equal
slices of the range as there are elements. What either shrinks to is the *counted* array: its
elements are the simplest values of their range in order, 0, 1, -1, 2, -2, .., then halves and
quarters; where 0 is out of bounds the low end and on from there.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import cycle
from typing import Any

import numpy as np
from hypothesis import strategies as st

from parity.observations.ranges import Range
from parity.tape import Array

# Arrays up to this many elements, batch and all, are drawn element by element.
SMALL = 32
SEEDS = st.integers(0, 2**32 - 1)
# Hypothesis takes fewer choices for simpler: a large array is to cost no less than a small one,
# lest a batch shrinks to a larger one.
_AS_MANY = st.tuples(*[st.booleans()] * SMALL)


def distinct(draw: st.DrawFn, within: Range, batch: int | None) -> Array:
    """An array whose elements differ: shape `within.shape`, after a batch axis if there is one."""
    return within.shaped(within.at(offsets(draw, within, batch)), batch)


def offsets(draw: st.DrawFn, within: Range, batch: int | None) -> Array:
    """Distances from the simplest values that make an array's elements differ, (batch, size)."""
    count = within.size * (1 if batch is None else batch)
    if count == 0:
        return np.zeros((1 if batch is None else batch, within.size))
    seed = draw(SEEDS)
    if count > SMALL:
        draw(_AS_MANY)
        return spread(within, count, seed) if seed else counted(within, count)
    most = int(within.ticks.max())
    found: Array = _apart(within, draw(whole_numbers(count, most - 1)))
    if seed:
        found = np.minimum(found + _jitter(within, found.shape, seed), within.above)
    return found


@lru_cache(maxsize=256)
def whole_numbers(count: int, most: int) -> st.SearchStrategy[tuple[int, ...]]:
    """So many integers from 0 to `most`; cached because making a strategy takes time."""
    return st.tuples(*[st.integers(0, most)] * count)


def generator(seed: int) -> np.random.Generator:
    """Numbers that depend on a seed alone, which hypothesis has drawn."""
    return np.random.Generator(np.random.PCG64(seed))


@lru_cache(maxsize=8)  # a large array is counted again at each step of its shrinking
def counted(within: Range, count: int) -> Array:
    """Offsets of the counted array, float64 (count / size, size).

    Floats that come to the end of their ticks begin again, each time a little off them, away from
    the ends of the range.
    """
    firsts, group = within.windows
    turns, ranks = np.divmod(_places(within, count), within.ticks)
    found: Array = np.zeros(turns.shape)
    for number, first in enumerate(firsts):
        columns = group == number
        found[:, columns] = within.tick(first, ranks[:, columns])
    off = turns * within.step / (2 * turns.max() + 1)
    off = np.floor(off) if within.integral else off
    upwards = (found < 0) | ((found == 0) & (within.above > 0))
    offsets: Array = np.where(upwards, found + off, found - off)
    offsets.flags.writeable = False
    return offsets


def _places(within: Range, count: int) -> Array:
    """Where each element stands in the counting, int64 (count / size, size).

    Where its ticks run out and counting starts over, it does so out of step with every axis: no row
    of bits, or of an image as wide as a byte, is the same as the one before.
    """
    shape = (count // within.size, *within.shape)
    ticks = within.ticks.reshape(within.shape)
    places, stride = np.zeros(shape, np.int64), np.ones_like(ticks)
    for axis in reversed(range(len(shape))):
        along = np.arange(shape[axis]).reshape(-1, *[1] * (len(shape) - 1 - axis))
        places += along * stride
        stride = stride * shape[axis]
        stride = np.where(stride % ticks == 0, stride + 1, stride)
    return places.reshape(-1, within.size)


def spread(within: Range, count: int, seed: int) -> Array:
    """Offsets spread over all of the range, float64 (count / size, size), in an order by `seed`."""
    rng = generator(seed)
    # Inside its slice an element keeps away from the ends, and integers keep in step: no two meet.
    place = rng.random() if within.integral else 0.1 + 0.8 * rng.random(count)
    shares = ((rng.permutation(count) + place) / count).reshape(-1, within.size)
    width = within.below + within.above
    reached: Array = np.floor(shares * (width + 1)) if within.integral else shares * width
    return reached - within.below


def _apart(within: Range, drawn: tuple[int, ...]) -> Array:
    """Offsets at the drawn ticks, counted on from each element's place, moved on until they differ.

    Where there are fewer ticks than twice the elements, only an array of equal values is changed.
    """
    ticks, rests = within.ticks.tolist(), within.rest.tolist()
    places = _places(within, len(drawn)).ravel().tolist()
    exact: Any = int if within.integral else float  # a float has no room for 2**60 + 1
    found, seen = [], set()
    for index, place, tick in zip(cycle(range(within.size)), places, drawn, strict=False):
        rank = tick + place
        offset = exact(within.tick(index, rank % ticks[index]))
        while ticks[index] >= 2 * len(drawn) and rests[index] + offset in seen:
            rank += 1
            offset = exact(within.tick(index, rank % ticks[index]))
        found.append(offset)
        seen.add(rests[index] + offset)
    if len(seen) == 1 and len(drawn) > 1 and ticks[-1] > 1:
        found[-1] = exact(within.tick(within.size - 1, (rank + 1) % ticks[-1]))
    return np.array(found, np.float64).reshape(-1, within.size)


def _jitter(within: Range, shape: tuple[int, ...], seed: int) -> Array:
    """Something less than a step for each element: a value of few digits survives a rounding."""
    jitter = generator(seed).random(shape) * within.step * 0.9
    return np.floor(jitter) if within.integral else jitter
