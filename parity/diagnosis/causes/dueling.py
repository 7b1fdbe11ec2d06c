"""Dueling heads: the advantages centred over another axis, by the maximum, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Edit, Explanation, cause
from parity.diagnosis.causes._reduced import Reduction, changes, reduce, reductions, without
from parity.diagnosis.causes._substitution import (
    Axes,
    Inside,
    fits,
    in_candidate_layout,
    inside_candidate,
    inside_reference,
    on_side,
    subsets,
)
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView, plain_kind
from parity.tape import Array, Replay, Tape

_LATER = 3  # operations after the region in which value and advantages may be added
_SAME = 1e-6


def centres_advantages(case: Case, one: Reduction) -> bool:
    """Whether a reduction of the reference belongs to q = v + a - mean(a)."""
    return _centres(case.reference, case.repaired.reference.run, one)


def _centres(view: RegionView, run: Replay, one: Reduction) -> bool:
    """Whether q - a is one number for all actions, and more than the mean taken off.

    So there is a value stream.
    """
    tape = view.tape
    a = run.array(one.source)
    later = [value for op in view.readers(_LATER) for value in op.outputs]
    inside = [value for op in view.ops for value in op.outputs]
    centre = reduce(a, one.kind, one.axes, True)
    for value in (*inside, *later):
        if tape.values[value].shape != a.shape:
            continue
        with np.errstate(all="ignore"):
            rest = run.array(value) - a
            scale = float(np.abs(run.array(value)).max()) + float(np.abs(a).max())
        first = rest.take([0], axis=one.axes[0])
        if not np.abs(rest - first).max() <= _SAME * scale:
            continue
        taken_off = centre.take([0], axis=one.axes[0])
        if _is_multiple(first, taken_off, _SAME * scale):
            continue  # the advantages themselves, or with nothing but their centre added
        if not _is_joined(tape, one.source, value):
            continue  # as a log-softmax, which takes off a number of its own
        value_stream = first + taken_off
        if np.abs(value_stream).max() > _SAME * scale and np.ptp(value_stream) > _SAME * scale:
            return True
    return False


def _is_joined(tape: Tape, source: int, value: int) -> bool:
    """Whether something enters a value on its way from another one, as a stream of its own."""
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
        ours, theirs = change.named
        if change.kind == one.kind:
            yield Explanation(
                "dueling-mean-axis",
                f"the advantages are centred over axis {theirs}; the reference centres them over "
                f"axis {ours}",
                change.predict,
                parameters={"axis": (ours, theirs)},
                edit=_axis_edit(case, one),
            )
        else:
            yield Explanation(
                "dueling-max-centered",
                f"the advantages are centred by their {change.kind}; the reference centres them "
                f"by their {one.kind}",
                change.predict,
                parameters={"kind": (one.kind, change.kind)},
            )


def _axis_edit(case: Case, one: Reduction) -> Edit:
    wanted = in_candidate_layout(case, one.source, one.axes)
    return Edit(("mean", "reduce_mean"), ("axis", "dim"), repr(wanted), 1)


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
    """Why nothing may be missing: a mean of as many numbers is taken off further on.

    Over another axis it may cancel, as over the atoms of a softmax that follows.
    """
    tape = view.tape
    for op in view.readers(_LATER):
        for value in op.inputs:
            made = tape.producer(tape.before_moves(value))
            if made is None or plain_kind(made) not in ("mean", "sum"):
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
    ours, theirs = inside_reference(case), inside_candidate(case)
    heads = (
        _Head(ours, case.repaired.reference.run, case.reference_values, case.run_reference),
        _Head(theirs, case.repaired.side.run, case.candidate_values, case.run_candidate),
    )
    others = tuple(dict.fromkeys((*ours.entering, *case.partners.values())))
    for number, head in enumerate(heads):
        for one in reductions(head.inside):
            if not _centres(head.inside.view, head.whole, one):
                continue
            wanted = case.first.reference if number else case.first.candidate
            if fits(partial(_uncentred, head, one), case.first, wanted):
                continue  # nothing is taken off, or the mean of what is centred already
            for other in head.inside.entering if number else others:
                if other == one.source or other in head.inside.sources(one.source):
                    continue
                yield from _mean_of(case, head, one, other, mended=bool(number))
            if number:  # a value that the reference alone reads
                for other in _values_beside(case, head.inside.view.tape.values[one.source].size):
                    yield from _mean_of(case, head, one, other, mended=True, read=False)


def _values_beside(case: Case, actions: int) -> Iterator[int]:
    """What enters the reference's region and has fewer numbers than there are advantages.

    As many may be the advantages themselves, whose own mean is over another axis, say.
    """
    tape = case.reference.tape
    yield from (value for value in case.entering if tape.values[value].size < actions)


Values = Callable[[Mapping[int, Array], Collection[int]], list[Array]]


@dataclass(frozen=True)
class _Head:
    """The side that centres the advantages."""

    inside: Inside
    whole: Replay
    values: Values
    run: Callable[[Mapping[int, Array], Mapping[int, Array]], Array]


def _mean_of(
    case: Case, head: _Head, one: Reduction, other: int, mended: bool, read: bool = True
) -> Iterator[Explanation]:
    """The mean of another tensor taken off, or taken off that tensor, over whichever axes fit.

    Args:
        mended: whether it is the candidate that centres the advantages, so that the change of it
            is to give the reference's value.
        read: whether the head reads the other tensor; else it is a value of the reference's.
    """
    values = head.values if read else case.reference_values
    shape = (head.inside.view if read else case.reference).tape.values[other].shape
    wanted = case.first.reference if mended else case.first.candidate
    for axes in subsets(len(shape)):
        for predict, names, told in (
            (
                partial(_other_mean, head, values, one, other, axes),
                ("centre of", "value"),
                f"the {one.kind} of another tensor {shape} is taken off",
            ),
            (
                partial(_other_centred, head, one, other, axes),
                ("centred", "value"),
                "the value is centred",
            ),
        ):
            if (names[0] == "centred" and not read) or not fits(predict, case.first, wanted):
                continue
            parameter, wrong = names
            right = "the advantages are centred by their own"
            yield Explanation(
                "dueling-wrong-tensor",
                f"{right}; in the reference {told}"
                if mended
                else f"{told}; in the reference {right}",
                *on_side(predict, mended),
                {parameter: (wrong, "advantages") if mended else ("advantages", wrong)},
            )
            return


def _uncentred(head: _Head, one: Reduction, trial: Trial) -> Array:
    (centre,) = head.values(trial.given, [one.value])
    return head.run(trial.given, {one.value: np.zeros_like(centre)})


def _other_mean(
    head: _Head, values: Values, one: Reduction, other: int, axes: Axes, trial: Trial
) -> Array:
    (x,) = values(trial.given, [other])
    return head.run(trial.given, {one.value: reduce(x, one.kind, axes, True)})


def _other_centred(head: _Head, one: Reduction, other: int, axes: Axes, trial: Trial) -> Array:
    x, centre = head.values(trial.given, [other, one.value])
    centred = x - reduce(x, one.kind, axes, True)
    return head.run(trial.given, {one.value: np.zeros_like(centre), other: centred})
