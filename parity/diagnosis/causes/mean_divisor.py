"""Means that are divided by another number of elements."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np

from parity.arrays import varies
from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import OPS_TO_A_COUNT, SAME_PARAMETER
from parity.diagnosis.causes._masks import is_zero_one
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named
from parity.diagnosis.causes._substitution import inside_candidate, inside_reference
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.causes.weights import factors
from parity.diagnosis.trial import Trial
from parity.tape import Array, Op


@cause("mean-divisor")
@first_fitting
def mean_divisor(case: Case) -> Iterator[Explanation]:
    """A sum over what a mask leaves is divided by the number of all elements, or the other way.

    Looks like: each row is off by a factor of its own, the share of it that is no padding.
    Proof: one side's operations with the length of the axis in place of the sum of its mask give
        the other side's value.
    """
    for side in sides(case):
        for op, (source, count) in _quotients(side):
            divisors = f"the sum of {named(side.view.tape, source)}", f"{count}, all elements"
            reference, candidate = divisors[::-1] if side.is_candidate else divisors
            yield side.changed(
                Explanation(
                    "mean-divisor",
                    f"the mean is divided by {candidate}; the reference divides by {reference}",
                    partial(_divided_by, side, op.inputs[1], float(count)),
                    parameters={"divisor": (reference, candidate)},
                    cost=-1,  # with a mask of ones the summand would be another, too
                )
            )


def _quotients(side: CaseSide) -> Iterator[tuple[Op, tuple[int, int]]]:
    """The divisions of a region whose divisor counts what a mask leaves, with that and all."""
    for op in side.view.ops:
        if op.word == "divide" and len(op.inputs) == 2:
            counted = _counted(side, op.inputs[1])
            if counted is not None:
                yield op, counted


def _counted(side: CaseSide, value: int) -> tuple[int, int] | None:
    """The mask of which a value is the sum, made 1 at least or so, and its length along the sum."""
    tape = side.view.tape
    for _ in range(OPS_TO_A_COUNT):
        op = tape.producer(value)
        if op is None or not op.inputs:
            return None
        sizes = {one: tape.values[one].size for one in op.inputs}
        if op.word == "sum":
            source, size = op.inputs[0], tape.values[value].size
            is_mask = size and is_zero_one(side.model.run.array(source))
            return (source, sizes[source] // size) if is_mask else None
        value = max(op.inputs, key=lambda one: (sizes[one], tape.is_live(one)))
    return None


def _divided_by(side: CaseSide, divisor: int, count: float, trial: Trial) -> Array:
    (array,) = side.values(trial.given, (divisor,))
    return side.run(trial.given, {divisor: np.full_like(array, count)})


@cause("mean-divisor", tier=1)
@first_fitting
def constant_divisor(case: Case) -> Iterator[Explanation]:
    """One number divides all, where the other model divides each row by a count of its own.

    Looks like: messages that are divided by the number of agents, and not of those that live.
    Proof: one side's operations with the other side's number in the place of its divisors give the
        other side's value.
    """
    insides = inside_reference(case), inside_candidate(case)
    for side, other in zip(sides(case), insides[::-1], strict=True):
        numbers = [one for _, by in factors(other) if _is_count(one := np.array(1 / by))]
        for op, number in itertools.product(side.view.ops, numbers):
            if op.word != "divide" or len(op.inputs) != 2 or len(op.outputs) != 1:
                continue
            array = side.model.run.array(op.inputs[1])
            if not varies(array) or not _is_count(array):
                continue
            divisors = _in_words(side, op.inputs[1], array), f"{float(number):.0f} everywhere"
            reference, candidate = divisors[::-1] if side.is_candidate else divisors
            yield side.changed(
                Explanation(
                    "mean-divisor",
                    f"the divisor is {candidate}; the reference divides by {reference}",
                    partial(_divided_by, side, op.inputs[1], np.round(number)),
                    parameters={"divisor": (reference, candidate)},
                )
            )


def _is_count(array: Array) -> bool:
    """Whether numbers are whole and positive: what else divides is no count."""
    with np.errstate(all="ignore"):
        return bool((np.abs(array - np.round(array)) < SAME_PARAMETER).all() and array.min() >= 1)


def _in_words(side: CaseSide, value: int, array: Array) -> str:
    numbers = f"numbers from {array.min():g} to {array.max():g}"
    return (
        f"{named(side.view.tape, value)}, {numbers}" if side.view.tape.is_live(value) else numbers
    )
