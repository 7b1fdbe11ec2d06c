"""Fingerprints that no permutation changes, and an index that finds a value by its own."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from parity.matching import limits
from parity.numerics.difference import as_real, mask_sentinels, squared_norm
from parity.tape import Array


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What is left of an array when the order of its elements is forgotten.

    Attributes:
        size: number of elements.
        exact: whether it holds integers or booleans.
        masks: how many elements are NaN, infinite and negatively infinite.
        total, norm, low, high: sum, Euclidean norm and extremes of the finite elements.
        informative: whether it holds enough distinct values to be evidence.
    """

    size: int
    exact: bool
    masks: tuple[int, int, int]
    total: float
    norm: float
    low: float
    high: float
    informative: bool

    def agrees(self, other: Fingerprint, tolerance: float) -> bool:
        """Whether arrays that differ by a relative `tolerance` could look like this."""
        if self.size != other.size or self.masks != other.masks or self.exact != other.exact:
            return False
        gap = tolerance * max(self.norm, other.norm)
        return (
            abs(self.norm - other.norm) <= gap
            and abs(self.low - other.low) <= gap
            and abs(self.high - other.high) <= gap
            and abs(self.total - other.total) <= gap * self.size**0.5
        )


def fingerprint(array: Array) -> Fingerprint:
    """The fingerprint of an array of any shape."""
    flat = array.ravel(order="K")
    exact = flat.dtype.kind not in "fc"
    if flat.size == 0:
        return Fingerprint(0, exact, (0, 0, 0), 0.0, 0.0, 0.0, 0.0, False)
    flat = as_real(flat).astype(np.float64, copy=False)
    masks = (0, 0, 0)
    low, high = float(flat.min()), float(flat.max())
    if not (high <= 1e7 and low >= -1e7):  # sentinels, or not finite
        flat = mask_sentinels(flat)
        low, high = float(flat.min()), float(flat.max())
    squares = squared_norm(flat)
    if not np.isfinite(squares):
        nans, infinite = np.isnan(flat), np.isinf(flat)
        masks = (int(nans.sum()), int(infinite.sum()), int((flat == -np.inf).sum()))
        flat = flat[~(nans | infinite)]
        if flat.size == 0:
            return Fingerprint(array.size, exact, masks, 0.0, 0.0, 0.0, 0.0, False)
        low, high = float(flat.min()), float(flat.max())
        far = max(high, -low)
        # values may be finite and their squares not
        squares = min(squared_norm(flat / far) ** 0.5 * far, 1e150) ** 2 if far else 0.0
    return Fingerprint(
        array.size,
        exact,
        masks,
        float(flat.sum()),
        squares**0.5,
        low,
        high,
        is_informative(flat, low, high),
    )


def is_informative(flat: Array, low: float, high: float) -> bool:
    """Whether an array has enough distinct values to be evidence.

    A constant, a mask, a one-hot or a dead layer looks the same in many places of many models. Up
    to three values count if one of them is no integer.
    """
    if low == high and flat.size > 1:
        return False
    if flat.size < limits.FEW_DISTINCT:
        return bool(np.any(flat != np.round(flat)))
    if len(set(flat[: limits.FIRST_ELEMENTS].tolist())) >= limits.FEW_DISTINCT:
        return True
    sample = flat[:: max(1, flat.size // 256)]
    if np.unique(sample).size >= limits.FEW_DISTINCT:
        return True
    return bool(flat.size > sample.size and np.unique(flat).size >= limits.FEW_DISTINCT)


class Index:
    """Values of one tape, to be found by fingerprint.

    Buckets by size, sorted by norm: a look-up costs the logarithm of the number of values, plus
    those that truly look alike. A bucket is made when it is first asked for, so that weights, whose
    sizes no activation has, are never read.
    """

    def __init__(self, print_of: Callable[[int], Fingerprint]) -> None:
        self._print_of = print_of
        self._waiting: dict[int, list[int]] = {}
        self._buckets: dict[int, list[tuple[float, int, Fingerprint]]] = {}

    def add(self, value: int, size: int) -> None:
        self._waiting.setdefault(size, []).append(value)

    def look_up(self, print_: Fingerprint, tolerance: float) -> Iterator[int]:
        """Values that could be within `tolerance`, those with the closest norm first."""
        bucket = self._bucket(print_.size)
        right = bisect.bisect_left(bucket, (print_.norm,))
        left = right - 1
        gap = 2 * tolerance * print_.norm
        while left >= 0 or right < len(bucket):
            below = print_.norm - bucket[left][0] if left >= 0 else np.inf
            above = bucket[right][0] - print_.norm if right < len(bucket) else np.inf
            if not min(below, above) <= gap:
                return
            below_first = right == len(bucket) or below < above  # both may be infinite
            at = left if below_first else right
            left, right = (left - 1, right) if below_first else (left, right + 1)
            _, value, found = bucket[at]
            if found.agrees(print_, tolerance):
                yield value

    def _bucket(self, size: int) -> list[tuple[float, int, Fingerprint]]:
        if size in self._waiting:
            made = []
            for value in self._waiting.pop(size):
                print_ = self._print_of(value)
                made.append((print_.norm, value, print_))
            self._buckets[size] = sorted(made, key=lambda entry: entry[:2])
        return self._buckets.get(size, [])
