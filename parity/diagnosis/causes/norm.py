"""Normalisation with another epsilon, axes, statistics or variance, or another affine part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Edit, Explanation, cause
from parity.diagnosis.causes._attested import (
    added_behind,
    holds_repeated,
    is_standardised,
    of_no_effect,
    other_scale,
)
from parity.diagnosis.causes._sides import sides
from parity.diagnosis.causes._substitution import Axes, spell
from parity.diagnosis.normalisation import (
    AffineMap,
    Form,
    Normalisation,
    Probes,
    Statistics,
    describe,
    describe_local,
    layout,
    of_form,
    plain,
    same,
    same_affine,
)
from parity.operations import DIVISIONS, NORMS
from parity.tape import Array

Parameters = Mapping[str, tuple[Any, Any]]  # the reference's and the candidate's

# Only to save time: without one of these nothing takes a mean or a root.
_ROOTS = {0.5, 1.0}  # powers of a sum over all channels that other norms divide by
_STATISTICAL = (
    NORMS
    | DIVISIONS
    | {"mean", "sum", "variance", "variance_and_mean", "standard_deviation", "einsum"}
    | {"average_pool", "adaptive_average_pool", "sqrt", "rsqrt", "square", "squared_difference"}
    | {"power", "multiply", "multiply_add", "matmul"}
)


@cause(
    "norm-epsilon",
    "norm-epsilon-placement",
    "norm-axis",
    "norm-not-centered",
    "norm-affine-missing",
    "variance-ddof",
    "rmsnorm-offset",
    enclosures=True,
)
def normalisation(case: Case) -> Iterator[Explanation]:
    """A layer, batch, group, instance or RMS normalisation with one thing different.

    Looks like: everything after it is off by a little (epsilon: most where inputs are small), or
        wrongly scaled (another variance, no scale, a scale of w in place of 1 + w).
    Proof: both sides are described as (x - mean) / divisor * scale + offset from their responses
        to huge and tiny inputs; with one thing changed the reference's formula gives the
        candidate's value, and unchanged the reference's.
    """
    forms = forms_of(case)
    if forms is None:
        return
    reference, candidate = forms
    if isinstance(reference, Normalisation) and isinstance(candidate, Normalisation):
        yield from _between_normalisations(case, reference, candidate)
    elif isinstance(reference, AffineMap) and isinstance(candidate, AffineMap):
        yield from _between_scales(case, reference, candidate)


@cause("lrn-parameters", enclosures=True)
def local_response(case: Case) -> Iterator[Explanation]:
    """Local response normalisation with another size, alpha, beta or bias.

    Looks like: activations scaled down too much or too little, most where neighbours are large;
        torch divides alpha by the size of the window, TensorFlow and Chainer do not.
    Proof: x / (bias + alpha * sum of squares over a window of channels) ** beta is the reference's
        value with the reference's parameters, and the candidate's with the candidate's; all are
        solved for from the responses to huge and tiny inputs.
    """
    if not _has_single_input(case):
        return
    probes = Probes(case)
    reference = describe_local(probes, 0)
    candidate = describe_local(probes, 1) if reference is not None else None
    if reference is None or candidate is None or reference.axis != candidate.axis:
        return
    length = case.first.x.shape[reference.axis]
    powers = {reference.beta, candidate.beta}
    if min(reference.size, candidate.size) >= 2 * length - 1 and powers <= _ROOTS:
        return  # each takes in all: that is no local norm
    pairs = {
        name: (getattr(reference, name), getattr(candidate, name))
        for name in ("size", "alpha", "beta", "bias")
    }
    stated = {name: pair for name, pair in pairs.items() if not np.isclose(*pair, 1e-9)}
    words = "; ".join(f"{name} {b:.6g}, the reference {a:.6g}" for name, (a, b) in stated.items())
    yield Explanation(
        "lrn-parameters",
        f"local response normalisation with {words} (alpha as it multiplies the sum of squares)",
        of_form(case, candidate),
        of_form(case, reference),
        stated,
    )


def _between_normalisations(
    case: Case, reference: Normalisation, candidate: Normalisation
) -> Iterator[Explanation]:
    made, changes = _with_offset_behind(case, reference, candidate), list[_Change]()
    for step in (_statistics, _scale_and_offset, _epsilon):
        changes += step(case, reference, made, candidate)
        made = changes[-1].made if changes else made
    if not changes or not same_affine(made, candidate):
        return  # the same, or something unknown differs
    parameters = {name: pair for change in changes for name, pair in change.parameters.items()}
    unproved = _idle(case, changes)
    if not unproved and "epsilon" in parameters:
        unproved = other_scale(case.candidate, parameters["epsilon"][1])
    yield Explanation(
        changes[0].kind,
        f"normalisation with {'; '.join(one.words or in_words(one.parameters) for one in changes)}",
        of_form(case, made),
        of_form(case, reference),
        parameters,
        edit_of(parameters),
        cost=len(parameters) - 1,
        unproved=unproved,
    )


def _with_offset_behind(
    case: Case, reference: Normalisation, candidate: Normalisation
) -> Normalisation:
    """The reference's norm; with the candidate's offset where one side adds its own just behind."""
    offsets = reference.offset, candidate.offset
    for side, own, other in zip(sides(case), offsets, reversed(offsets), strict=True):
        for added in added_behind(side):
            behind = case.as_reference(added) if side.is_candidate else added
            if not same(own, other) and same(own + behind.reshape(layout(case)), other):
                return replace(reference, offset=candidate.offset)
    return reference


def _idle(case: Case, changes: Sequence[_Change]) -> str:
    """Why a scale or an offset may be missing on neither side: one is there and changes nothing."""
    of = [one.parameters for one in changes if one.kind == "norm-affine-missing"]
    without = {not there for parameters in of for there, _ in parameters.values()}
    views = sides(case)
    return next(filter(None, (of_no_effect(views[not lacks]) for lacks in without)), "")


def _between_scales(
    case: Case, reference: AffineMap, candidate: AffineMap
) -> Iterator[Explanation]:
    """The scale after an RMS norm, when only it is in view."""
    if not is_standardised(case) or not same(reference.offset, candidate.offset):
        return
    kept = _scaled_by_one_more(case, reference.scale, candidate.scale)
    if kept is None:
        return
    added = 1.0 if kept[0] == "w" else -1.0
    yield Explanation(
        "rmsnorm-offset",
        f"what is normalised is scaled by {kept[1]}, the reference scales by {kept[0]}",
        of_form(case, AffineMap(reference.scale + added, reference.offset)),
        of_form(case, reference),
        {"scale": kept},
        evidence=("the candidate's scale less the reference's is the same 1 in every channel",),
    )


# --- what has to be changed in the reference's norm -----------------------------------------------


@dataclass(frozen=True)
class _Change:
    """One thing that is changed; `made` is the reference's norm with it and all before it."""

    kind: str
    parameters: Parameters
    made: Normalisation
    words: str = ""


def in_words(parameters: Parameters) -> str:
    """Parameters of the candidate with the reference's."""
    return "; ".join(f"{name} {b}, the reference {a}" for name, (a, b) in parameters.items())


def edit_of(parameters: Parameters) -> Edit | None:
    """The argument to change, where one does it."""
    name = next(iter(parameters))
    names = {"epsilon": ("epsilon", "eps"), "ddof": ("ddof", "correction")}.get(name)
    if names is None or len(parameters) > 1:
        return None
    return Edit((), names, repr(parameters[name][0]))


def _statistics(
    case: Case, reference: Normalisation, made: Normalisation, candidate: Normalisation
) -> Iterator[_Change]:
    """What is averaged."""
    a, b = reference.statistics, candidate.statistics
    if a == b:
        return
    scale, least = reference.scale, reference.least
    if reference.to_unit_length:  # the sum over other axes has another number of terms
        scale = np.full_like(scale, b.count(scale.shape) ** -0.5)
        least = candidate.least if least else least
    both = _bessel(candidate, b) / _bessel(reference, a)  # where either divides by one less
    if not same(scale, candidate.scale) and same(scale * both, candidate.scale):
        scale, least = scale * both, least * both
    made = replace(reference, statistics=b, scale=scale, least=least)
    if a.centred != b.centred and a.axes == b.axes and a.groups == b.groups:
        yield _Change("norm-not-centered", {"centred": (a.centred, b.centred)}, made)
        return
    if a.axes == b.axes:
        yield _Change("norm-axis", {"groups": (a.groups, b.groups)}, made)
        return
    rank = reference.scale.ndim
    was = spell(a.axes, rank)
    if rank > case.first.reference.ndim:  # flattened in the reference: named as in the candidate
        yield _Change("norm-axis", {"axis": (was, spell(b.axes, rank))}, made)
        return
    axes = {"axis": (was, _named(case, b.axes))}
    here = _named(case, a.axes)
    words = in_words(axes) + (f", which is {here} here" if here != was else "")
    yield _Change("norm-axis", axes, made, words)


def _named(case: Case, axes: Axes) -> int | Axes:
    """Axes as a reader of the candidate's line counts them."""
    named = sorted(map(case.candidate_axis, axes), key=lambda axis: (axis < 0, axis))
    return named[0] if len(named) == 1 else tuple(named)


def _scale_and_offset(
    case: Case, reference: Normalisation, made: Normalisation, candidate: Normalisation
) -> Iterator[_Change]:
    if not same(made.scale, candidate.scale):
        change = _scale(case, reference, made, candidate)
        if change is None:
            return
        yield change
        made = change.made
    bare = replace(made, offset=np.zeros_like(made.offset))
    if same_affine(made, candidate):
        return
    if same_affine(bare, candidate):
        words = "no offset, the reference has one"
        yield _Change("norm-affine-missing", {"offset": (True, False)}, bare, words)
    elif not made.offset.any() and holds_repeated(case.candidate, candidate.offset):
        words = "an offset, the reference has none"
        added = replace(made, offset=candidate.offset)
        yield _Change("norm-affine-missing", {"offset": (False, True)}, added, words)


def _bessel(norm: Normalisation, statistics: Statistics) -> float:
    """By how much less is left where the variance is divided by one less than the count."""
    count = statistics.count(norm.scale.shape)
    return float(np.sqrt((count - 1) / count)) if count > 1 else 1.0


def _scale(
    case: Case, reference: Normalisation, made: Normalisation, candidate: Normalisation
) -> _Change | None:
    count = candidate.statistics.count(made.scale.shape)
    there, here = (_bessel(one, one.statistics) for one in (reference, candidate))
    for factor, ddof in ((here, (0, 1)), (1 / there, (1, 0))):
        if factor != 1 and same(made.scale * factor, candidate.scale):
            scaled = replace(made, scale=made.scale * factor, least=made.least * factor)
            return _Change("variance-ddof", {"ddof": ddof}, scaled)
    whole = replace(made, scale=candidate.scale)
    root = float(count) ** (0.5 if made.to_unit_length else -0.5)
    if made.to_unit_length != candidate.to_unit_length and same(made.scale * root, candidate.scale):
        kinds = ("sum", "mean") if made.to_unit_length else ("mean", "sum")
        return _Change("reduction-kind", {"kind": kinds}, whole)
    if same(candidate.scale, 1.0):
        return _Change("norm-affine-missing", {"scale": (True, False)}, whole)
    if same(made.scale, 1.0) and holds_repeated(case.candidate, candidate.scale):
        return _Change("norm-affine-missing", {"scale": (False, True)}, whole)
    kept = _scaled_by_one_more(case, made.scale, candidate.scale)
    return _Change("rmsnorm-offset", {"scale": kept}, whole) if kept else None


def _scaled_by_one_more(case: Case, reference: Array, candidate: Array) -> tuple[str, str] | None:
    """By what both sides scale, if by a weight and by 1 more."""
    gap = candidate - reference
    if not _constant(gap) or _constant(reference) or not same(np.abs(gap), 1.0):
        return None
    if gap.flat[0] < 0:
        return "1 + w", "w"
    # a weight of other numbers: 1 is added nowhere
    return None if holds_repeated(case.candidate, candidate) else ("w", "1 + w")


def _constant(array: Array) -> bool:
    low, high = float(array.min()), float(array.max())
    return high - low <= 1e-6 * max(abs(low), abs(high))


def _epsilon(
    case: Case, reference: Normalisation, made: Normalisation, candidate: Normalisation
) -> Iterator[_Change]:
    """The epsilon, and where it is added."""
    both_show = made.least > 0 and candidate.least > 0
    where = reference.where_epsilon_is, candidate.where_epsilon_is
    if made.placement != candidate.placement:
        made = replace(made, placement=candidate.placement).with_epsilon(made.epsilon)
        if both_show:
            words = f"epsilon {where[1]}, the reference {where[0]}"
            places = {"placement": (reference.placement, candidate.placement)}
            yield _Change("norm-epsilon-placement", places, made, words)
    if same(made.least, candidate.least):
        return
    ratio = reference.epsilon / made.epsilon if made.epsilon else 1.0
    epsilons = reference.epsilon, plain(candidate.epsilon * ratio)
    # where one side's is too small to show, the place of the other's is given
    was, now = (
        (f"{epsilon:g}" if both_show else f"{epsilon:g} {place}")
        if epsilon or both_show
        else "none that shows"
        for epsilon, place in zip(epsilons, where, strict=True)
    )
    made = made.with_epsilon(candidate.epsilon)
    yield _Change(
        "norm-epsilon", {"epsilon": epsilons}, made, f"epsilon {now}, the reference {was}"
    )


# --- what both sides compute ----------------------------------------------------------------------


@lru_cache(maxsize=4)
def forms_of(case: Case) -> tuple[Form, Form] | None:
    """What both sides compute, if both are normalisations of their only input."""
    if not _has_single_input(case):
        return None
    ops = (*case.reference.computing, *case.candidate.computing)
    if not any(op.word in _STATISTICAL for op in ops):
        return None
    probes = Probes(case)
    reference = describe(probes, 0)
    candidate = describe(probes, 1) if reference is not None else None
    return (reference, candidate) if reference is not None and candidate is not None else None


def _has_single_input(case: Case) -> bool:
    """Whether all depends on one array, which may be read flattened too, and has its shape."""
    first = case.first
    ends = first.reference, first.candidate
    if len(first.given) != 1 or any(one.dtype.kind != "f" for one in ends):
        return False
    sizes = {one.size for one in (first.x, *first.inputs, *ends)}
    shapes = {one.shape for one in (*first.inputs, ends[0])}
    return len(sizes) == 1 and ends[0].shape == ends[1].shape and ends[0].shape in shapes


def is_vector(array: Array) -> bool:
    return array.dtype.kind == "f" and 1 < array.size == max(array.shape, default=0)
