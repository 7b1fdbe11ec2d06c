"""Values on the edges, for those who ask: each is legitimate, and each hides something else.

An edge is a way to fill an array, and says of a range whether it can. None is drawn unless asked
for: a comparison of zeros or constants shows little, and parity calls it `unverified`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from parity.observations.floats import (
    SEEDS,
    SMALL,
    distinct,
    generator,
    offsets,
    whole_numbers,
)
from parity.observations.ranges import Range
from parity.tape import Array

Fill = Callable[[st.DrawFn, Range, int | None], Array]
Sizes = Callable[[np.dtype[Any]], tuple[float, float]]


@dataclass(frozen=True)
class Edge:
    """One way to fill an array.

    Attributes:
        says: what it is, for the documentation and for messages.
        fits: whether a range has room for it.
        fill: draws the array.
    """

    says: str
    fits: Callable[[Range], bool]
    fill: Fill


def either(draw: st.DrawFn, within: Range, batch: int | None, edges: tuple[str, ...]) -> Array:
    """An array of different values, or one on an edge, of the edges that the range has room for.

    It shrinks to different values, or to `sparse` ones, which then stand for them.
    """
    fitting = [name for name in edges if EDGES[name].fits(within)]
    fills = [EDGES[name].fill for name in fitting if name != "sparse"]
    fills.insert(0, _sparse if "sparse" in fitting else distinct)
    fill = fills[draw(st.integers(0, len(fills) - 1))] if len(fills) > 1 else fills[0]
    if fill is not fills[0]:
        # In vain, but hypothesis takes what needs fewer draws to be simpler: zeros, of all things.
        fills[0](draw, within, batch)
    return fill(draw, within, batch)


def _rows(within: Range, batch: int | None) -> int:
    return 1 if batch is None else batch


def _sparse(draw: st.DrawFn, within: Range, batch: int | None) -> Array:
    """Different values in most places, or in one block of a large array; the rest at rest."""
    found = offsets(draw, within, batch)
    if found.size <= SMALL:
        kept = choices(draw, found.size, 4) > 0
    else:
        kept = np.zeros((len(found), *within.shape), bool)
        kept[tuple(_block(draw, length) for length in kept.shape)] = True
    found = np.where(kept.reshape(found.shape), found, 0)
    if found.size and not found.any():
        index = int(np.argmax(within.ticks > 1))
        found[0, index] = within.tick(index, 1)
    return within.shaped(within.at(found), batch)


def _block(draw: st.DrawFn, length: int) -> slice:
    """A piece of an axis, in three draws of four all of it; it shrinks to nothing."""
    size = min(draw(st.integers(0, 4 * length)), length)
    start = draw(st.integers(0, length - 1))
    return slice(min(start, length - size), min(start, length - size) + size)


def _zeros(draw: st.DrawFn, within: Range, batch: int | None) -> Array:
    count = _rows(within, batch) * within.size
    return within.shaped(np.zeros(count, within.dtype), batch)


def _one_hot(draw: st.DrawFn, within: Range, batch: int | None) -> Array:
    """A single one in each row of the last axis."""
    width = within.shape[-1]
    rows = _rows(within, batch) * within.size // width
    hot = choices(draw, rows, width)
    return within.shaped(np.eye(width, dtype=within.dtype)[hot], batch)


def choices(draw: st.DrawFn, count: int, options: int) -> Array:
    """Whole numbers below `options`, int64 (count,): each drawn if they are few, else by a seed."""
    if count <= SMALL:
        return np.array(draw(whole_numbers(count, options - 1)), np.int64)
    seed = draw(SEEDS)
    return generator(seed).integers(0, options, count) if seed else np.zeros(count, np.int64)


def _ties(draw: st.DrawFn, within: Range, batch: int | None) -> Array:
    """Two or three values, each as often as it comes, the greatest more than once."""
    count = _rows(within, batch) * within.size
    values = np.unique(distinct(draw, _single(within), 3))
    picked = choices(draw, count, len(values)).reshape(-1, within.size)
    picked[:, [0, -1]] = len(values) - 1
    return within.shaped(values[picked], batch)


def _constant(draw: st.DrawFn, within: Range, batch: int | None) -> Array:
    """One value for a whole observation, another for the next one of the batch."""
    values = distinct(draw, _single(within), _rows(within, batch))
    return within.shaped(np.repeat(values, within.size), batch)


def _single(within: Range) -> Range:
    """The range of one element, where all have the same."""
    flat = ("low", "high", "rest", "below", "above", "step")
    return replace(within, shape=(), **{name: getattr(within, name)[:1] for name in flat})


def _sized(sizes: Sizes) -> Fill:
    """Fills with magnitudes between two, of either sign; where bounds forbid, different values."""

    def fill(draw: st.DrawFn, within: Range, batch: int | None) -> Array:
        values = distinct(draw, within, batch).reshape(-1, within.size)
        rng = generator(draw(SEEDS))
        (up, up_to), (down, down_to) = _sides(within, sizes)
        upwards = np.where(down <= down_to, rng.random(values.shape) < 0.5, True) & (up <= up_to)
        least, most = np.where(upwards, up, down), np.where(upwards, up_to, down_to)
        fits = least <= most
        least, most = np.where(fits, least, 1), np.where(fits, most, 1)
        # As many of each order of magnitude.
        shares = rng.random(values.shape)
        found = np.exp(np.log(least) * (1 - shares) + np.log(most) * shares).clip(least, most)
        found = (np.where(upwards, found, -found)).astype(within.dtype)
        return within.shaped(np.where(fits, found.clip(within.low, within.high), values), batch)

    return fill


def _has(sizes: Sizes) -> Callable[[Range], bool]:
    """Whether some element may have a magnitude between two."""
    return lambda within: any(bool(np.any(a <= b)) for a, b in _sides(within, sizes))


def _sides(
    within: Range, sizes: Callable[[np.dtype[Any]], tuple[float, float]]
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """The least and the greatest magnitude of each element, above zero and below it."""
    least, most = sizes(within.dtype)
    low, high = within.low.astype(np.float64), within.high.astype(np.float64)
    return (
        (np.maximum(low, least), np.minimum(high, most)),
        (np.maximum(-high, least), np.minimum(-low, most)),
    )


def _large(dtype: np.dtype[Any]) -> tuple[float, float]:
    return 1e3, min(1e8, float(np.finfo(dtype).max) / 2 if dtype.kind == "f" else 1e8)


def _saturating(dtype: np.dtype[Any]) -> tuple[float, float]:
    """In float32 tanh is 1 from 9.1 on; the exponential of a difference below -104 is 0."""
    return 20, 400


def _subnormal(dtype: np.dtype[Any]) -> tuple[float, float]:
    if dtype.kind != "f":
        return 1, 0
    limits = np.finfo(dtype)
    return max(float(limits.smallest_subnormal), 5e-324), 0.99 * float(limits.tiny)


def _bytes(draw: st.DrawFn, within: Range, batch: int | None) -> Array:
    """Whole numbers from 0 to 255, in any dtype, as an image that nobody has scaled."""
    count = _rows(within, batch) * within.size
    return within.shaped(choices(draw, count, 256).astype(within.dtype), batch)


def _same_for_all(within: Range) -> bool:
    same = (within.low == within.low[:1]) & (within.high == within.high[:1])
    return within.size > 1 and bool(np.all(same)) and bool(within.low[0] < within.high[0])


def _has_room(within: Range) -> bool:
    return bool(np.any(within.ticks > 1))


EDGES = {
    "sparse": Edge("the simplest value but for some elements", _has_room, _sparse),
    "zeros": Edge("zeros", lambda within: within.holds(0), _zeros),
    "one-hot": Edge(
        "a single one along the last axis",
        lambda within: within.size > 1 and within.holds(0) and within.holds(1),
        _one_hot,
    ),
    "ties": Edge("two or three values, the greatest more than once", _same_for_all, _ties),
    "subnormals": Edge("floats too small to be normal", _has(_subnormal), _sized(_subnormal)),
    "large": Edge("sizes from 1e3 to 1e8", _has(_large), _sized(_large)),
    "saturating": Edge(
        "sizes from 20 to 400: tanh is 1, softmax 0 and 1", _has(_saturating), _sized(_saturating)
    ),
    "constant-image": Edge(
        "one value for all of an image",
        lambda within: len(within.shape) >= 2 and _same_for_all(within),
        _constant,
    ),
    "bytes": Edge(
        "whole numbers from 0 to 255",
        lambda within: within.holds(0) and within.holds(255),
        _bytes,
    ),
}
