"""Shifts and selections that one model makes and the other does not: moves that are left out."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import (
    BYPASSES_TRIED,
    OP_LEFT_OUT,
    OPS_BEFORE_A_MOVE,
    SHIFTS_TRIED,
)
from parity.diagnosis.causes._reduced import REDUCING
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import twins
from parity.diagnosis.causes._substitution import Form, Substituted
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.tape import Array, Op, Tape

# Moves that leave all numbers in their order.
_IN_ORDER = frozenset(("reshape", "squeeze", "expand_dims", "broadcast", "cast"))
_SELECTING = frozenset(("slice", "gather", "index_select"))


@cause("op-missing", "op-extra", tier=2)
@first_fitting
def moves(case: Case) -> Iterator[Explanation]:
    """A shift of a sequence, or a selection of its elements, is missing, or is there too much.

    Looks like: scores or masks that are a step off; a mean that takes in what was sorted out.
    Proof: one side's operations on what it moves, as that lies before, give the other side's value.
    """
    for side in sides(case):
        found = itertools.chain(_bypassed(side), _selections(side))
        for value, source, ops in itertools.islice(found, BYPASSES_TRIED):
            names = ", ".join(dict.fromkeys(op.kind for op in ops))
            what = f"{_in_words(side, value, source)} ({names}{_line(ops[0])})"
            kind, text, shown = "op-missing", "is missing here", (names, "none")
            if side.is_candidate:
                kind, text = "op-extra", "is applied here, the reference has none here"
                shown = shown[::-1]
            yield side.changed(
                Explanation(
                    kind,
                    f"{what} {text}",
                    _with(side, value, source),
                    parameters={"operations": shown},
                    unproved=_may_read_another(case, side, value, source)
                    or _is_there_too(case, side, ops),
                    cost=OP_LEFT_OUT * len(ops),
                )
            )


def _with(side: CaseSide, value: int, source: int) -> Substituted:
    """What a side gives with what it moves in the place of what comes of it."""

    def run(trial: Trial, change: Form) -> Array:
        (array,) = side.values(trial.given, (source,))
        return side.run(trial.given, {value: change(array)})

    return Substituted(run)


def _bypassed(side: CaseSide) -> Iterator[tuple[int, int, list[Op]]]:
    """Values that moves make, with what they start from, of one shape; short chains first."""
    tape, inside = side.view.tape, {op.index for op in side.view.ops}
    found = []
    for op in side.view.ops:
        for value in op.outputs if op.role == "move" else ():
            chain: list[Op] = []
            for maker in _makers(tape, value):
                if maker.index not in inside:
                    break
                chain.insert(0, maker)
                (at,) = (one for one in maker.inputs if tape.is_live(one))
                moves_some = any(one.word not in _IN_ORDER for one in chain)
                if moves_some and tape.values[at].shape == tape.values[value].shape:
                    found.append((value, at, [*chain]))
    return iter(sorted(found, key=lambda one: len(one[2])))


def _makers(tape: Tape, value: int) -> Iterator[Op]:
    """The moves that make a value of one other, back from it."""
    op = tape.producer(value)
    while op is not None and op.role == "move":
        live = [one for one in op.inputs if tape.is_live(one)]
        if len(live) != 1 or len(op.outputs) != 1:
            return
        yield op
        op = tape.producer(live[0])


def _selections(side: CaseSide) -> Iterator[tuple[int, int, list[Op]]]:
    """Parts of values along an axis that only reductions along that axis read."""
    tape = side.view.tape
    for op in side.view.ops:
        if op.static or op.word not in _SELECTING or len(op.outputs) != 1:
            continue
        value, source = op.outputs[0], op.inputs[0]
        made, x = tape.values[value].shape, tape.values[source].shape
        cut = [axis for axis, n in enumerate(made) if len(x) == len(made) and n < x[axis]]
        if len(cut) != 1 or not tape.is_live(source) or value == side.view.end:
            continue
        (axis,) = cut
        left = made[:axis] + made[axis + 1 :], made[:axis] + (1,) + made[axis + 1 :]
        readers = [one for one in side.view.ops if value in one.inputs]
        reduced = (one.word in REDUCING and _shape(tape, one) in left for one in readers)
        if readers and all(reduced):
            yield value, source, [op]


def _shape(tape: Tape, op: Op) -> tuple[int, ...]:
    return tape.values[op.outputs[0]].shape


def _in_words(side: CaseSide, value: int, source: int) -> str:
    """What the moves do: a shift along an axis, a selection of some, or something else."""
    x, made = (side.model.run.array(one) for one in (source, value))
    if x.shape != made.shape:
        axis = next(i for i, n in enumerate(made.shape) if n < x.shape[i])
        return f"a selection of {made.shape[axis]} of {x.shape[axis]} along axis {axis}"
    for axis, places in itertools.product(range(x.ndim), SHIFTS_TRIED):
        if places < x.shape[axis]:
            for later in (True, False):
                a, b = (made, x) if later else (x, made)
                rest = np.take(made, np.arange(places) if later else np.arange(-places, 0), axis)
                if (rest == rest.flat[0]).all() and np.array_equal(
                    np.take(a, np.arange(places, a.shape[axis]), axis),
                    np.take(b, np.arange(b.shape[axis] - places), axis),
                ):
                    steps = f"{places} step{'s' if places > 1 else ''}"
                    where = "later" if later else "earlier"
                    return f"a shift {steps} {where} along axis {axis}"
    return "a move of elements"


def _line(op: Op) -> str:
    line = op.site.source.rsplit("/", 1)[-1]
    return f" at {line}" if line else ""


def _may_read_another(case: Case, side: CaseSide, value: int, source: int) -> str:
    """Why another value may be read: one of the moved one's shape would do as well."""
    values = side.view.tape.values
    return twins(case) if values[value].shape == values[source].shape else ""


def _is_there_too(case: Case, side: CaseSide, ops: list[Op]) -> str:
    """Why moves may be no more than one model's way to write what the other has, too."""
    other = sides(case)[not side.is_candidate]
    own, there = (Counter(op.word for op in _near(one)) for one in (side, other))
    for op in ops:
        if op.word not in _IN_ORDER and there[op.word] >= own[op.word]:
            return f"the other model computes {op.kind} there as well"
    return ""


def _near(side: CaseSide) -> list[Op]:
    """The operations of a region, and the few that make its inputs."""
    tape, found = side.view.tape, {op.index: op for op in side.view.ops}
    values = [*side.entering]
    for _ in range(OPS_BEFORE_A_MOVE):
        makers = [op for op in map(tape.producer, values) if op is not None]
        found.update((op.index, op) for op in makers)
        values = [one for op in makers for one in op.inputs if tape.is_live(one)]
    return [*found.values()]
