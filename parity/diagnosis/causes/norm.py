"""Normalisation with another epsilon, axes, statistics or variance, or without its affine part."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._attested import (
    is_added,
    is_factor,
    is_factor_less_one,
    is_standardised,
    of_no_effect,
    other_scale,
)
from parity.diagnosis.causes._limits import VECTORS_OF_A_NORM
from parity.diagnosis.causes._norm_changes import Changes, edit_of, without_scale_or_one
from parity.diagnosis.causes._weights import held, with_leaves
from parity.diagnosis.causes.combinators import first_that_fits
from parity.diagnosis.normalisation import (
    AffineMap,
    Form,
    Normalisation,
    Probes,
    describe,
    describe_local,
    of_form,
    same,
)
from parity.diagnosis.view import LeafView, RegionView
from parity.operations import DIVISIONS, NORMS
from parity.tape import Array

# Only to save time: without one of these nothing takes a mean or a root.
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


@cause("norm-affine-missing")
def affine_missing(case: Case) -> Iterator[Explanation]:
    """What is normalised is not scaled, or not shifted, before the next layer.

    Looks like: the next layer's outputs differ, while their input has mean 0 and variance 1.
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
    yield from first_that_fits(
        case,
        (
            _without_affine(case, chosen)
            for chosen in (*single, *double)
            if not any(np.array_equal(leaf.array, array) for leaf, array, _ in chosen)
        ),
    )


def _without_affine(case: Case, chosen: Sequence[tuple[LeafView, Array, str]]) -> Explanation:
    missing = [what for _, _, what in chosen]
    return Explanation(
        "norm-affine-missing",
        f"what is normalised is used without the {' and '.join(missing)} that the reference "
        "applies",
        with_leaves(case, {leaf.id: array for leaf, array, _ in chosen}),
        parameters=dict.fromkeys(missing, (True, False)),
        cost=len(chosen) - 1,
        unproved=of_no_effect(case),
    )


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
    if min(reference.size, candidate.size) >= 2 * length - 1:
        return  # each takes in all: that is no local norm
    pairs = zip(reference.parameters.items(), candidate.parameters.values(), strict=True)
    stated = {name: (a, b) for (name, a), b in pairs if not np.isclose(a, b, 1e-9)}
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
    found = Changes(case, reference, candidate, reference)
    if not (found.statistics() and found.scale() and found.offset()):
        return
    found.placement_and_epsilon()
    kinds, parameters = found.kinds, found.parameters
    if not kinds:
        return
    unproved = of_no_effect(case) if "norm-affine-missing" in kinds else ""
    if not unproved and "epsilon" in parameters:
        unproved = other_scale(case.candidate, parameters["epsilon"][1])
    yield Explanation(
        kinds[0],
        f"normalisation with {'; '.join(found.words)}",
        of_form(case, found.made),
        of_form(case, reference),
        parameters,
        edit_of(kinds, parameters),
        cost=len(parameters) - 1,
        unproved=unproved,
    )


def _between_scales(
    case: Case, reference: AffineMap, candidate: AffineMap
) -> Iterator[Explanation]:
    """The scale after an RMS norm, when only it is in view."""
    if not is_standardised(case) or not same(reference.offset, candidate.offset):
        return
    changed = without_scale_or_one(case, reference.scale, candidate.scale)
    if changed is None or changed[0] != "rmsnorm-offset":
        return
    kept = changed[1]["scale"]
    added = 1.0 if kept[0] == "w" else -1.0
    yield Explanation(
        "rmsnorm-offset",
        f"what is normalised is scaled by {kept[1]}, the reference scales by {kept[0]}",
        of_form(case, AffineMap(reference.scale + added, reference.offset)),
        of_form(case, reference),
        changed[1],
        evidence=("the candidate's scale less the reference's is the same 1 in every channel",),
    )


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
    return found[:VECTORS_OF_A_NORM]


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
