"""Another value is read than the reference's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from parity.arrays import varies
from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import EXCHANGED, INPUTS_EXCHANGED, OTHER_SOURCE, SOURCES_TRIED
from parity.diagnosis.causes._places import Apart, apart
from parity.diagnosis.causes._reduced import REDUCING
from parity.diagnosis.causes._sources import (
    named,
    named_apart,
    put_there,
    substituted_apart,
    twins,
    ways_to_lie,
)
from parity.diagnosis.causes._substitution import (
    Form,
    Inside,
    Substituted,
    alone,
    close,
    inside_candidate,
    inside_reference,
    with_value,
    with_values,
)
from parity.diagnosis.causes.combinators import first_fitting, first_that_fits
from parity.diagnosis.causes.operations import doubtful, number_and_line
from parity.diagnosis.cut_candidates import is_exact
from parity.diagnosis.trial import Trial
from parity.tape import Array, Op, Tape


@cause("wrong-source", "op-missing", "index-value", tier=2)
def wrong_source(case: Case) -> Iterator[Explanation]:
    """The candidate reads another value than the reference does.

    Looks like: both operations do the same, on different values.
    Proof: the reference's operations on the value that the candidate reads give the candidate's.
    """
    reference = inside_reference(case)
    for listed in (
        _read_from_others,
        _read_once,
        _exact_read,
        _exact_left_out,
        _read_of_weights,
        _exchanged,
    ):
        for one in first_that_fits(case, listed(case, reference)):
            yield replace(one, unproved=one.unproved or twins(case))
            return


def _read_from_others(case: Case, reference: Inside) -> Iterator[Explanation]:
    for value, other in _others_read(case, reference):
        right, wrong = _names(case, value, other)
        said = (
            "wrong-source",
            f"the values of {wrong} are read; the reference reads {right}",
            {"source": (right, wrong)},
        )
        left_out, parts = _left_out(case, value, other), _apart(case, value, other)
        if left_out is not None and not doubtful(reference, inside_candidate(case), [left_out]):
            name = left_out.kind
            which = f"{name}{number_and_line(reference, [left_out])}"
            said = ("op-missing", f"{which} is missing here", {"operations": (name, "none")})
        elif parts is not None:
            said = ("index-value", parts.sentence, {"index": parts.words})
        for laid in ways_to_lie(case, value, other):
            yield Explanation(
                said[0],
                said[1],
                with_values(case, _read_alike(case, value), laid, other),
                parameters=said[2],
                unproved=put_there(case, other),
                cost=_cost(value in reference.entering, parts is not None),
            )


def _cost(enters: bool, says_where: bool) -> float:
    cost = OTHER_SOURCE if enters else 2 * OTHER_SOURCE
    return cost / 2 if says_where else cost


def _apart(case: Case, value: int, other: int) -> Apart | None:
    """How what is read lies in the value that both models take it of, if they do."""
    read = (own for own, partner in case.partners.items() if partner == other)
    return next(filter(None, (apart(case, value, own) for own in read)), None)


def _read_alike(case: Case, value: int) -> list[int]:
    """A value, and what else enters the reference's region with the same numbers."""
    run = case.repaired.reference.run
    array = run.array(value)
    others = (one for one in case.entering if one != value)
    return [value, *(one for one in others if np.array_equal(run.array(one), array))]


def _left_out(case: Case, value: int, other: int) -> Op | None:
    """The one operation that makes a value of the other, with no weights: it alone is missing."""
    tape = case.reference.tape
    op = tape.producer(tape.before_moves(value))
    if op is None or op.role != "compute" or len(op.outputs) != 1:
        return None
    live = [one for one in op.inputs if tape.is_live(one)]
    if len(live) != 1 or tape.before_moves(live[0]) != tape.before_moves(other):
        return None
    return op if all(tape.values[one].size == 1 for one in op.inputs if one not in live) else None


def _read_once(case: Case, reference: Inside) -> Iterator[Explanation]:
    """One operation of several that read a value reads another, as a gate made before a layer."""
    tape = case.reference.tape
    own = [one for one in dict.fromkeys(case.partners.values()) if one not in reference.entering]
    for value, other in itertools.islice(itertools.product(reference.entering, own), SOURCES_TRIED):
        readers = [op for op in case.reference.ops if value in op.inputs]
        for op in readers if len(readers) > 1 else ():
            if len(op.outputs) != 1 or [*filter(tape.is_live, op.inputs)] != [value]:
                continue
            if not _as_in_its_place(tape, op, value, other):
                continue
            right, wrong = _names(case, value, other)
            yield Explanation(
                "wrong-source",
                f"{op.kind} reads the values of {wrong}; in the reference it reads {right}",
                _with_read(case, op, value, other),
                parameters={"source": (right, wrong)},
                unproved=put_there(case, other),
                cost=2 * OTHER_SOURCE,
            )


def _exact_read(case: Case, reference: Inside) -> Iterator[Explanation]:
    """Other integers or flags are read, as the lengths or the tokens of another sequence."""
    tape, values = case.reference.tape, case.reference.tape.values
    inside = {value for op in case.reference.ops for value in op.outputs}
    read = dict.fromkeys(value for op in case.reference.ops for value in op.inputs)
    exact = [one for one in read if one not in inside and is_exact(values[one].dtype)]
    others = dict.fromkeys(case.inputs.exact.values())
    for value, other in itertools.islice(itertools.product(exact, others), SOURCES_TRIED):
        alike = values[value].shape == values[other].shape
        if not alike or values[value].dtype != values[other].dtype or not tape.is_live(value):
            continue
        if tape.before_moves(value) == tape.before_moves(other):
            continue
        right, wrong = _names(case, value, other)
        yield Explanation(
            "wrong-source",
            f"the values of {wrong} are read; the reference reads {right}",
            with_value(case, value, alone, other),
            parameters={"source": (right, wrong)},
            cost=OTHER_SOURCE,
        )


def _exact_left_out(case: Case, reference: Inside) -> Iterator[Explanation]:
    """An operation on integers is missing, as the offset of a graph's first node."""
    tape = case.reference.tape
    for op in case.reference.computing:
        live = [value for value in op.inputs if tape.is_live(value)]
        if op.static or len(op.outputs) != 1 or len(live) != 1:
            continue
        taken, made = tape.values[live[0]], tape.values[op.outputs[0]]
        if not made.dtype.startswith(("int", "uint")) or (taken.shape, taken.dtype) != (
            made.shape,
            made.dtype,
        ):
            continue
        others = [named(tape, value) for value in op.inputs if value != live[0]]
        name = f"{op.kind} of {others[0]}" if others else op.kind
        yield Explanation(
            "op-missing",
            f"{name} is missing here",
            with_value(case, op.outputs[0], alone, live[0]),
            parameters={"operations": (op.kind, "none")},
            cost=OTHER_SOURCE,
        )


def _as_in_its_place(tape: Tape, op: Op, value: int, other: int) -> bool:
    """Whether an operation takes another value: of other lengths only what reduces those does."""
    shapes = tape.values[value].shape, tape.values[other].shape
    if shapes[0] == shapes[1] or op.word not in REDUCING or len(shapes[0]) != len(shapes[1]):
        return shapes[0] == shapes[1]
    made = tape.values[op.outputs[0]].size
    return made == math.prod(a for a, b in zip(*shapes, strict=True) if a == b)


def _with_read(case: Case, op: Op, value: int, other: int) -> Substituted:
    """The reference's region, in which one operation reads another value than the others do."""
    tape, base = case.reference.tape, case.repaired.reference.run

    def run(trial: Trial, change: Form) -> Array:
        (array,) = case.reference_values(trial.given, (other,))
        alone = tape.replay("float64", {value: change(array)}, base, only={op.index})
        entering = dict(zip(case.entering, trial.inputs, strict=True))
        return case.run_reference(
            trial.given, {**entering, op.outputs[0]: alone.array(op.outputs[0])}
        )

    return Substituted(run)


def _read_of_weights(case: Case, reference: Inside) -> Iterator[Explanation]:
    """What is made of weights alone is read, as the embedding of learned tokens."""
    tapes, runs = (
        (case.reference.tape, case.candidate.tape),
        (case.repaired.reference.run, case.repaired.side.run),
    )
    read = [runs[1].array(one) for one in case.candidate.constants]
    made = [op.outputs[0] for op in tapes[0].ops if op.static]
    for array in read:
        for value in reference.values if varies(array) else ():
            shape = tapes[0].values[value].shape
            if math.prod(shape) != array.size:
                continue
            for other in made:
                if tapes[0].values[other].size == array.size and close(
                    runs[0].array(other).reshape(array.shape), array
                ):
                    right, wrong = named(tapes[0], value), named(tapes[0], other)
                    read_there = array.reshape(shape)
                    yield Explanation(
                        "wrong-source",
                        f"the values of {wrong} are read; the reference reads {right}",
                        with_value(case, value, partial(_constant, constant=read_there)),
                        parameters={"source": (right, wrong)},
                        cost=OTHER_SOURCE,
                    )
                    break


def _constant(_: Array, constant: Array) -> Array:
    return constant


def _others_read(case: Case, reference: Inside) -> Iterator[tuple[int, int]]:
    """The reference's values, and other inputs of their size that they are not made of.

    Those that the candidate's region reads alone come first: a long sum has many pairs of terms.
    """
    shared = {*reference.entering}
    read = dict.fromkeys((*case.partners.values(), *reference.entering))
    own = tuple(other for other in read if other not in shared)
    for others in (own, tuple(other for other in read if other in shared)):
        yield from itertools.islice(_pairs_of(case, reference, others), SOURCES_TRIED)


def _pairs_of(case: Case, reference: Inside, others: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    tape = case.reference.tape
    # equal to what the candidate makes of its inputs here, and no more than that
    held = {
        partner
        for own, partner in case.partners.items()
        if case.candidate.tape.is_live(own) and not tape.is_live(partner)
    }
    for value in reference.values if others else ():
        sources = reference.sources(value) | held
        for other in others:
            if other == value or tape.values[other].size != reference.array(value).size:
                continue
            maker = tape.producer(other)
            if maker and len(maker.outputs) > 1 and not tape.consumers[other]:
                continue  # what a fused norm gives besides
            if other not in sources and not _is_moved(tape, value, other):
                yield value, other


def _is_moved(tape: Tape, value: int, other: int) -> bool:
    """Whether two values are one, moved; two parts of one, as two steps of a sequence, are not."""
    start = tape.before_moves(value)
    whole = tape.values[start].size == tape.values[value].size
    return whole and start == tape.before_moves(other)


@cause("wrong-source", tier=2, sums=True)
@first_fitting
def exchanged_in_a_sum(case: Case) -> Iterator[Explanation]:
    """Two values have changed places in a sum or a product, which the models write in other orders.

    Looks like: a difference of what is and what comes next, the two exchanged.
    Proof: the reference's operations on the two values exchanged give the candidate's value.
    """
    for one in _exchanged(case, inside_reference(case)):
        yield replace(one, unproved=twins(case), cost=EXCHANGED)


def _exchanged(case: Case, reference: Inside) -> Iterator[Explanation]:
    for first, second in itertools.combinations(reference.entering[:INPUTS_EXCHANGED], 2):
        if reference.array(first).shape != reference.array(second).shape:
            continue
        if substituted_apart(case, first, second):
            continue
        names = _names(case, first, second)
        yield Explanation(
            "wrong-source",
            f"{names[0]} and {names[1]} have changed places",
            partial(_with_exchanged, case, first, second),
            parameters={"source": (names, names[::-1])},
            cost=OTHER_SOURCE,
        )


def _with_exchanged(case: Case, first: int, second: int, trial: Trial) -> Array:
    a, b = case.reference_values(trial.given, (first, second))
    return case.run_reference(trial.given, {first: b, second: a})


def _names(case: Case, first: int, second: int) -> tuple[str, str]:
    """Two values of the reference in words, so that they can be distinguished."""
    return named_apart(case.reference.tape, case.repaired.reference.run, first, second)
