"""A factor or a term that is smaller than what it goes into, and an activation beside a kernel."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from functools import partial

import numpy as np

from parity.arrays import varies
from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, as_it_is, cause
from parity.diagnosis.causes._limits import OP_LEFT_OUT, OPS_OF_A_LAYER, OTHER_SOURCE, SOURCES_TRIED
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named
from parity.diagnosis.causes._substitution import (
    Form,
    in_candidate,
    inside_candidate,
    spell,
    with_value,
)
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.operations import SOFTMAXES
from parity.tape import Array, Op

CURVES: dict[str, Form] = {
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
            for name, curve in CURVES.items():
                yield Explanation(
                    "activation-missing",
                    f"{name} of {named(candidate.view.tape, value)} is missing where {op.kind} "
                    "reads it",
                    as_it_is,
                    in_candidate(case, value, curve, value),
                    parameters={"activation": (name, "none")},
                    places=(None, op),
                )


@cause("halves-exchanged", tier=2)
@first_fitting
def halves_of_a_split(case: Case) -> Iterator[Explanation]:
    """The halves that a value is split into have changed places, and other layers read either.

    Looks like: a gate and what it lets through, taken from one projection in the other order.
    Proof: the reference's operations, behind the split with its halves exchanged, give the
        candidate's value.
    """
    tape, values = case.reference.tape, case.reference.tape.values
    for root in dict.fromkeys(map(tape.before_moves, case.entering)):
        parts = [one for one in case.entering if one != root and tape.before_moves(one) == root]
        if len(parts) < 2 or any(2 * values[one].size != values[root].size for one in parts):
            continue
        name = named(tape, root)
        for axis, length in enumerate(values[root].shape):
            if axis and length % 2 == 0:
                yield Explanation(
                    "halves-exchanged",
                    f"the halves of {name} along axis {axis} have changed places",
                    partial(_behind_a_split, case, (root, *parts), (axis, length // 2)),
                    cost=OTHER_SOURCE,
                )


def _behind_a_split(
    case: Case, values: Sequence[int], turn: tuple[int, int], trial: Trial
) -> Array:
    """What the reference gives with a value that is split turned by a half, and its parts with it.

    So is what the same line splits in other blocks.

    Args:
        values: that is split, and the parts.
        turn: the axis, and how far.
    """
    (root, *parts), tape = values, case.reference.tape
    (array,) = case.reference_values(trial.given, (root,))
    moves = tape.graph.ancestors(parts) - tape.graph.ancestors([root])
    turned = {root: np.roll(array, turn[1], turn[0])}
    run = tape.replay("float64", turned, case.repaired.reference.run, only=moves)
    replaced = dict(zip(case.entering, trial.inputs, strict=True))
    replaced.update((one, run.array(one)) for one in parts)
    for op in _split_alike(case, moves):
        halves = case.reference_values(trial.given, op.outputs, replaced)
        replaced.update(zip(op.outputs, halves[::-1], strict=True))
    return case.run_reference(trial.given, replaced)


def _split_alike(case: Case, moves: Collection[int]) -> Iterator[Op]:
    """The operations of a region that split in two by a line that some moves are of, too."""
    tape = case.reference.tape
    lines = {op.site.frames[:1] for op in map(tape.ops.__getitem__, moves) if len(op.outputs) == 2}
    for op in case.reference.ops:
        if len(op.outputs) == 2 and op.role == "move" and op.site.frames[:1] in lines - {()}:
            yield op


@cause("softmax-axis", tier=2)
@first_fitting
def softmax_of_a_start(case: Case) -> Iterator[Explanation]:
    """Softmax over another axis of what is all one number, as of the first turn of a routing.

    Looks like: couplings that are one over another length.
    Proof: the reference's operations on as many equal shares as the other axis is long give the
        candidate's value.
    """
    run = case.repaired.reference.run
    for op in case.reference.computing:
        if op.word not in SOFTMAXES or len(op.outputs) != 1:
            continue
        array = run.array(op.outputs[0])
        if varies(array) or array.ndim < 2 or not _is_uniform_there(case, array.shape):
            continue
        was = [axis for axis, n in enumerate(array.shape) if np.isclose(array.flat[0] * n, 1)]
        for axis, length in enumerate(array.shape):
            if len(was) != 1 or length == array.shape[was[0]] or array.shape.count(length) > 1:
                continue
            pair = spell((was[0],), array.ndim), spell((axis,), array.ndim)
            yield Explanation(
                "softmax-axis",
                f"softmax over axis {pair[1]} of {array.shape}; the reference takes axis {pair[0]}",
                with_value(case, op.outputs[0], partial(np.full_like, fill_value=1 / length)),
                parameters={"axis": pair},
            )


def _is_uniform_there(case: Case, shape: tuple[int, ...]) -> bool:
    """Whether the candidate takes a softmax of that shape, of what no input reaches too."""
    view, values = case.candidate, case.candidate.tape.values
    behind = {*view.tape.graph.static_before(view.ops), *(op.index for op in view.ops)}
    ops = (view.tape.ops[index] for index in behind)
    return any(op.word in SOFTMAXES and values[op.outputs[0]].shape == shape for op in ops)
