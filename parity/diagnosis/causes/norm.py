"""Normalisation with another epsilon, axes, statistics or variance, or without its affine part."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Edit, Explanation, cause
from parity.diagnosis.causes._attested import (
    holds_repeated,
    is_added,
    is_factor,
    is_factor_less_one,
    is_standardised,
    of_no_effect,
    other_scale,
)
from parity.diagnosis.causes._weights import held
from parity.diagnosis.normalisation import (
    AffineMap,
    Form,
    Normalisation,
    Probes,
    describe,
    describe_local,
    of_form,
    plain,
    same,
)
from parity.diagnosis.view import LeafView, RegionView
from parity.tape import Array

_VECTORS = 10  # of which the roles in a norm are looked for

# Only to save time: without one of these nothing takes a mean or a root.
_STATISTICAL = re.compile(r"norm|sqrt|var|std|moment|mean|avg|sum|pow|square|div|muladd|mul|scale")


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
    ours, theirs = forms
    if isinstance(ours, Normalisation) and isinstance(theirs, Normalisation):
        yield from _between_normalisations(case, ours, theirs)
    elif isinstance(ours, AffineMap) and isinstance(theirs, AffineMap):
        yield from _between_scales(case, ours, theirs)


@cause("norm-affine-missing")
def affine_missing(case: Case) -> Iterator[Explanation]:
    """What is normalised is not scaled, or not shifted, before the next layer.

    Looks like: the next layer's outputs differ, while what enters here has mean 0 and variance 1.
    Proof: the reference's own operations, run with the scale at 1 or the offset at 0, give the
        candidate's value.
    """
    if len(case.first.inputs) != 1 or not is_standardised(case):
        return
    vectors = [
        leaf
        for leaf in case.reference.leaves
        if _is_vector(leaf.array) and not _is_bias_of_product(case.reference, leaf)
    ][:6]
    ones = [
        (leaf, np.ones_like(leaf.array), "scale")
        for leaf in vectors
        if is_factor(case.reference, leaf)
    ]
    zeros = [
        (leaf, np.zeros_like(leaf.array), "offset" if added else "scale")
        for leaf in vectors
        if (added := is_added(case.reference, leaf)) or is_factor_less_one(case.reference, leaf)
    ]
    single = [(one,) for one in (*ones, *zeros)]
    double = [pair for pair in itertools.product(ones, zeros) if pair[0][0].id != pair[1][0].id]
    for chosen in (*single, *double):
        leaves = {leaf.id: array for leaf, array, _ in chosen}
        if any(np.array_equal(leaf.array, array) for leaf, array, _ in chosen):
            continue
        found = case.run_reference(case.first.given, leaves)
        if found.shape != case.first.candidate.shape or not same(found, case.first.candidate):
            continue
        missing = " and ".join(what for _, _, what in chosen)
        yield Explanation(
            "norm-affine-missing",
            f"what is normalised is used without the {missing} that the reference applies",
            lambda trial, leaves=leaves: case.run_reference(trial.given, leaves),  # type: ignore[misc]
            parameters={what: (True, False) for _, _, what in chosen},
            cost=len(chosen) - 1,
            unproved=of_no_effect(case),
        )
        return


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
    ours = describe_local(probes, 0)
    theirs = describe_local(probes, 1) if ours is not None else None
    if ours is None or theirs is None or ours.axis != theirs.axis:
        return
    length = case.first.x.shape[ours.axis]
    if min(ours.size, theirs.size) >= 2 * length - 1:
        return  # each takes in all: that is no local norm
    pairs = zip(ours.parameters.items(), theirs.parameters.values(), strict=True)
    stated = {name: (a, b) for (name, a), b in pairs if not np.isclose(a, b, 1e-9)}
    words = "; ".join(f"{name} {b:.6g}, the reference {a:.6g}" for name, (a, b) in stated.items())
    yield Explanation(
        "lrn-parameters",
        f"local response normalisation with {words} (alpha as it multiplies the sum of squares)",
        of_form(case, theirs),
        of_form(case, ours),
        stated,
    )


# --- two normalisations by the input's own statistics ---------------------------------------------


def _between_normalisations(
    case: Case, ours: Normalisation, theirs: Normalisation
) -> Iterator[Explanation]:
    """What has to be changed in the reference's to have the candidate's, thing by thing."""
    made = ours
    kinds: list[str] = []
    words: list[str] = []
    parameters: dict[str, tuple[Any, Any]] = {}
    if ours.statistics != theirs.statistics:
        kind, stated = _statistics_changed(case, ours, theirs)
        kinds.append(kind)
        parameters.update(stated)
        words += [f"{name} {pair[1]}, the reference {pair[0]}" for name, pair in stated.items()]
        here = _spelt([case.candidate_axis(axis) for axis in ours.statistics.axes])
        if "axis" in stated and made.scale.ndim == case.first.reference.ndim:
            words[-1] += f", which is {here} here" if here != stated["axis"][0] else ""
        scale = made.scale
        if ours.to_unit_length:  # the sum over other axes has another number of terms
            scale = np.full_like(scale, theirs.statistics.count(scale.shape) ** -0.5)
        least = theirs.least if ours.to_unit_length and ours.least else ours.least
        made = replace(made, statistics=theirs.statistics, scale=scale, least=least)
    count = theirs.statistics.count(made.scale.shape)
    if not same(made.scale, theirs.scale):
        changed = _scale_changed(case, made, theirs, count)
        if changed is None:
            return
        kind, stated, made = changed
        kinds.append(kind)
        parameters.update(stated)
        words += [f"{name} {pair[1]}, the reference {pair[0]}" for name, pair in stated.items()]
    size = float(np.abs(made.scale).max())
    if not np.allclose(made.offset, theirs.offset, rtol=1e-6, atol=1e-7 * size):
        if not np.allclose(theirs.offset, 0.0, atol=1e-7 * size):
            return
        kinds.append("norm-affine-missing")
        parameters["offset"] = (True, False)
        words.append("no offset, the reference has one")
        made = replace(made, offset=np.zeros_like(made.offset))
    seen = made.least > 0, theirs.least > 0
    if made.placement != theirs.placement and not all(seen):
        made = replace(made, placement=theirs.placement).with_epsilon(made.epsilon)
    if made.placement != theirs.placement and all(seen):
        kinds.append("norm-epsilon-placement")
        parameters["placement"] = (ours.placement, theirs.placement)
        words.append(f"epsilon {theirs.where_epsilon_is}, the reference {ours.where_epsilon_is}")
        made = replace(made, placement=theirs.placement).with_epsilon(made.epsilon)
    if not same(np.array(made.least), np.array(theirs.least)):
        if not kinds:
            kinds.append("norm-epsilon")
        stated_epsilon = theirs.epsilon * (ours.epsilon / made.epsilon if made.epsilon else 1.0)
        parameters["epsilon"] = (ours.epsilon, plain(stated_epsilon))
        both = (plain(stated_epsilon), theirs), (ours.epsilon, ours)
        both_words = [_in_words(one, norm, not all(seen)) for one, norm in both]
        words.append(f"epsilon {both_words[0]}, the reference {both_words[1]}")
        made = made.with_epsilon(theirs.epsilon)
    if not kinds:
        return
    unproved = of_no_effect(case) if "norm-affine-missing" in kinds else ""
    if not unproved and "epsilon" in parameters:
        unproved = other_scale(case.candidate, parameters["epsilon"][1])
    yield Explanation(
        kinds[0],
        f"normalisation with {'; '.join(words)}",
        of_form(case, made),
        of_form(case, ours),
        parameters,
        edit_of(kinds, parameters),
        cost=len(parameters) - 1,
        unproved=unproved,
    )


def _in_words(epsilon: float, norm: Normalisation, alone: bool) -> str:
    """An epsilon in words; where one side's is too small to show, the other's place is given."""
    if not alone:
        return f"{epsilon:g}"
    return f"{epsilon:g} {norm.where_epsilon_is}" if epsilon else "none that shows"


def _statistics_changed(
    case: Case, ours: Normalisation, theirs: Normalisation
) -> tuple[str, dict[str, tuple[Any, Any]]]:
    a, b = ours.statistics, theirs.statistics
    if a.centred != b.centred and a.axes == b.axes and a.groups == b.groups:
        return "norm-not-centered", {"centred": (a.centred, b.centred)}
    if a.axes == b.axes:
        return "norm-axis", {"groups": (a.groups, b.groups)}
    rank = ours.scale.ndim
    flattened = rank > case.first.reference.ndim  # in the reference: named as in the candidate
    axes = (
        [-1 if axis == rank - 1 else axis for axis in a.axes],
        [
            (-1 if axis == rank - 1 else axis) if flattened else case.candidate_axis(axis)
            for axis in b.axes
        ],
    )
    return "norm-axis", {"axis": (_spelt(axes[0]), _spelt(axes[1]))}


def _spelt(axes: Sequence[int]) -> Any:
    return axes[0] if len(axes) == 1 else tuple(_ordered(axes))


def _ordered(axes: Sequence[int]) -> list[int]:
    return sorted(axes, key=lambda axis: (axis < 0, axis))


def _scale_changed(
    case: Case, made: Normalisation, theirs: Normalisation, count: int
) -> tuple[str, dict[str, tuple[Any, Any]], Normalisation] | None:
    """Why the scales differ, and the reference's with that changed."""
    bessel = float(np.sqrt((count - 1) / count)) if count > 1 else 1.0
    for factor, ddof in ((bessel, (0, 1)), (1 / bessel, (1, 0))):
        if bessel < 1 and same(made.scale * factor, theirs.scale):
            scaled = replace(made, scale=made.scale * factor, least=made.least * factor)
            return "variance-ddof", {"ddof": ddof}, scaled
    if made.to_unit_length != theirs.to_unit_length and _constant(made.scale / theirs.scale):
        root = float(count) ** (0.5 if made.to_unit_length else -0.5)
        if same(made.scale * root, theirs.scale):
            kinds = ("sum", "mean") if made.to_unit_length else ("mean", "sum")
            return "reduction-kind", {"kind": kinds}, replace(made, scale=made.scale * root)
    changed = _without_scale_or_one(case, made.scale, theirs.scale)
    if changed is None:
        return None
    kind, stated = changed
    return kind, stated, replace(made, scale=theirs.scale)


def _without_scale_or_one(
    case: Case, ours: Array, theirs: Array
) -> tuple[str, dict[str, tuple[Any, Any]]] | None:
    if same(theirs, np.ones_like(theirs)):
        return "norm-affine-missing", {"scale": (True, False)}
    gap = theirs - ours
    if _constant(gap) and not _constant(ours) and same(np.abs(gap), np.ones_like(gap)):
        kept = ("1 + w", "w") if gap.flat[0] < 0 else ("w", "1 + w")
        if kept[1] == "1 + w" and holds_repeated(case.candidate, theirs):
            return None  # a weight of other numbers: 1 is added nowhere
        return "rmsnorm-offset", {"scale": kept}
    return None


def _constant(array: Array) -> bool:
    low, high = float(array.min()), float(array.max())
    return high - low <= 1e-6 * max(abs(low), abs(high))


def edit_of(kinds: list[str], parameters: dict[str, tuple[Any, Any]]) -> Edit | None:
    if kinds == ["norm-epsilon"]:
        return Edit((), ("epsilon", "eps"), repr(parameters["epsilon"][0]))
    if kinds == ["variance-ddof"]:
        return Edit((), ("ddof", "correction"), repr(parameters["ddof"][0]))
    return None


# --- scales by fixed numbers ----------------------------------------------------------------------


def _between_scales(case: Case, ours: AffineMap, theirs: AffineMap) -> Iterator[Explanation]:
    """The scale after an RMS norm, when only it is in view."""
    if not is_standardised(case) or not same(ours.offset, theirs.offset):
        return
    changed = _without_scale_or_one(case, ours.scale, theirs.scale)
    if changed is None or changed[0] != "rmsnorm-offset":
        return
    kept = changed[1]["scale"]
    yield Explanation(
        "rmsnorm-offset",
        f"what is normalised is scaled by {kept[1]}, the reference scales by {kept[0]}",
        of_form(case, AffineMap(ours.scale + (1.0 if kept[0] == "w" else -1.0), ours.offset)),
        of_form(case, ours),
        changed[1],
        evidence=("the candidate's scale less the reference's is the same 1 in every channel",),
    )


# --- what is asked of a case ----------------------------------------------------------------------


@lru_cache(maxsize=4)
def forms_of(case: Case) -> tuple[Form, Form] | None:
    """What both sides compute, if both are normalisations of their only input."""
    if not _has_single_input(case):
        return None
    kinds = (*case.reference.kinds, *case.candidate.kinds)
    if not any(_STATISTICAL.search(kind) for kind in kinds):
        return None
    probes = Probes(case)
    ours = describe(probes, 0)
    theirs = describe(probes, 1) if ours is not None else None
    return (ours, theirs) if ours is not None and theirs is not None else None


def _has_single_input(case: Case) -> bool:
    """Whether all depends on one array, and has its shape."""
    first = case.first
    shapes = {first.x.shape, first.reference.shape, first.candidate.shape}
    floating = first.reference.dtype.kind == first.candidate.dtype.kind == "f"
    return floating and len(first.given) == len(first.inputs) == len(shapes) == 1


def vectors_of(case: Case) -> list[Array]:
    """The parameters and constants of both sides with one axis, none twice.

    And what is made of them before an operation reads it: a variance may be kept as its logarithm.
    """
    found: list[Array] = []
    for leaf in (*held(case, as_candidate=False), *held(case, as_candidate=True)):
        flat = leaf.array.ravel()
        if _is_vector(leaf.array) and not any(np.array_equal(flat, other) for other in found):
            found.append(flat)
    return found[:_VECTORS]


def _is_bias_of_product(view: RegionView, leaf: LeafView) -> bool:
    """Whether the operation that reads a vector has a kernel, or adds it to what has one."""
    kernels = {one.id for one in view.leaves if one.array.ndim > 1 and not _is_vector(one.array)}
    products = {
        value
        for op in view.ops
        if any(view.sources(one) & kernels for one in op.inputs)
        for value in op.outputs
    }
    return any(
        any(leaf.id in view.sources(one) for one in op.inputs)
        and (not products.isdisjoint(op.inputs) or not products.isdisjoint(op.outputs))
        for op in view.ops
    )


def _is_vector(array: Array) -> bool:
    return array.dtype.kind == "f" and 1 < array.size == max(array.shape, default=0)
