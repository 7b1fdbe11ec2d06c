"""How far apart two arrays of one shape are: NaN and infinity first, then numbers by scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parity.tape import Array

# Beyond this ratio of the largest to the typical magnitude the large ones are sentinels (a mask's
# -1e9, float32.min) and are compared apart: their size would hide every difference elsewhere.
_SENTINEL_RATIO = 1e4


@dataclass(frozen=True)
class Difference:
    """What separates two arrays of one shape.

    Attributes:
        largest: the largest absolute difference over elements finite in both; its unit is the
            arrays'.
        relative: `largest` over the largest finite magnitude of the reference.
        cosine: between the two arrays as vectors, over elements finite in both; nan if one is zero.
        index: where the largest difference is.
        reference, candidate: the two numbers there.
        masks_differ: how many elements are NaN or infinite in one and not, or otherwise, in the
            other.
        unequal: how many elements differ at all.
        size: how many there are.
    """

    largest: float
    relative: float
    cosine: float
    index: tuple[int, ...]
    reference: float
    candidate: float
    masks_differ: int
    unequal: int
    size: int


def measure(reference: Array, candidate: Array) -> Difference:
    """Measures two arrays of the same shape; integers and booleans as numbers."""
    if reference.shape != candidate.shape:
        raise ValueError(f"shapes differ: {reference.shape} and {candidate.shape}")
    a = reference.astype(np.float64, copy=False)
    b = candidate.astype(np.float64, copy=False)
    masks = count_mask_differences(a, b)
    with np.errstate(all="ignore"):
        gap = np.abs(a - b)
        finite = np.isfinite(gap)
        unequal = int(np.count_nonzero((a != b) & ~(np.isnan(a) & np.isnan(b))))
        if not finite.all():
            gap = np.where(finite, gap, 0.0)
            a, b = np.where(finite, a, 0.0), np.where(finite, b, 0.0)
        if gap.size == 0:
            return Difference(0.0, 0.0, float("nan"), (), 0.0, 0.0, 0, 0, 0)
        flat = int(gap.argmax())
        index = tuple(int(i) for i in np.unravel_index(flat, gap.shape))
        largest = float(gap.ravel()[flat])
        scale = float(np.abs(a).max())
        norms = float(np.linalg.norm(a.ravel()) * np.linalg.norm(b.ravel()))
        cosine = float(a.ravel() @ b.ravel()) / norms if norms > 0 else float("nan")
        relative = largest / scale if scale > 0 else (0.0 if largest == 0 else float("inf"))
    return Difference(
        largest,
        relative,
        cosine,
        index,
        float(reference[index]),
        float(candidate[index]),
        masks,
        unequal,
        gap.size,
    )


def residual(reference: Array, candidate: Array) -> float:
    """The root mean square of the difference over that of the reference; inf where masks differ.

    Integers and booleans are equal (0.0) or not (inf). Sentinels are compared among themselves.
    """
    if reference.dtype.kind not in "fc":
        return 0.0 if np.array_equal(reference, candidate) else float("inf")
    a, b = reference, candidate
    gap = (a - b).ravel()
    squares = float(gap @ gap)
    if not np.isfinite(squares):
        if count_mask_differences(a, b):
            return float("inf")
        finite = np.isfinite(a)
        a, b = a[finite], b[finite]
        gap = a - b
        squares = float(gap @ gap)
        if not np.isfinite(squares):
            return float("inf")
    if squares == 0.0:
        return 0.0
    flat = a.ravel()
    scale = float(flat @ flat)
    typical, high = _typical(flat)
    if high > _SENTINEL_RATIO * typical > 0:
        large = np.abs(flat) > np.sqrt(high) * np.sqrt(typical)
        parts = [_relative(gap.ravel()[part], flat[part]) for part in (large, ~large)]
        return max(parts)
    return float(np.sqrt(squares / scale)) if scale > 0 else float("inf")


def _relative(gap: Array, reference: Array) -> float:
    squares, scale = float(gap @ gap), float(reference @ reference)
    if squares == 0.0:
        return 0.0
    return float(np.sqrt(squares / scale)) if scale > 0 else float("inf")


def _typical(flat: Array) -> tuple[float, float]:
    """The median magnitude of what is not zero (from a sample), and the largest magnitude."""
    sample = np.abs(flat[:: max(1, flat.size // 1024)])
    sample = sample[sample > 0]
    high = max(float(flat.max()), -float(flat.min()))
    return (float(np.median(sample)) if sample.size else 0.0), high


def count_mask_differences(a: Array, b: Array) -> int:
    """How many elements are NaN, or infinite of a sign, in one of the arrays only."""
    if a.dtype.kind not in "fc" and b.dtype.kind not in "fc":
        return 0
    with np.errstate(all="ignore"):
        return int(
            np.count_nonzero(
                (np.isnan(a) != np.isnan(b))
                | (np.isposinf(a) != np.isposinf(b))
                | (np.isneginf(a) != np.isneginf(b))
            )
        )
