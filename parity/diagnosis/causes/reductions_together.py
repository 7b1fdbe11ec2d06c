"""Several reductions that are changed alike: all maxima are means, all statistics of other axes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import PLAIN_REDUCTION
from parity.diagnosis.causes._reduced import KINDS, Reduction, reduce, reduced_by, reducing
from parity.diagnosis.causes._substitution import (
    Axes,
    Form,
    Inside,
    Substituted,
    in_candidate_layout,
    inside_candidate,
    inside_reference,
    laid_like,
    spell,
    subsets,
)
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.tape import Array

_Other = tuple[int, int, Form]  # a value, what it is a reduction of, and another reduction of that


@cause("reduction-kind", "reduction-axis")
@first_fitting
def together(case: Case) -> Iterator[Explanation]:
    """All reductions of a region are of another kind, or over other axes.

    Looks like: a mean for each of several maxima, whose results are joined; the least and the
        greatest of each channel where those of a whole sample belong.
    Proof: the reference's operations with the others in the place of all of them give the
        candidate's value.
    """
    inside = inside_reference(case)
    found = list(reducing(inside))
    if len(found) > 1:
        there = list(reducing(inside_candidate(case)))
        yield from _of_another_kind(case, found, there)
        yield from _over_other_axes(case, inside, found, there)


def _of_another_kind(
    case: Case, found: Sequence[Reduction], there: Sequence[Reduction]
) -> Iterator[Explanation]:
    for kind, other in itertools.permutations(KINDS, 2):
        group = [one for one in found if one.kind == kind]
        if len(group) < 2 or sum(one.kind == other for one in there) < len(group):
            continue
        yield Explanation(
            "reduction-kind",
            f"the {other} in each of {len(group)} places; the reference takes the {kind}",
            _predicting(case, [_other(one, other, one.axes) for one in group]),
            parameters={"kind": (kind, other)},
            cost=PLAIN_REDUCTION,
        )


def _over_other_axes(
    case: Case, inside: Inside, found: Sequence[Reduction], there: Sequence[Reduction]
) -> Iterator[Explanation]:
    tape = case.reference.tape
    placed = [_with_kept_axes(case, inside, one) for one in found]
    alike = [one for one in placed if one.source == placed[0].source and one.axes == placed[0].axes]
    if len(alike) < 2:
        return
    kinds = dict.fromkeys(one.kind for one in alike)
    if not kinds.keys() <= {one.kind for one in there}:
        return
    source, own = alike[0].source, alike[0].axes
    rank = len(tape.values[source].shape)
    was, here = spell(own, rank), in_candidate_layout(case, source, own)
    same = "" if was == here else f", which is {here} here"
    for axes, stay in itertools.product(subsets(rank), (True, False)):
        if axes == own:
            continue
        now = in_candidate_layout(case, source, axes)
        yield Explanation(
            "reduction-axis",
            f"{' and '.join(kinds)} over axis {now}; the reference's are over axis {was}{same}",
            _predicting(case, [_other(one, one.kind, axes) for one in alike], stay),
            parameters={"axis": (was, now)},
            cost=PLAIN_REDUCTION,
        )


def _with_kept_axes(case: Case, inside: Inside, one: Reduction) -> Reduction:
    """A reduction with the axes that a reshape before it merged, and one behind it puts back."""
    tape, start = inside.view.tape, inside.view.tape.before_moves(one.source)
    ends = [one.value]
    for op in inside.view.ops:
        if op.role == "move" and op.inputs[:1] == (ends[-1],) and len(op.outputs) == 1:
            ends.append(op.outputs[0])
    for source, value in itertools.product((*inside.entering, *case.roots), reversed(ends)):
        x, made = inside.array(source), inside.array(value)
        if tape.before_moves(source) != start or x.ndim != made.ndim:
            continue
        found = reduced_by(x, made)
        if found is not None and found[0] == one.kind:
            return replace(one, source=source, value=value, axes=found[1], keeps=True)
    return one


def _other(one: Reduction, kind: str, axes: Axes) -> _Other:
    return one.value, one.source, partial(reduce, kind=kind, axes=axes, keeps=one.keeps)


def _predicting(case: Case, others: Sequence[_Other], stay: bool = True) -> Substituted:
    """The reference's region with other values in several places.

    Args:
        stay: whether the inputs stay, where they are made of those values: the candidate may make
            them of its own.
    """

    def run(trial: Trial, change: Form) -> Array:
        arrays = case.reference_values(trial.given, [source for _, source, _ in others])
        put = {
            value: change(form(array))
            for (value, _, form), array in zip(others, arrays, strict=True)
        }
        entering = dict(zip(case.entering, trial.inputs, strict=True)) if stay else {}
        return laid_like(case, case.run_reference(trial.given, {**entering, **put}))

    return Substituted(run)
