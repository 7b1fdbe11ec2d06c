"""Where a region has the result of a convolution or a pool, in whatever form, and another there.

A convolution by a product with columns has its result as rows, one for each window, before it is an
image again, if it becomes one at all inside the region; a pool may be the largest of slices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from parity.diagnosis.causes._arrange import alike
from parity.diagnosis.causes._sides import CaseSide
from parity.diagnosis.causes._substitution import inside_candidate, inside_reference
from parity.diagnosis.causes._window_sites import WindowSite
from parity.diagnosis.causes._windows import Places, Slide, slid
from parity.diagnosis.trial import Trial
from parity.errors import ReplayError
from parity.tape import Array

_NO_RESULT = np.empty(0)


def hidden(
    side: CaseSide, site: WindowSite | None, source: WindowSite, x: Array
) -> Iterator[tuple[WindowSite, Array]]:
    """The values of a side's region that may be a window's result: channels first, no bias.

    Those with as many channels as the window gives.

    Args:
        site: the side's own, if it has one.
        x: what the window goes over, channels first.
    """
    inside = (inside_candidate if side.is_candidate else inside_reference)(side.case)
    out = _channels(source, x)
    biases = [leaf.array for leaf in inside.view.leaves if leaf.array.shape == (out,)]
    counts = dict.fromkeys((x.shape[2:], *([] if site is None else [site.steps])))
    for value in inside.computed:
        for steps in counts:
            for last, image in _images(inside.array(value), (len(x), out, *steps)):
                result = channels_first(image, last, source.slide)
                for bias in (None,) if source.kernel is None else (None, *biases):
                    found = replace(source, side=side, at=value, channels_last=last, bias=bias)
                    yield found, without_bias(result, bias)


def target_of(
    side: CaseSide, site: WindowSite | None, source: WindowSite, slide: Slide, x: Array
) -> WindowSite | None:
    """Where in a side's region the result stands, to be replaced."""
    if site is not None and not site.is_hidden:
        return site
    made = slid(x, slide, source.kernel)
    found = hidden(side, site, source, x)
    return next((one for one, array in found if alike(array, made)), None)


def with_result(target: WindowSite, result: Array, trial: Trial) -> Array:
    """What a region gives with another result in the place of its own; empty where that fails."""
    laid = as_target(target, result)
    if laid is None:
        return _NO_RESULT
    try:
        return target.side.run(trial.given, {target.at: laid})
    except ReplayError:  # operations behind it take no other size
        return _NO_RESULT


def as_target(target: WindowSite, result: Array) -> Array | None:
    """A result, channels first and without bias, as a target's operation gives it."""
    fitting = with_rank(result, len(target.slide.size) + 2)
    if fitting is None:
        return None
    if target.bias is not None:
        fitting = without_bias(fitting, -target.bias)
    return np.ascontiguousarray(_laid(fitting, target))


def channels_first(array: Array, last: bool, slide: Slide) -> Array:
    """An array as the windows are computed here."""
    if not last:
        return array
    array = np.moveaxis(array, -1, 1)
    if (
        slide.kind == "columns"
    ):  # each place with all its channels, where others have channels first
        under = array.reshape(len(array), math.prod(slide.size), -1, *array.shape[2:])
        array = under.swapaxes(1, 2).reshape(array.shape)
    return array


def without_bias(array: Array, bias: Array | None) -> Array:
    return array if bias is None else array - bias.reshape(-1, *(1 for _ in array.shape[2:]))


def with_rank(array: Array, rank: int) -> Array | None:
    """The same with axes of length 1 before the others of space, or without them."""
    if array.ndim < rank:
        return array.reshape(*array.shape[:2], *(1,) * (rank - array.ndim), *array.shape[2:])
    extra = array.ndim - rank
    if any(n != 1 for n in array.shape[2 : 2 + extra]):
        return None
    return array.reshape(*array.shape[:2], *array.shape[2 + extra :])


def _channels(source: WindowSite, x: Array) -> int:
    if source.kernel is not None:
        return int(source.kernel.shape[source.slide.kind == "transposed"])
    channels: int = x.shape[1]
    return channels * (math.prod(source.slide.size) if source.slide.kind == "columns" else 1)


def _images(array: Array, shape: Places) -> Iterator[tuple[bool, Array]]:
    """An array as images with channels last (True) or second: it may be rows, one for each window.

    Args:
        shape: (batch, channels, *space) of what rows are; images may be of another size.
    """
    batch, out, *steps = shape
    if array.ndim == len(shape):
        yield from (
            (last, array) for last in (False, True) if array.shape[-1 if last else 1] == out
        )
    elif array.size == math.prod(shape) and 1 < array.ndim < len(shape):
        if array.shape[-1] == out:
            yield True, array.reshape(batch, *steps, out)
        if array.shape[:2] == (batch, out):
            yield False, array.reshape(shape)


def _laid(result: Array, target: WindowSite) -> Array:
    """A result, channels first, as a target has it."""
    shape = target.side.view.tape.values[target.at].shape
    if target.channels_last:
        if target.slide.kind == "columns":
            under = result.reshape(len(result), -1, math.prod(target.slide.size), *result.shape[2:])
            result = under.swapaxes(1, 2).reshape(result.shape)
        result = np.moveaxis(result, 1, -1)
    if len(shape) >= result.ndim:
        return result
    if target.channels_last:
        return result.reshape(*shape[:-2], -1, shape[-1])
    return result.reshape(*result.shape[:2], -1)
