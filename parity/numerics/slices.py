"""By how much two arrays differ in each of their rows and columns, each by its own size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from parity.numerics import limits
from parity.numerics.difference import mask_sentinels, residual, same_elements
from parity.tape import Array


def by_slice(reference: Array, candidate: Array) -> list[Array]:
    """The difference of two arrays as a whole, and along each axis that of every slice.

    Of the whole it is the residual, of a slice the largest difference over the largest number: a
    clock, a price or a volume beside actions hides none of them, wherever they lie.
    """
    found = [np.array([residual(reference, candidate)])]
    for gap, size in largest(reference, candidate):
        with np.errstate(all="ignore"):
            found.append(gap / np.maximum(size, limits.FLUSHED_SLICE))
    return found


def largest(reference: Array, candidate: Array) -> list[tuple[Array, Array]]:
    """Along each axis the largest difference in each slice, and its largest value.

    None of integers, and of what holds no numbers.
    """
    if not reference.size or not {reference.dtype.kind, candidate.dtype.kind} <= set("fc"):
        return []
    a, b = (mask_sentinels(one) for one in (reference, candidate))
    wide = np.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else np.float64
    parts = [_largest(a[part].astype(wide), b[part].astype(wide)) for part in _parts(a.shape)]
    found = []
    for axis in range(a.ndim):
        join = np.concatenate if axis == 0 else np.maximum.reduce
        found.append((join([one[0][axis] for one in parts]), join([one[1][axis] for one in parts])))
    return found


def _parts(shape: Sequence[int]) -> list[slice]:
    """Of the first axis, so many at a time that nothing of the whole size is made."""
    if not shape:
        return []
    step = max(1, limits.SLICE_BLOCK * shape[0] // int(np.prod(shape)))
    return [slice(at, at + step) for at in range(0, shape[0], step)]


def _largest(a: Array, b: Array) -> tuple[list[Array], list[Array]]:
    """Along each axis the largest difference of each slice, and its largest value."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        gap = np.where(finite, np.abs(a - b), np.where(same_elements(a, b), 0.0, np.inf))
        size = np.where(finite, np.maximum(np.abs(a), np.abs(b)), 0.0)
    axes = range(a.ndim)
    others = [tuple(one for one in axes if one != axis) for axis in axes]
    return [gap.max(axis=one) for one in others], [size.max(axis=one) for one in others]


def unlike(shape: Sequence[int]) -> list[Array]:
    """What stands for the difference of arrays of two shapes."""
    return [np.full(1, np.inf) for _ in range(len(shape) + 1)]


def largest_of(parts: Sequence[Array]) -> list[Array]:
    """For each axis the largest of all slices: the samples along it may be others."""
    return [part.max(keepdims=True, initial=0.0) for part in parts]


def beyond(gap: Sequence[Array], bounds: Iterable[Sequence[Array]]) -> list[Array]:
    """Which slices differ by more than every limit: slice by slice where there are as many."""
    found = [np.ones(part.shape, bool) for part in gap]
    for limit in bounds:
        for at, part in enumerate(gap):
            bound = limit[at] if at < len(limit) else limit[0]
            if bound.shape not in (part.shape, (1,)):
                bound = bound.max(keepdims=True, initial=0.0)
            found[at] &= ~(part <= bound)
    return found
