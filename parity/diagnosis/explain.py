"""Why two models differ: the causes propose, and what holds on every input is the explanation.

An explanation is accepted only if the change that it names takes the difference down to rounding,
on the user's inputs and on generated ones, and only if its formula without the change gives the
reference's own value. The simplest is preferred; where two hold alike, both are reported.

What holds is no proof yet where no generated inputs differ from the user's, or where the prediction
is read off the values that it should predict: it follows them when they are moved. Such an
explanation is consistent with the evidence, and gives way to any that is proved.
"""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from parity.budget import check
from parity.diagnosis import limits
from parity.diagnosis.case import Case
from parity.diagnosis.causes import LAST, Explanation, Predict, RegisteredCause, causes
from parity.diagnosis.causes._substitution import Substituted
from parity.diagnosis.enlarged_regions import enclosures, whole_sum
from parity.diagnosis.flags import is_flags
from parity.diagnosis.trial import DRAWS, Trial
from parity.errors import ReplayError
from parity.matching.limits import SAME
from parity.numerics.difference import mask_sentinels, residual
from parity.tape import Array


@dataclass(frozen=True)
class Explained:
    """An explanation that holds.

    Attributes:
        case: where it holds: the divergence itself, or an enclosure of it.
        after: the residual that it leaves, the largest over the inputs.
        inputs: on how many inputs it was tried.
        alternatives: kinds of other explanations that hold as well and assume no more.
        unproved: why it is consistent with the evidence and no proof; "" where it is one, as far as
            the region itself can tell.
        by: the cause that proposed it.
    """

    explanation: Explanation
    case: Case
    after: float
    inputs: int
    alternatives: tuple[str, ...] = ()
    unproved: str = ""
    by: RegisteredCause | None = None

    @property
    def repaired(self) -> Array:
        """What the candidate would give on the user's inputs, as the explanation has it.

        Where it predicts the candidate's value, what it leaves of the difference stays.
        """
        stated, first = self.explanation, self.case.first
        with np.errstate(all="ignore"):
            if stated.reference is not None and not _copies_reference(stated, first):
                return stated.reference(first)
            # what hides scores is one number to whoever reads them: none of it is left
            left = mask_sentinels(first.candidate) - mask_sentinels(stated.candidate(first))
        if left.shape != first.reference.shape:
            return first.reference
        fixed: Array = first.reference + np.where(np.isfinite(left), left, 0.0)
        return fixed


@dataclass(frozen=True)
class Closest:
    """The best of the proposals that do not hold.

    Attributes:
        share: of the residual that it removes, in 0..1.
        near: what it would be if the user's inputs, and others near them, were all that counts;
            None where it does not hold on those.
    """

    explanation: Explanation
    share: float
    near: Explained | None = None


def explain(case: Case, siblings: Iterable[Explained] = ()) -> Explained | Closest | None:
    """The simplest explanation that holds; else the one that comes closest; else None.

    Args:
        siblings: what explains the same operations elsewhere. Where one of them is proved here with
            the same parameters, no other cause is asked: a fault of every layer is one fault.
    """
    around = _Around(case)
    for sibling in siblings:
        again = _again(sibling, case, around)
        if again is not None:
            return again
    closest: Closest | None = None
    consistent: list[Explained] = []  # reported only where no tier has a proof
    near: list[Explained] = []  # and these only where they all say one thing
    tiers = itertools.groupby(sorted(causes(), key=lambda one: one.tier), lambda one: one.tier)
    for number, tier in tiers:
        if number == LAST and (consistent or _is_one_kind(near)):
            break
        held: list[Explained] = []
        for one in tier:
            for proposed, where in _proposals(one, case, around):
                result = _tried(one, where, proposed)
                if result is None:
                    break
                if isinstance(result, Explained):
                    if where is case or not _is_doubted_by(one, held):
                        held.append(result)
                    continue
                near += [result.near] if result.near is not None else []
                if closest is None or result.share > closest.share:
                    closest = result if result.share > 0 else closest
        proved = [one for one in held if not one.unproved]
        if proved:
            return _simplest(proved)
        consistent += held
    if consistent or _is_one_kind(near):
        return _simplest(consistent or near)
    return closest


def _is_one_kind(near: Sequence[Explained]) -> bool:
    return len({one.explanation.kind for one in near}) == 1


def _is_doubted_by(one: RegisteredCause, held: Iterable[Explained]) -> bool:
    """Whether a cause holds in the region and doubts that itself: a larger one adds nothing."""
    return any(found.by is one and found.explanation.unproved for found in held)


def _again(sibling: Explained, case: Case, around: _Around) -> Explained | None:
    """What explains a sibling, if that is proved here too; None for what names no parameters."""
    known, by = sibling.explanation, sibling.by
    if by is None or by.tier or not known.parameters or sibling.unproved:
        return None
    for proposed, where in _proposals(by, case, around):
        if (proposed.kind, proposed.parameters) == (known.kind, known.parameters):
            result = _tried(by, where, proposed)
            if isinstance(result, Explained) and not result.unproved:
                return replace(result, alternatives=sibling.alternatives)
    return None


class _Around:
    """The enclosures of a case, made when the first cause asks for them.

    One that goes through a decision, as an argmax, shows less of the numbers than the case does.
    """

    def __init__(self, case: Case) -> None:
        tried = itertools.islice(enclosures(case), limits.ENCLOSURES_TRIED)
        self._source = (one for one in tried if not _decides(one))
        self._made: list[Case] = []
        self._case = case

    @cached_property
    def sums(self) -> tuple[Case, ...]:
        """The whole sum that the case is a part of, if there is more of it."""
        found = whole_sum(self._case)
        return () if found is None else (found,)

    def __iter__(self) -> Iterator[Case]:
        yield from self._made
        for case in self._source:
            self._made.append(case)
            yield case


def _proposals(
    one: RegisteredCause, case: Case, around: _Around
) -> Iterator[tuple[Explanation, Case]]:
    larger = around if one.enclosures else around.sums if one.sums else ()
    for where in itertools.chain([case], larger):
        check()
        proposals: list[Explanation] = []
        with _may_fail(one), np.errstate(all="ignore"):
            proposals = list(one.propose(where))
        for proposed in proposals:
            check()
            yield proposed, where
        if proposals and where is not case:
            return


def _tried(one: RegisteredCause, where: Case, proposed: Explanation) -> Explained | Closest | None:
    """What comes of a proposal; None where it raises, which ends its cause alone."""
    if proposed.reads_the_same:
        return Closest(proposed, 0.0)
    with _may_fail(one):
        result = hold(where, proposed)
        return replace(result, by=one) if isinstance(result, Explained) else result
    return None


@contextlib.contextmanager
def _may_fail(one: RegisteredCause) -> Iterator[None]:
    """A cause that fails costs its explanation, not the comparison."""
    try:
        yield
    except ReplayError:  # it asks for inputs that an operation does not take
        pass
    except Exception as error:
        name = one.propose.__name__
        warnings.warn(f"the cause {name} could not be tried: {error!r}", stacklevel=4)


def hold(case: Case, proposed: Explanation) -> Explained | Closest:
    """Tries an explanation on every input."""
    after, tried, shown, generated = 0.0, 0, False, False
    for trial in case.trials():
        # what rounded constants leave does not shrink with a difference that an input hides
        shows = max(trial.gap, case.first.gap)
        bound = max(SAME, min(limits.CONSTANTS_OF_A_CAUSE, limits.LEFT * shows))
        left = _left(proposed, trial)
        tried += 1
        if not left <= bound:
            if shown and _on_flags(case, proposed) and _is_read(case, proposed):
                only = proposed.unproved or "it holds for zeros and ones, and not for other numbers"
                return Explained(proposed, case, after, tried - 1, unproved=only)
            only = "it holds on your inputs and near them, and not on all that were generated"
            near = Explained(proposed, case, after, tried - 1, unproved=proposed.unproved or only)
            gap = case.first.gap
            share = 1 - _left(proposed, case.first) / gap if 0 < gap < np.inf else 0.0
            share = max(0.0, share) if np.isfinite(share) else 0.0
            is_near = generated and _is_read(case, proposed)
            return Closest(proposed, share, near if is_near else None)
        after = max(after, left)
        # what is NaN or infinite throughout proves nothing
        shows = trial.gap > 2 * bound and bool(np.isfinite(trial.candidate).any())
        shown = shown or shows
        generated = generated or (shows and case.is_generated(trial))
    if not shown or not _is_read(case, proposed):
        return Closest(proposed, 0.0)
    return Explained(proposed, case, after, tried, unproved=_unproved(case, proposed, generated))


def _on_flags(case: Case, proposed: Explanation) -> bool:
    """Whether what holds on the user's zeros and ones does on fewer ones, all else drawn anew.

    A mask that is multiplied twice is the same mask, and no other number is.
    """
    random = np.random.default_rng(0)
    flags = [root for root, array in case.first.given.items() if is_flags(array)]
    kept = case.redrawn(lambda one: one if is_flags(one) else DRAWS[1](one, random))
    for root in flags:
        fewer = case.first.given[root].copy()
        ones = random.permutation(np.flatnonzero(fewer))
        fewer.flat[ones[: len(ones) // 2]] = 0
        if len(ones) < 2:
            continue
        with contextlib.suppress(ReplayError):
            trial = case.probe({**kept, root: fewer}, 1)
            if trial.gap > limits.LEFT and _left(proposed, trial) <= SAME:
                return True
    return False


def _is_read(case: Case, proposed: Explanation) -> bool:
    """Whether what an explanation substitutes changes what it predicts: else anything would fit."""
    trials = list(case.trials())
    predicted = proposed.candidate, proposed.reference
    return all(one.shows(trials) for one in predicted if isinstance(one, Substituted))


def _unproved(case: Case, proposed: Explanation, generated: bool) -> str:
    """Why an explanation that holds is no proof; "" where it is one."""
    if proposed.unproved:
        return proposed.unproved
    if _copies_candidate(proposed, case.first) and (
        proposed.reference is None or _copies_reference(proposed, case.first)
    ):
        return "what it predicts is read off the values that it should predict"
    decision = _decides(case)
    if decision:
        return f"it is seen through {decision} alone: what else decides alike would do as well"
    if generated or not case.first.given:  # where no input reaches, all inputs are one
        return ""
    return "it holds on your inputs, and no others could be generated here"


def _decides(case: Case) -> str:
    """The decision, as an argmax, that all of a region goes through; "" if numbers do."""
    view = case.candidate
    tape, reached = view.tape, set(case.candidate_entering)
    reached = {value for value in reached if tape.values[value].dtype.startswith("float")}
    decision = ""
    for op in view.ops:
        if reached.isdisjoint(op.inputs):
            continue
        numbers = [v for v in op.outputs if tape.values[v].dtype.startswith(("float", "bf"))]
        reached.update(numbers)
        if not numbers:
            decision = decision or op.kind
    return decision if reached and decision and view.end not in reached else ""


def _copies_candidate(proposed: Explanation, trial: Trial) -> bool:
    """Whether what is predicted of the candidate follows the candidate's value when that moves."""
    moved = replace(trial, candidate=_moved(trial.candidate))
    return _follows(proposed.candidate, trial, moved)


def _copies_reference(proposed: Explanation, trial: Trial) -> bool:
    """The same of the reference: no formula knows what it is to predict."""
    moved = replace(trial, reference=_moved(trial.reference))
    return proposed.reference is not None and _follows(proposed.reference, trial, moved)


def _follows(predict: Predict, trial: Trial, moved: Trial) -> bool:
    with np.errstate(all="ignore"):
        before, after = predict(trial), predict(moved)
    floats = before.dtype.kind == "f"
    return not np.array_equal(before, after, equal_nan=floats)


def _moved(array: Array) -> Array:
    """Other values of the same shape: every element is another one."""
    random = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(array), 1.5 * array + random.uniform(1, 2, array.shape), 1.0)


def _left(proposed: Explanation, trial: Trial) -> float:
    """What an explanation leaves of the difference: the worse of both sides."""
    with np.errstate(all="ignore"):
        pairs = [(trial.candidate, proposed.candidate(trial))]
        if proposed.reference is not None:
            pairs.append((trial.reference, proposed.reference(trial)))
        return max(residual(*pair) if pair[0].shape == pair[1].shape else np.inf for pair in pairs)


def _simplest(held: list[Explained]) -> Explained:
    """The one that assumes least."""
    best = min(held, key=lambda one: one.explanation.cost)
    others = {
        one.explanation.kind
        for one in held
        if one.explanation.cost == best.explanation.cost
        and one.explanation.kind != best.explanation.kind
    }
    return replace(best, alternatives=tuple(sorted(others)))
