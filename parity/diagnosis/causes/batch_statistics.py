"""Batch normalisation: by running statistics, or by the batch's own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Edit, Explanation, cause
from parity.diagnosis.causes._attested import other_scale, repeats
from parity.diagnosis.causes._limits import SAME_VARIANCE, SIMILAR_VARIANCE
from parity.diagnosis.causes._norm_changes import edit_of, in_words
from parity.diagnosis.causes._weights import held
from parity.diagnosis.causes.norm import forms_of, vectors_of
from parity.diagnosis.normalisation import (
    AffineMap,
    Form,
    Normalisation,
    of_form,
    plain,
    same,
)
from parity.tape import Array

_BY_STORED = "normalisation by a stored mean and variance"


@cause(
    "norm-epsilon",
    "norm-epsilon-placement",
    "norm-affine-missing",
    "norm-batch-statistics",
    "weight-values",
)
def batch_normalisation(case: Case) -> Iterator[Explanation]:
    """Batch normalisation by running statistics with another epsilon, or by the batch's own.

    Looks like: channels with a small running variance differ most; with the batch's own
        statistics a row's output depends on the other rows.
    Proof: the running mean and variance, scale and offset are found among the parameters, so that
        they give the reference's value; with the one change they give the candidate's.
    """
    forms = forms_of(case)
    if forms is None:
        return
    reference, candidate = forms
    leaves = vectors_of(case)
    if isinstance(reference, AffineMap):
        for roles in _roles(reference, leaves):
            if isinstance(candidate, AffineMap):
                yield from _by_running_statistics(case, reference, roles, candidate)
            else:
                yield from _statistics_of_the_batch(
                    case, roles, reference, candidate, swapped=False
                )
    elif isinstance(candidate, AffineMap):
        for roles in _roles(candidate, leaves):
            yield from _statistics_of_the_batch(case, roles, candidate, reference, True)


@dataclass(frozen=True)
class _Roles:
    """Running statistics and affine part of a batch normalisation, each like a value."""

    mean: Array
    variance: Array
    scale: Array
    offset: Array
    epsilon: float
    axis: int

    def affine(self, divisor: Array, scale: Array | None = None) -> AffineMap:
        factor = (self.scale if scale is None else scale) / divisor
        return AffineMap(factor, self.offset - self.mean * factor)

    @cached_property
    def divisor(self) -> Array:
        found: Array = np.sqrt(self.variance + self.epsilon)
        return found


def _by_running_statistics(
    case: Case, reference: AffineMap, roles: _Roles, candidate: AffineMap
) -> Iterator[Explanation]:
    ops = (*case.reference.computing, *case.candidate.computing)
    named = "batch normalisation" if any(op.word == "batch_norm" for op in ops) else _BY_STORED
    for kind, found, stated in _changes_of_running(roles, candidate):
        idle = _idle(case, tuple(stated)) if kind == "norm-affine-missing" else ""
        if idle:
            yield Explanation(
                "weight-values", idle, of_form(case, found), of_form(case, reference), cost=-1
            )
            continue
        yield Explanation(
            kind,
            f"{named} with {in_words(stated)}",
            of_form(case, found),
            of_form(case, reference),
            stated,
            edit_of([kind], stated) if kind == "norm-epsilon" else None,
            cost=len(stated) - 1,
            unproved=_no_other_epsilon(case, roles, stated),
        )


def _no_other_epsilon(case: Case, roles: _Roles, stated: Mapping[str, Any]) -> str:
    """Why another epsilon may be none: a model's variance in view is nearly this one, and another.

    Or a model would have an epsilon that it has not: then the variance is the other one's.
    """
    if "epsilon" not in stated:
        return ""
    variance = roles.variance.ravel()
    for as_candidate in (False, True):
        leaves = held(case, as_candidate)
        kept = [leaf for leaf in leaves if leaf.kind in ("parameter", "buffer")]
        near, same = (
            [leaf for leaf in kept if repeats(variance, leaf.array, tolerance)]
            for tolerance in (SIMILAR_VARIANCE, SAME_VARIANCE)
        )
        if near and not same:
            return "the models' variances are two"
    sides = (case.reference, roles.epsilon), (case.candidate, stated["epsilon"][1])
    return next(filter(None, (other_scale(*side) for side in sides)), "")


_NO_EFFECT = {"scale": (1.0, "one"), "offset": (0.0, "zero")}


def _idle(case: Case, parts: Sequence[str]) -> str:
    """What a norm's parameters are that are there and change nothing; "" where one is not there."""
    view = case.candidate
    words = []
    for part in parts:
        number, spelt = _NO_EFFECT[part]
        kept = [one for one in view.leaves if one.kind == "parameter" and one.array.ndim]
        found = next((one for one in kept if (one.array == number).all()), None)
        if found is None:
            return ""
        named = f" ({found.name})" if found.name else ""
        words.append(f"its {part}{named} is {spelt} throughout")
    return f"batch normalisation: {' and '.join(words)}; the reference's is not"


def _changes_of_running(
    roles: _Roles, candidate: AffineMap
) -> Iterator[tuple[str, AffineMap, dict[str, tuple[Any, Any]]]]:
    divisor = roles.scale / candidate.scale
    epsilon = _constant_epsilon(divisor**2 - roles.variance, roles.variance)
    if epsilon is not None and epsilon != roles.epsilon:
        yield (
            "norm-epsilon",
            roles.affine(np.sqrt(roles.variance + epsilon)),
            {"epsilon": (roles.epsilon, epsilon)},
        )
    spread = np.sqrt(roles.variance)
    epsilon = _constant_epsilon(divisor - spread, spread)
    if epsilon:
        stated: dict[str, tuple[Any, Any]] = {"placement": ("inside", "outside")}
        if epsilon != roles.epsilon:
            stated["epsilon"] = (roles.epsilon, epsilon)
        yield "norm-epsilon-placement", roles.affine(spread + epsilon), stated
    whole, bare = roles.affine(roles.divisor), roles.affine(roles.divisor, np.ones_like(spread))
    flat = np.zeros_like(spread)
    for made, stated in (
        (bare, {"scale": (True, False)}),
        (AffineMap(whole.scale, whole.offset - roles.offset), {"offset": (True, False)}),
        (
            AffineMap(bare.scale, bare.offset - roles.offset),
            {"scale": (True, False), "offset": (True, False)},
        ),
    ):
        if same(made.scale, candidate.scale) and np.allclose(
            made.offset, candidate.offset, 1e-6, 1e-7
        ):
            if not same(made.scale, whole.scale) or not np.allclose(roles.offset, flat):
                yield "norm-affine-missing", made, stated


def _statistics_of_the_batch(
    case: Case, roles: _Roles, fixed: AffineMap, other: Form, swapped: bool
) -> Iterator[Explanation]:
    """One side by running statistics, the other by those of the batch."""
    assert isinstance(other, Normalisation)
    batch = tuple(axis for axis in range(fixed.scale.ndim) if axis != roles.axis)
    shape = fixed.scale.shape
    long = tuple(axis for axis in batch if shape[axis] > 1)
    if tuple(axis for axis in other.statistics.axes if shape[axis] > 1) != long:
        return
    if not same(other.scale, roles.scale) or not np.allclose(
        other.offset, roles.offset, 1e-6, 1e-7
    ):
        return
    used = ("batch", "running") if swapped else ("running", "batch")
    forms = (other, fixed) if swapped else (fixed, other)
    stated: dict[str, tuple[Any, Any]] = {"statistics": used}
    epsilons = (other.epsilon, roles.epsilon) if swapped else (roles.epsilon, other.epsilon)
    if not same(np.array(epsilons[0]), np.array(epsilons[1])):
        stated["epsilon"] = epsilons
    yield Explanation(
        "norm-batch-statistics",
        f"batch normalisation by the {used[1]} statistics; the reference takes the {used[0]} ones",
        of_form(case, forms[1]),
        of_form(case, forms[0]),
        stated,
        Edit((), ("training",), "False" if not swapped else "True"),
        cost=len(stated) - 1,
    )


def _roles(fixed: AffineMap, leaves: Sequence[Array]) -> Iterator[_Roles]:
    """Which of the vectors are running mean and variance, scale and offset; all that fits.

    A constant may hold the variance with the epsilon added: then another vector fits as well.
    """
    axis = _channel_axis(fixed)
    if axis is None:
        return
    shape = fixed.scale.shape
    like = [-1 if at == axis else 1 for at in range(len(shape))]
    vectors = [leaf.reshape(like) for leaf in leaves if leaf.size == shape[axis]]
    one, none = np.ones(like and [1] * len(shape)), np.zeros([1] * len(shape))
    for v, g in itertools.product(range(len(vectors)), range(len(vectors) + 1)):
        variance, scale = vectors[v], [*vectors, one][g]
        if v == g or variance.min() < 0:
            continue
        epsilon = _constant_epsilon((scale / fixed.scale) ** 2 - variance, variance)
        if epsilon is None:
            continue
        rest = [vector for at, vector in enumerate(vectors) if at not in (v, g)]
        for mean, offset in itertools.product([*rest, none], repeat=2):
            if mean is offset and mean is not none:
                continue
            if np.allclose(offset - mean * fixed.scale, fixed.offset, 1e-6, 1e-7):
                ones = np.ones(shape)
                yield _Roles(
                    mean * ones, variance * ones, scale * ones, offset * ones, epsilon, axis
                )
                break


def _constant_epsilon(found: Array, compared: Array) -> float | None:
    """The epsilon that is the same in every channel, as a person writes it."""
    slack = 1e-6 * float(np.abs(compared).max())
    low, high = float(found.min()), float(found.max())
    epsilon = float(np.median(found))
    if not high - low <= slack + 1e-6 * abs(epsilon) or not -slack <= epsilon <= 1.0:
        return None
    size = float(np.abs(compared).max())
    if epsilon <= 1e-9 * size and epsilon < 1e-9:
        return 0.0
    return plain(epsilon, max(1e-6, (high - low + 1e-13 * size) / epsilon))


def _channel_axis(fixed: AffineMap) -> int | None:
    """The only axis along which scale and offset vary."""
    both = (fixed.scale, fixed.offset)
    vary = {
        axis
        for array in both
        for axis in range(array.ndim)
        if array.shape[axis] > 1
        and not np.allclose(np.diff(array, axis=axis), 0.0, atol=1e-9 * float(np.abs(array).max()))
    }
    return vary.pop() if len(vary) == 1 else None
