"""The reference's operations on other operands: exchanged, laid along another axis, or others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._limits import MOST_PARTS, OPERANDS_LAID, OTHER_SOURCE
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named, named_apart
from parity.diagnosis.causes._substitution import MISFITS, Form, close, with_value
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.cut_candidates import is_exact
from parity.diagnosis.trial import Trial
from parity.operations import CONVOLUTIONS, PRODUCTS, SUBTRACTIONS
from parity.tape import Array, Op

_QUOTIENTS = frozenset(("divide", "divide_from"))


@cause("operands-exchanged", tier=1)
@first_fitting
def operands_exchanged(case: Case) -> Iterator[Explanation]:
    """A difference or a quotient is taken the other way round.

    Looks like: results of the other sign, or their reciprocals.
    Proof: the reference's operations with minus the difference, or one over the quotient, give the
        candidate's value.
    """
    for op in case.reference.ops:
        if op.static or op.word not in SUBTRACTIONS | _QUOTIENTS or len(op.outputs) != 1:
            continue
        what = "quotient" if op.word in _QUOTIENTS else "difference"
        form: Form = np.reciprocal if op.word in _QUOTIENTS else np.negative
        yield Explanation(
            "operands-exchanged",
            f"the {what} ({op.kind}) is taken the other way round",
            with_value(case, op.outputs[0], form),
            cost=-1,
            parameters={"operands": _both_ways(op)},
        )


def _both_ways(op: Op) -> tuple[str, str]:
    sign = "-" if op.word in SUBTRACTIONS else "/"
    return (f"a {sign} b", f"b {sign} a")


@cause("broadcast-axis", "axis-order", tier=1)
@first_fitting
def laid_otherwise(case: Case) -> Iterator[Explanation]:
    """An operand is broadcast along another axis, or read transposed, as where two are as long.

    Looks like: an outer sum or a mask of the right shape, transposed.
    Proof: one side's operations on the operand laid otherwise give the other side's value.
    """
    for side in sides(case):
        for value, made in itertools.islice(_operands(side), OPERANDS_LAID):
            name, shape = named(side.view.tape, value), side.view.tape.values[value].shape
            for one, other in itertools.combinations(range(len(shape)), 2):
                found = partial(_with_exchanged_axes, side, value, one, other)
                if 1 in (shape[one], shape[other]):
                    if len(shape) != len(made) or shape[one] == shape[other]:
                        continue
                    if not _is_broadcast(side, value):
                        continue
                    if made[one] != made[other]:
                        continue
                    if not _is_seen(side, value, found):
                        continue
                    pair = (one, other) if shape[one] == 1 else (other, one)
                    was, now = pair if not side.is_candidate else pair[::-1]
                    yield side.changed(
                        Explanation(
                            "broadcast-axis",
                            f"{name} is repeated along axis {now} of {made}; the reference "
                            f"repeats it along axis {was}",
                            found,
                            parameters={"repeated along": (was, now)},
                        )
                    )
                elif shape[one] == shape[other] and _is_seen(side, value, found):
                    yield side.changed(
                        Explanation(
                            "axis-order",
                            f"{name} is read with its axes {one} and {other} exchanged",
                            found,
                            parameters={"axes": ((one, other), (other, one))},
                        )
                    )


def _is_broadcast(side: CaseSide, value: int) -> bool:
    """Whether all that reads a value works element by element: other kernels need not take it."""
    values = side.view.tape.values
    for op in side.view.ops:
        if value not in op.inputs:
            continue
        if op.role == "move" or op.word in PRODUCTS | CONVOLUTIONS | {"attention"}:
            return False
        made = values[op.outputs[0]].shape
        alike = (a in (1, b) for a, b in zip(values[value].shape, made, strict=False))
        if len(op.inputs) < 2 or not all(alike):
            return False
    return True


def _is_seen(side: CaseSide, value: int, found: Predict) -> bool:
    """Whether an operand laid otherwise changes anything, and is not the same as its mean alone.

    Softmax undoes what is added to all that it is over.
    """
    trial = side.case.first
    (array,) = side.values(trial.given, (value,))
    if _only_turns(side, found):
        return False
    mean = np.full_like(array, array.mean() if array.dtype.kind == "f" else array.max())
    try:
        return not close(found(trial), side.run(trial.given, {value: mean}))
    except MISFITS:
        return False


def _only_turns(side: CaseSide, found: Predict) -> bool:
    """Whether the result is merely turned with the operand: then either may lie in either way."""
    trial = side.case.first
    end = side.end(trial)
    try:
        made = found(trial)
    except MISFITS:
        return False
    pairs = itertools.combinations(range(end.ndim), 2)
    return any(close(made, np.swapaxes(end, *pair)) for pair in pairs)


def _operands(side: CaseSide) -> Iterator[tuple[int, tuple[int, ...]]]:
    """What the operations of a region that compute read, with the shape of what they give."""
    tape = side.view.tape
    found: dict[int, tuple[int, ...]] = {}
    # an image and its kernel turned alike give the same image turned: which it was is not known
    images = {value for op in side.view.ops if op.word in CONVOLUTIONS for value in op.inputs}
    for op in side.view.ops:
        for value in op.inputs if op.role != "move" and op.outputs else ():
            if value in images:
                continue
            if tape.is_live(value) and len(tape.values[value].shape) > 1:
                found.setdefault(value, tape.values[op.outputs[0]].shape)
    return iter(found.items())


def _with_exchanged_axes(side: CaseSide, value: int, one: int, other: int, trial: Trial) -> Array:
    (array,) = side.values(trial.given, (value,))
    return side.run(trial.given, {value: np.swapaxes(array, one, other)})


@cause("axis-order", "halves-exchanged", tier=1)
@first_fitting
def parts_otherwise(case: Case) -> Iterator[Explanation]:
    """The parts of an axis are read in another order: tiled and not repeated, or halves exchanged.

    Looks like: heads that share keys with the wrong others; a gate and what it lets through.
    Proof: one side's operations on the operand with its parts in the other order give the other
        side's value.
    """
    for side in sides(case):
        for value, _ in itertools.islice(_operands(side), OPERANDS_LAID):
            name, shape = named(side.view.tape, value), side.view.tape.values[value].shape
            for axis, length in enumerate(shape):
                if axis and length % 2 == 0 and length:
                    yield side.changed(
                        Explanation(
                            "halves-exchanged",
                            f"{name} is read with the halves of its axis {axis} exchanged",
                            partial(_with, side, value, partial(_halves, axis=axis)),
                        )
                    )
                for parts in range(2, length // 2 + 1) if axis and length <= MOST_PARTS else ():
                    if length % parts == 0:
                        yield side.changed(
                            Explanation(
                                "axis-order",
                                f"{name} is read with its axis {axis} as {parts} x "
                                f"{length // parts}, the other way round",
                                partial(
                                    _with, side, value, partial(_regrouped, axis=axis, n=parts)
                                ),
                            )
                        )


def _with(side: CaseSide, value: int, form: Form, trial: Trial) -> Array:
    (array,) = side.values(trial.given, (value,))
    return side.run(trial.given, {value: form(array)})


def _halves(array: Array, axis: int) -> Array:
    return np.roll(array, array.shape[axis] // 2, axis)


def _regrouped(array: Array, axis: int, n: int) -> Array:
    shape = array.shape
    split = array.reshape(*shape[:axis], n, shape[axis] // n, *shape[axis + 1 :])
    return np.swapaxes(split, axis, axis + 1).reshape(shape)


@cause("wrong-source", tier=2)
@first_fitting
def computed_instead(case: Case) -> Iterator[Explanation]:
    """The candidate computes what it reads, where the reference reads a value that it has.

    Looks like: the greedy action in place of the one that was taken, a statistic of another value.
    Proof: the reference's operations on what the candidate computes give the candidate's value.
    """
    tapes = case.reference.tape, case.candidate.tape
    read = dict.fromkeys(value for op in case.reference.ops for value in op.inputs)
    inside = {value for op in case.reference.ops for value in op.outputs}
    own = read_by_the_candidate(case)
    for value in read:
        if value in inside or not tapes[0].is_live(value) or tapes[0].before_moves(value) in own:
            continue
        if _is_equal_to_one(case, value, own):
            continue  # as a product with one is: the candidate has it, and computes with it
        maker = tapes[0].producer(value)
        for other in _computed(case, value):
            made = tapes[1].producer(other)
            if maker is not None and made is not None and maker.word == made.word:
                continue  # of what that reads more may be said
            yield Explanation(
                "wrong-source",
                f"{named(tapes[1], other)} is read; the reference reads {named(tapes[0], value)}",
                partial(_with_computed, case, value, other),
                parameters={"source": (named(tapes[0], value), named(tapes[1], other))},
                cost=2 * OTHER_SOURCE,
            )


def _is_equal_to_one(case: Case, value: int, others: set[int]) -> bool:
    """Whether a value of the reference holds the same numbers as another one."""
    run, values = case.repaired.reference.run, case.reference.tape.values
    return any(
        np.array_equal(run.array(value).ravel(), run.array(other).ravel())
        for other in others
        if values[other].size == values[value].size
    )


def _computed(case: Case, value: int) -> Iterator[int]:
    """What the candidate's region computes on the way that could stand in a value's place."""
    wanted, values = case.reference.tape.values[value], case.candidate.tape.values
    for op in case.candidate.ops:
        if op.static or op.role == "move" or len(op.outputs) != 1:
            continue
        (other,) = op.outputs
        exact, shapes = is_exact(wanted.dtype), (values[other].shape, wanted.shape)
        if exact:  # an argmax may keep its axis, of length 1, for the look-up that reads it
            shapes = _without_ones(shapes[0]), _without_ones(shapes[1])
        alike = is_exact(values[other].dtype) == exact and shapes[0] == shapes[1]
        if other != case.candidate.end and alike:
            yield other


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(length for length in shape if length > 1)


def read_by_the_candidate(case: Case) -> set[int]:
    """The reference's values that the candidate's region reads, before moves."""
    inside = {value for op in case.candidate.ops for value in op.outputs}
    read = {value for op in case.candidate.ops for value in op.inputs} - inside
    pairs = case.inputs.pairs
    partners = {pairs[value].reference for value in read if value in pairs}
    return set(map(case.reference.tape.before_moves, partners))


def _with_computed(case: Case, value: int, other: int, trial: Trial) -> Array:
    (array,) = case.candidate_values(trial.given, (other,))
    shape = case.reference.tape.values[value].shape
    return case.run_reference(trial.given, {value: array.reshape(shape)})


@cause("wrong-source", tier=2)
@first_fitting
def computed_of_another(case: Case) -> Iterator[Explanation]:
    """An operation is applied to another value than the reference applies it to.

    Looks like: a mean over nodes where one over edges belongs.
    Proof: the reference's operations with what the candidate's gives of the other value in its
        place give the candidate's value.
    """
    tapes, partners = (case.reference.tape, case.candidate.tape), case.partners
    for op, other in itertools.product(case.reference.ops, case.candidate.ops):
        if op.word != other.word or not op.word or "move" in (op.role, other.role):
            continue
        if len(op.outputs) != 1 or len(other.outputs) != 1:
            continue
        shapes = [
            tape.values[one.outputs[0]].shape for tape, one in zip(tapes, (op, other), strict=True)
        ]
        live = [
            [value for value in one.inputs if tape.is_live(value)]
            for tape, one in zip(tapes, (op, other), strict=True)
        ]
        if (
            _without_ones(shapes[0]) != _without_ones(shapes[1])
            or len(live[0]) != 1
            or len(live[1]) != 1
        ):
            continue
        right, wrong = live[0][0], partners.get(live[1][0])
        if wrong is None or right not in case.entering:
            continue
        if tapes[0].before_moves(right) == tapes[0].before_moves(wrong):
            continue
        if not _alike_besides(case, (op, other)):
            continue  # what differs may be that: no other value need be read
        names = named_apart(tapes[0], case.repaired.reference.run, right, wrong)
        yield Explanation(
            "wrong-source",
            f"{op.kind} is taken of {names[1]}; the reference takes it of {names[0]}",
            partial(_with_computed, case, op.outputs[0], other.outputs[0]),
            parameters={"source": names},
            cost=OTHER_SOURCE,
        )


def _alike_besides(case: Case, ops: tuple[Op, Op]) -> bool:
    """Whether all that two operations read and no input reaches holds the same numbers."""
    models = case.repaired.reference, case.repaired.side
    held = [
        [
            np.sort(model.array(value), axis=None)
            for value in op.inputs
            if not model.tape.is_live(value)
        ]
        for model, op in zip(models, ops, strict=True)
    ]
    return len(held[0]) == len(held[1]) and all(
        a.shape == b.shape and close(a, b) for a, b in zip(*held, strict=True)
    )
