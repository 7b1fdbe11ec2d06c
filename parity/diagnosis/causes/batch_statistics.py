"""Batch normalisation: by running statistics, or by the batch's own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Edit, Explanation, cause
from parity.diagnosis.causes._attested import other_scale, repeats
from parity.diagnosis.causes._limits import SAME_VARIANCE, SIMILAR_VARIANCE, VECTORS_OF_A_NORM
from parity.diagnosis.causes._weights import held
from parity.diagnosis.causes.norm import edit_of, forms_of, in_words, is_vector
from parity.diagnosis.normalisation import (
    AffineMap,
    Normalisation,
    of_form,
    plain,
    same,
    same_affine,
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
    vectors = vectors_of(case)
    for fixed, other, swapped in ((*forms, False), (*forms[::-1], True)):
        if not isinstance(fixed, AffineMap):
            continue
        found: list[Explanation] = []
        for roles in roles_of(fixed, vectors):
            if isinstance(other, AffineMap):
                found += _by_running_statistics(case, roles, (fixed, other), swapped)
            else:
                found += _statistics_of_the_batch(case, roles, fixed, other, swapped)
        yield from found
        if found:  # a change from the one to the other is one back
            return


def vectors_of(case: Case) -> list[Array]:
    """The parameters and constants of both sides with one axis, none twice.

    And what is made of them before an operation reads it: a variance may be kept as its logarithm.
    """
    found: list[Array] = []
    for leaf in (*held(case, as_candidate=False), *held(case, as_candidate=True)):
        flat = leaf.array.ravel()
        if is_vector(leaf.array) and not any(np.array_equal(flat, other) for other in found):
            found.append(flat)
    return found[:VECTORS_OF_A_NORM]


@dataclass(frozen=True)
class Roles:
    """Running statistics and affine part of a batch normalisation, along an axis of channels."""

    mean: Array
    variance: Array
    scale: Array
    offset: Array
    epsilon: float
    axis: int

    @property
    def is_bare(self) -> bool:
        """Whether the norm has neither a scale nor an offset."""
        return self.scale.size == self.offset.size == 1 < self.mean.size

    def divided_by(self, divisor: Array) -> AffineMap:
        factor = self.scale / divisor
        return AffineMap(factor, self.offset - self.mean * factor)

    @property
    def affine(self) -> AffineMap:
        return self.divided_by(np.sqrt(self.variance + self.epsilon))


def _by_running_statistics(
    case: Case, roles: Roles, forms: tuple[AffineMap, AffineMap], swapped: bool
) -> Iterator[Explanation]:
    """Both sides by running statistics, with one thing different.

    Args:
        roles: of the first form.
        forms: the reference's and the candidate's; `swapped` has them the other way round.
    """
    ops = (*case.reference.computing, *case.candidate.computing)
    named = "batch normalisation" if any(op.word == "batch_norm" for op in ops) else _BY_STORED
    for kind, found, changed in _changes_of_running(roles, forms[1]):
        stated = {name: pair[::-1] if swapped else pair for name, pair in changed.items()}
        used = (found, forms[0]) if swapped else (forms[0], found)
        idle = _idle(case, tuple(stated), swapped) if kind == "norm-affine-missing" else ""
        predicted = of_form(case, used[1]), of_form(case, used[0])
        if idle:
            yield Explanation("weight-values", idle, *predicted, cost=-1)
            continue
        yield Explanation(
            kind,
            f"{named} with {in_words(stated)}",
            *predicted,
            stated,
            edit_of(stated),
            cost=len(stated) - 1,
            unproved=_no_other_epsilon(case, roles, stated),
        )


def _no_other_epsilon(case: Case, roles: Roles, stated: Mapping[str, Any]) -> str:
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
    views = case.reference, case.candidate
    return next(filter(None, map(other_scale, views, stated["epsilon"])), "")


_NO_EFFECT = {"scale": (1.0, "one"), "offset": (0.0, "zero")}


def _idle(case: Case, parts: Sequence[str], of_reference: bool) -> str:
    """What a norm's parameters are that are there and change nothing; "" where one is not there."""
    view, other = case.candidate, "the reference"
    if of_reference:
        view, other = case.reference, "the candidate"
    words = []
    for part in parts:
        number, spelt = _NO_EFFECT[part]
        kept = [one for one in view.leaves if one.kind == "parameter" and one.array.ndim]
        found = next((one for one in kept if (one.array == number).all()), None)
        if found is None:
            return ""
        named = f" ({found.name})" if found.name else ""
        words.append(f"its {part}{named} is {spelt} throughout")
    whose = "batch normalisation of the reference" if of_reference else "batch normalisation"
    return f"{whose}: {' and '.join(words)}; {other}'s is not"


def _changes_of_running(
    roles: Roles, candidate: AffineMap
) -> Iterator[tuple[str, AffineMap, dict[str, tuple[Any, Any]]]]:
    divisor = roles.scale / candidate.scale
    epsilon = _constant_epsilon(divisor**2 - roles.variance, roles.variance)
    if epsilon is not None and epsilon != roles.epsilon:
        changed = replace(roles, epsilon=epsilon).affine
        yield "norm-epsilon", changed, {"epsilon": (roles.epsilon, epsilon)}
    spread = np.sqrt(roles.variance)
    epsilon = _constant_epsilon(divisor - spread, spread)
    if epsilon:
        stated: dict[str, tuple[Any, Any]] = {"placement": ("inside", "outside")}
        if epsilon != roles.epsilon:
            stated["epsilon"] = (roles.epsilon, epsilon)
        yield "norm-epsilon-placement", roles.divided_by(spread + epsilon), stated
    ones, zeros = np.ones_like(spread), np.zeros_like(spread)
    for missing, bare in (
        (("scale",), replace(roles, scale=ones)),
        (("offset",), replace(roles, offset=zeros)),
        (("scale", "offset"), replace(roles, scale=ones, offset=zeros)),
    ):
        if same_affine(bare.affine, candidate) and not same_affine(bare.affine, roles.affine):
            yield "norm-affine-missing", bare.affine, dict.fromkeys(missing, (True, False))


def _statistics_of_the_batch(
    case: Case, roles: Roles, fixed: AffineMap, other: Normalisation, swapped: bool
) -> Iterator[Explanation]:
    """One side by running statistics, the other by those of the batch.

    Args:
        swapped: whether it is the reference that takes those of the batch.
    """
    if not is_of_batch(other, roles.axis):
        return
    if not same_affine(other, AffineMap(roles.scale, roles.offset)):
        return
    running, batch = ("running", fixed, roles.epsilon), ("batch", other, other.epsilon)
    used, forms, epsilons = zip(*((batch, running) if swapped else (running, batch)), strict=True)
    stated: dict[str, tuple[Any, Any]] = {"statistics": used}
    if not same(*epsilons):
        stated["epsilon"] = epsilons
    yield Explanation(
        "norm-batch-statistics",
        f"batch normalisation by the {used[1]} statistics; the reference takes the {used[0]} ones",
        of_form(case, forms[1]),
        of_form(case, forms[0]),
        stated,
        Edit((), ("training",), repr(swapped)),
        cost=len(stated) - 1,
    )


def is_of_batch(norm: Normalisation, channels: int) -> bool:
    """Whether the statistics are over all axes but that of the channels."""
    shape = norm.scale.shape
    long = [axis for axis, n in enumerate(shape) if n > 1 and axis != channels]
    return [axis for axis in norm.statistics.axes if shape[axis] > 1] == long


def roles_of(fixed: AffineMap, leaves: Sequence[Array]) -> Iterator[Roles]:
    """Which of the vectors are running mean and variance, scale and offset; all that fits.

    A constant may hold the variance with the epsilon added: then another vector fits as well.
    """
    axis = channel_axis(fixed)
    if axis is None:
        return
    shape = fixed.scale.shape
    like = [-1 if at == axis else 1 for at in range(len(shape))]
    vectors = [leaf.reshape(like) for leaf in leaves if leaf.size == shape[axis]]
    one, none = np.ones([1] * len(shape)), np.zeros([1] * len(shape))
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
                yield Roles(mean, variance, scale, offset, epsilon, axis)
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


def channel_axis(fixed: AffineMap) -> int | None:
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
