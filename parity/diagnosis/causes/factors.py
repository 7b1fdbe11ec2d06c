"""A factor or a term that is smaller than what it goes into, and an activation beside a kernel."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, as_it_is, cause
from parity.diagnosis.causes._limits import OP_LEFT_OUT, OPS_OF_A_LAYER, SOURCES_TRIED
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named
from parity.diagnosis.causes._substitution import (
    Form,
    in_candidate,
    inside_candidate,
    varies,
    with_value,
)
from parity.diagnosis.causes.combinators import first_fitting
from parity.tape import Op

_CURVES: dict[str, Form] = {
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0.0),
}
_JOINING = frozenset(("multiply", "add"))


@cause("branch-missing", tier=2)
@first_fitting
def broadcast_missing(case: Case) -> Iterator[Explanation]:
    """A factor, or a term, that the other operand is broadcast to is missing.

    Looks like: a step size that one product of several lacks.
    Proof: the reference's operations with the other operand alone, as large as the product, give
        the candidate's value.
    """
    reference = sides(case)[0]
    tape, values = case.reference.tape, case.reference.tape.values
    read = {tape.before_moves(one) for one in case.partners.values()}
    for op, kept, left in itertools.islice(_joined(reference), SOURCES_TRIED):
        if tape.before_moves(left) in read or not tape.is_live(left):
            continue  # the candidate has it, if elsewhere
        shape = values[op.outputs[0]].shape
        name = named(tape, left)
        yield Explanation(
            "branch-missing",
            f"{op.kind} of {name} is missing here",
            with_value(case, op.outputs[0], partial(np.broadcast_to, shape=shape), kept),
            parameters={"operations": (op.kind, "none")},
            cost=OP_LEFT_OUT,
        )


def _joined(side: CaseSide) -> Iterator[tuple[Op, int, int]]:
    """Products and sums of two values, one of them smaller, with that one and with the other."""
    values = side.view.tape.values
    for op in side.view.ops:
        if op.static or op.word not in _JOINING or len(op.inputs) != 2 or len(op.outputs) != 1:
            continue
        for kept, left in (op.inputs, op.inputs[::-1]):
            if side.view.tape.is_live(kept) and values[kept].size < values[op.outputs[0]].size:
                yield op, kept, left


@cause("activation-missing", tier=2)
@first_fitting
def activation_beside_a_kernel(case: Case) -> Iterator[Explanation]:
    """An activation is missing in what is written out, and the reference has one kernel for it.

    Looks like: the output of a hand-written LSTM without the tanh of its cell.
    Proof: the candidate's operations with the activation give the reference's value.
    """
    if not any(op.word == "recurrence" for op in case.reference.ops):
        return
    candidate = inside_candidate(case)
    if len(case.candidate.ops) > OPS_OF_A_LAYER:
        return
    for op in reversed(case.candidate.computing):
        for value in op.inputs if not op.static else ():
            readers = [one for one in case.candidate.ops if value in one.inputs]
            if value not in candidate.computed or len(readers) > 1:
                continue
            if not varies(candidate.array(value)):
                continue
            for name, curve in _CURVES.items():
                yield Explanation(
                    "activation-missing",
                    f"{name} of {named(candidate.view.tape, value)} is missing where {op.kind} "
                    "reads it",
                    as_it_is,
                    in_candidate(case, value, curve, value),
                    parameters={"activation": (name, "none")},
                    places=(None, op),
                )
