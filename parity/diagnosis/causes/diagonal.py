"""The diagonal is left out of what goes from each to each, in one model alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._limits import FACTORS_BEHIND, OP_LEFT_OUT
from parity.diagnosis.causes._substitution import on_side
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.tape import Array


@cause("mask-pattern", tier=2)
@first_fitting
def own_place(case: Case) -> Iterator[Explanation]:
    """What goes from each to each goes to itself as well, or does not where it should.

    Looks like: a mean over the others of a group in which everyone is, too.
    Proof: one side's value with zeros along the diagonal is the other side's. What the candidate
        alone reads, or multiplies by next, may be in a mask that NumPy made for the reference.
    """
    shape = case.first.reference.shape
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < 2:
        return
    left_out = [not _diagonal(one).any() for one in (case.first.reference, case.first.candidate)]
    if left_out == [True, False]:
        for factor in _factors_behind(case):
            yield _explanation(case, partial(_without_diagonal, case, factor), False)
    if left_out == [False, True]:
        yield _explanation(case, partial(_left_out_here, case), True)


def _explanation(case: Case, predict: Predict, left_out: bool) -> Explanation:
    """Of one side by the other, which keeps the diagonal.

    Args:
        left_out: whether it is the candidate that leaves it out.
    """
    said = ("kept", "left out") if left_out else ("left out", "kept")
    text = f"the diagonal of {case.first.reference.shape} is {said[1]}, in the reference {said[0]}"
    of_candidate, of_reference = on_side(predict, of_candidate=not left_out)
    return Explanation(
        "mask-pattern",
        text,
        of_candidate,
        of_reference,
        parameters={"diagonal": said},
        cost=1.5 * OP_LEFT_OUT,  # one operation that is missing is less, two are more
    )


def _diagonal(array: Array) -> Array:
    return np.diagonal(array, axis1=-2, axis2=-1)


def _others(array: Array) -> Array:
    """An array with zeros along the diagonal of its last two axes."""
    return np.where(np.eye(array.shape[-1], dtype=bool), 0.0, array)


def _without_diagonal(case: Case, factor: Array, trial: Trial) -> Array:
    return _others(case.run_candidate(trial.given, _read_before(case)) * factor)


def _read_before(case: Case) -> dict[int, Array]:
    """What the candidate alone reads here, as it is on the user's inputs.

    The reference's host may have read it, and what it made of it is a constant.
    """
    tape, run = case.reference.tape, case.repaired.side.run
    read = {tape.before_moves(value) for value in case.entering}
    partners = case.partners.items()
    return {value: run.array(value) for value, of in partners if tape.before_moves(of) not in read}


def _left_out_here(case: Case, trial: Trial) -> Array:
    return _others(case.run_reference(trial.given))


def _factors_behind(case: Case) -> Iterator[Array]:
    """What the candidate's end is multiplied by next: by nothing, by one more, by two.

    What it is multiplied by has to be a value that agrees, or one that no input reaches.
    """
    tape, run, value = case.candidate.tape, case.repaired.side.run, case.candidate.end
    factor, shape = np.ones(()), case.candidate.value.shape
    for _ in range(FACTORS_BEHIND + 1):
        yield case.as_reference(np.broadcast_to(factor, shape))
        readers = [tape.ops[index] for index in tape.consumers[value]]
        if len(readers) != 1 or readers[0].word != "multiply":
            return
        others = [one for one in readers[0].inputs if one != value]
        made = readers[0].outputs[0]
        if len(others) != 1 or tape.values[made].shape != shape:
            return
        if tape.is_live(others[0]) and others[0] not in case.repaired.pairs:
            return
        factor, value = factor * run.array(others[0]), made
