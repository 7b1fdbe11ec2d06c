"""How far apart two arrays are in each of their rows and columns, each by its own size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from parity.numerics.difference import mask_sentinels, residual
from parity.tape import Array

_LEAST = 2.0**-100  # what is smaller a kernel may flush to zero


def by_slice(reference: Array, candidate: Array) -> list[Array]:
    """The difference of two arrays as a whole, and along each axis that of every slice.

    Of the whole it is the residual, of a slice the largest difference over the largest number: a
    clock, a price or a volume beside actions hides none of them, wherever they lie.
    """
    found = [np.array([residual(reference, candidate)])]
    if not reference.size or not {reference.dtype.kind, candidate.dtype.kind} <= set("fc"):
        return found
    a, b = (mask_sentinels(one) for one in (reference, candidate))
    wide = np.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else np.float64
    a, b = a.astype(wide), b.astype(wide)
    with np.errstate(all="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        same = (a == b) | np.isnan(a) & np.isnan(b)
        gap = np.where(finite, np.abs(a - b), np.where(same, 0.0, np.inf))
        size = np.where(finite, np.maximum(np.abs(a), np.abs(b)), 0.0)
        for axis in range(a.ndim):
            others = tuple(one for one in range(a.ndim) if one != axis)
            largest = np.maximum(size.max(axis=others), _LEAST)
            found.append(gap.max(axis=others) / largest)
    return found


def unlike(shape: Sequence[int]) -> list[Array]:
    """What stands for the difference of arrays of two shapes."""
    return [np.full(1, np.inf) for _ in range(len(shape) + 1)]


def largest_of(parts: Sequence[Array]) -> list[Array]:
    """For each axis the largest of all slices: the samples along it may be others."""
    return [part.max(keepdims=True, initial=0.0) for part in parts]


def beyond(gap: Sequence[Array], limits: Iterable[Sequence[Array]]) -> list[Array]:
    """Which slices differ by more than every limit: slice by slice where there are as many."""
    found = [np.ones(part.shape, bool) for part in gap]
    for limit in limits:
        for at, part in enumerate(gap):
            bound = limit[at] if at < len(limit) else limit[0]
            if bound.shape not in (part.shape, (1,)):
                bound = bound.max(keepdims=True, initial=0.0)
            found[at] &= ~(part <= bound)
    return found
