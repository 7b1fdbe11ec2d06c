"""Is what two outputs differ by accounted for by rounding, element by element?

With a32 and b32 the outputs as the models ran, and a64 and b64 those of their own float64 replays
(each model alone, nothing substituted), the triangle inequality bounds every element:

    |a32 - b32| <= |a32 - a64| + |b32 - b64| + |a64 - b64|

The first two terms are measured and are each model's own rounding: a chaotic model has much of it,
and is allowed much. So nothing is to be judged but the third: for two models of one function it is
no larger than what float32 constants leave, which is of the size of the rounding itself.

No tolerance is chosen, and no element hides behind a larger one: each has its own rounding, and its
own size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.arrays import Array
from parity.numerics import limits
from parity.numerics.difference import blocks, mask_sentinels, same_elements
from parity.numerics.limits import U32


@dataclass(frozen=True)
class Excess:
    """Where two outputs differ by most, in units of what rounding accounts for.

    Attributes:
        ratio: the difference in float64 over what rounding accounts for at that element; inf where
            one is NaN or infinite and the other is not.
        index: of the element.
        reference, candidate: the two values there, in float64.
        count: how many elements exceed the limit.
        size: how many elements there are.
    """

    ratio: float
    index: tuple[int, ...]
    reference: float
    candidate: float
    count: int
    size: int


def allowance(
    reference: tuple[Array, Array],
    candidate: tuple[Array, Array],
    measured: bool = True,
    moved: tuple[Array, Array] | None = None,
    masks: bool = True,
) -> Array:
    """What rounding accounts for in each element of two outputs.

    Args:
        reference, candidate: of each the output as the model ran and its own float64 replay, all
            four of one shape.
        measured: whether both replays were in float64 throughout.
        moved: how far rounding moved each element of either, if that was measured: then what is
            usual nearby counts no further than that.
        masks: whether large negative constants are masks.
    """
    hidden = mask_sentinels if masks else np.asarray
    sides = [
        (in_reals(hidden(ran)), in_reals(hidden(exact))) for ran, exact in (reference, candidate)
    ]
    sizes = [np.where(np.isfinite(exact), np.abs(exact), 0.0) for _, exact in sides]
    with np.errstate(all="ignore"):
        errors = [
            _without_luck(rounding(*side), size, shown)
            for side, size, shown in zip(sides, sizes, moved or (None, None), strict=True)
        ]
        own = U32 * np.maximum(*sizes)
        wide = all(ran.dtype == np.float64 for ran, _ in sides)
        if wide:
            own = limits.FLOAT64_RUNS / limits.ACCOUNTED * sizes[0]
            own += limits.FLOAT64_FLOOR * at_least_usual(sizes[0])
        allowed: Array = own + errors[0] + errors[1]
        moves: Array | float = np.inf
        if moved is not None and (wide or not measured):  # replays measure nothing there
            moves = sum(map(usually_moved, moved, sizes))
            allowed = allowed + moves
        if not measured:
            unmeasured = np.maximum(*errors)
            usual = np.minimum(at_least_usual(unmeasured), moves)
            allowed = allowed + limits.UNMEASURED * np.maximum(unmeasured, usual)
        overflown = [np.isinf(rounding(*side)) for side in sides]
        return np.where(overflown[0] | overflown[1], np.inf, allowed)


def is_accounted(
    reference: tuple[Array, Array], candidate: tuple[Array, Array], limit: float
) -> bool:
    """Whether each element's own rounding accounts for what two outputs differ by.

    It is the least that `allowance` gives, and takes no array of their size.

    Args:
        reference, candidate: see `allowance`.
        limit: how many times their rounding elements may differ by.

    Returns:
        Whether that is so. It is not known where values may be a mask's, are NaN or infinite, or
        where the models ran in float64.
    """
    if not _show_rounding(reference, candidate):
        return False
    with np.errstate(all="ignore"):
        for a, exact_a, b, exact_b in _float64_blocks(reference, candidate):
            error = np.abs(a - exact_a) + np.abs(b - exact_b)
            own = U32 * np.maximum(np.abs(exact_a), np.abs(exact_b))
            within = np.abs(exact_a - exact_b) <= limit * (own + error)
            if not (within & np.isfinite(error)).all():
                return False
            if _may_be_masked(a, exact_a, b, exact_b):
                return False
    return True


def share_beyond(
    reference: tuple[Array, Array], candidate: tuple[Array, Array], limit: float
) -> float:
    """At least how many of the elements differ by more than is accounted for, as a share of all.

    It takes no array of their size. An element is allowed the most that `allowance` ever gives it.

    Args:
        reference, candidate, limit: see `is_accounted`.
    """
    if not reference[0].size or not _show_rounding(reference, candidate):
        return 0.0
    count = 0
    with np.errstate(all="ignore"):
        for a, exact_a, b, exact_b in _float64_blocks(reference, candidate):
            if _may_be_masked(a, exact_a, b, exact_b):
                return 0.0
            allowed = U32 * np.maximum(np.abs(exact_a), np.abs(exact_b))
            for ran, exact in ((a, exact_a), (b, exact_b)):
                allowed += np.maximum(np.abs(ran - exact), limits.LUCK * U32 * np.abs(exact))
            count += np.count_nonzero(np.abs(exact_a - exact_b) > limit * allowed)
    return count / reference[0].size


def _show_rounding(reference: tuple[Array, Array], candidate: tuple[Array, Array]) -> bool:
    """Whether replays in float64 measure what the runs round: not if both ran in it."""
    floats = all(one.dtype.kind == "f" for one in (*reference, *candidate))
    return floats and not reference[0].dtype == candidate[0].dtype == np.float64


def _float64_blocks(
    reference: tuple[Array, Array], candidate: tuple[Array, Array]
) -> Iterator[tuple[Array, ...]]:
    for block in blocks(*reference, *candidate):
        yield tuple(one.astype(np.float64) for one in block)


def _may_be_masked(*arrays: Array) -> bool:
    return bool(min(one.min() for one in arrays) < -limits.SENTINEL)


def root_mean_square(sizes: Array, **options: Any) -> Array:
    """Of an array, along some of its axes; the options are those of `np.median`."""
    found: Array = np.sqrt(np.mean(np.square(sizes), **options))
    return found


def lower_quartile(sizes: Array, **options: Any) -> Array:
    """The same, of values of which most may be noisy and excuse no other."""
    found: Array = np.quantile(sizes, 0.25, method="lower", **options)
    return found


def usually_moved(
    moved: Array, size: Array, usual_of: Callable[..., Array] = root_mean_square
) -> Array:
    """How far rounding moves elements; of those that it misses, what is usual of their size.

    Args:
        usual_of: see `at_least_usual`.
    """
    with np.errstate(all="ignore"):
        share = np.where(size > 0, moved / size, 0.0)
        usual = np.minimum(at_least_usual(moved, usual_of), at_least_usual(share, usual_of) * size)
    found: Array = np.maximum(moved, usual)
    return found


def lost_of_ones(reference: Array) -> float:
    """What float32 loses of small values that 1 is added to, as in log(1 + exp(x)), a few times.

    It is not supposed of values that are all small.
    """
    largest = np.abs(reference[np.isfinite(reference)]).max(initial=0.0)
    return 4 * U32 if largest >= limits.NEAR_ONE else 0.0


def rounded_constants(reference: Array, candidate: Array) -> Array:
    """By how much elements of two constants may differ because they were computed in float32.

    A support from -10 to 10 has the rounding of its ends in the middle. That shows all over it:
    what a single element differs by is not excused by the others' size, but by their differences.

    Args:
        reference, candidate: in float64, of one shape.
    """
    with np.errstate(all="ignore"):
        gap = np.abs(in_reals(reference) - in_reals(candidate))
    gap = np.where(np.isfinite(gap), gap, 0.0)
    square = np.square(gap)
    others = (square.sum() - square) / max(gap.size - 1, 1)
    sizes = np.abs(in_reals(reference))
    largest = float(sizes[np.isfinite(sizes)].max(initial=0.0))
    found: Array = np.minimum(np.sqrt(np.maximum(others, 0.0)), U32 / 4 * largest)
    return found


def is_progression(array: Array) -> bool:
    """Whether values rise evenly along an axis, as a support that was made of its ends.

    Each is then off by a rounding of the ends, however small it is itself.
    """
    if array.dtype.kind != "f" or not np.isfinite(array).all():
        return False
    wide = array.astype(np.float64)
    least = 8.0 * U32 * np.abs(wide).max(initial=0.0)
    for axis, size in enumerate(array.shape):
        lines = np.moveaxis(wide, axis, 0).reshape(size, -1)
        if size < 3 or abs(lines[0, 0] - 2 * lines[1, 0] + lines[2, 0]) > least:
            continue  # nearly always
        even = np.abs(np.diff(lines, 2, 0)) <= least
        if even.all() and (np.abs(np.diff(lines, 1, 0)) > least).all():
            return True
    return False


def excess(
    reference: Array,
    candidate: Array,
    allowed: Array,
    masks: bool = True,
    limit: float = limits.ACCOUNTED,
) -> Excess:
    """What two outputs differ by that no rounding accounts for.

    Args:
        reference, candidate: in float64, of one shape.
        allowed, masks: see `allowance`.
        limit: how many times what is allowed an element may differ by.
    """
    shape = reference.shape
    reference, candidate = of_one_kind(reference, candidate)
    if masks and "c" not in (reference.dtype.kind, candidate.dtype.kind):
        reference, candidate = mask_sentinels(reference), mask_sentinels(candidate)
    a, b = in_reals(reference), in_reals(candidate)
    with np.errstate(all="ignore"):
        over: Array = np.full(a.shape, np.inf)  # integers are equal or not
        if a.dtype.kind == b.dtype.kind == "f":
            over = np.abs(a - b) / allowed
            # where a replay overflows and the run does not, it measures nothing: the runs count
            over = np.where(np.isnan(over), np.where(np.isposinf(allowed), 0.0, np.inf), over)
        over = np.where(same_elements(a, b), 0.0, over)
    if not over.size:
        return Excess(0.0, (), 0.0, 0.0, 0, 0)
    index = tuple(int(i) for i in np.unravel_index(int(over.argmax()), over.shape))
    values = float(over[index]), index[: len(shape)], float(a[index]), float(b[index])
    return Excess(*values, int(np.count_nonzero(over > limit)), over.size)


def rounding(ran: Array, exact: Array) -> Array:
    """The error of each element as a model ran, in its own units; inf where the run overflowed."""
    ran, exact = in_reals(ran), in_reals(exact)
    with np.errstate(all="ignore"):
        error = np.abs(ran.astype(np.float64) - exact.astype(np.float64))
        unlike = np.isfinite(ran) != np.isfinite(exact)
        found: Array = np.where(np.isnan(error), np.where(unlike, np.inf, 0.0), error)
    return found


def _without_luck(error: Array, size: Array, moved: Array | None) -> Array:
    usual = np.minimum(at_least_usual(error), limits.LUCK * U32 * size)
    found: Array = np.maximum(error, usual if moved is None else np.minimum(usual, moved))
    return found


def at_least_usual(sizes: Array, usual_of: Callable[..., Array] = root_mean_square) -> Array:
    """Each value, or if it is larger what is usual among its neighbours along some axis.

    An element may be right by luck. The least of the axes' root mean squares counts, so that a
    column beside a larger one has its own.

    Args:
        usual_of: gives that of values; of `np.median`, a few noisy ones excuse no other.
    """
    finite = np.where(np.isfinite(sizes), sizes, 0.0)
    usual: Array | None = None
    for axis in range(sizes.ndim):
        if sizes.size >= limits.POOL * sizes.shape[axis]:
            others = tuple(i for i in range(sizes.ndim) if i != axis)
            along = usual_of(finite, axis=others, keepdims=True)
            usual = along if usual is None else np.minimum(usual, along)
    return sizes if usual is None else np.maximum(sizes, usual)


def largest_beside(sizes: Array) -> Array | float:
    """The largest of an element's row or column, whichever is less; of few values, of them all."""
    found: Array | float = float(sizes.max(initial=0.0))
    for axis in range(sizes.ndim):
        if sizes.size >= limits.POOL * sizes.shape[axis] > 0:
            others = tuple(i for i in range(sizes.ndim) if i != axis)
            found = np.minimum(found, sizes.max(axis=others, keepdims=True))
    return found


def elementwise(
    reference: Array, candidate: Array, error: Array, moved: Array | None = None
) -> float:
    """The largest difference of any element, over that element's own scale.

    Args:
        reference, candidate: in float64, of one shape.
        error: the rounding of the reference's elements, as `rounding` gives it.
        moved: how far rounding moved them, as for `allowance`.

    Returns:
        A relative difference: an element's scale is its magnitude, or what its rounding in float32
        is the rounding of, where terms cancelled.
    """
    if "c" in (reference.dtype.kind, candidate.dtype.kind):
        a, b = map(in_reals, of_one_kind(reference, candidate))
        if error.shape != a.shape:  # the reference is real, and has one for both parts
            error, moved = error[..., None], None if moved is None else moved[..., None]
        return elementwise(a, b, np.broadcast_to(error, a.shape), moved)
    if reference.dtype.kind != "f" or candidate.dtype.kind != "f":
        return 0.0 if np.array_equal(reference, candidate) else float("inf")
    reference, candidate = mask_sentinels(reference), mask_sentinels(candidate)
    with np.errstate(all="ignore"):
        gap = np.abs(reference - candidate)
        size = np.abs(reference)
        gap = np.maximum(gap - limits.FLOAT64_FLOOR * at_least_usual(size), 0.0)
        relative = gap / (size + _without_luck(error, size, moved) / U32)
        relative = np.where(np.isnan(relative), np.inf, relative)
        relative = np.where(same_elements(reference, candidate), 0.0, relative)
    return float(relative.max(initial=0.0))


def of_one_kind(*arrays: Array) -> tuple[Array, ...]:
    """All as complex numbers if one of them holds such."""
    if not any(array.dtype.kind == "c" for array in arrays):
        return arrays
    return tuple(array.astype(np.complex128) for array in arrays)


def in_reals(array: Array) -> Array:
    """An array with every complex number as two, along an axis of its own."""
    array = np.asarray(array)
    if array.dtype.kind != "c":
        return array
    return np.stack([array.real, array.imag], axis=-1)
