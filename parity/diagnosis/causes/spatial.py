"""Convolutions and pools whose windows stand elsewhere: padding, strides, dilation, groups."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Edit, Explanation, cause
from parity.diagnosis.causes._context import channel_axis
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._weights import same
from parity.diagnosis.causes._window_results import (
    channels_first,
    hidden,
    target_of,
    with_rank,
    with_result,
    without_bias,
)
from parity.diagnosis.causes._window_sites import WindowSite, fills_of, site_of
from parity.diagnosis.causes._windows import Slide, read_off, slid
from parity.diagnosis.causes.combinators import all_that_fit
from parity.diagnosis.trial import Trial
from parity.tape import Array


@cause(
    *("padding-asymmetry", "padding-size", "padding-value", "pool-ceil", "count-include-pad"),
    *("stride", "dilation", "transposed-conv-crop"),
)
def windows(case: Case) -> Iterator[Explanation]:
    """A convolution's or a pool's windows stand elsewhere, or hold something else at the border.

    Looks like: a result of another size; or of the same size, shifted by a pixel, or different at
        the border only. "Same" padding with a stride pads after the image only, `padding=1` on all
        sides; ceiling and floor differ by one window at the end.
    Proof: the convolution or pool, computed anew with the candidate's padding, stride, dilation and
        filling from the reference's input and weights, gives the candidate's value, and with the
        reference's the reference's.
    """
    both = sides(case)
    seen: set[tuple[str, int]] = set()
    for source in map(site_of, both):
        if source is None:
            continue
        x = base_of(source, case.first)
        known = source.slide.kind, x.size
        if known in seen:
            continue  # the same input: only what is padded on one side shows more on the other
        seen.add(known)
        sites = [site_of(side, {source.slide.kind}) for side in both]
        reference, candidate = (
            slide_of(side, site, source, x) for side, site in zip(both, sites, strict=True)
        )
        if reference is None or candidate is None:
            continue
        explained = _difference(reference, candidate, sites, x.shape[2:])
        if explained is None:
            continue
        proposals = []
        for side, site, slide in zip(both, sites, (reference, candidate), strict=True):
            target = target_of(side, site, source, slide, x)
            if target is not None or not side.is_candidate:
                predict = partial(predicted, source, target, source.kernel)
                predictions = partial(predict, candidate), partial(predict, reference)
                proposals.append(
                    replace(explained, candidate=predictions[0], reference=predictions[1])
                )
        # what follows in the reference may take no image of the candidate's size
        yield next(all_that_fit(case, proposals), proposals[0])
        return


@cause("groups")
def groups(case: Case) -> Iterator[Explanation]:
    """A convolution's channels are in one group where they were in several, or the other way.

    Looks like: a kernel that is repeated along its input channels to make the shapes fit.
    Proof: the convolution computed anew with the candidate's groups, and the reference's kernel
        repeated (or cut) to fit them, gives the candidate's value.
    """
    both = sides(case)
    sites = [site_of(side, {"conv"}) for side in both]
    source = sites[0] or sites[1]
    if source is None or source.kernel is None:
        return
    x = base_of(source, case.first)
    kernels = (_kernels(*one, source) for one in zip(both, sites, strict=True))
    for kernel, other in itertools.product(*kernels):
        numbers = x.shape[1] // kernel.shape[1], x.shape[1] // other.shape[1]
        if numbers[0] == numbers[1] or not _begins_alike(kernel, other):
            continue
        own = replace(source, kernel=kernel, slide=replace(source.slide, groups=numbers[0]))
        slide = slide_of(both[0], sites[0], own, x)
        if slide is None:
            continue
        predict = partial(predicted, own, target_of(both[0], sites[0], own, slide, x))
        text = f"{numbers[1]} group{'s' * (numbers[1] != 1)} of channels"
        yield Explanation(
            "groups",
            f"{text}; the reference has {numbers[0]}",
            partial(predict, other, replace(slide, groups=numbers[1])),
            partial(predict, kernel, slide),
            {"groups": numbers},
            Edit((), ("groups", "group"), repr(numbers[0])),
        )
        return


def _kernels(side: CaseSide, site: WindowSite | None, source: WindowSite) -> list[Array]:
    """The kernel of a side's convolution; of a mere product what may be one, (out, in, *size)."""
    assert source.kernel is not None
    if site is not None:
        return [] if site.kernel is None else [site.kernel]
    out, _, *size = source.kernel.shape
    axes = tuple(range(source.kernel.ndim))
    leaves = [leaf.array for leaf in side.view.leaves if leaf.array.ndim == len(axes)]
    laid = (leaf.transpose(order) for leaf in leaves for order in (axes, axes[:-3:-1] + axes[:-2]))
    return [one for one in laid if one.shape == (out, one.shape[1], *size)]


def _begins_alike(one: Array, other: Array) -> bool:
    """Whether of two kernels one is the other repeated along its input channels, or begins so."""
    wide, narrow = sorted((one, other), key=lambda kernel: -kernel.shape[1])
    channels = narrow.shape[1]
    return wide.shape[1] % channels == 0 and same(narrow, wide[:, :channels])


# --- what differs ---------------------------------------------------------------------------------

Pads = tuple[tuple[int, int], ...]
BothSides = tuple[Any, Any]  # the reference's, the candidate's
_STEPS = {
    "dilation": ("dilations", "dilation_rate", "dilate", "dilation"),
    "stride": ("strides", "stride"),
}
_COUNTED = {
    "all": "all places of the window",
    "inside": "those inside the image",
    "padded": "those inside the padded image",
}


def _difference(
    reference: Slide, candidate: Slide, sites: Sequence[WindowSite | None], space: Sequence[int]
) -> Explanation | None:
    """What differs between two slides: the cause that says most, with all that goes with it."""
    both = reference, candidate
    shown = [i for i, n in enumerate(space) if n > 1 or reference.size[i] > 1] or [0]

    def pair(one: Sequence[Any], other: Sequence[Any]) -> BothSides:
        return tuple(one[i] for i in shown), tuple(other[i] for i in shown)

    steps = {
        "dilation": pair(*(_felt_dilation(one) for one in both)),
        "stride": pair(reference.stride, candidate.stride),
        "padding": pair(*(_stated(*one, space) for one in zip(both, sites, strict=True))),
    }
    parameters = {name: (was, now) for name, (was, now) in steps.items() if was != now}
    kind = next(iter(parameters), "")
    if kind in _STEPS:
        was = parameters[kind][0]
        edit = Edit((), _STEPS[kind], repr(was[0] if len(set(was)) == 1 else was))
        return _explanation(kind, parameters, edit=edit)
    places = [one.places(space) for one in both]
    before = [[b for b, _ in one.pads] for one in both]
    if before[0] != before[1] or places[0] != places[1]:
        if reference.kind != "transposed" and min(itertools.chain(*before)) < 0:
            return None  # a part of the image is read there: that is no padding
        return _difference_of_pads(reference.kind, before, places, steps["padding"])
    if reference.fill != candidate.fill:
        values = _written(reference.fill), _written(candidate.fill)
        return _explanation("padding-value", {"value": values})
    if reference.counted != candidate.counted:
        return _explanation(
            "count-include-pad",
            {"counted": (reference.counted, candidate.counted)},
            f"divides by {_COUNTED[candidate.counted]}; "
            f"the reference by {_COUNTED[reference.counted]}",
            Edit((), ("count_include_pad",), repr(reference.counted != "inside")),
        )
    return None


def _felt_dilation(slide: Slide) -> tuple[int, ...]:
    """The dilation where it makes a difference: a single place is not spread."""
    return tuple(d if k > 1 else 1 for d, k in zip(slide.dilation, slide.size, strict=True))


def _difference_of_pads(
    kind: str, before: Sequence[list[int]], places: Sequence[Sequence[int]], padding: BothSides
) -> Explanation:
    if kind == "transposed":
        return _explanation("transposed-conv-crop", {"crop": padding})
    if before[0] == before[1] and kind in ("max", "mean"):
        ceil = sum(places[1]) > sum(places[0])
        return _explanation(
            "pool-ceil",
            {"ceil": (not ceil, ceil)},
            f"{places[1]} windows; the reference has {places[0]}: the last, incomplete one is "
            + ("kept" if ceil else "left out"),
            Edit((), ("ceil_mode", "cover_all"), repr(not ceil)),
        )
    symmetric = all(b == a for one in padding for b, a in one)
    asymmetric = places[0] == places[1] and not symmetric
    return _explanation("padding-asymmetry" if asymmetric else "padding-size", {"padding": padding})


def _explanation(
    kind: str, parameters: Mapping[str, BothSides], summary: str = "", edit: Edit | None = None
) -> Explanation:
    """An explanation that is still to get its predictions."""
    lines = (f"{name} {b}, the reference's is {a}" for name, (a, b) in parameters.items())
    return Explanation(kind, summary or "; ".join(lines), parameters=parameters, edit=edit)


def _written(fill: float | str) -> float | str:
    return fill if isinstance(fill, str) or np.isfinite(fill) else str(fill)


def _stated(slide: Slide, site: WindowSite | None, space: Sequence[int]) -> Pads:
    """Padding as it was written: what no window reaches is still padding if it is written so."""
    if slide.kind == "transposed":
        return slide.pads
    both = tuple((before, before) for before, _ in slide.pads)
    counts = zip(replace(slide, pads=both).places(space), slide.places(space), strict=True)
    stated = site is not None and site.pads
    return tuple(
        (before, before if stated and before > 0 and count == own else max(after, 0))
        for (before, after), (count, own) in zip(slide.pads, counts, strict=True)
    )


# --- what it gives --------------------------------------------------------------------------------


def slide_of(side: CaseSide, site: WindowSite | None, source: WindowSite, x: Array) -> Slide | None:
    """A side's slide, read off what it gives from the source's input and kernel."""
    own, ones = (site or source).slide, (1,) * (x.ndim - 2)  # further axes are the first
    stride, dilation = ((ones + one)[-len(ones) :] for one in (own.stride, own.dilation))
    guess = replace(source.slide, stride=stride, dilation=dilation)
    fitting = (with_rank(value, x.ndim) for value in _observed(side, site, source))
    observed, fills = [one for one in fitting if one is not None], fills_of(side, site)
    found = read_off(observed, x, guess, source.kernel, fills)
    if found is not None or not (site is None or site.is_hidden):
        return found
    arrays = [array for _, array in hidden(side, site, source, x)]
    return read_off(arrays, x, guess, source.kernel, fills)


def _observed(side: CaseSide, site: WindowSite | None, source: WindowSite) -> Iterator[Array]:
    """What a side's convolution gives, channels first and without bias: its result, the end."""
    case = side.case
    if site is not None:
        (result,) = side.values(case.first.given, [site.at])
        if result.ndim == len(site.slide.size) + 2:
            yield without_bias(channels_first(result, site.channels_last, site.slide), site.bias)
    end = side.end(case.first)
    last = channel_axis(case.reference, end.ndim) == end.ndim - 1
    if source.side.is_candidate and not side.is_candidate and case.order is not None:
        end, last = case.order.apply(end), source.channels_last
    if end.ndim < 3:
        return
    end = channels_first(end, last, source.slide)
    leaves = (leaf.array for leaf in side.view.leaves if leaf.array.dtype.kind == "f")
    for bias in (None, *leaves):
        if bias is None or bias.shape == (end.shape[1],):
            yield without_bias(end, bias)


def predicted(
    source: WindowSite,
    target: WindowSite | None,
    kernel: Array | None,
    slide: Slide,
    trial: Trial,
) -> Array:
    """What a side's operations give with the result computed anew.

    Args:
        source: whose input and kernel it is computed from.
        target: where it stands; None where other operations compute the reference's, up to the end.
    """
    result = slid(base_of(source, trial), slide, kernel)
    return _as_end(source, result) if target is None else with_result(target, result, trial)


def _as_end(source: WindowSite, result: Array) -> Array:
    """A result as the reference's end, which some other operations compute."""
    if source.channels_last:
        result = np.moveaxis(result, 1, -1)
    end = source.side.view.value
    if result.size != end.size:
        return result
    result = result.reshape(end.shape)
    return source.side.case.as_reference(result) if source.side.is_candidate else result


def base_of(site: WindowSite, trial: Trial) -> Array:
    (array,) = site.side.values(trial.given, [site.base])
    return np.moveaxis(array, -1, 1) if site.channels_last else array
