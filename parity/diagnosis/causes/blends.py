"""A weighted mean of two whose shares are exchanged; half of what a sum with its transpose is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np

from parity.arrays import varies
from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import SOURCES_TRIED
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named
from parity.diagnosis.causes.combinators import first_fitting, fix
from parity.diagnosis.trial import Trial
from parity.numerics.limits import ALIKE
from parity.operations import SUBTRACTIONS
from parity.tape import Array, Op, Value


@cause("operands-exchanged", tier=1)
@first_fitting
def shares_exchanged(case: Case) -> Iterator[Explanation]:
    """Of a weighted mean w x + (1 - w) y the candidate takes the shares the other way round.

    Looks like: a gate that keeps the old state where it should take the new one; a blend that
        begins where it should end.
    Proof: one side's own operations with 1 - w for w give the other side's value.
    """
    for side in sides(case)[::-1]:
        tape = side.view.tape
        for value in itertools.islice(_shares(side), SOURCES_TRIED):
            share = named(tape, value)
            right, wrong = f"1 - {share}", share
            if not side.is_candidate:
                right, wrong = wrong, right
            yield side.changed(
                Explanation(
                    "operands-exchanged",
                    f"the shares of a weighted mean are exchanged: {wrong} in the place of {right}",
                    partial(_complement, side, value),
                    parameters={"share": (right, wrong)},
                )
            )


def _shares(side: CaseSide) -> Iterator[int]:
    """The shares of weighted means in a region: w with 1 - w, or with a difference."""
    given, tape = side.case.first.given, side.view.tape
    products = [op for op in side.view.ops if op.word == "multiply" and len(op.inputs) == 2]
    factors = dict.fromkeys(value for op in products for value in op.inputs)
    arrays = dict(zip(factors, side.values(given, factors), strict=True))
    for op in products:
        for value, other in (op.inputs, op.inputs[::-1]):
            share = arrays[value]
            if not _is_share(tape.values[value], share):
                continue
            made = tape.producer(tape.before_moves(other))
            of_a_difference = made is not None and made.word in SUBTRACTIONS
            if of_a_difference or any(_adds_up(share, one) for one in arrays.values()):
                yield value
    for op in side.view.ops:
        if op.word in ("lerp", "interpolate"):
            values = [one for one in op.inputs if one not in arrays]
            for value, array in zip(values, side.values(given, values), strict=True):
                if _is_share(tape.values[value], array):
                    yield value


def _is_share(known: Value, array: Array) -> bool:
    """Whether numbers lie between 0 and 1, and are no mask."""
    if known.kind == "parameter" or array.dtype.kind != "f" or not varies(array):
        return False
    within = (array > 0) & (array < 1)
    return bool(array.min() >= 0 and array.max() <= 1 and within.any())


def _adds_up(share: Array, other: Array) -> bool:
    if share.size != other.size:
        return False
    return bool(np.allclose(share.ravel() + other.ravel(), 1, 0, ALIKE))


def _complement(side: CaseSide, value: int, trial: Trial) -> Array:
    (array,) = side.values(trial.given, [value])
    return side.run(trial.given, {value: 1 - array})


@cause("op-missing", "op-extra", tier=1)
@first_fitting
def transposed_half(case: Case) -> Iterator[Explanation]:
    """A matrix to which one model adds its transpose, and the other does not.

    Looks like: the derivative of a product L L^T of which only one term is there, or that twice.
    Proof: one side's value and its transpose, added or averaged, are the other side's value.
    """
    shape, (reference, candidate) = case.first.reference.shape, map(_last, sides(case))
    for i, j in itertools.combinations(range(1, len(shape)), 2):
        if shape[i] != shape[j] or shape[i] < 2:
            continue
        for factor, words in ((0.5, "half of it and of its transpose"), (1.0, "its transpose")):
            for as_candidate in (True, False):
                predict = partial(_symmetric, as_candidate, factor, i, j)
                if as_candidate:
                    text = f"the reference's value is the sum of {words} (axes {i} and {j})"
                    text = f"a transpose is not added here: {text}"
                    yield fix(predict, "op-missing", text, places=(reference, candidate))
                else:
                    text = f"the candidate's value is the sum of {words} (axes {i} and {j})"
                    text = f"a transpose is added here: {text}"
                    yield Explanation("op-extra", text, predict, places=(reference, candidate))


def _last(side: CaseSide) -> Op | None:
    return side.view.tape.producer(side.view.tape.before_moves(side.view.end))


def _symmetric(as_candidate: bool, factor: float, i: int, j: int, trial: Trial) -> Array:
    own = trial.candidate if as_candidate else trial.reference
    return np.asarray(factor * (own + np.swapaxes(own, i, j)))
