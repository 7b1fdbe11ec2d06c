"""The spread inside a normalisation, where models meet again: a fused norm gives it as well."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._attested import other_scale
from parity.diagnosis.causes._limits import HUGE_INPUT, OPS_OF_A_NORM, TINY_INPUT
from parity.diagnosis.causes._substitution import Axes, subsets
from parity.diagnosis.causes.norm import edit_of, in_words
from parity.diagnosis.normalisation import plain, same
from parity.diagnosis.trial import Trial
from parity.operations import DIVISIONS, MULTIPLICATIONS, SUBTRACTIONS
from parity.tape import Array, Tape

_POWERS = (-0.5, 0.5, 1.0, -1.0)
_ROUNDING = 1e-9 * TINY_INPUT**2  # of the variance of tiny inputs: no epsilon
_ROOTS = frozenset(("sqrt", "rsqrt", "power"))
_KINDS = {"centred": "norm-not-centered", "ddof": "variance-ddof", "epsilon": "norm-epsilon"}


@dataclass(frozen=True)
class _Spread:
    """(factor * variance + epsilon) ** power, over axes that are left out or kept with length 1."""

    axes: Axes
    centred: bool
    power: float
    factor: float = 1.0
    epsilon: float = 0.0

    def __call__(self, trial: Trial) -> Array:
        whole: Array = (self.factor * self.variance(trial.x) + self.epsilon) ** self.power
        return whole.reshape(trial.reference.shape)

    def variance(self, x: Array) -> Array:
        return np.asarray(x.var(self.axes) if self.centred else np.square(x).mean(self.axes))

    def ddof(self, count: int) -> int | None:
        """0 of a mean over all, 1 of one over all but one."""
        if same(self.factor, 1.0):
            return 0
        return 1 if count > 1 and same(self.factor, count / (count - 1)) else None


@cause("norm-epsilon", "variance-ddof", "norm-not-centered")
def spread(case: Case) -> Iterator[Explanation]:
    """The deviation inside a normalisation, or its reciprocal, with another epsilon or another n.

    Or it is taken around zero and not around the mean, or the other way round.

    Looks like: what is normalised is off by a little, most where inputs are small; or most where
        their mean is far from zero.
    Proof: both sides are (k * variance + epsilon) to one power, as their responses to huge and
        tiny inputs show; with one thing changed the reference's formula gives the candidate's
        value, and unchanged the reference's.
    """
    first = case.first
    whole, left = first.x.shape, first.reference.shape
    if len(first.given) != 1 or len(first.inputs) != 1 or first.x.dtype.kind != "f":
        return
    if left != first.candidate.shape:
        return
    for axes in subsets(len(whole)):
        kept = tuple(1 if axis in axes else n for axis, n in enumerate(whole))
        bare = tuple(n for axis, n in enumerate(whole) if axis not in axes)
        count = math.prod(whole[axis] for axis in axes)
        if left not in (kept, bare) or count < 2:
            continue
        reference, candidate = (_spread(case, side, axes) for side in (0, 1))
        found = reference and candidate and _between(case, reference, candidate, count)
        if found:
            yield found
            return


def _between(case: Case, reference: _Spread, candidate: _Spread, count: int) -> Explanation | None:
    if reference.power != candidate.power:
        return None
    parameters: dict[str, tuple[Any, Any]] = {
        "centred": (reference.centred, candidate.centred),
        "ddof": (reference.ddof(count), candidate.ddof(count)),
        "epsilon": (reference.epsilon, candidate.epsilon),
    }
    if reference.centred == candidate.centred:
        del parameters["centred"]
    elif not _scales(case):
        return None  # a spread that is looked at for itself is no part of a norm
    if same(reference.factor, candidate.factor):
        del parameters["ddof"]
    elif None in parameters["ddof"]:
        return None
    if same(reference.epsilon, candidate.epsilon):
        del parameters["epsilon"]
    if not parameters:
        return None
    return Explanation(
        next(kind for name, kind in _KINDS.items() if name in parameters),
        f"a variance with {in_words(parameters)}",
        candidate,
        reference,
        parameters,
        edit_of(parameters),
        cost=len(parameters) - 1,
        unproved=other_scale(case.candidate, candidate.epsilon) if "epsilon" in parameters else "",
    )


def _scales(case: Case) -> bool:
    """Whether the reference divides what it takes the spread of by its root."""
    view = case.reference
    tape, behind = view.tape, view.readers(OPS_OF_A_NORM)
    roots = {op.word for op in (*view.ops, *behind)} & _ROOTS
    ends = {tape.before_moves(value) for value in case.entering}
    own = {tape.before_moves(one) for value in case.entering for one in _less_its_mean(tape, value)}
    return bool(roots) and any(
        op.word in MULTIPLICATIONS | DIVISIONS
        and any(tape.before_moves(value) in ends | own for value in op.inputs)
        for op in behind
    )


def _less_its_mean(tape: Tape, value: int) -> list[int]:
    """What a norm multiplies besides its input: the input less something."""
    readers = (tape.ops[index] for index in tape.consumers[value])
    return [one for op in readers if op.word in SUBTRACTIONS for one in op.outputs]


def _spread(case: Case, side: int, axes: Axes) -> _Spread | None:
    """What one side computes of its input, as its responses to huge and to tiny inputs show."""
    responses = []
    normal = case.redrawn(lambda one: np.random.default_rng(0).standard_normal(one.shape))
    for factor in (HUGE_INPUT, TINY_INPUT):
        trial = case.probe({root: factor * x for root, x in normal.items()})
        responses.append((trial.x, (trial.reference, trial.candidate)[side]))
    for centred, power in itertools.product((True, False), _POWERS):
        found = _Spread(axes, centred, power)
        with np.errstate(all="ignore"):
            far, near = (
                (y ** (1 / power), found.variance(x).reshape(y.shape)) for x, y in responses
            )
            ratios = far[0] / far[1]
            epsilons = near[0] - ratios.mean() * near[1]
        if np.isfinite([ratios, epsilons]).all() and same(ratios, ratios.mean()):
            least = float(epsilons.mean())
            epsilon = plain(least) if least > _ROUNDING else 0.0
            return replace(found, factor=float(ratios.mean()), epsilon=epsilon)
    return None
