"""Where and how two values of one shape differ, small enough for a report: histograms and maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from parity.findings import Capture
from parity.numerics.difference import mask_sentinels
from parity.tape import Array

BINS = 40  # of a histogram
CELLS = 64  # along each side of a map
_NARROW = 1e-9  # of the largest value


def spread(capture: Capture) -> dict[str, Any] | None:
    """How the values that leave a divergence differ, as docs/report.md has it.

    None where they cannot be subtracted.
    """
    sides = capture.reference, capture.candidate
    if sides[0].shape != sides[1].shape or not sides[0].size:
        return None
    if any(array.dtype.kind not in "fiub" for array in sides):
        return None
    reference, candidate = (mask_sentinels(one.astype(np.float64, copy=False)) for one in sides)
    with np.errstate(all="ignore"):
        gap = candidate - reference
    size = _magnitude(reference, candidate, gap)
    axes = tuple(_coarse(size, (axis,)) for axis in range(size.ndim))
    edges, (first, second) = _histogram(reference, candidate)
    gap_edges, (counts,) = _histogram(gap)
    chosen = _most_varied(size.shape, axes)
    return {
        "shape": size.shape,
        "values": {"edges": edges, "reference": first, "candidate": second},
        "differences": {"edges": gap_edges, "counts": counts},
        "axes": [
            {"size": length, "largest": _numbers(profile)}
            for length, profile in zip(size.shape, axes, strict=True)
        ],
        "map": {"axes": chosen, "largest": [_numbers(row) for row in _coarse(size, chosen)]}
        if chosen
        else None,
    }


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


def _histogram(*arrays: Array) -> tuple[list[float], list[list[int]]]:
    """Equally distant edges, and for each array how many of its finite values lie between.

    They are empty where nothing finite is to be counted.
    """
    nothing: tuple[list[float], list[list[int]]] = [], [[] for _ in arrays]
    finite = [array[np.isfinite(array)] for array in arrays]
    together = np.concatenate(finite)
    if not together.size:
        return nothing
    low, high = float(together.min()), float(together.max())
    most = max(abs(low), abs(high))
    if high - low <= _NARROW * most:  # one value, but for rounding: bins around it
        low, high = low - most / 2, high + most / 2
    bins = np.linspace(low, high, BINS + 1) if np.isfinite(high - low) else np.zeros(2)
    if not (np.diff(bins) > 0).all():
        return nothing
    return _numbers(bins, 9), [np.histogram(array, bins)[0].tolist() for array in finite]


def _numbers(array: Array, digits: int = 3) -> list[float]:
    """With as many digits as a drawing needs."""
    return [float(f"{number:.{digits}g}") for number in array.tolist()]
