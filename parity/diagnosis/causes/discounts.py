"""Sums over steps: their terms from the wrong end, or each with another discount."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._limits import (
    FACTORS_CHANGED,
    OPERANDS_LAID,
    SAME_PARAMETER,
    STEPS_REVERSED,
)
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named, twins
from parity.diagnosis.causes._substitution import (
    MISFITS,
    close,
    inside_candidate,
    inside_reference,
    rounded,
)
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.causes.weights import factors
from parity.diagnosis.trial import Trial
from parity.operations import CONVOLUTIONS, PRODUCTS
from parity.tape import Array, Tape


@cause("direction", tier=1)
@first_fitting
def read_backwards(case: Case) -> Iterator[Explanation]:
    """An operand's steps are read from the other end.

    Looks like: an n-step return whose last reward is discounted least.
    Proof: the reference's operations on the operand in the reverse order give the candidate's
        value, and that is not merely the reference's value turned as well.
    """
    reference = sides(case)[0]
    tape = case.reference.tape
    for value in itertools.islice(_weighted(reference), OPERANDS_LAID):
        for axis, length in enumerate(tape.values[value].shape):
            predict = partial(_reversed, case, value, axis)
            if length < STEPS_REVERSED or _is_one_step(case, value, axis):
                continue
            if not _only_turns(case, predict):
                yield Explanation(
                    "direction",
                    f"{named(tape, value)} is read from its other end along axis {axis}, or what "
                    "goes with it there is",
                    predict,
                    parameters={"direction": ("forwards", "backwards")},
                    unproved=twins(case),
                )


def _is_one_step(case: Case, value: int, axis: int) -> bool:
    """Whether all that a region does with a value is to take one of its steps."""
    tape = case.reference.tape
    size, moved, read = tape.values[value].size, {value}, set[int]()
    for op in case.reference.ops:
        taken = moved.intersection(op.inputs)
        if op.role == "move" and taken:
            moved.update(op.outputs)
        elif taken:
            read |= taken
    length = tape.values[value].shape[axis]
    return bool(read) and all(tape.values[one].size * length <= size for one in read)


def _weighted(side: CaseSide) -> Iterator[int]:
    """What a region reads and takes element by element: a kernel has causes of its own."""
    tape = side.view.tape
    for value in side.entering:
        readers = [op for op in side.view.ops if value in op.inputs]
        words = {op.word for op in readers}
        if readers and tape.is_live(value) and words.isdisjoint(PRODUCTS | CONVOLUTIONS):
            yield value


def _reversed(case: Case, value: int, axis: int, trial: Trial) -> Array:
    (array,) = case.reference_values(trial.given, (value,))
    entering = dict(zip(case.entering, trial.inputs, strict=True))
    return case.run_reference(trial.given, {**entering, value: np.flip(array, axis)})


def _only_turns(case: Case, predict: Predict) -> bool:
    """Whether the result is turned with the operand, or does not change."""
    end = case.first.reference
    try:
        made = predict(case.first)
    except MISFITS:
        return True
    return close(made, end) or any(close(made, np.flip(end, i)) for i in range(end.ndim))


@cause("weight-scale", tier=1)
@first_fitting
def other_factors(case: Case) -> Iterator[Explanation]:
    """Several terms are multiplied by other numbers, as by powers that start one later.

    Looks like: a return whose rewards are all discounted one step too many.
    Proof: the reference's operations with the candidate's numbers, one by one in their order, give
        the candidate's value.
    """
    pairs = _paired(case)
    changed = {
        value: wrong / right
        for value, right, wrong in pairs
        if not math.isclose(right, wrong, rel_tol=SAME_PARAMETER)
    }
    if not 1 < len(changed) <= FACTORS_CHANGED:
        return  # one number that is another one is a cause of its own
    said = tuple(", ".join(f"{rounded(one[at]):g}" for one in pairs) for at in (1, 2))
    yield Explanation(
        "weight-scale",
        f"the terms are multiplied by {said[1]}; the reference multiplies them by {said[0]}",
        partial(_with_factors, case, changed),
        parameters={"factors": (said[0], said[1])},
    )


def _paired(case: Case) -> list[tuple[int, float, float]]:
    """The reference's values, what they are multiplied by, and what the candidate's are.

    They go together by what is multiplied; what the reference reads as it is it multiplies by 1.
    Where that is made in the regions, as in a chain of products, they go together in their order.
    """
    here, there = (
        {_multiplied(inside.view.tape, value): (value, by) for value, by in factors(inside)}
        for inside in (inside_reference(case), inside_candidate(case))
    )
    partners = case.partners
    if len({partners.get(source, -1) for source in there}) == len(there):
        by = {partners.get(source, -1): factor for source, (_, factor) in there.items()}
        sources = sorted({*here, *by})
        if {*sources} <= {*case.entering} & {*partners.values()}:
            alike = ((*here.get(one, (one, 1.0)), by.get(one, 1.0)) for one in sources)
            return list(alike)
    if len(here) != len(there):
        return []
    pairs = zip(here.values(), there.values(), strict=True)
    return [(value, right, wrong) for (value, right), (_, wrong) in pairs]


def _multiplied(tape: Tape, value: int) -> int:
    """What a value is a multiple of."""
    op = tape.producer(value)
    return next((one for one in (op.inputs if op else ()) if tape.is_live(one)), value)


def _with_factors(case: Case, changed: Mapping[int, float], trial: Trial) -> Array:
    """What the reference gives with some of its values at another scale, each once."""
    replaced = dict(zip(case.entering, trial.inputs, strict=True))
    for value, by in changed.items():
        (array,) = case.reference_values(trial.given, (value,), replaced)
        replaced[value] = array * by
    return case.run_reference(trial.given, replaced)
