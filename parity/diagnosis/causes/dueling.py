"""Dueling heads: the advantages centred over another axis, by the maximum, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._limits import OPS_TO_THE_SUM, SAME_ADVANTAGE
from parity.diagnosis.causes._reduced import (
    Reduction,
    axis_edit,
    changes,
    reduce,
    reductions,
    without,
)
from parity.diagnosis.causes._substitution import (
    Axes,
    Inside,
    fits,
    inside_candidate,
    inside_reference,
    on_side,
    subsets,
)
from parity.diagnosis.causes.combinators import first_that_fits
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView
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
    centre = reduce(a, one.kind, one.axes, True)
    for value in (*inside, *later):
        if tape.values[value].shape != a.shape:
            continue
        with np.errstate(all="ignore"):
            rest = run.array(value) - a
            scale = float(np.abs(run.array(value)).max()) + float(np.abs(a).max())
        first = rest.take([0], axis=one.axes[0])
        if not np.abs(rest - first).max() <= SAME_ADVANTAGE * scale:
            continue
        taken_off = centre.take([0], axis=one.axes[0])
        if _is_multiple(first, taken_off, SAME_ADVANTAGE * scale):
            continue  # the advantages themselves, or with nothing but their centre added
        if not _is_joined(tape, one.source, value):
            continue  # as a log-softmax, which takes off a number of its own
        value_stream = first + taken_off
        if (
            np.abs(value_stream).max() > SAME_ADVANTAGE * scale
            and np.ptp(value_stream) > SAME_ADVANTAGE * scale
        ):
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
        one = change.reduction
        if change.kind == "none" or not centres_advantages(case, one):
            continue
        reference, candidate = change.named
        if change.kind == one.kind:
            yield Explanation(
                "dueling-mean-axis",
                f"the advantages are centred over axis {candidate}; the reference centres them "
                f"over axis {reference}",
                change.predict,
                parameters={"axis": (reference, candidate)},
                edit=axis_edit(case, one),
            )
        else:
            yield Explanation(
                "dueling-max-centered",
                f"the advantages are centred by their {change.kind}; the reference centres them "
                f"by their {one.kind}",
                change.predict,
                parameters={"kind": (one.kind, change.kind)},
            )


@cause("dueling-not-centered", enclosures=True)
def dueling_not_centred(case: Case) -> Iterator[Explanation]:
    """The mean of the advantages is not taken off: Q = v + a.

    Looks like: Q-values off by one number for each state, the mean of its advantages; the greedy
        action is the same.
    Proof: the reference's head with zeros in the place of the mean gives the candidate's Q-values.
    """
    for one, predict in without(case):
        if not centres_advantages(case, one):
            continue
        size = case.reference.tape.values[one.source].size
        yield Explanation(
            "dueling-not-centered",
            f"the {one.kind} of the advantages is not taken off; the reference takes it off",
            predict,
            parameters={"centred": (True, False)},
            unproved=_takes_a_mean(case.candidate, size),
        )


def _takes_a_mean(view: RegionView, size: int) -> str:
    """Why nothing may be missing: a mean of as many elements is taken off further on.

    Over another axis it may cancel, as over the atoms of a softmax that follows.
    """
    tape = view.tape
    for op in view.readers(OPS_TO_THE_SUM):
        for value in op.inputs:
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
    reference, candidate = inside_reference(case), inside_candidate(case)
    heads = (
        _Head(case, False, reference, case.reference_values, case.run_reference),
        _Head(case, True, candidate, case.candidate_values, case.run_candidate),
    )
    others = tuple(dict.fromkeys((*reference.entering, *case.partners.values())))
    for head in heads:
        for one in reductions(head.inside):
            if not _centres(head.inside.view, head.inside.base, one) or head.is_idle(one):
                continue
            made_of = head.inside.sources(one.source) | {one.source}
            for other in candidate.entering if head.of_candidate else others:
                if other not in made_of:
                    x = head.inside.view.tape.values[other].shape
                    found = _mean_of(head, one, other, x, head.values)
                    yield from first_that_fits(case, found)
            if head.of_candidate:  # a value that the reference alone reads
                actions = candidate.view.tape.values[one.source].size
                for other in reference.entering:
                    value = case.reference.tape.values[other]
                    # as many may be the advantages, whose own mean is over another axis, say
                    if value.size < actions:
                        found = _mean_of(head, one, other, value.shape, case.reference_values)
                        yield from first_that_fits(case, found)


Values = Callable[[Mapping[int, Array], Collection[int]], list[Array]]


@dataclass(frozen=True)
class _Head:
    """The side that centres the advantages."""

    case: Case
    of_candidate: bool
    inside: Inside
    values: Values
    run: Callable[[Mapping[int, Array], Mapping[int, Array]], Array]

    def is_idle(self, one: Reduction) -> bool:
        """Whether without the centre it gives the same as the other side: it was centred before."""
        first = self.case.first
        wanted = first.reference if self.of_candidate else first.candidate

        def without(trial: Trial) -> Array:
            (centre,) = self.values(trial.given, [one.value])
            return self.run(trial.given, {one.value: np.zeros_like(centre)})

        return fits(without, first, wanted)

    def with_mean(
        self, one: Reduction, other: int, axes: Axes, values: Values, trial: Trial
    ) -> Array:
        """With the mean of another tensor in the place of that of the advantages."""
        (x,) = values(trial.given, [other])
        return self.run(trial.given, {one.value: reduce(x, one.kind, axes, True)})

    def with_centred(self, one: Reduction, other: int, axes: Axes, trial: Trial) -> Array:
        """With the other tensor centred, and the advantages as they are."""
        x, centre = self.values(trial.given, [other, one.value])
        centred = x - reduce(x, one.kind, axes, True)
        return self.run(trial.given, {one.value: np.zeros_like(centre), other: centred})

    def claim(self, predict: Predict, parameter: str, text: str) -> Explanation:
        """The explanation that the other side does something else than centre the advantages."""
        right = "the advantages are centred by their own"
        texts, pair = (text, right), ("advantages", "value")
        if self.of_candidate:
            texts, pair = (right, text), ("value", "advantages")
        return Explanation(
            "dueling-wrong-tensor",
            f"{texts[0]}; in the reference {texts[1]}",
            *on_side(predict, self.of_candidate),
            {parameter: pair},
        )


def _mean_of(
    head: _Head, one: Reduction, other: int, shape: tuple[int, ...], values: Values
) -> Iterator[Explanation]:
    """The mean of another tensor taken off, or taken off that tensor, over whichever axes fit.

    Args:
        values: reads the other tensor: on the side of the head, or else on the reference's.
    """
    for axes in subsets(len(shape)):
        mean = f"the {one.kind} of another tensor {shape} is taken off"
        yield head.claim(partial(head.with_mean, one, other, axes, values), "centre of", mean)
        if values == head.values:
            centred = partial(head.with_centred, one, other, axes)
            yield head.claim(centred, "centred", "the value is centred")
