"""Dueling heads: the advantages centred over another axis, by the maximum, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import OPS_TO_THE_SUM, SAME_ADVANTAGE
from parity.diagnosis.causes._reduced import Reduction, axis_edit, changes, reduce, reductions
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._substitution import (
    Form,
    Inside,
    fits,
    in_candidate,
    inside_candidate,
    inside_reference,
    on_side,
    subsets,
    with_value,
)
from parity.diagnosis.causes.combinators import all_fitting, first_that_fits
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView
from parity.operations import ADDITIONS, SUBTRACTIONS
from parity.tape import Array, Replay, Tape


def centres_advantages(case: Case, one: Reduction) -> bool:
    """Whether a reduction of the reference belongs to q = v + a - mean(a)."""
    return _centres(case.reference, case.repaired.reference.run, one)


def _centres(view: RegionView, run: Replay, one: Reduction) -> bool:
    """Whether q - a is one number for all actions, and more than the mean taken off.

    So there is a value stream.
    """
    tape = view.tape
    a = run.array(one.source)
    later = [value for op in view.readers(OPS_TO_THE_SUM) for value in op.outputs]
    inside = [value for op in view.ops for value in op.outputs]
    taken_off = reduce(a, one.kind, one.axes, True).take([0], axis=one.axes[0])
    for value in (*inside, *later):
        if tape.values[value].shape != a.shape:
            continue
        with np.errstate(all="ignore"):
            rest = run.array(value) - a
            bound = SAME_ADVANTAGE * float(np.abs(run.array(value)).max() + np.abs(a).max())
        first = rest.take([0], axis=one.axes[0])
        if not np.abs(rest - first).max() <= bound:
            continue
        if _is_multiple(first, taken_off, bound):
            continue  # the advantages themselves, or with nothing but their centre added
        if not _is_joined(tape, one.source, value):
            continue  # as a log-softmax, which takes off a number of its own
        if np.ptp(first + taken_off) > bound:  # the states' values
            return True
    return False


def _is_joined(tape: Tape, source: int, value: int) -> bool:
    """Whether another live value is joined to a value on the way from its source, as a stream."""
    behind = tape.graph.descendants(source) | {source}
    ops = (tape.ops[index] for index in tape.graph.ancestors([value]))
    return any(
        not behind.isdisjoint(op.inputs)
        and any(tape.is_live(one) and one not in behind for one in op.inputs)
        for op in ops
    )


def _is_multiple(array: Array, of: Array, bound: float) -> bool:
    """Whether an array is another times one number, such as 0."""
    factor = float((array * of).sum() / ((of * of).sum() or 1.0))
    return bool(np.abs(array - factor * of).max() <= bound)


@cause("dueling-mean-axis", "dueling-max-centered")
def dueling_mean(case: Case) -> Iterator[Explanation]:
    """The advantages are centred over another axis, or by their maximum instead of their mean.

    Looks like: Q-values whose mean over the actions is not the state's value; centred over the
        batch, a state's Q-values change with its neighbours in the batch.
    Proof: the reference's head with the mean over the other axis, or with the other kind of
        centre, gives the candidate's Q-values.
    """
    for change in changes(case):
        one, (reference, candidate) = change.reduction, change.named
        if change.kind == "none" or not centres_advantages(case, one):
            continue
        if change.is_of_axes:
            yield change.explained(
                "dueling-mean-axis",
                f"the advantages are centred over axis {candidate}; the reference centres them "
                f"over axis {reference}",
                edit=axis_edit(case, one),
            )
        else:
            yield change.explained(
                "dueling-max-centered",
                f"the advantages are centred by their {change.kind}; the reference centres them "
                f"by their {one.kind}",
            )


@cause("dueling-not-centered", enclosures=True)
@all_fitting
def dueling_not_centred(case: Case) -> Iterator[Explanation]:
    """The mean of the advantages is not taken off: Q = v + a.

    Looks like: Q-values off by one number for each state, the mean of its advantages; the greedy
        action is the same.
    Proof: the reference's head with zeros in the place of the mean gives the candidate's Q-values.
    """
    found = list(reductions(inside_reference(case)))
    candidate = [other.kind for other in reductions(inside_candidate(case))] if found else []
    end = case.reference.tape.before_moves(case.reference.end)
    for one in found:
        if one.value == end:
            continue  # zeros for the whole result leave nothing of the reference
        if candidate.count(one.kind) >= sum(one.kind == another.kind for another in found):
            continue
        if centres_advantages(case, one):
            size = case.reference.tape.values[one.source].size
            yield Explanation(
                "dueling-not-centered",
                f"the {one.kind} of the advantages is not taken off; the reference takes it off",
                with_value(case, one.value, np.zeros_like),
                parameters={"centred": (True, False)},
                unproved=_takes_a_mean(case.candidate, size),
            )


def _takes_a_mean(view: RegionView, size: int) -> str:
    """Why nothing may be missing: a mean of as many elements is taken off further on.

    Over another axis it may cancel, as over the atoms of a softmax that follows.
    """
    tape = view.tape
    for op in view.readers(OPS_TO_THE_SUM):
        for value in op.inputs if op.word in ADDITIONS | SUBTRACTIONS else ():
            made = tape.producer(tape.before_moves(value))
            if made is None or made.word not in ("mean", "sum"):
                continue
            if any(tape.values[source].size == size for source in made.inputs):
                return f"the other model computes {made.kind} there as well"
    return ""


@cause("dueling-wrong-tensor", enclosures=True)
def dueling_wrong_tensor(case: Case) -> Iterator[Explanation]:
    """The mean of another tensor is taken off, or the value is centred instead of the advantages.

    Looks like: Q-values of a state that change with its neighbours in the batch, where the mean is
        that of all values.
    Proof: the reference's head with the mean of the other tensor gives the candidate's Q-values;
        or with the value centred, and the advantages as they are.
    """
    insides = inside_reference(case), inside_candidate(case)
    for side, inside in zip(sides(case), insides, strict=True):
        for one in reductions(inside):
            if _centres(side.view, side.model.run, one) and not _is_idle(side, one):
                for read, other in _other_tensors(side, insides, one):
                    yield from first_that_fits(case, _mean_of(side, one, read, other))


def _is_idle(side: CaseSide, one: Reduction) -> bool:
    """Whether a side without its centre gives the same as the other: it was centred before."""
    case, first = side.case, side.case.first
    if side.is_candidate:
        return fits(in_candidate(case, one.value, np.zeros_like), first, first.reference)
    return fits(with_value(case, one.value, np.zeros_like), first, first.candidate)


def _other_tensors(
    side: CaseSide, insides: tuple[Inside, Inside], one: Reduction
) -> Iterator[tuple[CaseSide, int]]:
    """What else may be centred, or have its mean taken off, and the side that reads it."""
    case = side.case
    inside, (reference, candidate) = insides[side.is_candidate], insides
    others = candidate.entering
    if not side.is_candidate:
        others = tuple(dict.fromkeys((*reference.entering, *case.partners.values())))
    made_of = inside.sources(one.source) | {one.source}
    yield from ((side, other) for other in others if other not in made_of)
    if side.is_candidate:  # a value that the reference alone reads
        # as many may be the advantages, whose own mean is over another axis, say
        actions = side.view.tape.values[one.source].size
        values = case.reference.tape.values
        few = (other for other in reference.entering if values[other].size < actions)
        yield from ((sides(case)[0], other) for other in few)


def _mean_of(side: CaseSide, one: Reduction, read: CaseSide, other: int) -> Iterator[Explanation]:
    """The mean of another tensor taken off, or taken off that tensor, over whichever axes fit.

    Args:
        read: the side that the other tensor is read on.
    """
    shape = read.view.tape.values[other].shape
    right = "the advantages are centred by their own"
    for axes in subsets(len(shape)):
        centre = partial(reduce, kind=one.kind, axes=axes, keeps=True)

        def with_mean(trial: Trial, centre: Form = centre) -> Array:
            (x,) = read.values(trial.given, [other])
            return side.run(trial.given, {one.value: centre(x)})

        def with_centred(trial: Trial, centre: Form = centre) -> Array:
            x, mean = side.values(trial.given, [other, one.value])
            return side.run(trial.given, {one.value: np.zeros_like(mean), other: x - centre(x)})

        mean = f"the {one.kind} of another tensor {shape} is taken off"
        tried = [("centre of", mean, with_mean)]
        if read.is_candidate == side.is_candidate:
            tried.append(("centred", "the value is centred", with_centred))
        for parameter, text, predict in tried:
            texts, pair = (text, right), ("advantages", "value")
            if side.is_candidate:
                texts, pair = (right, text), ("value", "advantages")
            yield Explanation(
                "dueling-wrong-tensor",
                f"{texts[0]}; in the reference {texts[1]}",
                *on_side(predict, side.is_candidate),
                {parameter: pair},
            )
