"""Reductions over another axis, of another kind, or not taken at all."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np

from parity.arrays import varies
from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._arrange import holds_two_numbers
from parity.diagnosis.causes._limits import ELEMENTS_OF_A_SUM, PLAIN_REDUCTION
from parity.diagnosis.causes._reduced import OtherReduction, axis_edit, changes, reductions
from parity.diagnosis.causes._substitution import inside_reference, spell, with_value
from parity.diagnosis.causes.combinators import all_that_fit, first_that_fits
from parity.diagnosis.causes.distribution import is_log_probability
from parity.diagnosis.causes.distributional import is_weighted
from parity.diagnosis.causes.dueling import centres_advantages
from parity.diagnosis.trial import Trial
from parity.tape import Array


@cause("reduction-axis", "reduction-kind", "reduction-missing")
def reduction(case: Case) -> Iterator[Explanation]:
    """A mean, sum or maximum is over another axis, of another kind, or is not taken.

    Looks like: another shape, or the ratio of both sides is everywhere the length of an axis (a
        mean for a sum); over the batch, a row that changes with its neighbours.
    Proof: the reference's operations with the other reduction in the place of its own give the
        candidate's value; where it is missing, with what should have been reduced.
    """
    for change in changes(case):
        one = change.reduction
        if centres_advantages(case, one) or is_log_probability(case, one.source):
            continue
        if change.is_of_axes and is_weighted(case, one):
            continue
        yield _explanation(case, change)
    yield from all_that_fit(case, _mixed(case))
    yield from first_that_fits(case, _by_count(case))


def _mixed(case: Case) -> Iterator[Explanation]:
    """Sums of which the candidate takes the mean over some of the axes, or the other way round."""
    tape = case.reference.tape
    for one in reductions(inside_reference(case)):
        shape = tape.values[one.source].shape
        other = {"mean": "sum", "sum": "mean"}.get(one.kind)
        counts = range(1, len(one.axes)) if other else ()
        for some in (some for n in counts for some in itertools.combinations(one.axes, n)):
            size = float(np.prod([shape[axis] for axis in some]))
            factor = 1 / size if one.kind == "sum" else size
            mixture = f"{other} over axis {spell(some, len(shape))}, {one.kind} over the rest"
            yield _of_kind(
                f"{mixture}; the reference takes the {one.kind} over axis "
                f"{spell(one.axes, len(shape))}",
                with_value(case, one.value, partial(np.multiply, factor)),
                (one.kind, mixture),
            )


def _by_count(case: Case) -> Iterator[Explanation]:
    """Sum and mean where the loss is one operation: their ratio is the number of elements."""
    first = case.first
    if first.reference.shape != first.candidate.shape or not varies(first.x):
        return
    count = first.x.size // max(first.reference.size, 1)
    if count < ELEMENTS_OF_A_SUM or any(reductions(inside_reference(case))):
        return
    for kinds, factor in ((("sum", "mean"), 1 / count), (("mean", "sum"), float(count))):
        text = f"the {kinds[1]} is taken; the reference takes the {kinds[0]}"
        yield _of_kind(text, partial(_multiplied, factor), kinds)


def _multiplied(factor: float, trial: Trial) -> Array:
    return trial.reference * factor


def _of_kind(summary: str, predict: Predict, kinds: tuple[str, str]) -> Explanation:
    return Explanation(
        "reduction-kind", summary, predict, parameters={"kind": kinds}, cost=PLAIN_REDUCTION
    )


def _of_two_numbers(case: Case, source: int) -> str:
    if not holds_two_numbers(case.repaired.reference.array(source)):
        return ""
    return "what is reduced holds but two numbers: other operations give the same of it"


def _explanation(case: Case, change: OtherReduction) -> Explanation:
    one, (reference, candidate) = change.reduction, change.named
    over = "" if reference == () else f" over axis {reference}"
    kind, edit = "reduction-kind", None
    if change.is_of_axes:
        kind, edit = "reduction-axis", axis_edit(case, one, adds=False)
        text = f"{one.kind} over axis {candidate}; the reference takes it over axis {reference}"
    elif change.kind == "none":
        kind = "reduction-missing"
        text = f"what the reference takes the {one.kind} of{over} is not reduced"
    elif reference in ((), candidate):
        text = f"the {change.kind}{over}; the reference takes the {one.kind}"
    else:
        text = f"the {change.kind} over axis {candidate}; the reference takes the {one.kind}{over}"
    unproved = _of_two_numbers(case, one.source)
    return change.explained(kind, text, edit=edit, cost=PLAIN_REDUCTION, unproved=unproved)
