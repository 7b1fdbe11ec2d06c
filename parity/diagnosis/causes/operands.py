"""A factor or a term that one model alone reads, as a mask in a sum that is written otherwise."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from parity.arrays import varies
from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._bags import bag
from parity.diagnosis.causes._limits import OP_LEFT_OUT, SOURCES_TRIED
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named
from parity.diagnosis.causes._substitution import Form, Substituted
from parity.diagnosis.causes._weights import same
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.errors import ReplayError
from parity.matching.axis_order import orders
from parity.tape import Array, Op

_FORMS: Mapping[str, Form] = {
    "multiply": np.multiply,
    "divide": np.divide,
    "add": np.add,
    "subtract": np.subtract,
}


@cause("branch-missing", "op-extra", tier=2)
@first_fitting
def operand(case: Case) -> Iterator[Explanation]:
    """A factor or a term that only one model reads: the other computes the rest in other steps.

    Looks like: a masked sum without its mask, where the one model sums before it masks.
    Proof: one side's operations, one of their values multiplied with what only the other side
        reads, or added to it, give the other side's value.
    """
    reference, candidate = sides(case)
    for side, other in ((candidate, reference), (reference, candidate)):
        tried = itertools.product(_read_alone(other, side), _values(side))
        for (op, read), value in itertools.islice(tried, 2 * SOURCES_TRIED):
            name = f"{op.kind} by {named(other.view.tape, read)}"
            said = (name, "none") if side.is_candidate else ("none", name)
            kind, text = "op-extra", "is applied here, the reference has none here"
            if side.is_candidate:
                kind, text = "branch-missing", "is missing here"
            yield side.changed(
                Explanation(
                    kind,
                    f"{name} {text}",
                    Substituted(partial(_with, side, other, value, (op.word, read))),
                    parameters={"operations": said},
                    cost=OP_LEFT_OUT,
                )
            )


def _read_alone(side: CaseSide, other: CaseSide) -> Iterator[tuple[Op, int]]:
    """What a side reads that the other does not, with the operation that takes it in.

    What no input reaches is left out: it may be made of weights that both read, as a first state.
    """
    tape = side.view.tape
    inside = {value for op in side.view.ops for value in op.outputs}
    shared = [bag(other.model.array(value)) for value in _read(other)]
    found: set[tuple[str, int]] = set()
    for op in side.view.ops:
        for value in op.inputs if op.word in _FORMS and len(op.inputs) == 2 else ():
            if value in inside or (op.word, value) in found or not tape.is_live(value):
                continue
            found.add((op.word, value))
            array = side.model.array(value)
            if varies(array) and not any(same(bag(array), one) for one in shared):
                yield op, value


def _read(side: CaseSide) -> set[int]:
    return {*side.entering, *side.view.constants}


def _values(side: CaseSide) -> Iterator[int]:
    """What a side computes, and what it reads, the last first."""
    tape = side.view.tape
    made = [value for op in side.view.ops[::-1] for value in op.outputs if not op.static]
    for value in dict.fromkeys((*made, *side.entering)):
        if tape.values[value].dtype.startswith(("float", "bf")):
            yield value


def _with(
    side: CaseSide, other: CaseSide, value: int, by: tuple[str, int], trial: Trial, change: Form
) -> Array:
    word, read = by
    (array,) = side.values(trial.given, (value,))
    (operand,) = other.values(trial.given, (read,))
    if operand.size == array.size and operand.shape != array.shape:
        order = next(orders(operand.shape, array.shape), None)
        if order is None:
            raise ReplayError(f"{operand.shape} does not lie as {array.shape}")
        operand = order.apply(operand)
    made = _FORMS[word](array, operand)
    if made.shape != array.shape:
        raise ValueError(f"{operand.shape} makes {made.shape} of {array.shape}")
    return side.run(trial.given, {value: change(made)})
