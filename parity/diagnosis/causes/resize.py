"""Images resized from other coordinates, to another neighbour, or by another method."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Edit, Explanation, Predict, cause
from parity.diagnosis.causes._context import spatial_axes
from parity.diagnosis.causes._limits import IMAGES_AT_FIRST
from parity.diagnosis.causes._weights import changes, read_elsewhere, with_changes
from parity.diagnosis.causes.crops import cuts
from parity.diagnosis.trial import Trial
from parity.operations import POOLS, RESIZES
from parity.tape import Array

_ROUNDINGS: Mapping[str, Callable[[Array], Array]] = {
    "floor": np.floor,
    "half down": lambda at: np.ceil(at - 0.5),
    "half up": lambda at: np.floor(at + 0.5),
    "ceil": np.ceil,
}


def _linear(distance: Array) -> Array:
    return np.asarray(np.maximum(1 - np.abs(distance), 0.0))


def _cubic(distance: Array, a: float = -0.5) -> Array:
    """Keys' cubic kernel."""
    d = np.abs(distance)
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * (d**3 - 5 * d**2 + 8 * d - 4)
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


# what a pixel counts in a sample, by its distance
_KERNELS: Mapping[str, Callable[[Array], Array]] = {
    "linear": _linear,
    "cubic": partial(_cubic, a=-0.75),
    "cubic (a = -0.5)": _cubic,
    "antialiased linear": _linear,
    "antialiased cubic": _cubic,
}
_TO_THE_NEAREST = "to the nearest"  # where no sample lies half way
_USUAL = {  # of nearest neighbours
    "half-pixel": ("half down", "half up", "floor"),
    "asymmetric": ("floor",),
    "align-corners": ("half up", "half down"),
}


@dataclass(frozen=True)
class Resize:
    """How an axis is sampled.

    Attributes:
        method: "nearest", "linear", "cubic" of two kinds, "area", or those with antialiasing.
        coordinates: of sample i among `n` of `m` pixels: (i + 1/2) m/n - 1/2, i m/n, or
            i (m - 1)/(n - 1).
        rounding: of the nearest pixel's coordinate; "" for the others.
    """

    method: str
    coordinates: str
    rounding: str = ""

    def __str__(self) -> str:
        rounding = f", rounded {self.rounding}" if self.rounding else ""
        return f"{self.method} at {self.coordinates} coordinates{rounding}"


@cause("resize-coordinates", "resize-rounding", "resize-method")
def resized(case: Case) -> Iterator[Explanation]:
    """An image is resized from other coordinates, to another neighbour, or by another method.

    Looks like: a picture shifted by a fraction of a pixel; with `align_corners` only the corners
        agree.
    Proof: the image sampled anew by the formula with the candidate's coordinates and rounding gives
        the candidate's value, and with the reference's the reference's.
    """
    if cuts(case) is not None:
        return  # a part of an image, whose nearest pixels are its own
    for seen in _sights(case):
        x, end, candidate = (one(case.first) for one in (seen.x, seen.reference, seen.candidate))
        if x.ndim not in (3, 4, 5) or x.ndim != end.ndim or end.shape != candidate.shape:
            continue
        if x.shape == end.shape or any(
            x.shape[axis] != end.shape[axis] for axis in range(x.ndim) if axis not in seen.axes
        ):
            continue
        if not (all(x.shape[axis] <= end.shape[axis] for axis in seen.axes) or _resizes(case)):
            continue  # a mean over all pixels, or one of them that was chosen
        a, b = ([one for one in _ALL if _fits(one, x, v, seen.axes)] for v in (end, candidate))
        sizes = [(x.shape[axis], end.shape[axis]) for axis in seen.axes]
        for named in _distinguished(a, b, sizes):
            yield replace(
                named.explanation,
                candidate=partial(seen.resized, named.candidate),
                reference=partial(seen.resized, named.reference),
                unproved=_pooled(case),
            )
            return


@dataclass(frozen=True)
class Sight:
    """What is read and made, in the layout of one side: products flatten images on the other.

    Attributes:
        x, reference, candidate: of a trial, what is read and both ends.
        back: from that layout to the one of a trial's ends.
        axes: the places.
    """

    x: Predict
    reference: Predict
    candidate: Predict
    back: Callable[[Array], Array]
    axes: tuple[int, ...]

    def resized(self, one: Resize, trial: Trial) -> Array:
        size = tuple(self.reference(trial).shape[axis] for axis in self.axes)
        return self.back(resize(self.x(trial), size, self.axes, one))


def _sights(case: Case) -> Iterator[Sight]:
    first, order = case.first, case.order
    yield Sight(
        lambda trial: trial.x,
        lambda trial: trial.reference,
        lambda trial: trial.candidate,
        lambda array: array,
        spatial_axes(case.reference, first.x.ndim),
    )
    partners = list(case.partners.items())
    if order is None or len(partners) != 1:
        return
    ((value, partner),) = partners
    lay = case.inputs.pairs[value].order
    yield Sight(
        lambda trial: lay.apply(case.reference_values(trial.given, [partner])[0]),
        lambda trial: order.apply(trial.reference),
        lambda trial: order.apply(trial.candidate),
        case.as_reference,
        spatial_axes(case.candidate, len(case.candidate.tape.values[value].shape)),
    )


@cause("resize-coordinates", "resize-rounding", "resize-method")
def resized_by_tables(case: Case) -> Iterator[Explanation]:
    """An image is resized by products with tables that were made from other coordinates.

    Looks like: weights without a name in any checkpoint, each row of which adds up to 1.
    Proof: the reference with the candidate's tables gives the candidate's value, and the formula
        with the coordinates that are stated gives each side's tables.
    """
    found = changes(case)
    for transposed in (False, True):
        pairs = [
            [one.T if transposed else one for one in (change.leaf.array, change.now)]
            for change in found
        ]
        if not pairs or any(one.ndim != 2 or np.equal(*one.shape) for one, _ in pairs):
            continue
        reference, candidate = (
            [one for one in _ALL if all(_makes(one, pair[side]) for pair in pairs)]
            for side in (0, 1)
        )
        sizes = [table.shape[::-1] for table, _ in pairs]
        for named in _distinguished(reference, candidate, sizes):
            doubts = (read_elsewhere(case, change) for change in found)
            yield replace(
                named.explanation,
                candidate=with_changes(case, found),
                unproved=next(filter(None, doubts), ""),
            )


def _makes(one: Resize, table: Array) -> bool:
    """Whether a table is of the weights by which a formula samples an axis."""
    count, pixels = table.shape
    return bool(np.allclose(samples(pixels, count, one), table, 0, 1e-5))


@dataclass(frozen=True)
class ToldApart:
    """Two formulas that give what the two sides do, and what is said of them."""

    reference: Resize
    candidate: Resize
    explanation: Explanation


def _distinguished(
    reference: Sequence[Resize], candidate: Sequence[Resize], sizes: Sequence[tuple[int, int]]
) -> Iterator[ToldApart]:
    """Of the formulas that fit the two sides, those that are most alike.

    Args:
        sizes: the pixels and the samples along each axis.
    """
    if not reference or not candidate:
        return
    pairs = itertools.product(reference, candidate)
    a, b = (_as_far_as_seen(one, sizes) for one in min(pairs, key=lambda p: _unlike(*p)))
    if a == b:
        return
    kind = "resize-rounding" if a.rounding != b.rounding else "resize-coordinates"
    text, parameters = f"{b}; the reference is {a}", _differing(a, b, ("coordinates", "rounding"))
    if a.method != b.method:
        sides = (
            [one for one in fitting if one.method == chosen.method]
            for chosen, fitting in ((a, reference), (b, candidate))
        )
        was, now = sides
        kind, text = "resize-method", f"{_in_words(now)}; the reference is {_in_words(was)}"
        # of formulas that give the same, none is stated
        sure = (
            name
            for name in ("coordinates", "method")
            if all(len({getattr(one, name) for one in side}) == 1 for side in (was, now))
        )
        parameters = _differing(a, b, sure)
    corners = "align-corners" in parameters.get("coordinates", ())
    edit = Edit((), ("align_corners",), repr(a.coordinates == "align-corners")) if corners else None
    yield ToldApart(a, b, Explanation(kind, text, parameters=parameters, edit=edit))


def _differing(a: Resize, b: Resize, names: Iterable[str]) -> dict[str, tuple[str, str]]:
    pairs = {name: (getattr(a, name), getattr(b, name)) for name in names}
    return {name: (was, now) for name, (was, now) in pairs.items() if was != now}


def _resizes(case: Case) -> bool:
    """Whether a side has an operation that may resize: one named so, a pool, or a table."""
    ops = (*case.reference.computing, *case.candidate.computing)
    if any(op.word in RESIZES | POOLS for op in ops):
        return True
    tables = [one for view in (case.reference, case.candidate) for one in view.leaves]
    return any(one.array.ndim > 1 and one.array.dtype.kind == "f" for one in tables)


def _in_words(alike: Sequence[Resize]) -> str:
    """Formulas of one method that give the same at these sizes."""
    if len(alike) < 3:
        return " or ".join(map(str, alike))
    return f"{alike[0].method} (at coordinates that cannot be distinguished at these sizes)"


def _as_far_as_seen(one: Resize, sizes: Sequence[tuple[int, int]]) -> Resize:
    """Says nothing of what is done half way between two pixels where no sample lies there."""
    if not one.rounding.startswith("half"):
        return one
    down, up = replace(one, rounding="half down"), replace(one, rounding="half up")
    if all(np.array_equal(samples(*size, down), samples(*size, up)) for size in sizes):
        return replace(one, rounding=_TO_THE_NEAREST)
    return one


def _pooled(case: Case) -> str:
    """Why nothing may be resized: the average of two neighbours is what lies between them."""
    ops = (*case.reference.computing, *case.candidate.computing)
    pools = [op.kind for op in ops if op.word in POOLS]
    return f"{pools[0]} is computed there, which gives the same at some sizes" if pools else ""


_ALL = (
    *(
        one
        for coordinates in ("half-pixel", "asymmetric", "align-corners")
        for one in (
            Resize("linear", coordinates),
            *(Resize("nearest", coordinates, rounding) for rounding in _ROUNDINGS),
            *(Resize(method, coordinates) for method in ("cubic", "cubic (a = -0.5)")),
        )
    ),
    *(Resize(one, "half-pixel") for one in ("area", "antialiased linear", "antialiased cubic")),
)


def _unlike(a: Resize, b: Resize) -> int:
    """How much is assumed to differ; a mean of one pixel is rather its neighbour."""
    areas = sum(one.method == "area" for one in (a, b))
    unusual = sum(
        one.method == "nearest" and one.rounding not in _USUAL[one.coordinates] for one in (a, b)
    )
    return (
        unusual
        + 8 * (a.method != b.method)
        + 2 * areas
        + (a.coordinates != b.coordinates)
        + (a.rounding != b.rounding)
    )


def _fits(one: Resize, x: Array, value: Array, axes: tuple[int, ...]) -> bool:
    few = tuple(slice(None) if axis in axes else slice(IMAGES_AT_FIRST) for axis in range(x.ndim))
    found = resize(x[few], tuple(value.shape[axis] for axis in axes), axes, one)
    wanted = value[few]
    return bool(np.allclose(found, wanted, 0, 1e-5 * float(np.abs(wanted).max(initial=0.0))))


def resize(x: Array, size: tuple[int, ...], axes: tuple[int, ...], one: Resize) -> Array:
    """An array sampled anew along some axes, in float64."""
    for axis, length in zip(axes, size, strict=True):
        weights = samples(x.shape[axis], length, one)
        x = np.moveaxis(np.moveaxis(x, axis, -1) @ weights.T, -1, axis)
    return x


def samples(pixels: int, count: int, one: Resize) -> Array:
    """What each pixel counts in each sample: (count, pixels)."""
    scale = pixels / count
    i = np.arange(count)
    if one.method == "area":
        return _area(pixels, count)
    if one.coordinates == "half-pixel":
        at = (i + 0.5) * scale - 0.5
    elif one.coordinates == "asymmetric":
        at = i * scale
    else:
        at = i * ((pixels - 1) / max(count - 1, 1))
    if one.method == "nearest":
        rounded = _ROUNDINGS.get(one.rounding, _ROUNDINGS["half up"])
        # what is a whole number is one
        return _taps(pixels, [(rounded(np.round(at, 9)), np.ones(count))])
    kernel = _KERNELS[one.method]
    if one.method.startswith("antialiased"):
        weights = kernel((np.arange(pixels) - at[:, None]) / max(scale, 1.0))
        return np.asarray(weights / weights.sum(1, keepdims=True))
    low = np.floor(at)
    return _taps(pixels, [(low + k, kernel(at - low - k)) for k in (-1, 0, 1, 2)])


def _taps(pixels: int, taps: list[tuple[Array, Array]]) -> Array:
    """A table of weights from (pixel, weight) for each sample; beyond the image is its border."""
    result = np.zeros((len(taps[0][0]), pixels))
    for at, weight in taps:
        index = np.clip(at, 0, pixels - 1).astype(np.int64)
        np.add.at(result, (np.arange(len(index)), index), weight)
    return result


def _area(pixels: int, count: int) -> Array:
    """Means over the pixels that a sample covers, in full."""
    i = np.arange(count)
    start, end = i * pixels // count, -(-(i + 1) * pixels // count)
    columns = np.arange(pixels)
    inside = (columns >= start[:, None]) & (columns < end[:, None])
    result: Array = inside / inside.sum(1, keepdims=True)
    return result
