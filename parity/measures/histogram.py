"""Where and how two values of one shape differ, small enough for a report: histograms and maps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.findings import Capture
from parity.numerics.difference import mask_sentinels
from parity.tape import Array

BINS = 40  # of a histogram
CELLS = 64  # along each side of a map
_NARROW = 1e-9  # of the largest value


@dataclass(frozen=True)
class Histogram:
    """Counts between edges that are equally far apart; none where nothing finite is to be counted.

    Attributes:
        counts: one row for each array that was counted.
    """

    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Spread:
    """How the values that leave a divergence differ.

    Attributes:
        shape: of the value, in the reference's layout.
        values: of the reference's and of the candidate's values.
        differences: of the candidate's minus the reference's.
        axes: for each axis the largest absolute difference in each of up to `CELLS` equal parts;
            inf where one model's value is NaN or infinite and the other's is not.
        map_axes: the two axes along which that varies most; None where fewer are longer than 1.
        map: the largest absolute difference by those two, up to `CELLS` squared.
    """

    shape: tuple[int, ...]
    values: Histogram
    differences: Histogram
    axes: tuple[tuple[float, ...], ...]
    map_axes: tuple[int, int] | None
    map: tuple[tuple[float, ...], ...]


def spread(capture: Capture) -> Spread | None:
    """Measures a divergence's values; None where they cannot be subtracted."""
    if capture.reference.shape != capture.candidate.shape or not capture.reference.size:
        return None
    if any(array.dtype.kind not in "fiub" for array in (capture.reference, capture.candidate)):
        return None
    reference, candidate = (
        mask_sentinels(array.astype(np.float64, copy=False))
        for array in (capture.reference, capture.candidate)
    )
    with np.errstate(all="ignore"):
        gap = candidate - reference
    differences = _histogram(gap)
    size = _magnitude(reference, candidate, gap)
    axes = tuple(_coarse(size, (axis,)) for axis in range(size.ndim))
    chosen = _most_varied(size.shape, axes)
    return Spread(
        shape=size.shape,
        values=_histogram(reference, candidate),
        differences=differences,
        axes=tuple(_numbers(profile) for profile in axes),
        map_axes=chosen,
        map=tuple(_numbers(row) for row in _coarse(size, chosen)) if chosen else (),
    )


def _magnitude(reference: Array, candidate: Array, gap: Array) -> Array:
    """The absolute difference; 0 where both are the same NaN or infinity, inf where one is not."""
    same = (reference == candidate) | (np.isnan(reference) & np.isnan(candidate))
    size = np.where(same, 0.0, np.abs(gap))
    size[np.isnan(size)] = np.inf
    return size


def _coarse(size: Array, axes: tuple[int, ...]) -> Array:
    """The largest along all other axes, in at most `CELLS` parts of each that stays."""
    found: Array = size.max(axis=tuple(axis for axis in range(size.ndim) if axis not in axes))
    for axis, length in enumerate(found.shape):
        if length > CELLS:
            starts = np.arange(CELLS) * length // CELLS
            found = np.maximum.reduceat(found, starts, axis=axis)
    return found


def _most_varied(shape: tuple[int, ...], profiles: tuple[Array, ...]) -> tuple[int, int] | None:
    """The two axes along which the difference varies most; of equals the longest."""
    variation = {}
    for axis, profile in enumerate(profiles):
        if shape[axis] > 1:
            high = profile[np.isfinite(profile)].max(initial=0.0)
            bounded = np.where(np.isinf(profile), 2.0, profile / high if high > 0 else 0.0)
            variation[axis] = round(float(bounded.std()), 3)
    if len(variation) < 2:
        return None
    first, second = sorted(variation, key=lambda axis: (-variation[axis], -shape[axis]))[:2]
    return min(first, second), max(first, second)


def _histogram(*arrays: Array) -> Histogram:
    """Counts of what is finite, between common edges."""
    finite = [array[np.isfinite(array)] for array in arrays]
    filled = [array for array in finite if array.size]
    if not filled:
        return Histogram((), ())
    low = min(float(array.min()) for array in filled)
    high = max(float(array.max()) for array in filled)
    most = max(abs(low), abs(high))
    if high - low <= _NARROW * most:  # one value, but for rounding: bins around it
        low, high = low - most / 2, high + most / 2
    bins = np.linspace(low, high, BINS + 1) if np.isfinite(high - low) else np.zeros(2)
    if not (np.diff(bins) > 0).all():
        return Histogram((), ())
    counts = tuple(tuple(np.histogram(array, bins)[0].tolist()) for array in finite)
    return Histogram(_numbers(bins, 9), counts)


def _numbers(array: Array, digits: int = 3) -> tuple[float, ...]:
    """With as many digits as a drawing needs."""
    found: list[Any] = array.tolist()
    return tuple(float(f"{number:.{digits}g}") for number in found)
