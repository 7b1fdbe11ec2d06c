"""By how much two arrays of one shape differ: NaN and infinity first, then values by scale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.arrays import Array
from parity.numerics import limits


@dataclass(frozen=True)
class Difference:
    """What separates two arrays of one shape.

    Attributes:
        largest: the largest absolute difference over elements finite in both; its unit is the
            arrays'.
        relative: `largest` over the largest finite magnitude of the reference.
        cosine: between the two arrays as vectors, over elements finite in both; nan if one is zero.
        index: where the largest difference is.
        reference, candidate: the two values there.
        nonfinite_differ: how many elements are NaN or infinite in one and not, or otherwise, in the
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
    nonfinite_differ: int
    unequal: int
    size: int


def by_column(reference: Array, candidate: Array) -> float:
    """The largest residual of a column along the last axis: a clock beside actions hides none.

    Columns that are next to nothing beside the second largest, as probabilities of 1e-9, are left
    to the residual of the whole.
    """
    whole = residual(reference, candidate)
    if reference.ndim < 2 or not 1 < reference.shape[-1] <= limits.COLUMNS:
        return whole
    others = tuple(range(reference.ndim - 1))
    with np.errstate(all="ignore"):
        sizes = np.abs(np.nan_to_num(reference.astype(np.complex128))).max(axis=others, initial=0.0)
    least = limits.LEAST_COLUMN * np.sort(sizes)[-2]
    columns = [i for i in range(reference.shape[-1]) if sizes[i] >= least > 0]
    return max([whole, *(residual(reference[..., i], candidate[..., i]) for i in columns)])


def measure(reference: Array, candidate: Array) -> Difference:
    """Measures two arrays of the same shape; integers and booleans as numbers.

    A complex number counts as two, its real and its imaginary part.
    """
    if reference.shape != candidate.shape:
        raise ValueError(f"shapes differ: {reference.shape} and {candidate.shape}")
    if not reference.size:
        return Difference(0.0, 0.0, float("nan"), (), 0.0, 0.0, 0, 0, 0)
    kind = np.result_type(reference, candidate, np.float32)
    given = [as_real(np.ascontiguousarray(one, kind).ravel()) for one in (reference, candidate)]
    a, b = given
    size = a.size
    masks = unequal = flat = 0
    largest = scale = product = 0.0
    norms = [0.0, 0.0]
    with np.errstate(all="ignore"):
        if not np.isfinite(squared_norm(a) + squared_norm(b)):
            masks = count_mask_differences(a, b)
            if masks:
                unequal = int(np.count_nonzero(~same_elements(a, b)))
            finite = np.isfinite(a) & np.isfinite(b)
            a, b = (np.where(finite, one, 0.0).astype(np.float64) for one in (a, b))
        for at, (x, y) in enumerate(blocks(a, b)):
            gap = np.abs(x - y)
            place = int(gap.argmax())
            if gap[place] > largest:
                largest, flat = float(gap[place]), at * limits.BLOCK + place
            if not masks:
                unequal += int(np.count_nonzero(gap))
            scale = max(scale, float(x.max()), -float(x.min()))
            product += float(np.einsum("i,i->", x, y))
            norms = [norms[0] + squared_norm(x), norms[1] + squared_norm(y)]
        length = (norms[0] * norms[1]) ** 0.5
        cosine = product / length if length > 0 else float("nan")
        relative = largest / scale if scale > 0 else (0.0 if largest == 0 else float("inf"))
    element = flat * reference.size // size
    index = tuple(int(i) for i in np.unravel_index(element, reference.shape))
    at_most = float(given[0][flat]), float(given[1][flat])
    return Difference(largest, relative, cosine, index, *at_most, masks, unequal, size)


@dataclass(frozen=True, slots=True)
class Extent:
    """What is known of an array beforehand: its Euclidean norm and its largest magnitude."""

    norm: float
    high: float


def residual(reference: Array, candidate: Array, extent: Extent | None = None) -> float:
    """The root mean square of the difference over that of the reference; inf where masks differ.

    Integers and booleans are equal (0.0) or not (inf). Sentinels are compared among themselves.
    """
    if reference.shape != candidate.shape:
        raise ValueError(f"shapes differ: {reference.shape} and {candidate.shape}")
    if "c" in (reference.dtype.kind, candidate.dtype.kind):
        return residual(*_as_real_pair(reference, candidate), extent)
    if reference.dtype.kind != "f":
        return 0.0 if np.array_equal(reference, candidate) else float("inf")
    a, b = reference, candidate
    squares = squared_distance(a, b)
    if squares == 0.0:
        return 0.0
    high = max(float(a.max()), -float(a.min())) if extent is None else extent.high
    if not high <= limits.SENTINEL:
        masked = mask_sentinels(a), mask_sentinels(b)
        if masked[0] is not a or masked[1] is not b:
            finite = masked[0][np.isfinite(masked[0])]
            return residual(*masked, Extent(squared_norm(finite) ** 0.5, 0.0))
    if not np.isfinite(squares):
        if count_mask_differences(a, b):
            return float("inf")
        finite = np.isfinite(a)
        if not finite.all():
            return residual(a[finite], b[finite])
        unit = 2.0 ** -np.frexp(max(np.abs(a).max(), np.abs(b).max()))[1]
        return residual(a * unit, b * unit)  # of which the squares are finite
    norm = squared_norm(a) ** 0.5 if extent is None else extent.norm
    typical = _typical(a)
    if high > limits.LARGE_RATIO * typical > 0:
        large = np.abs(a) > np.sqrt(high) * np.sqrt(typical)
        # what is far below the float32 rounding of the largest is no number of its own
        least = limits.NEGLIGIBLE * high
        return max(_relative((a - b)[part], a[part], least) for part in (large, ~large))
    return squares**0.5 / norm if norm > 0 else float("inf")


def mask_sentinels(array: Array) -> Array:
    """The array with a mask's large constant written as infinity; itself where it has none.

    A mask may be written as -inf, `float32.min` or -1e9, alone or added to a logit: what counts is
    which elements it hides. It hides them from a maximum or a softmax, so that it is negative; and
    it is one constant, but for the logits that it swallows. Other large numbers are numbers.
    """
    if array.dtype.kind != "f" or array.dtype.itemsize < 4 or not array.size:
        return array
    with np.errstate(invalid="ignore"):
        large = (array < -limits.SENTINEL) & np.isfinite(array)
        if not large.any():
            return array
        low, high = array[large].min(), array[large].max()
        if float(low) < limits.SENTINEL_SPREAD * float(high):
            return array
        rest = np.abs(array[(array != 0) & np.isfinite(array) & ~large])
        if not rest.size and (array == 0).any():
            rest = np.zeros(1)  # logits of an input of zeros
        if not rest.size or high - low > 2 * rest.max() - limits.SWALLOWED * low:
            return array
        if -high < limits.LARGE_RATIO * float(np.median(rest)):
            return array
        return np.where(large, -np.inf, array)


def _relative(gap: Array, reference: Array, least: float) -> float:
    squares = squared_norm(gap)
    scale = max(squared_norm(reference), least * least * reference.size)
    if not squares > 0:
        return 0.0
    return float(np.sqrt(squares / scale)) if scale > 0 else float("inf")  # it may underflow


def _typical(array: Array) -> float:
    """The median magnitude of what is not zero, from a sample."""
    flat = array.ravel(order="K")
    sample = np.abs(flat[:: max(1, flat.size // 256)])
    sample = sample[sample > 0]
    return float(np.median(sample)) if sample.size else 0.0


def as_real(flat: Array) -> Array:
    """A one-dimensional array with every complex number as its real and its imaginary part."""
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def _as_real_pair(a: Array, b: Array) -> tuple[Array, Array]:
    kind = np.result_type(a, b)
    return as_real(a.astype(kind).ravel()), as_real(b.astype(kind).ravel())


def squared_norm(array: Array) -> float:
    """The sum of squares, in one pass without a copy; a BLAS would start threads for it."""
    flat = array.ravel(order="K")
    return float(np.einsum("i,i->", flat, flat))


def squared_distance(a: Array, b: Array) -> float:
    """The sum of squares of a difference, block by block, so that nothing of full size is made."""
    total = 0.0
    with np.errstate(all="ignore"):
        if a.size <= limits.BLOCK:  # most values of most models
            return squared_norm(a - b)
        for x, y in blocks(a, b):
            gap = x - y
            total += float(np.einsum("i,i->", gap, gap))
    return total


def relative_difference(reference: Array, candidate: Array) -> float:
    """`measure(...).relative` alone, without its copies where all is finite."""
    largest = scale = 0.0
    with np.errstate(all="ignore"):
        for x, y in blocks(reference, candidate):
            scale = max(scale, float(x.max()), -float(x.min()))
            gap = x - y
            high, low = float(gap.max()), float(gap.min())
            if not np.isfinite(high - low):  # NaN or infinite in one or both
                return measure(reference, candidate).relative
            largest = max(largest, high, -low)
    return largest / scale if scale > 0 else (0.0 if largest == 0 else float("inf"))


def blocks(*arrays: Array) -> Iterator[tuple[Array, ...]]:
    """The elements of arrays of one shape, a few at a time, in one order."""
    if all(array.flags.c_contiguous for array in arrays):
        flat = [array.ravel() for array in arrays]
        for start in range(0, flat[0].size, limits.BLOCK):
            yield tuple(one[start : start + limits.BLOCK] for one in flat)
        return
    flags: Any = ["external_loop", "buffered", "zerosize_ok"]
    with np.nditer(arrays, flags=flags, order="K", buffersize=limits.BLOCK) as parts:
        yield from parts


def same_bits(a: Array, b: Array) -> bool:
    """Whether two arrays hold the same bits, signs of zero too, and lie alike in memory."""
    if a.shape != b.shape or a.dtype != b.dtype or a.dtype.kind not in "biuf":
        return False
    if not (a.flags.c_contiguous and b.flags.c_contiguous):
        return False
    return np.array_equal(a.view(f"u{a.dtype.itemsize}"), b.view(f"u{b.dtype.itemsize}"))


def same_elements(a: Array, b: Array) -> Array:
    """Which elements are equal, or NaN in both."""
    found: Array = (a == b) | (a != a) & (b != b)
    return found


def same_numbers(a: Array, b: Array) -> bool:
    """Whether two arrays are equal element by element, and NaN in the same places."""
    return a.shape == b.shape and all(same_elements(x, y).all() for x, y in blocks(a, b))


def count_mask_differences(a: Array, b: Array) -> int:
    """How many elements are NaN, or infinite of a sign, in one of the arrays only."""
    if a.dtype.kind not in "fc" and b.dtype.kind not in "fc":
        return 0
    if "c" in (a.dtype.kind, b.dtype.kind):
        a, b = _as_real_pair(a, b)
    masks = (np.where(np.isfinite(one), 0, one) for one in (a, b))
    return int(np.count_nonzero(~same_elements(*masks)))
