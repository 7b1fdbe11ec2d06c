"""The spread inside a normalisation, where models meet again: a fused norm gives it as well."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._attested import other_scale
from parity.diagnosis.causes._limits import HUGE_INPUT, TINY_INPUT
from parity.diagnosis.causes._norm_changes import edit_of, in_words
from parity.diagnosis.normalisation import plain, same
from parity.tape import Array

_POWERS = (-0.5, 0.5, 1.0, -1.0)


@dataclass(frozen=True)
class _Spread:
    """(factor * variance + epsilon) ** power, over axes that are left out or kept with length 1."""

    axes: tuple[int, ...]
    centred: bool
    power: float
    factor: float
    epsilon: float

    def of(self, x: Array) -> Array:
        found: Array = (self.factor * self.variance(x) + self.epsilon) ** self.power
        return found

    def variance(self, x: Array) -> Array:
        centred = x - x.mean(axis=self.axes, keepdims=True) if self.centred else x
        found: Array = np.square(centred).mean(axis=self.axes, keepdims=True)
        return found

    @property
    def predict(self) -> Predict:
        return lambda trial: self.of(trial.x).reshape(trial.reference.shape)


@cause("norm-epsilon", "variance-ddof")
def spread(case: Case) -> Iterator[Explanation]:
    """The deviation inside a normalisation, or its reciprocal, with another epsilon or another n.

    Looks like: what is normalised is off by a little, most where inputs are small.
    Proof: both sides are (k * variance + epsilon) to one power, as their responses to huge and
        tiny inputs show; with one number changed the reference's formula gives the candidate's
        value, and unchanged the reference's.
    """
    first = case.first
    if len(first.given) != 1 or len(first.inputs) != 1 or first.x.dtype.kind != "f":
        return
    if first.reference.shape != first.candidate.shape:
        return
    for axes in _reduced(first.x.shape, first.reference.shape):
        reference, candidate = (_spread(case, side, axes) for side in (0, 1))
        if reference is None or candidate is None or reference.power != candidate.power:
            continue
        found = _between(case, reference, candidate)
        if found is not None:
            yield found
            return


def _between(case: Case, reference: _Spread, candidate: _Spread) -> Explanation | None:
    if reference.centred != candidate.centred:
        return None
    kinds: list[str] = []
    parameters: dict[str, tuple[Any, Any]] = {}
    if not _alike(reference.factor, candidate.factor):
        count = int(np.prod([case.first.x.shape[axis] for axis in reference.axes]))
        ddof = _ddof(reference.factor, count), _ddof(candidate.factor, count)
        if None in ddof:
            return None
        kinds.append("variance-ddof")
        parameters["ddof"] = ddof
    if not _alike(reference.epsilon, candidate.epsilon):
        kinds.append("norm-epsilon")
        parameters["epsilon"] = (reference.epsilon, candidate.epsilon)
    if not kinds:
        return None
    return Explanation(
        kinds[0],
        f"a variance with {in_words(parameters)}",
        candidate.predict,
        reference.predict,
        parameters,
        edit_of(kinds, parameters),
        cost=len(parameters) - 1,
        unproved=other_scale(case.candidate, candidate.epsilon) if "epsilon" in parameters else "",
    )


def _alike(a: float, b: float) -> bool:
    return same(np.array(a), np.array(b))


def _ddof(factor: float, count: int) -> int | None:
    """0 of a mean over all, 1 of one over all but one."""
    if _alike(factor, 1.0):
        return 0
    return 1 if count > 1 and _alike(factor, count / (count - 1)) else None


def _reduced(whole: tuple[int, ...], left: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The axes over which one shape may be another reduced."""
    for count in range(1, len(whole) + 1):
        for axes in itertools.combinations(range(len(whole)), count):
            kept = tuple(1 if axis in axes else n for axis, n in enumerate(whole))
            bare = tuple(n for axis, n in enumerate(whole) if axis not in axes)
            if left in (kept, bare) and np.prod([whole[axis] for axis in axes]) > 1:
                yield axes


def _spread(case: Case, side: int, axes: tuple[int, ...]) -> _Spread | None:
    huge, tiny = (_response(case, side, factor) for factor in (HUGE_INPUT, TINY_INPUT))
    for centred, power in itertools.product((True, False), _POWERS):
        found = _Spread(axes, centred, power, 1.0, 0.0)
        with np.errstate(all="ignore"):
            far, near = (
                (y ** (1 / power), found.variance(x).reshape(y.shape)) for x, y in (huge, tiny)
            )
            ratios = far[0] / far[1]
            epsilons = near[0] - ratios.mean() * near[1]
        if np.isfinite([ratios, epsilons]).all() and same(ratios, np.array(ratios.mean())):
            epsilon = plain(max(0.0, float(epsilons.mean())))
            return replace(found, factor=float(ratios.mean()), epsilon=epsilon)
    return None


def _response(case: Case, side: int, factor: float) -> tuple[Array, Array]:
    random = np.random.default_rng(0)
    fed = case.redrawn(lambda array: factor * random.standard_normal(array.shape))
    trial = case.probe(fed)
    return trial.x, (trial.reference, trial.candidate)[side]
