"""Dueling heads: the advantages centred over another axis, by the maximum, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Edit, Explanation, cause
from parity.diagnosis.causes._parts import (
    Axes,
    fits,
    in_candidate_layout,
    inside_reference,
    subsets,
)
from parity.diagnosis.causes._reduced import Reduction, changes, reduce, reductions, without
from parity.diagnosis.trial import Trial
from parity.tape import Array

_LATER = 3  # operations after the region in which value and advantages may be added
_SAME = 1e-6


def centres_advantages(case: Case, one: Reduction) -> bool:
    """Whether a reduction belongs to q = v + a - mean(a): q - a is one number for all actions.

    And it is more than the mean taken off: there is a value stream.
    """
    run = case.repaired.reference.run
    tape = case.reference.tape
    a = run.array(one.source)
    later = [value for op in case.reference.readers(_LATER) for value in op.outputs]
    inside = [value for op in case.reference.ops for value in op.outputs]
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
        value_stream = first + centre.take([0], axis=one.axes[0])
        if np.abs(value_stream).max() > _SAME * scale and np.ptp(value_stream) > _SAME * scale:
            return True
    return False


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
        if centres_advantages(case, one):
            yield Explanation(
                "dueling-not-centered",
                f"the {one.kind} of the advantages is not taken off; the reference takes it off",
                predict,
                parameters={"centred": (True, False)},
            )


@cause("dueling-wrong-tensor", enclosures=True)
def dueling_wrong_tensor(case: Case) -> Iterator[Explanation]:
    """The mean of another tensor is taken off, or the value is centred instead of the advantages.

    Looks like: Q-values of a state that change with its neighbours in the batch, where the mean is
        that of all values.
    Proof: the reference's head with the mean of the other tensor gives the candidate's Q-values;
        or with the value centred, and the advantages as they are.
    """
    ours = inside_reference(case)
    others = dict.fromkeys((*ours.entering, *case.partners.values()))
    for one in reductions(ours):
        if not centres_advantages(case, one):
            continue
        for other in others:
            if other == one.source or other in ours.sources(one.source):
                continue
            yield from _mean_of(case, one, other)


def _mean_of(case: Case, one: Reduction, other: int) -> Iterator[Explanation]:
    """The mean of another tensor taken off, or taken off that tensor, over whichever axes fit."""
    shape = case.reference.tape.values[other].shape
    for axes in subsets(len(shape)):
        predict = partial(_other_mean, case, one, other, axes)
        if fits(predict, case.first, case.first.candidate):
            yield Explanation(
                "dueling-wrong-tensor",
                f"the {one.kind} of another tensor {shape} is taken off; the reference takes off "
                f"that of the advantages",
                predict,
                parameters={"centre of": ("advantages", "value")},
            )
            return
        predict = partial(_other_centred, case, one, other, axes)
        if fits(predict, case.first, case.first.candidate):
            yield Explanation(
                "dueling-wrong-tensor",
                "the value is centred; the reference centres the advantages",
                predict,
                parameters={"centred": ("advantages", "value")},
            )
            return


def _other_mean(case: Case, one: Reduction, other: int, axes: Axes, trial: Trial) -> Array:
    (x,) = case.reference_values(trial.fed, [other])
    return case.run_reference(trial.fed, {one.value: reduce(x, one.kind, axes, True)})


def _other_centred(case: Case, one: Reduction, other: int, axes: Axes, trial: Trial) -> Array:
    x, centre = case.reference_values(trial.fed, [other, one.value])
    centred = x - reduce(x, one.kind, axes, True)
    return case.run_reference(trial.fed, {one.value: np.zeros_like(centre), other: centred})
