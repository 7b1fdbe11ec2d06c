"""The scale and the offset after a normalisation, on one side alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._attested import (
    is_added,
    is_factor,
    is_factor_less_one,
    is_standardised,
    of_no_effect,
)
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.causes.norm import is_vector
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import LeafView, RegionView
from parity.tape import Array

_Part = tuple[str, LeafView, float]  # scale or offset, and the number at which it does nothing


@cause("norm-affine-missing", enclosures=True)
@first_fitting
def affine_missing(case: Case) -> Iterator[Explanation]:
    """What is normalised is not scaled, or not shifted, before the next layer; or it is, by one.

    Looks like: the next layer's outputs differ, while their input has mean 0 and variance 1.
    Proof: one side's own operations, run with the scale at 1 or the offset at 0, give the other
        side's value.
    """
    if len(case.first.inputs) != 1 or not is_standardised(case):
        return
    reference, candidate = sides(case)
    for side, other in ((reference, candidate), (candidate, reference)):
        for chosen in _affine_parts(side.view):
            parts = [part for part, _, _ in chosen]
            leaves = {leaf.id: np.full_like(leaf.array, number) for _, leaf, number in chosen}
            found = Explanation(
                "norm-affine-missing",
                _in_words(parts, side),
                partial(_run_with, side, leaves),
                parameters=dict.fromkeys(parts, (not side.is_candidate, side.is_candidate)),
                cost=len(chosen) - 1,
                unproved=of_no_effect(other),
            )
            yield side.changed(found)


def _in_words(parts: list[str], side: CaseSide) -> str:
    if side.is_candidate:
        named = " and ".join({"scale": "a scale", "offset": "an offset"}[part] for part in parts)
        return f"what is normalised gets {named} here, the reference applies none"
    named = " and ".join(parts)
    return f"what is normalised is used without the {named} that the reference applies"


def _run_with(side: CaseSide, leaves: Mapping[int, Array], trial: Trial) -> Array:
    return side.run(trial.given, leaves)


def _affine_parts(view: RegionView) -> Iterator[tuple[_Part, ...]]:
    """The vectors that may be scales and offsets of what a region reads, alone and in pairs."""
    vectors = [
        leaf
        for leaf in view.leaves
        if is_vector(leaf.array) and not _is_bias_of_product(view, leaf)
    ][:6]
    ones = [("scale", leaf, 1.0) for leaf in vectors if is_factor(view, leaf)]
    zeros = [
        ("offset" if added else "scale", leaf, 0.0)
        for leaf in vectors
        if (added := is_added(view, leaf)) or is_factor_less_one(view, leaf)
    ]
    pairs = (pair for pair in itertools.product(ones, zeros) if pair[0][1] is not pair[1][1])
    for chosen in (*((one,) for one in (*ones, *zeros)), *pairs):
        if not any((leaf.array == number).all() for _, leaf, number in chosen):
            yield chosen


def _is_bias_of_product(view: RegionView, leaf: LeafView) -> bool:
    """Whether the operation that reads a vector has a kernel, or adds it to what has one."""
    kernels = {one.id for one in view.leaves if one.array.ndim > 1 and not is_vector(one.array)}
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
