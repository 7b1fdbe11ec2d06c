"""Convolutions and pools in NumPy, and how one is read off what it gives.

A convolution at every place of an amply padded image holds, at some offset and stride, whatever
any padding and stride would give. So padding and stride are found by looking a value up in it, no
matter how a framework names them or what else computes the same.

Arrays are float64 with channels first, (batch, channels, *space); kernels are (out, in / groups,
*size), of transposed convolutions (in, out / groups, *size).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from parity.diagnosis.causes._limits import (
    PADDING_BEYOND,
    PLACES_LOOKED_UP,
    STARTS_TRIED,
    STRIDES_ASSUMED,
    STRIDES_TRIED,
)
from parity.numerics.limits import ALIKE
from parity.tape import Array

Places = tuple[int, ...]  # for each axis of space
Pads = tuple[tuple[int, int], ...]  # before and after, for each axis of space
Fill = float | str  # a number, or a mode of numpy.pad

_BATCH, _OUTPUTS = 2, 8  # what is looked up; the explanation is held against everything


@dataclass(frozen=True)
class Slide:
    """What slides over an image.

    Attributes:
        kind: "conv", "transposed", "max", "mean", "columns", which are what lies under a window, or
            "pad" alone, whose windows are single places.
        size: of the slide.
        pads: of the input; of a transposed convolution what is cut off the whole result.
        fill: what padding holds.
        counted: of a mean, what it is divided by: the window's "all" places, those "inside" the
            image, or those inside the image and its "padded" border (not beyond it).
    """

    kind: str
    size: tuple[int, ...]
    pads: Pads
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int = 1
    fill: Fill = 0.0
    counted: str = "all"

    @property
    def span(self) -> tuple[int, ...]:
        """How many places the window reaches over."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.size, self.dilation, strict=True))

    def places(self, space: Sequence[int]) -> Places:
        """How many windows there are along each axis; of a transposed convolution results."""
        axes = zip(space, self.stride, self.span, self.pads, strict=True)
        if self.kind == "transposed":
            return tuple((n - 1) * s + span - b - a for n, s, span, (b, a) in axes)
        # a window larger than what it slides over has no place
        return tuple(max(0, (n + b + a - span) // s + 1) for n, s, span, (b, a) in axes)


def slid(x: Array, slide: Slide, kernel: Array | None = None) -> Array:
    """What a window gives, (batch, out, *places)."""
    if slide.kind == "transposed":
        assert kernel is not None
        return pad(spread(x, slide, kernel), tuple((-b, -a) for b, a in slide.pads))
    padded = pad(x, slide.pads, slide.fill)
    if slide.kind == "pad":
        return padded
    taps = _taps(padded, slide, slide.places(x.shape[2:]))
    if slide.kind == "conv":
        assert kernel is not None
        return _correlate(taps, slide.groups, kernel)
    if slide.kind == "columns":
        under = np.stack([*taps], 2)
        return under.reshape(len(x), -1, *under.shape[3:])
    if slide.kind == "max":
        return functools.reduce(np.maximum, taps)
    return np.asarray(functools.reduce(np.add, taps) / _counts(x.shape[2:], slide))


def pad(x: Array, pads: Pads, fill: Fill = 0.0) -> Array:
    """Pads the axes of space; what is negative is cut off."""
    wide = [(0, 0), (0, 0), *((max(b, 0), max(a, 0)) for b, a in pads)]
    if isinstance(fill, str):
        x = np.pad(x, wide, fill)  # type: ignore[call-overload]
    else:
        x = np.pad(x, wide, constant_values=fill)
    lengths = zip(x.shape[2:], pads, strict=True)
    return x[_at(slice(max(-b, 0), n - max(-a, 0)) for n, (b, a) in lengths)]


def _at(places: Iterable[slice | int]) -> tuple[slice | int, ...]:
    """An index of places in all images and channels."""
    return (slice(None), slice(None), *places)


def _taps(padded: Array, slide: Slide, places: Places) -> Iterator[Array]:
    """For each place of the window, what lies under it at every step."""
    for tap in itertools.product(*map(range, slide.size)):
        yield padded[
            _at(
                slice(t * d, t * d + max(0, (count - 1) * s + 1), s)
                for t, d, s, count in zip(tap, slide.dilation, slide.stride, places, strict=True)
            )
        ]


def _correlate(taps: Iterable[Array], groups: int, kernel: Array) -> Array:
    out, inner = kernel.shape[:2]
    weights = kernel.reshape(groups, out // groups, inner, -1)
    result = np.zeros(())
    for i, under in enumerate(taps):
        batch, _, *places = under.shape
        product = np.matmul(weights[None, ..., i], under.reshape(batch, groups, inner, -1))
        result = np.add(result, product, out=result) if i else product
    return result.reshape(batch, out, *places)


def spread(x: Array, slide: Slide, kernel: Array) -> Array:
    """The whole result of a transposed convolution, before anything is cut off.

    It is a convolution of the image with zeros between its places, by the kernel turned round.
    """
    space, ones = x.shape[2:], (1,) * len(slide.size)
    lengths = ((n - 1) * s + 1 for n, s in zip(space, slide.stride, strict=True))
    apart = np.zeros((*x.shape[:2], *lengths))
    apart[_at(slice(None, None, s) for s in slide.stride)] = x
    inner, out = kernel.shape[:2]
    grouped = kernel.reshape(slide.groups, inner // slide.groups, out, *slide.size).swapaxes(1, 2)
    turned = np.flip(grouped, range(3, grouped.ndim)).reshape(-1, *grouped.shape[2:])
    pads = tuple((n - 1, n - 1) for n in slide.span)
    return slid(apart, replace(slide, kind="conv", pads=pads, stride=ones), turned)


def _counts(space: Sequence[int], slide: Slide) -> Array | float:
    if slide.counted == "all":
        return float(np.prod(slide.size))
    border = tuple((max(b, 0),) * 2 if slide.counted == "padded" else (0, 0) for b, _ in slide.pads)
    sides = zip(slide.pads, border, strict=True)
    beyond = tuple((b - m, a - n) for (b, a), (m, n) in sides)
    inside = pad(pad(np.ones((1, 1, *space)), border, 1.0), beyond)
    counts = functools.reduce(np.add, _taps(inside, slide, slide.places(space)))
    return np.asarray(np.maximum(counts, 1.0))


# --- reading a window off a value -----------------------------------------------------------------


def read_off(
    values: Sequence[Array],
    x: Array,
    guess: Slide,
    kernel: Array | None,
    fills: tuple[Sequence[float], Sequence[float]] = ((), ()),
) -> Slide | None:
    """The window that gives one of `values` from `x`: strides, pads, dilation, fill, count.

    Args:
        values: each (batch, out, *places).
        guess: its kind, size and groups are taken as they are, the rest tried first.
        fills: numbers that padding may hold, before and after those that are usual.
    """
    values = [value for value in values if value.ndim == x.ndim and len(value) == len(x)]
    if kernel is not None and guess.groups == 1 and guess.kind == "conv":
        kernel, values = kernel[:_OUTPUTS], [value[:, :_OUTPUTS] for value in values]
    if kernel is not None:  # what a pool or padding holds may show in few places: all are held
        x, values = x[:_BATCH], [value[:_BATCH] for value in values]
    if guess.kind == "transposed":
        found = (_read_transposed(value, x, guess, kernel) for value in values)
        return next((one for one in found if one is not None), None)
    for tried in _variants(guess, fills):
        made: dict[Pads, Array] = {}
        for value in values:
            for one in _look_up(value, x, tried, kernel, made):
                if _equal(slid(x, one, kernel), value):
                    return one
    return None


def _variants(guess: Slide, fills: tuple[Sequence[float], Sequence[float]]) -> Iterator[Slide]:
    """Windows of other dilations, fillings and counts, the guess first."""
    usual: dict[str, tuple[Fill, ...]] = {
        "conv": (0.0, "reflect", "edge", "symmetric", "wrap"),
        "columns": (0.0, "reflect", "edge", "symmetric", "wrap"),
        "max": (-np.inf, 0.0, "reflect", "symmetric", "wrap"),
        "mean": (0.0, "edge", "reflect", "symmetric"),
        "pad": (0.0, "reflect", "edge", "symmetric", "wrap"),
    }
    dilations = [guess.dilation] + [(d,) * len(guess.size) for d in (1, 2, 3, 4)]
    if guess.kind in ("mean", "pad") or all(k == 1 for k in guess.size):
        dilations = dilations[:1]
    counts = ("all", "inside", "padded") if guess.kind == "mean" else ("all",)
    for fill in dict.fromkeys((*fills[0], *usual[guess.kind], *fills[1])):
        for dilation in dict.fromkeys(dilations):
            for counted in counts if fill == 0.0 else ("all",):
                yield replace(guess, dilation=dilation, fill=fill, counted=counted)


def _look_up(
    value: Array, x: Array, tried: Slide, kernel: Array | None, made: dict[Pads, Array]
) -> Iterator[Slide]:
    """Windows with the strides and pads at which a value's first places are found.

    Args:
        made: what the window gives everywhere, by how amply the image is padded; for all values.
    """
    space, places = x.shape[2:], value.shape[2:]
    corner = [min(PLACES_LOOKED_UP, n) for n in places]
    reach = [
        PLACES_LOOKED_UP * max(s, STRIDES_ASSUMED) + 2 * span
        for s, span in zip(tried.stride, tried.span, strict=True)
    ]
    x, value = x[:_BATCH], value[:_BATCH]
    if kernel is None:
        of_each = math.prod(tried.size) if tried.kind == "columns" else 1
        x, value = x[:, :_OUTPUTS], value[:, : _OUTPUTS * of_each]
    near = x if tried.fill == "wrap" or tried.kind == "pad" else x[_at(slice(n) for n in reach)]
    beyond = [
        span - 1 + PADDING_BEYOND + (max(m - n, 0) if tried.kind == "pad" else 0)
        for span, n, m in zip(tried.span, space, places, strict=True)
    ]
    if isinstance(tried.fill, str):  # an image is mirrored once
        beyond = [min(m, n - 1) for m, n in zip(beyond, near.shape[2:], strict=True)]
    ample = tuple((m, m) for m in beyond)
    counted = "all" if tried.counted == "padded" else tried.counted
    everywhere = replace(tried, pads=ample, stride=(1,) * len(space), counted=counted)
    if ample not in made:
        made[ample] = slid(near, everywhere, kernel)
    values = made[ample]
    wanted = value[_at(slice(n) for n in corner)]
    inner_only = tried.counted == "padded"
    middle = tuple(n // 2 for n in corner) if inner_only else _most(wanted, tried.fill)
    for start, stride in _where(values, wanted, tried.stride, middle, inner_only):
        before = [beyond[axis] - at for axis, at in enumerate(start)]
        ends = zip(before, places, stride, tried.span, space, strict=True)
        pads = tuple((b, (count - 1) * step + span - n - b) for b, count, step, span, n in ends)
        yield replace(tried, pads=pads, stride=stride)


def _where(
    values: Array, wanted: Array, guess: Sequence[int], middle: Places, inner_only: bool = False
) -> Iterator[tuple[Places, Places]]:
    """(start, stride) at which `wanted` is found in `values`.

    Args:
        middle: the place that is looked up first.
        inner_only: whether only the places around the middle need to agree.
    """
    if values.shape[:2] != wanted.shape[:2] or not wanted.size:
        return
    count, space = wanted.shape[2:], values.shape[2:]
    bound = ALIKE * float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0))

    def strides(at: Places, axis: int) -> Iterator[int]:
        """Strides along an axis at which the neighbour of the middle is found."""
        if count[axis] == 1:
            yield guess[axis]
            return
        sign = 1 if middle[axis] + 1 < count[axis] else -1
        beside = tuple(m + sign * (i == axis) for i, m in enumerate(middle))
        for stride in dict.fromkeys((guess[axis], *STRIDES_TRIED)):
            there = tuple(p + sign * stride * (i == axis) for i, p in enumerate(at))
            if 0 <= there[axis] < space[axis]:
                if _apart(values[_at(there)], wanted[_at(beside)]).max() <= bound:
                    yield stride

    distance = _apart(values, wanted[_at(slice(m, m + 1) for m in middle)])
    starts = np.argwhere(distance.max(axis=(0, 1)) <= bound)
    for at in starts[:STARTS_TRIED].tolist():
        for stride in itertools.product(*(strides(at, axis) for axis in range(len(space)))):
            start = tuple(p - m * s for p, m, s in zip(at, middle, stride, strict=True))
            ends = [b + (n - 1) * s for b, n, s in zip(start, count, stride, strict=True)]
            if min(start) < 0 or any(e >= n for e, n in zip(ends, space, strict=True)):
                continue
            steps = tuple(slice(b, e + 1, s) for b, e, s in zip(start, ends, stride, strict=True))
            if inner_only or _equal(values[_at(steps)], wanted):
                yield start, stride


def _apart(a: Array, b: Array) -> Array:
    """How far numbers are apart; equal infinities are not."""
    return np.where(a == b, 0.0, np.abs(a - b))


def _most(wanted: Array, fill: Fill = 0.0) -> Places:
    """The place farthest from what padding holds, or a ReLU leaves: that is found anywhere."""
    level = fill if isinstance(fill, float) and np.isfinite(fill) else 0.0
    size = np.where(np.isfinite(wanted), np.abs(wanted - level), 0.0).sum((0, 1))
    return tuple(int(i) for i in np.unravel_index(int(size.argmax()), size.shape))


def _read_transposed(value: Array, x: Array, guess: Slide, kernel: Array | None) -> Slide | None:
    assert kernel is not None
    rank = len(guess.size)
    for stride in dict.fromkeys([guess.stride, *((s,) * rank for s in (2, 1, 3, 4))]):
        tried = replace(guess, stride=stride)
        whole = spread(x, tried, kernel)
        ample = pad(whole, tuple((PADDING_BEYOND + s,) * 2 for s in stride))
        for start, _ in _where(ample, value, (1,) * rank, _most(value)):
            before = [at - PADDING_BEYOND - s for at, s in zip(start, stride, strict=True)]
            ends = zip(before, whole.shape[2:], value.shape[2:], strict=True)
            return replace(tried, pads=tuple((b, n - b - count) for b, n, count in ends))
    return None


def _equal(a: Array, b: Array) -> bool:
    if a.shape != b.shape:
        return False
    finite = np.isfinite(b)
    scale = float(np.abs(b[finite]).max(initial=0.0))
    return bool(np.allclose(a, b, 0, ALIKE * scale))
