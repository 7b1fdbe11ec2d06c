"""Convolutions and pools whose windows stand elsewhere: padding, strides, dilation, groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Edit, Explanation, Predict, cause
from parity.diagnosis.causes._sites import COLUMNS, Site, site_of
from parity.diagnosis.causes._substitution import inside_candidate, inside_reference
from parity.diagnosis.causes._windows import Window, read_off, slide
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import plain_kind
from parity.errors import ReplayError
from parity.tape import Array, Op

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
    sites = site_of(case, False), site_of(case, True)
    seen: set[tuple[str, int]] = set()
    for source in sites:
        if source is None:
            continue
        x = _base(case, case.first, source)
        known = source.window.kind, x.size
        if known in seen:
            continue  # the same input: only what is padded on one side shows more on the other
        seen.add(known)
        ours = _window_of(case, False, sites[0], source, x, case.first)
        theirs = _window_of(case, True, sites[1], source, x, case.first) if ours else None
        told = _told(ours, theirs, sites, x.shape[2:]) if ours and theirs else None
        if ours is None or theirs is None or told is None:
            continue
        kind, summary, parameters, edit = told
        target = _target(case, sites[0], source, ours, x)
        yield Explanation(
            kind,
            summary,
            _predict(case, source, target, theirs, source.kernel),
            _predict(case, source, target, ours, source.kernel),
            parameters,
            edit,
        )
        return


@cause("groups")
def groups(case: Case) -> Iterator[Explanation]:
    """A convolution's channels are in one group where they were in several, or the other way.

    Looks like: a kernel that is repeated along its input channels to make the shapes fit.
    Proof: the convolution computed anew with the candidate's groups, and the reference's kernel
        repeated (or cut) to fit them, gives the candidate's value.
    """
    ours, theirs = site_of(case, False), site_of(case, True)
    if ours is None or theirs is None or ours.kernel is None or theirs.kernel is None:
        return
    numbers = ours.window.groups, theirs.window.groups
    if numbers[0] == numbers[1] or ours.window.kind != "conv" or theirs.window.kind != "conv":
        return
    wide, narrow = sorted((ours.kernel, theirs.kernel), key=lambda k: -k.shape[1])
    if wide.shape[0] != narrow.shape[0] or wide.shape[1] % narrow.shape[1]:
        return
    repeats = wide.shape[1] // narrow.shape[1]
    repeated = np.concatenate([narrow] * repeats, 1)
    if repeated.shape != wide.shape or not np.allclose(repeated, wide, 1e-6, 1e-9):
        if not np.allclose(narrow, wide[:, : narrow.shape[1]], 1e-6, 1e-9):
            return
    x = _base(case, case.first, ours)
    window = _window_of(case, False, ours, ours, x, case.first)
    if window is None:
        return
    other = replace(window, groups=numbers[1])
    target = _target(case, ours, ours, window, x)
    yield Explanation(
        "groups",
        f"{numbers[1]} group{'s' * (numbers[1] != 1)} of channels; the reference has {numbers[0]}",
        _predict(case, ours, target, other, theirs.kernel),
        _predict(case, ours, target, window, ours.kernel),
        {"groups": numbers},
        Edit((), ("groups", "group"), repr(numbers[0])),
    )


# --- what differs ---------------------------------------------------------------------------------

Told = tuple[str, str, dict[str, tuple[Any, Any]], Edit | None]


def _told(
    ours: Window, theirs: Window, sites: Sequence[Site | None], space: Sequence[int]
) -> Told | None:
    """What differs between two windows: the cause that says most, with all that goes with it."""
    shown = [i for i, n in enumerate(space) if n > 1 or ours.size[i] > 1] or [0]
    parameters: dict[str, tuple[Any, Any]] = {}
    for name in ("dilation", "stride"):
        pair = tuple(tuple(getattr(w, name)[i] for i in shown) for w in (ours, theirs))
        if pair[0] != pair[1]:
            parameters[name] = pair[0], pair[1]
    stated = [_stated(w, site, space) for w, site in zip((ours, theirs), sites, strict=True)]
    pads = tuple(tuple(one[i] for i in shown) for one in stated)
    places = [_places(w, space) for w in (ours, theirs)]
    before = [[b for b, _ in w.pads] for w in (ours, theirs)]
    if parameters:
        kind = next(iter(parameters))
        if pads[0] != pads[1]:
            parameters["padding"] = pads[0], pads[1]
        return kind, _line(parameters), parameters, _edit(kind, parameters[kind][0])
    if before[0] != before[1] or places[0] != places[1]:
        return _told_of_pads(ours, before, places, pads)
    if ours.fill != theirs.fill:
        parameters["value"] = _written(ours.fill), _written(theirs.fill)
        return "padding-value", _line(parameters), parameters, None
    if ours.counted != theirs.counted:
        parameters["counted"] = ours.counted, theirs.counted
        edit = Edit((), ("count_include_pad",), repr(ours.counted != "inside"))
        names = {
            "all": "all places of the window",
            "inside": "those inside the image",
            "padded": "those inside the padded image",
        }
        text = f"divides by {names[theirs.counted]}; the reference by {names[ours.counted]}"
        return "count-include-pad", text, parameters, edit
    return None


def _told_of_pads(
    ours: Window, before: Sequence[list[int]], places: Sequence[tuple[int, ...]], pads: Any
) -> Told:
    if ours.kind == "transposed":
        parameters = {"crop": (pads[0], pads[1])}
        return "transposed-conv-crop", _line(parameters), parameters, None
    if before[0] == before[1] and ours.kind in ("max", "mean"):
        ceil = sum(places[1]) > sum(places[0])
        text = f"{places[1]} windows; the reference has {places[0]}: "
        text += (
            "the last, incomplete one is kept" if ceil else "the last, incomplete one is left out"
        )
        parameters = {"ceil": (not ceil, ceil)}
        return "pool-ceil", text, parameters, Edit((), ("ceil_mode", "cover_all"), repr(not ceil))
    parameters = {"padding": (pads[0], pads[1])}
    symmetric = all(b == a for one in pads for b, a in one)
    kind = "padding-asymmetry" if places[0] == places[1] and not symmetric else "padding-size"
    return kind, _line(parameters), parameters, None


def _line(parameters: Mapping[str, tuple[Any, Any]]) -> str:
    return "; ".join(f"{name} {b}, the reference's is {a}" for name, (a, b) in parameters.items())


def _edit(kind: str, ours: tuple[int, ...]) -> Edit:
    names = {
        "stride": ("strides", "stride"),
        "dilation": ("dilations", "dilation_rate", "dilate", "dilation"),
    }
    return Edit((), names[kind], repr(ours[0] if len(set(ours)) == 1 else ours))


def _written(fill: float | str) -> float | str:
    return fill if isinstance(fill, str) or np.isfinite(fill) else str(fill)


def _places(window: Window, space: Sequence[int]) -> tuple[int, ...]:
    """How many windows there are, along each axis."""
    if window.kind == "transposed":
        return tuple(
            (n - 1) * s + span - b - a
            for n, s, span, (b, a) in zip(
                space, window.stride, window.span, window.pads, strict=True
            )
        )
    return tuple(
        (n + b + a - span) // s + 1
        for n, s, span, (b, a) in zip(space, window.stride, window.span, window.pads, strict=True)
    )


def _stated(window: Window, site: Site | None, space: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Padding as it was written: what no window reaches is still padding if it is written so."""
    if window.kind == "transposed":
        return window.pads
    found = []
    for axis, (before, after) in enumerate(window.pads):
        both = window.pads[:axis] + ((before, before),) + window.pads[axis + 1 :]
        same_count = _places(replace(window, pads=both), space) == _places(window, space)
        if site is not None and _is_symmetric(site.op) and before > 0 and same_count:
            found.append((before, before))
        else:
            found.append((before, max(after, 0)))
    return tuple(found)


def _is_symmetric(op: Op) -> bool:
    """Whether an operation is given one number for both sides of an axis."""
    padding = op.attributes.get("padding", op.attributes.get("pad", op.attributes.get("ph")))
    numbers = padding if isinstance(padding, list | tuple) else [padding]
    return any(isinstance(number, int) and number > 0 for number in numbers)


# --- what it gives --------------------------------------------------------------------------------


def _window_of(
    case: Case, as_candidate: bool, site: Site | None, source: Site, x: Array, trial: Trial
) -> Window | None:
    """A side's window, read off what it gives from the source's input and kernel."""
    guess = _as_wide(site.window if site else source.window, x.ndim - 2)
    guess = replace(
        guess, kind=source.window.kind, size=source.window.size, groups=source.window.groups
    )
    observed = _observed(case, as_candidate, site, source, trial)
    values = [one for value in observed if (one := _with_rank(value, x.ndim)) is not None]
    found = read_off(values, x, guess, source.kernel)
    if found is not None or source.kernel is None or not _is_hidden(site):
        return found
    hidden = [one.array for one in _hidden(case, as_candidate, source)]
    return read_off(hidden, x, guess, source.kernel)


def _is_hidden(site: Site | None) -> bool:
    """Whether a convolution is computed by a product, so that its result is to be looked for."""
    return site is None or plain_kind(site.op) in COLUMNS


@dataclass(frozen=True)
class _Result:
    """A value that may be a convolution's result; its array has channels first and no bias."""

    at: int
    last: bool
    bias: Array | None
    array: Array


def _hidden(case: Case, as_candidate: bool, source: Site) -> Iterator[_Result]:
    """The values of a side's region with as many channels as the kernel gives."""
    assert source.kernel is not None
    inside = inside_candidate(case) if as_candidate else inside_reference(case)
    out, rank = len(source.kernel), len(source.window.size) + 2
    biases = [leaf.array for leaf in inside.view.leaves if leaf.array.shape == (out,)]
    for value in inside.computed:
        array = inside.array(value)
        for last in (False, True):
            if array.ndim != rank or array.shape[-1 if last else 1] != out:
                continue
            result = _channels_first(array, last)
            yield _Result(value, last, None, result)
            for bias in biases:
                yield _Result(value, last, bias, result - _along_channels(bias, result))


def _target(case: Case, site: Site | None, source: Site, window: Window, x: Array) -> Site | None:
    """Where in the reference's region the window's result stands, to be replaced."""
    if site is not None and not _is_hidden(site):
        return site if site.window.kind == source.window.kind else None
    if source.kernel is None:
        return None
    made = slide(x, window, source.kernel)
    for one in _hidden(case, False, source):
        if one.array.shape == made.shape and np.allclose(
            one.array, made, 0, 1e-6 * float(np.abs(made).max())
        ):
            return replace(source, as_candidate=False, at=one.at, last=one.last, bias=one.bias)
    return None


def _observed(
    case: Case, as_candidate: bool, site: Site | None, source: Site, trial: Trial
) -> Iterator[Array]:
    """What a side's convolution gives, channels first and without bias: its result, the end."""
    values = case.candidate_values if as_candidate else case.reference_values
    if site is not None:
        result = values(trial.given, [site.at])[0]
        if result.ndim == len(site.window.size) + 2:
            result = _channels_first(result, site.last)
            yield result if site.bias is None else result - _along_channels(site.bias, result)
    end = trial.candidate if as_candidate else trial.reference
    last = case.reference.tape.framework in ("tensorflow", "keras")
    if source.as_candidate and not as_candidate and case.order is not None:
        end, last = case.order.apply(end), source.last
    if end.ndim < 3:
        return
    end = _channels_first(end, last)
    yield end
    view = case.candidate if as_candidate else case.reference
    for leaf in view.leaves:
        if leaf.array.dtype.kind == "f" and leaf.array.shape == (end.shape[1],):
            yield end - _along_channels(leaf.array, end)


def _predict(
    case: Case, source: Site, target: Site | None, window: Window, kernel: Array | None
) -> Predict:
    """Predicts by the reference's operations with its window's result computed anew.

    Args:
        source: whose input and kernel it is computed from.
        target: the reference's; None where other operations compute it, up to the end.
    """

    def predict(trial: Trial) -> Array:
        result = slide(_base(case, trial, source), window, kernel)
        if target is None:
            return _as_end(case, source, result)
        fitting = _with_rank(result, len(target.window.size) + 2)
        if fitting is None:
            return _NO_RESULT
        if target.bias is not None:
            fitting = fitting + _along_channels(target.bias, fitting)
        if target.last:
            fitting = np.moveaxis(fitting, 1, -1)
        try:
            return case.run_reference(trial.given, {target.at: np.ascontiguousarray(fitting)})
        except ReplayError:  # a size that does not fit
            return _NO_RESULT

    return predict


def _as_end(case: Case, source: Site, result: Array) -> Array:
    """A result as the reference's end, which some other operations compute."""
    if source.last:
        result = np.moveaxis(result, 1, -1)
    view = case.candidate if source.as_candidate else case.reference
    if result.size != view.value.size:
        return result
    result = result.reshape(view.value.shape)
    return case.as_reference(result) if source.as_candidate else result


def _base(case: Case, trial: Trial, site: Site) -> Array:
    values = case.candidate_values if site.as_candidate else case.reference_values
    return _channels_first(values(trial.given, [site.base])[0], site.last)


def _channels_first(array: Array, last: bool) -> Array:
    return np.moveaxis(array, -1, 1) if last else array


def _along_channels(bias: Array, array: Array) -> Array:
    return bias.reshape(-1, *(1 for _ in array.shape[2:]))


def _with_rank(array: Array, rank: int) -> Array | None:
    """The same with axes of length 1 before the others of space, or without them."""
    if array.ndim < rank:
        return array.reshape(*array.shape[:2], *(1,) * (rank - array.ndim), *array.shape[2:])
    extra = array.ndim - rank
    if any(n != 1 for n in array.shape[2 : 2 + extra]):
        return None
    return array.reshape(*array.shape[:2], *array.shape[2 + extra :])


def _as_wide(window: Window, rank: int) -> Window:
    """A window with as many axes of space; further ones are of length 1 and come first."""

    def fit(numbers: tuple[int, ...]) -> tuple[int, ...]:
        return ((1,) * rank + numbers)[-rank:]

    return replace(
        window,
        size=fit(window.size),
        pads=((0, 0),) * rank,
        stride=fit(window.stride),
        dilation=fit(window.dilation),
    )
