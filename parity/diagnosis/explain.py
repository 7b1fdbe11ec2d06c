"""Why two models part: the causes propose, and what holds on every input is the explanation.

An explanation is accepted only if the change that it names takes the difference down to rounding,
on the user's inputs and on generated ones, and only if its formula without the change gives the
reference's own value. The simplest is preferred; where two hold alike, both are told.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Cause, Explanation, causes
from parity.diagnosis.enclosures import enclosures
from parity.diagnosis.trial import Trial
from parity.errors import ReplayError
from parity.matching.fingerprint import SAME
from parity.numerics.difference import residual
from parity.numerics.rounding import U32
from parity.tape import Array

_ROUNDING = 8 * U32  # a few constants baked in float32
_SMALL_SHARE = 0.01  # of a difference that an explanation may leave
_ENCLOSURES = 6


@dataclass(frozen=True)
class Explained:
    """An explanation that holds.

    Attributes:
        after: the residual that it leaves, the largest over the inputs.
        inputs: on how many inputs it was tried.
        equally: kinds of other explanations that hold as well and assume no more.
    """

    explanation: Explanation
    after: float
    inputs: int
    equally: tuple[str, ...] = ()


@dataclass(frozen=True)
class Closest:
    """The best of the proposals that do not hold.

    Attributes:
        share: of the residual that it removes, in 0..1.
    """

    explanation: Explanation
    share: float


def explain(case: Case) -> Explained | Closest | None:
    """The simplest explanation that holds; else the one that comes closest; else None."""
    closest: Closest | None = None
    tiers = itertools.groupby(sorted(causes(), key=lambda one: one.tier), lambda one: one.tier)
    around = _Around(case)
    for _, tier in tiers:
        held = []
        for one in tier:
            for proposed, where in _proposals(one, case, around):
                result = hold(where, proposed)
                if isinstance(result, Explained):
                    held.append(result)
                elif closest is None or result.share > closest.share:
                    closest = result if result.share > 0 else closest
        if held:
            return _simplest(held)
    return closest


class _Around:
    """The enclosures of a case, made when the first cause asks for them."""

    def __init__(self, case: Case) -> None:
        self._source = itertools.islice(enclosures(case), _ENCLOSURES)
        self._made: list[Case] = []

    def __iter__(self) -> Iterator[Case]:
        yield from self._made
        for case in self._source:
            self._made.append(case)
            yield case


def _proposals(
    one: Cause, case: Case, around: Iterable[Case]
) -> Iterator[tuple[Explanation, Case]]:
    for where in itertools.chain([case], around if one.enclosures else []):
        try:
            with np.errstate(all="ignore"):
                proposals = list(one.propose(where))
        except ReplayError:  # it asks for inputs that an operation does not take
            continue
        except Exception as error:  # a cause that fails costs its explanation, not the comparison
            name = one.propose.__name__
            warnings.warn(f"the cause {name} could not be tried: {error!r}", stacklevel=2)
            continue
        for proposed in proposals:
            yield proposed, where
        if proposals and where is not case:
            return


def hold(case: Case, proposed: Explanation) -> Explained | Closest:
    """Tries an explanation on every input."""
    after, tried, shown = 0.0, 0, False
    for trial in case.trials():
        # what rounded constants leave does not shrink with a difference that an input hides
        shows = max(trial.gap, case.first.gap)
        bound = max(SAME, min(_ROUNDING, _SMALL_SHARE * shows))
        left = _left(proposed, trial)
        tried += 1
        if not left <= bound:
            first = case.first
            shown = 0 < first.gap < np.inf
            share = 1 - _left(proposed, first) / first.gap if shown else 0.0
            return Closest(proposed, max(0.0, share) if np.isfinite(share) else 0.0)
        after = max(after, left)
        # what is NaN or infinite throughout proves nothing
        shown = shown or trial.gap > 2 * bound and bool(np.isfinite(trial.candidate).any())
    return Explained(proposed, after, tried) if shown else Closest(proposed, 0.0)


def _left(proposed: Explanation, trial: Trial) -> float:
    """What an explanation leaves of the difference: the worse of both sides."""
    with np.errstate(all="ignore"):
        left = _apart(proposed.candidate(trial), trial.candidate)
        if proposed.reference is not None:
            left = max(left, _apart(proposed.reference(trial), trial.reference))
    return left


def _apart(predicted: Array, actual: Array) -> float:
    if predicted.shape != actual.shape:
        return float("inf")
    return residual(actual, predicted)


def _simplest(held: list[Explained]) -> Explained:
    """The one that assumes least."""
    best = min(held, key=lambda one: one.explanation.cost)
    others = {
        one.explanation.kind
        for one in held
        if one.explanation.cost == best.explanation.cost
        and one.explanation.kind != best.explanation.kind
    }
    return Explained(best.explanation, best.after, best.inputs, tuple(sorted(others)))
