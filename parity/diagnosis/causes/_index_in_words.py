"""Where a move takes its elements from, as one writes it: axes permuted, or a slice."""

from __future__ import annotations

import math

import numpy as np

from parity.tape import Array


def permutation(shape: tuple[int, ...], index: Array) -> tuple[int, ...] | None:
    """The axes by which an index permutes an array of a shape."""
    if sorted(shape) != sorted(index.shape):
        return None
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    found: list[int] = []
    for axis, length in enumerate(index.shape):
        step = int(np.take(index, 1, axis).flat[0]) if length > 1 else None
        fits = [
            own
            for own in range(len(shape))
            if own not in found and shape[own] == length and step in (None, strides[own])
        ]
        if not fits:
            return None
        found.append(fits[0])
    places = np.arange(math.prod(shape)).reshape(shape)
    return tuple(found) if np.array_equal(places.transpose(found), index) else None


def sliced(shape: tuple[int, ...], index: Array) -> str | None:
    """An index as slices along the axes of an array of a shape."""
    if not shape:
        return None
    places = np.unravel_index(index, shape)
    chosen = [_distinct(one) for one in places]
    grid = np.ravel_multi_index(np.ix_(*chosen), shape)
    if grid.size != index.size or not np.array_equal(grid.ravel(), index.ravel()):
        return None
    ranges = [_range(along, length) for along, length in zip(chosen, shape, strict=True)]
    if None in ranges:
        return None
    while ranges and ranges[-1] == ":":
        ranges.pop()
    return ", ".join(map(str, ranges))


def _distinct(places: Array) -> Array:
    """The different entries, in the order in which they come first."""
    _, first = np.unique(places, return_index=True)
    found: Array = places.ravel()[np.sort(first)]
    return found


def _range(along: Array, length: int) -> str | None:
    """Places along an axis as Python writes them."""
    if along.size == 1:
        return ":" if length == 1 else str(_from_the_end(int(along[0]), length))
    step = int(along[1] - along[0])
    if not np.all(np.diff(along) == step):
        return None
    first, last = int(along[0]), int(along[-1])
    if step > 0:
        start, stop = str(first or ""), "" if last + step >= length else str(last + 1)
    else:
        start, stop = "" if first == length - 1 else str(first), "" if last == 0 else str(last - 1)
    return f"{start}:{stop}" + ("" if step == 1 else f":{step}")


def index_in_words(places: Array, length: int) -> str:
    """Places in a row along an axis of a length, in words: the last one is -1."""
    first, last = int(places[0]), int(places[-1])
    if len(places) == 1:
        return f"index {_from_the_end(first, length)}"
    return f"the range {first}:{last + 1}"


def _from_the_end(place: int, length: int) -> int:
    """The last place as one writes it: of two, either has a name of its own."""
    return place if place < length - 1 or length < 3 else -1
