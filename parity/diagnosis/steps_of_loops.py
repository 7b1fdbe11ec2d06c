"""Values that one model computes for all steps at once, and the other step by step.

A loop over steps, heads or members gives as many values as it has turns; the other model has one
value with an axis of them. Neither is the other's partner, so that what lies between two partners
would be the whole loop. Where the models differ, such a value is cut into the steps and put
together again: each step then is a value of its own on both sides.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from parity.budget import check
from parity.diagnosis import limits
from parity.draws.draw import Array, Transform
from parity.matching.fingerprint import fingerprint
from parity.matching.match import Indexed, Match
from parity.tape import Op, Tape, Value

Cuts = Mapping[int, int]  # by value the axis of the steps


def cuts(found: Match) -> tuple[Cuts, Cuts]:
    """What is to be cut in the reference and in the candidate.

    Args:
        found: the match in which what differs is repaired.
    """
    own, side = found.reference, found.side
    other = Indexed(side.tape, side.run, side, own.sharp)
    unpaired = (
        _unpaired(own, {pair.reference for pair in found.pairs.values()}),
        _unpaired(other, set(found.pairs)),
    )
    turns = _turns(own.tape, unpaired[0]), _turns(other.tape, unpaired[1])
    return (
        _cut_like(own, unpaired[0], other, turns[1]),
        _cut_like(other, unpaired[1], own, turns[0]),
    )


def _unpaired(side: Indexed, paired: set[int]) -> list[int]:
    """What a model computes that has no partner, in the order of the program."""
    tape = side.tape
    return [
        value
        for op in tape.ops
        if op.index in tape.used and op.role != "random"
        for value in op.outputs
        if value not in paired
        and tape.values[value].dtype.startswith(("float", "bf"))
        and limits.LEAST_STEP <= tape.values[value].size <= limits.LARGEST_CUT
    ]


def _turns(tape: Tape, values: Sequence[int]) -> dict[int, set[int]]:
    """Values that a line gives more than once, as in the turns of a loop, by their size."""

    def line(value: int) -> object:
        op = tape.producer(value)
        assert op is not None
        return op.site.frames, op.site.layer, op.word, tape.values[value].shape

    times = Counter(map(line, values))
    found: dict[int, set[int]] = {}
    for value in values:
        if times[line(value)] > 1:
            found.setdefault(tape.values[value].size, set()).add(value)
    return found


def _cut_like(
    side: Indexed, values: Sequence[int], other: Indexed, turns: Mapping[int, set[int]]
) -> Cuts:
    """Values whose parts along an axis are what the other model's turns give, with the axis.

    What is made of them and has the axis too is cut with them: there the models may differ.
    """
    tape, left = side.tape, limits.STEPS_CUT
    found: dict[int, int] = {}
    for value in values:
        shape, op = tape.values[value].shape, tape.producer(value)
        fits = [
            axis
            for axis, length in enumerate(shape)
            if 1 < length <= limits.LONGEST_LOOP and tape.values[value].size // length in turns
        ]
        check()
        axis = _axis_of_steps(side.array(value), fits, other, turns)
        if axis is None and op is not None:
            cut_before = ((found[one], tape.values[one].shape) for one in op.inputs if one in found)
            kept = (a for a, before in cut_before if a in fits and before[a] == shape[a])
            axis = next(kept, None)
        if axis is not None:
            left -= shape[axis]
            if left < 0:
                break
            found[value] = axis
    return found


def _axis_of_steps(
    array: Array, axes: Sequence[int], other: Indexed, turns: Mapping[int, set[int]]
) -> int | None:
    """The axis along which the most parts of an array are what turns of the other model give."""
    best, found = 1, None  # one part alone may be chance
    for axis in axes:
        step = turns[array.size // array.shape[axis]]
        parts = np.moveaxis(array, axis, 0)
        alike = {one for part in parts if (one := _partner(other, part)) in step}
        if len(alike) > best:
            best, found = len(alike), axis
    return found


def _partner(other: Indexed, part: Array) -> int | None:
    print_ = fingerprint(part)
    if not print_.informative:
        return None
    pair = other.partner(part, print_)
    return pair.reference if not isinstance(pair, int) and pair and pair.same else None


def cut(tape: Tape, where: Cuts) -> Tape:
    """The tape, in which values are cut along an axis and put together again."""
    ops: list[Op] = []
    values, recorded = list(tape.values), dict(tape.recorded)
    whole: dict[int, int] = {}  # what is read in the place of what was cut
    moved: dict[int, int] = {}  # the new index of each operation

    def add(op: Op, kind: str, inputs: Sequence[int], call: Transform, native: object) -> int:
        shape = tuple(tape.adapter.to_numpy(native).shape)
        made = Value(len(values), "computed", shape, values[inputs[0]].dtype, op=len(ops))
        values.append(made)
        recorded[made.id] = native
        site = replace(op.site, op=kind)
        ids = tuple(inputs), (made.id,)
        ops.append(Op(len(ops), kind, *ids, site, "move", call=call, static=op.static))
        return made.id

    for op in tape.ops:
        inputs = tuple(whole.get(value, value) for value in op.inputs)
        moved[op.index] = len(ops)
        ops.append(replace(op, index=len(ops), inputs=inputs))
        for value in op.outputs:
            values[value] = replace(values[value], op=moved[op.index])
            axis = where.get(value)
            if axis is None:
                continue
            native = recorded[value]
            parts = [
                add(op, "slice", (value,), Transform(functools.partial(_part, axis, at)), part)
                for at, part in enumerate(_parts(tape, native, axis, values[value].dtype))
            ]
            together = Transform(functools.partial(_together, axis))
            whole[value] = add(op, "stack", parts, together, native)
    return replace(
        tape,
        ops=ops,
        values=values,
        recorded=recorded,
        outputs={name: whole.get(value, value) for name, value in tape.outputs.items()},
        baked_ops=frozenset(moved[index] for index in tape.baked_ops),
        rounded_ops=frozenset(moved[index] for index in tape.rounded_ops),
        kernels={moved[index]: known for index, known in tape.kernels.items()},
    )


def _parts(tape: Tape, native: object, axis: int, dtype: str) -> Iterator[object]:
    array = tape.adapter.to_numpy(native)
    for at in range(array.shape[axis]):
        yield tape.native(np.ascontiguousarray(array.take(at, axis)), dtype)


def _part(axis: int, at: int, array: Array) -> Sequence[Array]:
    return [array.take(at, axis)]


def _together(axis: int, *parts: Array) -> Sequence[Array]:
    return [np.stack(parts, axis)]
