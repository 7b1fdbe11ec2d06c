"""Reductions over another axis, of another kind, or not taken at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._arrange import holds_two_numbers
from parity.diagnosis.causes._limits import PLAIN_REDUCTION
from parity.diagnosis.causes._reduced import OtherReduction, axis_edit, by_count, changes, mixed
from parity.diagnosis.causes._substitution import spell
from parity.diagnosis.causes.distribution import is_log_probability
from parity.diagnosis.causes.distributional import is_weighted
from parity.diagnosis.causes.dueling import centres_advantages


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
        if is_weighted(case, one) and change.kind == one.kind:
            continue
        yield replace(_explanation(case, change), unproved=_of_two_numbers(case, one.source))
    for one, some, predict in mixed(case):
        rank = len(case.reference.tape.values[one.source].shape)
        other = "mean" if one.kind == "sum" else "sum"
        mixture = f"{other} over axis {spell(some, rank)}, {one.kind} over the rest"
        yield Explanation(
            "reduction-kind",
            f"{mixture}; the reference takes the {one.kind} over axis {spell(one.axes, rank)}",
            predict,
            parameters={"kind": (one.kind, mixture)},
            cost=PLAIN_REDUCTION,
        )
    kinds = by_count(case)
    if kinds is not None:
        ratio = float(case.first.x.size // case.first.reference.size)
        factor = ratio if kinds[1] == "sum" else 1 / ratio
        yield Explanation(
            "reduction-kind",
            f"the {kinds[1]} is taken; the reference takes the {kinds[0]}",
            lambda trial: trial.reference * factor,
            parameters={"kind": kinds},
            cost=PLAIN_REDUCTION,
        )


def _of_two_numbers(case: Case, source: int) -> str:
    if not holds_two_numbers(case.repaired.reference.array(source)):
        return ""
    return "what is reduced holds but two numbers: other operations give the same of it"


def _explanation(case: Case, change: OtherReduction) -> Explanation:
    one, (reference, candidate) = change.reduction, change.named
    over = "" if reference == () else f" over axis {reference}"
    if change.kind == one.kind:
        return Explanation(
            "reduction-axis",
            f"{one.kind} over axis {candidate}; the reference takes it over axis {reference}",
            change.predict,
            parameters={"axis": (reference, candidate)},
            edit=axis_edit(case, one, adds=False),
            cost=PLAIN_REDUCTION,
        )
    missing = change.kind == "none"
    if missing:
        text = f"what the reference takes the {one.kind} of{over} is not reduced"
    elif reference in ((), candidate):
        text = f"the {change.kind}{over}; the reference takes the {one.kind}"
    else:
        text = f"the {change.kind} over axis {candidate}; the reference takes the {one.kind}{over}"
    return Explanation(
        "reduction-missing" if missing else "reduction-kind",
        text,
        change.predict,
        parameters={"kind": (one.kind, change.kind)},
        cost=PLAIN_REDUCTION,
    )
