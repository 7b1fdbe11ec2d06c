"""Tensors of one number throughout that hold another number, as a first state of ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from parity.arrays import varies
from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import FILLS_TRIED
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.normalisation import plain
from parity.diagnosis.trial import Trial
from parity.operations import FILLED
from parity.tape import Array


@cause("fill-value")
@first_fitting
def filled_with_another(case: Case) -> Iterator[Explanation]:
    """A tensor that is one number throughout holds another number, as a first state.

    Looks like: a recurrent layer that differs from its first step on, with the right weights.
    Proof: one side's own operations with the other side's number in it give the other side's value.
    """
    both = sides(case)
    for side, other in (both, both[::-1]):
        numbers = _numbers_of(other)
        tried = (
            (value, own, number)
            for value, own in _filled(side)
            for number in sorted(numbers - {own})
        )
        for value, own, number in itertools.islice(tried, FILLS_TRIED):
            reference, candidate = (number, own) if side.is_candidate else (own, number)
            yield side.changed(
                Explanation(
                    "fill-value",
                    f"{named(side.view.tape, value)} is {plain(candidate)} throughout, the "
                    f"reference's {plain(reference)}",
                    partial(_with_number, side, value, number),
                    parameters={"value": (plain(reference), plain(candidate))},
                )
            )


def _filled(side: CaseSide) -> Iterator[tuple[int, float]]:
    """What a region reads that is filled with one number, and the number."""
    view = side.view
    before = (view.tape.ops[index] for index in view.tape.graph.static_before(view.ops))
    made = (op.outputs[0] for op in before if op.word in FILLED)
    yield from _of_one_number(side, (*made, *(leaf.id for leaf in view.leaves)))


def _numbers_of(side: CaseSide) -> set[float]:
    """The numbers with which a model fills tensors anywhere: what is added as 0 is in no region."""
    tape = side.view.tape
    made = (op.outputs[0] for op in tape.ops if op.word in FILLED and op.static)
    held = (one.id for one in tape.values if one.kind == "constant" and one.size > 1)
    return {number for _, number in _of_one_number(side, (*made, *held))}


def _of_one_number(side: CaseSide, values: Iterable[int]) -> Iterator[tuple[int, float]]:
    for value in dict.fromkeys(values):
        known = side.view.tape.values[value]
        if known.size < 2 or not known.dtype.startswith(("float", "bfloat")):
            continue
        array = side.model.run.array(value)
        if not varies(array) and np.isfinite(array.flat[0]):
            yield value, float(array.flat[0])


def _with_number(side: CaseSide, value: int, number: float, trial: Trial) -> Array:
    filled = np.full(side.view.tape.values[value].shape, number)
    return side.run(trial.given, {value: filled})
