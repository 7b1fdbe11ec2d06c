"""What a region computes, as a normalisation: found by asking it, not by its operations.

A normalisation is (x - mean) / divisor * scale + offset, the divisor made of the spread of x and of
an epsilon. On huge inputs the epsilon is nothing, and what is left shows over which axes the spread
is taken, and the scale; on tiny inputs it is nearly all there is; the odd and the even part of
the response tell scale and offset apart. So each is read off by itself, whatever the size of the
user's inputs, and however the framework computes it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from parity.diagnosis import limits
from parity.diagnosis.case import Case
from parity.diagnosis.trial import Predict
from parity.tape import Array

# An inside epsilon is added to the variance, an outside one to its root; else it is the least
# divisor that there is.
Placement = Literal["inside", "outside", "least"]


@dataclass(frozen=True)
class Statistics:
    """Over what the mean and the spread are taken.

    Attributes:
        axes: that are averaged over, none of them negative.
        groups: of neighbouring channels, into which the axis `split` of `axes` falls apart.
        centred: whether the mean is taken off.
    """

    axes: tuple[int, ...]
    groups: int = 1
    split: int = -1
    centred: bool = True

    def count(self, shape: tuple[int, ...]) -> int:
        """How many numbers one mean is over."""
        return int(np.prod([shape[axis] for axis in self.axes])) // self.groups

    def of(self, x: Array) -> tuple[Array, Array]:
        """x, centred if that is done, and its spread, the root mean square, both like x."""
        folded, axes = x, self.axes
        if self.groups > 1:
            shape = x.shape
            at = self.split
            parts = (self.groups, shape[at] // self.groups)
            folded = x.reshape(*shape[:at], *parts, *shape[at + 1 :])
            axes = tuple(axis + (axis >= at) for axis in axes)
        if self.centred:
            folded = folded - folded.mean(axis=axes, keepdims=True)
        spread = np.sqrt(np.square(folded).mean(axis=axes, keepdims=True))
        return folded.reshape(x.shape), np.broadcast_to(spread, folded.shape).reshape(x.shape)


@dataclass(frozen=True)
class Normalisation:
    """(x - mean) / divisor * scale + offset.

    Attributes:
        least: the divisor where the spread is zero: the epsilon, or its root if it is inside.
        scale, offset: like x, or to be broadcast to it.
    """

    statistics: Statistics
    placement: Placement
    least: float
    scale: Array
    offset: Array

    def __call__(self, x: Array) -> Array:
        centred, spread = self.statistics.of(x)
        result: Array = centred / self.divisor(spread) * self.scale + self.offset
        return result

    def divisor(self, spread: Array) -> Array:
        if self.placement == "inside":
            return np.hypot(spread, self.least)
        return (
            spread + self.least if self.placement == "outside" else np.maximum(spread, self.least)
        )

    @property
    def _of_the_sum(self) -> float:
        """What an epsilon has as a factor where it goes with the sum of squares, not the mean."""
        return self.statistics.count(self.scale.shape) ** 0.5 if self.to_unit_length else 1.0

    @property
    def epsilon(self) -> float:
        """As a person writes it."""
        return plain((self.least * self._of_the_sum) ** (2 if self.placement == "inside" else 1))

    @property
    def where_epsilon_is(self) -> str:
        """In words, by what the divisor is."""
        if self.placement == "least":
            return "as the least divisor"
        if self.to_unit_length and not self.statistics.centred:
            spread = "sum of squares", "norm"
        elif self.statistics.centred:
            spread = "variance", "standard deviation"
        else:
            spread = "mean square", "root of the mean square"
        return f"added to the {spread[self.placement == 'outside']}"

    @property
    def to_unit_length(self) -> bool:
        """Whether the divisor is the root of the sum of squares, not of their mean."""
        count = self.statistics.count(self.scale.shape)
        return count > 1 and same(self.scale, np.full_like(self.scale, count**-0.5))

    def with_epsilon(self, epsilon: float) -> Normalisation:
        """The same with another epsilon, in the terms of `epsilon`."""
        root = epsilon ** (0.5 if self.placement == "inside" else 1.0)
        return replace(self, least=root / self._of_the_sum)


@dataclass(frozen=True)
class AffineMap:
    """x * scale + offset with fixed numbers: a batch normalisation by its running statistics."""

    scale: Array
    offset: Array

    def __call__(self, x: Array) -> Array:
        result: Array = x * self.scale + self.offset
        return result


@dataclass(frozen=True)
class LocalResponse:
    """x / (bias + alpha * sum of the squares of `size` neighbours along `axis`) ** beta."""

    axis: int
    size: int
    alpha: float
    beta: float
    bias: float

    def __call__(self, x: Array) -> Array:
        divisor = (
            self.bias + self.alpha * window_sum(np.square(x), self.axis, self.size)
        ) ** self.beta
        result: Array = x / divisor
        return result


Form = Normalisation | AffineMap


def layout(case: Case) -> tuple[int, ...]:
    """The reference's shape, or the candidate's if that has only split the reference's axes."""
    order = case.order
    if order is not None and order.split and order.identity:
        return order.shape
    return case.first.reference.shape


def of_form(case: Case, form: Callable[[Array], Array]) -> Predict:
    """Predicts by a form that was found in the layout of a case."""
    shape = layout(case)
    return lambda trial: form(trial.x.reshape(shape)).reshape(trial.x.shape)


class Probes:
    """The responses of both sides of a case to inputs made up for the purpose."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._shape = layout(case)
        self._at = cache(self._ask)

    def response(self, side: int, draw: int, factor: float) -> tuple[Array, Array, Array]:
        """Normal numbers times a factor, and the odd and the even part of what is made of them.

        Args:
            side: 0 for the reference, 1 for the candidate.
            draw: which normal numbers.
        """
        x, values = self._at(draw, factor)
        there, back = (value[side].reshape(self._shape) for value in values)
        return x.reshape(self._shape), (there - back) / 2, (there + back) / 2

    def _ask(self, draw: int, factor: float) -> tuple[Array, list[tuple[Array, Array]]]:
        random = np.random.default_rng(draw)
        supplied = self._case.redrawn(lambda array: factor * random.standard_normal(array.shape))
        there = self._case.probe(supplied)
        turned = {root: -x if x.dtype.kind == "f" else x for root, x in supplied.items()}
        back = self._case.probe(turned)
        return there.x, [(one.reference, one.candidate) for one in (there, back)]


def describe(probes: Probes, side: int) -> Form | None:
    """What one side of a case computes, if it is a normalisation of its single input."""
    draws = [probes.response(side, draw, factor) for draw, factor in limits.HUGE_INPUTS.items()]
    x, odd, offset = draws[0]
    if x.shape != odd.shape or x.ndim < 1 or x.size < 4:
        return None
    if not all(np.isfinite(part).all() for draw in draws for part in draw):
        return None
    if not _small(offset - draws[1][2], odd):
        return None
    scale = _ratio([(x, odd) for x, odd, _ in draws])
    if scale is not None:
        reference = [probes.response(side, draw, 1.0) for draw in (1, 2)]
        return AffineMap(scale, reference[0][2])
    if _size(draws[1][1]) > 30 * _size(odd):
        return None
    for statistics in _statistics(x.shape):
        part = _independent_part(statistics, x.shape)
        if _ratio([(_standard(statistics, x[part]), odd[part]) for x, odd, _ in draws]) is None:
            continue
        scale = _ratio([(_standard(statistics, x), odd) for x, odd, _ in draws])
        if scale is not None:
            return _with_divisor(probes, side, statistics, scale, offset)
    return None


def _with_divisor(
    probes: Probes, side: int, statistics: Statistics, scale: Array, offset: Array
) -> Normalisation | None:
    """The normalisation of which all but the epsilon is known."""
    found = Normalisation(statistics, "inside", 0.0, scale, offset)
    near = _magnitude_of_least(probes, side, found)
    if near is None:
        return found
    draws = [probes.response(side, 1, factor * near) for factor in (1e-4, 1.0)]
    placements: tuple[Placement, ...] = ("inside", "outside", "least")
    for placement in placements:
        found = replace(found, placement=placement, least=near)
        for _ in range(limits.EPSILON_ITERATIONS):  # the response to small inputs is as 1 / least
            response = found(draws[0][0]) - offset
            share = float(np.vdot(response, draws[0][1]) / np.vdot(response, response))
            if not share > 0:
                break
            found = replace(found, least=found.least / share)
        if all(_small(found(x) - offset - odd, odd) for x, odd, _ in draws):
            return found
    return None


def _magnitude_of_least(probes: Probes, side: int, whole: Normalisation) -> float | None:
    """How small inputs have to be for the epsilon to count; None if it never does."""
    for factor in limits.SMALL_INPUTS:
        x, odd, _ = probes.response(side, 1, factor)
        full = _size(whole(x) - whole.offset)
        share = _size(odd) / full if full > 0 else 1.0
        if share <= 0:
            return None
        if share < 0.5:
            return factor / share
    return None


def describe_local(probes: Probes, side: int) -> LocalResponse | None:
    """What one side of a case computes, if it is a local response normalisation."""
    x, odd, offset = probes.response(side, 1, 1e-9)
    if x.ndim < 3 or not _size(offset) <= limits.FITS_FORMULA * _size(odd):
        return None
    small = float(np.vdot(x, odd) / np.vdot(x, x))
    if small <= 0 or not _small(odd - small * x, odd):
        return None
    x, odd, _ = probes.response(side, 1, 1e9)
    for axis in {1, x.ndim - 1}:
        found = _of_windows(x, odd, axis, small)
        if found is None:
            continue
        # where bias and sum count alike: what merely saturates is distinguished
        x, odd, _ = probes.response(side, 1, (found.bias / found.alpha) ** 0.5)
        if _small(found(x) - odd, odd):
            return found
    return None


def _of_windows(x: Array, y: Array, axis: int, small: float) -> LocalResponse | None:
    """The local response that makes y of huge x, and of tiny x `small` times as much."""
    columns = [np.moveaxis(array, axis, -1).reshape(-1, array.shape[axis]) for array in (x, y)]
    some = slice(None, None, max(1, len(columns[0]) // limits.WINDOW_COLUMNS))
    x, y = (array[some] for array in columns)
    logarithm = np.log(x / y)
    if not np.isfinite(logarithm).all() or np.ptp(logarithm) <= limits.FITS_FORMULA:
        return None
    for size in range(1, min(2 * x.shape[1], limits.WIDEST_WINDOW)):
        squares = np.log(window_sum(np.square(x), 1, size))
        beta, constant = np.polyfit(squares.ravel(), logarithm.ravel(), 1)
        if beta > 1e-2 and _size(logarithm - beta * squares - constant) <= limits.FITS_FORMULA:
            alpha, bias = float(np.exp(constant / beta)), small ** (-1 / beta)
            return LocalResponse(axis, size, plain(alpha), plain(float(beta)), plain(bias))
    return None


def window_sum(array: Array, axis: int, size: int) -> Array:
    """The sum over `size` neighbours along an axis, of an even size one more before than after."""
    widths = [(0, 0)] * array.ndim
    widths[axis] = size // 2, (size - 1) // 2
    return np.asarray(sliding_window_view(np.pad(array, widths), size, axis).sum(-1))


def _statistics(shape: tuple[int, ...]) -> Iterator[Statistics]:
    """Last axes first, then all but the batch, then any; then groups of channels."""
    rank = len(shape)
    usual = [(rank - 1,), tuple(range(1, rank)), tuple(range(2, rank)), tuple(range(1, rank - 1))]
    counts = range(1, rank + 1)
    subsets = (axes for n in counts for axes in itertools.combinations(range(rank), n))
    found: dict[tuple[int, ...], tuple[int, ...]] = {}
    for axes in (*usual, *subsets):  # the first of those that are one but for axes of length 1
        found.setdefault(tuple(axis for axis in axes if shape[axis] > 1), axes)
    for long, axes in found.items():
        if long:
            yield from (Statistics(axes), Statistics(axes, centred=False))
    whole = tuple(range(1, rank))
    for split in {1, rank - 1} if rank > 1 else set():
        for groups in range(2, shape[split]):
            if shape[split] % groups == 0:
                yield Statistics(whole, groups, split)


def _independent_part(statistics: Statistics, shape: tuple[int, ...]) -> tuple[slice, ...]:
    """A small part that has statistics of its own: the first two of the longest other axis."""
    others = [axis for axis in range(len(shape)) if axis not in statistics.axes]
    longest = max(others, key=lambda axis: shape[axis], default=-1)
    return tuple(slice(2) if axis == longest else slice(None) for axis in range(len(shape)))


def _standard(statistics: Statistics, x: Array) -> Array:
    centred, spread = statistics.of(x)
    return np.asarray(centred / spread)


def _ratio(pairs: list[tuple[Array, Array]]) -> Array | None:
    """The factor, the same for every draw, that makes the second of each pair of the first."""
    sizes = [_size(a) for a, _ in pairs]
    weights = np.sum([np.square(a / size) for (a, _), size in zip(pairs, sizes, strict=True)], 0)
    products = np.sum([a * (b / size**2) for (a, b), size in zip(pairs, sizes, strict=True)], 0)
    ratio: Array = products / weights
    if not np.isfinite(ratio).all():
        return None
    return ratio if all(_small(b - ratio * a, b) for a, b in pairs) else None


def _small(gap: Array, compared: Array) -> bool:
    size = _size(compared)
    return size > 0 and _size(gap) <= limits.FITS_FORMULA * size


def _size(array: Array) -> float:
    return float(np.sqrt(np.mean(np.square(array))))


def same(a: Array | float, b: Array | float) -> bool:
    """Whether numbers, broadcast, are one but for rounding to float32."""
    slack = 1e-7 * float(np.abs(b).max(initial=0.0))
    return np.allclose(a, b, rtol=limits.FITS_FORMULA, atol=slack)


def same_affine(a: Form, b: Form) -> bool:
    """Whether two forms have one scale and one offset."""
    slack = 1e-7 * float(np.abs(a.scale).max())
    return same(a.scale, b.scale) and np.allclose(a.offset, b.offset, rtol=1e-6, atol=slack)


def plain(number: float, within: float = 1e-7, digits: int = 5) -> float:
    """The decimal of few digits that is the number within a relative distance, or itself."""
    decimals = (float(f"{number:.{count}e}") for count in range(digits))
    return next((one for one in decimals if abs(one - number) <= within * abs(number)), number)
