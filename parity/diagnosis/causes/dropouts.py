"""Dropout that is active in several layers, between which nothing agrees again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.causes.dropout import Dropout, draws_there, rate_of_dropout
from parity.diagnosis.trial import Trial
from parity.operations import DIVISIONS, MULTIPLICATIONS
from parity.tape import Array, Op, Tape


@cause("dropout-active")
@first_fitting
def dropouts(case: Case) -> Iterator[Explanation]:
    """Dropout is active in several layers of one model, as in training mode.

    Looks like: from the first layer on nothing agrees; outputs change from run to run.
    Proof: the model with the active dropouts gives the other's value without any of them.
    """
    both = sides(case)
    for side, other in (both, both[::-1]):
        if draws_there(other.view) or not draws_there(side.view):
            continue
        found = list(_dropouts(side))
        if len(found) < 2:
            continue
        rates = sorted({one.rate for one in found})
        spelt = rates[0] if len(rates) == 1 else tuple(rates)
        words = " and ".join(f"{rate:g}" for rate in rates)
        what = f"dropout of {words} is active at {len(found)} places"
        yield side.changed(
            Explanation(
                "dropout-active",
                f"{what}; the reference has none"
                if side.is_candidate
                else f"no dropout is active; in the reference {what}",
                partial(_without, side, found),
                parameters={"rate": (0.0, spelt) if side.is_candidate else (spelt, 0.0)},
                evidence=(found[0].text,),
            )
        )


def _without(side: CaseSide, found: list[Dropout], trial: Trial) -> Array:
    """What a region gives with the input of each dropout in the place of its output."""
    replaced: dict[int, Array] = {}
    for one in found:
        (replaced[one.value],) = side.values(trial.given, (one.source,), replaced)
    return side.run(trial.given, replaced)


def _dropouts(side: CaseSide) -> Iterator[Dropout]:
    """The dropouts of a region, in the order of the flow."""
    tape, inside = side.view.tape, {op.index for op in side.view.ops}
    known: set[int] = set()
    for op in side.view.ops:
        if op.word == "dropout":
            pairs = [(op.inputs[0], op.outputs[0])]
        elif op.role == "random":
            pairs = list(_joined(tape, inside, op))
        else:
            continue
        ids = tuple(dict.fromkeys(value for pair in pairs for value in pair))
        arrays = dict(zip(ids, side.values(side.case.first.given, ids), strict=True))
        for source, value in pairs:
            rates = rate_of_dropout(arrays[source], arrays[value])
            if rates is not None and value not in known:
                known.add(value)
                yield Dropout(source, value, *rates)
                break


def _joined(tape: Tape, inside: set[int], draw: Op) -> Iterator[tuple[int, int]]:
    """What noise is joined with where it first is, and what comes of that."""
    noise = {*draw.outputs}
    for op in (tape.ops[index] for index in sorted(inside) if index > draw.index):
        if noise.isdisjoint(op.inputs):
            continue
        data = [one for one in op.inputs if one not in noise and _is_of_data(tape, one)]
        if not data:
            noise.update(op.outputs)
            continue
        for value in (op.outputs[0], *_scaled(tape, inside, op.outputs[0])):
            for source in (*data, *(one for value in data for one in _scaled_from(tape, value))):
                yield source, value


def _is_of_data(tape: Tape, value: int) -> bool:
    return tape.is_live(value) and tape.values[value].dtype.startswith(("float", "bfloat"))


def _scaled(tape: Tape, inside: set[int], value: int) -> Iterator[int]:
    """What a value is once it is multiplied by a number."""
    for index in tape.consumers[value]:
        op = tape.ops[index]
        if index in inside and _is_scaling(tape, op):
            yield op.outputs[0]


def _scaled_from(tape: Tape, value: int) -> Iterator[int]:
    op = tape.producer(value)
    if op is not None and _is_scaling(tape, op):
        yield from (one for one in op.inputs if tape.is_live(one))


def _is_scaling(tape: Tape, op: Op) -> bool:
    others = [one for one in op.inputs if not tape.is_live(one)]
    alone = len(op.inputs) - len(others) == 1
    single = all(tape.values[one].size == 1 for one in others)
    return op.word in MULTIPLICATIONS | DIVISIONS and alone and single
