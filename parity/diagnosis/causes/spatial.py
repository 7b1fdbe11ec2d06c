"""Convolutions and pools whose windows stand elsewhere: padding, strides, dilation, groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Edit, Explanation, cause
from parity.diagnosis.causes._arrange import alike
from parity.diagnosis.causes._context import channel_axis
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._substitution import inside_candidate, inside_reference
from parity.diagnosis.causes._weights import same, with_leaves
from parity.diagnosis.causes._window_sites import WindowSite, fills_of, site_of
from parity.diagnosis.causes._windows import Slide, read_off, slid
from parity.diagnosis.trial import Trial
from parity.tape import Array

_NO_RESULT = np.empty(0)


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
    sites = [site_of(side) for side in sides(case)]
    seen: set[tuple[str, int]] = set()
    for source in sites:
        if source is None:
            continue
        x = _base(source, case.first)
        known = source.slide.kind, x.size
        if known in seen:
            continue  # the same input: only what is padded on one side shows more on the other
        seen.add(known)
        found = [
            _slide_of(side, site, source, x) for side, site in zip(sides(case), sites, strict=True)
        ]
        if found[0] is None or found[1] is None:
            continue
        explained = _difference(found[0], found[1], sites, x.shape[2:])
        if explained is None:
            continue
        target = _target(case, sites[0], source, found[0], x)
        candidate, reference = (
            partial(_predicted, case, source, target, slide, source.kernel)
            for slide in (found[1], found[0])
        )
        yield replace(explained, candidate=candidate, reference=reference)
        return


@cause("groups")
def groups(case: Case) -> Iterator[Explanation]:
    """A convolution's channels are in one group where they were in several, or the other way.

    Looks like: a kernel that is repeated along its input channels to make the shapes fit.
    Proof: the convolution computed anew with the candidate's groups, and the reference's kernel
        repeated (or cut) to fit them, gives the candidate's value.
    """
    reference, candidate = (site_of(side) for side in sides(case))
    if reference is None or candidate is None:
        return
    numbers = reference.slide.groups, candidate.slide.groups
    if numbers[0] == numbers[1] or {reference.slide.kind, candidate.slide.kind} != {"conv"}:
        return
    if not _begins_alike(reference.kernel, candidate.kernel):
        return
    x = _base(reference, case.first)
    slide = _slide_of(reference.side, reference, reference, x)
    if slide is None:
        return
    target = _target(case, reference, reference, slide, x)
    other = replace(slide, groups=numbers[1])
    yield Explanation(
        "groups",
        f"{numbers[1]} group{'s' * (numbers[1] != 1)} of channels; the reference has {numbers[0]}",
        partial(_predicted, case, reference, target, other, candidate.kernel),
        partial(_predicted, case, reference, target, slide, reference.kernel),
        {"groups": numbers},
        Edit((), ("groups", "group"), repr(numbers[0])),
    )


def _begins_alike(one: Array | None, other: Array | None) -> bool:
    """Whether of two kernels one is the other repeated along its input channels, or begins so."""
    if one is None or other is None:
        return False
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
        "dilation": pair(reference.dilation, candidate.dilation),
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


def _slide_of(
    side: CaseSide, site: WindowSite | None, source: WindowSite, x: Array
) -> Slide | None:
    """A side's slide, read off what it gives from the source's input and kernel."""
    own, ones = (site or source).slide, (1,) * (x.ndim - 2)  # further axes are the first
    stride, dilation = ((ones + one)[-len(ones) :] for one in (own.stride, own.dilation))
    guess = replace(source.slide, stride=stride, dilation=dilation)
    fitting = (_with_rank(value, x.ndim) for value in _observed(side, site, source))
    observed, fills = [one for one in fitting if one is not None], fills_of(side)
    found = read_off(observed, x, guess, source.kernel, fills)
    if found is not None or source.kernel is None or not _is_hidden(site):
        return found
    hidden = [array for _, array in _hidden(side, source)]
    return read_off(hidden, x, guess, source.kernel, fills)


def _is_hidden(site: WindowSite | None) -> bool:
    """Whether a convolution is computed by a product, so that its result is to be looked for."""
    return site is None or site.op.word == "columns"


def _hidden(side: CaseSide, source: WindowSite) -> Iterator[tuple[WindowSite, Array]]:
    """The values of a side's region that may be a convolution's result: channels first, no bias.

    Those with as many channels as the kernel gives.
    """
    assert source.kernel is not None
    inside = (inside_candidate if side.is_candidate else inside_reference)(side.case)
    out, rank = len(source.kernel), len(source.slide.size) + 2
    biases = [leaf.array for leaf in inside.view.leaves if leaf.array.shape == (out,)]
    for value in inside.computed:
        array = inside.array(value)
        for last in (False, True):
            if array.ndim != rank or array.shape[-1 if last else 1] != out:
                continue
            result = _channels_first(array, last)
            for bias in (None, *biases):
                site = replace(source, side=side, at=value, channels_last=last, bias=bias)
                yield site, _without_bias(result, bias)


def _target(
    case: Case, site: WindowSite | None, source: WindowSite, slide: Slide, x: Array
) -> WindowSite | None:
    """Where in the reference's region the result stands, to be replaced."""
    if site is not None and not _is_hidden(site):
        return site if site.slide.kind == source.slide.kind else None
    if source.kernel is None:
        return None
    made = slid(x, slide, source.kernel)
    hidden = _hidden(sides(case)[0], source)
    return next((one for one, array in hidden if alike(array, made)), None)


def _observed(side: CaseSide, site: WindowSite | None, source: WindowSite) -> Iterator[Array]:
    """What a side's convolution gives, channels first and without bias: its result, the end."""
    case = side.case
    if site is not None:
        (result,) = side.values(case.first.given, [site.at])
        if result.ndim == len(site.slide.size) + 2:
            yield _without_bias(_channels_first(result, site.channels_last), site.bias)
    end = side.end(case.first)
    last = channel_axis(case.reference, end.ndim) == end.ndim - 1
    if source.side.is_candidate and not side.is_candidate and case.order is not None:
        end, last = case.order.apply(end), source.channels_last
    if end.ndim < 3:
        return
    end = _channels_first(end, last)
    leaves = (leaf.array for leaf in side.view.leaves if leaf.array.dtype.kind == "f")
    for bias in (None, *leaves):
        if bias is None or bias.shape == (end.shape[1],):
            yield _without_bias(end, bias)


def _predicted(
    case: Case,
    source: WindowSite,
    target: WindowSite | None,
    slide: Slide,
    kernel: Array | None,
    trial: Trial,
) -> Array:
    """What the reference's operations give with the result computed anew.

    Args:
        source: whose input and kernel it is computed from.
        target: the reference's; None where other operations compute it, up to the end.
    """
    result = slid(_base(source, trial), slide, kernel)
    if target is None:
        return _as_end(source, result)
    fitting = _with_rank(result, len(target.slide.size) + 2)
    if fitting is None:
        return _NO_RESULT
    if target.bias is not None:
        fitting = _without_bias(fitting, -target.bias)
    if target.channels_last:
        fitting = np.moveaxis(fitting, 1, -1)
    return with_leaves(case, {target.at: np.ascontiguousarray(fitting)})(trial)


def _as_end(source: WindowSite, result: Array) -> Array:
    """A result as the reference's end, which some other operations compute."""
    if source.channels_last:
        result = np.moveaxis(result, 1, -1)
    end = source.side.view.value
    if result.size != end.size:
        return result
    result = result.reshape(end.shape)
    return source.side.case.as_reference(result) if source.side.is_candidate else result


def _base(site: WindowSite, trial: Trial) -> Array:
    return _channels_first(site.side.values(trial.given, [site.base])[0], site.channels_last)


def _channels_first(array: Array, last: bool) -> Array:
    return np.moveaxis(array, -1, 1) if last else array


def _without_bias(array: Array, bias: Array | None) -> Array:
    return array if bias is None else array - bias.reshape(-1, *(1 for _ in array.shape[2:]))


def _with_rank(array: Array, rank: int) -> Array | None:
    """The same with axes of length 1 before the others of space, or without them."""
    if array.ndim < rank:
        return array.reshape(*array.shape[:2], *(1,) * (rank - array.ndim), *array.shape[2:])
    extra = array.ndim - rank
    if any(n != 1 for n in array.shape[2 : 2 + extra]):
        return None
    return array.reshape(*array.shape[:2], *array.shape[2 + extra :])
