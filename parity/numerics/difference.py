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
    if not reference.size:
        return Difference(0.0, 0.0, float("nan"), (), 0.0, 0.0, 0, 0, 0)
    kind = np.result_type(reference, candidate, np.float32)
    a = np.ascontiguousarray(reference, kind).ravel()
    b = np.ascontiguousarray(candidate, kind).ravel()
    masks = 0
    with np.errstate(all="ignore"):
        norms = float(a @ a), float(b @ b)
        if not np.isfinite(norms[0] + norms[1]):
            masks = count_mask_differences(a, b)
            finite = np.isfinite(a) & np.isfinite(b)
            unequal = int(np.count_nonzero((a != b) & ~(np.isnan(a) & np.isnan(b))))
            a, b = (np.where(finite, one, 0.0).astype(np.float64) for one in (a, b))
            norms = float(a @ a), float(b @ b)
        gap = a - b
        if not masks:
            unequal = int(np.count_nonzero(gap))
        np.abs(gap, out=gap)
        flat = int(gap.argmax())
        largest = float(gap[flat])
        scale = max(float(a.max()), -float(a.min()))
        product = (norms[0] * norms[1]) ** 0.5
        cosine = float(a @ b) / product if product > 0 else float("nan")
        relative = largest / scale if scale > 0 else (0.0 if largest == 0 else float("inf"))
    index = tuple(int(i) for i in np.unravel_index(flat, reference.shape))
    return Difference(
        largest,
        relative,
        cosine,
        index,
        float(reference[index]),
        float(candidate[index]),
        masks,
        unequal,
        reference.size,
    )


@dataclass(frozen=True, slots=True)
class Extent:
    """What is known of an array beforehand: its Euclidean norm and its largest magnitude."""

    norm: float
    high: float


def residual(reference: Array, candidate: Array, extent: Extent | None = None) -> float:
    """The root mean square of the difference over that of the reference; inf where masks differ.

    Integers and booleans are equal (0.0) or not (inf). Sentinels are compared among themselves.
    """
    if reference.dtype.kind not in "fc":
        return 0.0 if np.array_equal(reference, candidate) else float("inf")
    a, b = reference, candidate
    gap = (a - b).ravel(order="K")
    squares = float(gap @ gap)
    if squares == 0.0:
        return 0.0
    if not np.isfinite(squares):
        if count_mask_differences(a, b):
            return float("inf")
        finite = np.isfinite(a)
        return residual(a[finite], b[finite]) if not finite.all() else float("inf")
    if extent is None:
        flat = a.ravel()
        extent = Extent(float(flat @ flat) ** 0.5, max(float(flat.max()), -float(flat.min())))
    typical = _typical(a)
    if extent.high > _SENTINEL_RATIO * typical > 0:
        large = np.abs(a) > np.sqrt(extent.high) * np.sqrt(typical)
        return max(_relative((a - b)[part], a[part]) for part in (large, ~large))
    return squares**0.5 / extent.norm if extent.norm > 0 else float("inf")


def _relative(gap: Array, reference: Array) -> float:
    squares, scale = float(gap @ gap), float(reference @ reference)
    if squares == 0.0:
        return 0.0
    return float(np.sqrt(squares / scale)) if scale > 0 else float("inf")


def _typical(array: Array) -> float:
    """The median magnitude of what is not zero, from a sample."""
    flat = array.ravel(order="K")
    sample = np.abs(flat[:: max(1, flat.size // 256)])
    sample = sample[sample > 0]
    return float(np.median(sample)) if sample.size else 0.0


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
