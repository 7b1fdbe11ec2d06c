"""Axis orders: how the axes of one array lie in another that holds the same values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from parity.errors import ReplayError
from parity.matching import limits
from parity.matching.fingerprint import Fingerprint
from parity.numerics.difference import Extent, mask_sentinels, residual, same_elements
from parity.tape import Array


@dataclass(frozen=True, slots=True)
class Order:
    """How to lay a reference array out as its partner.

    Attributes:
        axes: the permutation of the finer of the two arrays' axes (axes of length 1 left out).
        fine: the shape that is permuted, before the permutation.
        split: whether the partner is the finer one, so that the reference is to be split.
        shape: the partner's shape.
    """

    axes: tuple[int, ...]
    fine: tuple[int, ...]
    split: bool
    shape: tuple[int, ...]

    def apply(self, reference: Array) -> Array:
        """The reference's values in the partner's shape and order; a view where possible."""
        way = self._inverse if self.split else (self.fine, self.axes)
        return _laid_out(reference, *way, self.shape)

    def takes(self, reference: Array) -> bool:
        """Whether it lays out an array: as it ran a list may be longer than in float64."""
        return reference.size == math.prod(self.fine)

    def revert(self, partner: Array, shape: tuple[int, ...]) -> Array:
        """The partner's values in the reference's order, with the reference's shape."""
        way = (self.fine, self.axes) if self.split else self._inverse
        return _laid_out(partner, *way, shape)

    @property
    def _inverse(self) -> tuple[Sequence[int], Sequence[int]]:
        """The permuted shape, and the permutation back."""
        permuted = [self.fine[axis] for axis in self.axes]
        return permuted, sorted(range(len(self.axes)), key=self.axes.__getitem__)

    @property
    def groups(self) -> frozenset[frozenset[int]]:
        """The finer array's axes, those together that are one axis of the other array."""
        if self.split:
            return frozenset(frozenset([axis]) for axis in self.axes)
        groups = []
        axes = iter(self.axes)
        for length in self.shape:
            group: set[int] = set()
            product = 1
            while product < length:
                axis = next(axes)
                group.add(axis)
                product *= self.fine[axis]
            groups.append(frozenset(group))
        return frozenset(group for group in groups if group)  # an axis of length 1 merges nothing

    @property
    def stable(self) -> bool:
        """Whether axes of one length keep their order; if not, a square was transposed."""
        lengths = [self.fine[axis] for axis in self.axes]
        pairs = itertools.combinations(zip(self.axes, lengths, strict=True), 2)
        return all(a < b for (a, length), (b, other) in pairs if length == other)

    @property
    def identity(self) -> bool:
        return self.axes == tuple(range(len(self.axes)))

    def __str__(self) -> str:
        if self.identity:
            return "same"
        if self.axes == (0, 3, 1, 2):
            return "NCHW"  # of a reference whose channels are last
        letters = "NCHW" if len(self.fine) == 4 else "abcdefghij"
        return "".join(letters[axis] for axis in self.axes)


def find_order(
    reference: Array, candidate: Array, tolerance: float, print_: Fingerprint
) -> tuple[Order, float] | None:
    """The axis order in which two arrays agree, and their residual in it.

    Axes may be permuted; neighbouring axes may be merged (a flatten) or split, but a split that
    gives the same lengths in another order is another arrangement of the values, not a layout.

    Args:
        reference, candidate: arrays of one size.
        tolerance: on the relative root mean square of the difference.
        print_: the reference's fingerprint, which knows its norm and extremes.

    Returns:
        None where no order brings them together.
    """
    a, b = reference, candidate
    if print_.masks != (0, 0, 0):
        a, b = mask_sentinels(a), mask_sentinels(b)
    extent = Extent(print_.norm, max(print_.high, -print_.low))
    if a.shape == b.shape and b.size <= limits.MEASURED_AT_ONCE:
        distance = residual(a, b, extent)  # most values lie as their partners do
        if distance <= tolerance:
            return next(orders(a.shape, b.shape)), distance
    picks = sample(b.size)
    wanted = b.ravel()[picks]
    # no single element can differ by more
    slack = 2 * tolerance * print_.norm if b.dtype.kind in "fc" else 0.0
    for order in _likely_orders(a, b, tolerance * print_.norm):
        laid_out = order.apply(a)
        found = laid_out[np.unravel_index(picks, b.shape)] if b.ndim else laid_out.reshape(1)
        if not _close(found, wanted, slack):
            continue
        distance = residual(laid_out, b, extent)
        if distance <= tolerance:
            return order, distance
    return None


def _laid_out(
    array: Array, fine: Sequence[int], axes: Sequence[int], shape: Sequence[int]
) -> Array:
    if array.size != math.prod(fine):
        raise ReplayError(
            f"{array.shape} on other inputs, where there were {math.prod(fine)} values"
        )
    result: Array = array.reshape(fine).transpose(axes).reshape(shape)
    return result


def _close(a: Array, b: Array, slack: float) -> bool:
    with np.errstate(invalid="ignore"):
        same = same_elements(a, b)
        return bool(np.all(same | (np.abs(a - b) <= slack) if slack else same))


def _likely_orders(a: Array, b: Array, allowed: float) -> Iterator[Order]:
    """The orders that sums along each axis do not rule out, up to an `allowed` norm."""
    every = orders(a.shape, b.shape)
    lengths = without_ones(a.shape)
    same = same_lengths(a.shape, b.shape)
    if not same or not limits.FEW_AXES < len(lengths) <= limits.MANY_AXES:
        yield from every
        return
    first = next(every)  # the usual one; of large arrays sums take longer
    yield first
    reference, candidate = _sums(a), _sums(b)
    if not all(np.isfinite(one).all() for one in (*reference, *candidate)):
        yield from every
        return
    may_be = [
        [
            axis
            for axis, one in enumerate(reference)
            if len(one) == len(other)
            and _close(one, other, limits.SUMS_DIFFER * allowed * (a.size / len(one)) ** 0.5)
        ]
        for other in candidate
    ]
    for axes in _choices(may_be):
        if axes != first.axes:
            yield Order(axes, lengths, False, b.shape)


def _choices(
    of_each: Sequence[Sequence[int]], taken: tuple[int, ...] = ()
) -> Iterator[tuple[int, ...]]:
    """One of each, none of them twice; in the order of permutations."""
    if len(taken) == len(of_each):
        yield taken
        return
    for one in of_each[len(taken)]:
        if one not in taken:
            yield from _choices(of_each, (*taken, one))


def _sums(array: Array) -> list[Array]:
    """For each axis that is longer than 1 the sums over all others."""
    array = array.reshape(without_ones(array.shape))
    every = set(range(array.ndim))
    with np.errstate(all="ignore"):
        return [array.sum(axis=tuple(every - {axis})) for axis in range(array.ndim)]


def without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without its axes of length 1."""
    return tuple(length for length in shape if length != 1)


def same_lengths(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two shapes have the same axes in any order, but for those of length 1."""
    return one == other or sorted(without_ones(one)) == sorted(without_ones(other))


def orders(reference: tuple[int, ...], candidate: tuple[int, ...]) -> Iterator[Order]:
    """Every axis order that fits two shapes, the identity first."""
    a, b = without_ones(reference), without_ones(candidate)
    if sorted(a) == sorted(b):
        for axes in _permutations(a):
            if tuple(a[axis] for axis in axes) == b:
                yield Order(axes, a, False, candidate)
    elif len(a) > len(b):
        for axes in _permutations(a):
            if _merges(tuple(a[axis] for axis in axes), b):
                yield Order(axes, a, False, candidate)
    elif len(a) < len(b):
        for axes in _permutations(b):
            if _merges(tuple(b[axis] for axis in axes), a):
                yield Order(axes, b, True, candidate)


def _permutations(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if len(shape) <= limits.MANY_AXES:
        yield from itertools.permutations(range(len(shape)))
    else:
        yield tuple(range(len(shape)))
        yield tuple(reversed(range(len(shape))))


def _merges(fine: tuple[int, ...], coarse: tuple[int, ...]) -> bool:
    """Whether merging neighbours of `fine` gives `coarse`."""
    at = 0
    for length in coarse:
        product = 1
        while product < length and at < len(fine):
            product *= fine[at]
            at += 1
        if product != length:
            return False
    return at == len(fine)


def sample(size: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The places of the elements of an array that set it apart from others at first."""
    if size <= limits.SAMPLED_ELEMENTS:
        return np.arange(size)
    # steps that share no factor with usual axis lengths, so that every axis varies
    return (np.arange(limits.SAMPLED_ELEMENTS, dtype=np.int64) * 104729 * 7 + size // 3) % size
