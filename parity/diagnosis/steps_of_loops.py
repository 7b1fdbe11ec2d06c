"""Values that one model computes for all steps at once, and the other step by step.

A loop over steps, heads or members gives as many values as it has turns; the other model has one
value with an axis of them, or with one of them and something else (the batch, a layer's units).
Neither is the other's partner, so that what lies between two partners would be the whole loop.
Where the models differ, such a value is cut into the steps and put together again: each step then
is a value of its own on both sides.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from parity.budget import check
from parity.diagnosis import limits
from parity.draws.draw import Array, Transform
from parity.errors import ReplayError
from parity.matching.fingerprint import fingerprint
from parity.matching.match import Indexed, Match
from parity.numerics.difference import residual
from parity.tape import Op, Tape, Value


class Cut(NamedTuple):
    """How a value is cut into steps."""

    axis: int
    steps: int  # how many
    each: int = 1  # elements of the axis in a step
    in_blocks: bool = True  # a step's elements lie together; otherwise every `steps`-th is its

    def parts(self, array: Array) -> Array:
        """The steps, one after the other along axis 0."""
        if self.each == 1:
            return np.moveaxis(array, self.axis, 0)
        before, after = array.shape[: self.axis], array.shape[self.axis + 1 :]
        pair = (self.steps, self.each) if self.in_blocks else (self.each, self.steps)
        return np.moveaxis(array.reshape(*before, *pair, *after), self._axis_of_steps, 0)

    def together(self, *parts: Array) -> Array:
        """The value whose steps these are."""
        whole = np.stack(parts, self._axis_of_steps)
        if self.each == 1:
            return whole
        before, after = whole.shape[: self.axis], whole.shape[self.axis + 2 :]
        return whole.reshape(*before, self.steps * self.each, *after)

    @property
    def _axis_of_steps(self) -> int:
        return self.axis + (not self.in_blocks)


Cuts = Mapping[int, Cut]  # by value


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
    """Values whose parts are what the other model's turns give, and how they are cut.

    What is made of them and has the axis too is cut with them: there the models may differ.
    """
    tape, left = side.tape, limits.STEPS_CUT
    found: dict[int, Cut] = {}
    for value in values:
        op = tape.producer(value)
        possible = list(_possible(tape.values[value].shape, turns))
        check()
        best = _most_alike(side.array(value), possible, other, turns)
        if best is None and op is not None:
            best = next((found[one] for one in op.inputs if found.get(one) in possible), None)
        if best is not None:
            left -= best.steps
            if left < 0:
                break
            found[value] = best
    return found


def _possible(shape: Sequence[int], turns: Mapping[int, set[int]]) -> Iterator[Cut]:
    """The ways in which a value has as many parts as there are turns of their size."""
    counts = {
        math.prod(shape) // size
        for size, of_size in turns.items()
        if math.prod(shape) % size == 0 and math.prod(shape) // size <= len(of_size)
    }
    for axis, length in enumerate(shape):
        for count in sorted(counts):
            if not 1 < count <= limits.LONGEST_LOOP or length % count:
                continue
            each = length // count
            yield Cut(axis, count, each)
            if each > 1:
                yield Cut(axis, count, each, in_blocks=False)


def _most_alike(
    array: Array, possible: Sequence[Cut], other: Indexed, turns: Mapping[int, set[int]]
) -> Cut | None:
    """The cut of which the most parts are what turns of the other model give."""
    best, found = 1, None  # one part alone may be chance
    for one in possible:
        step = turns[array.size // one.steps]
        alike = {partner for part in one.parts(array) if (partner := _partner(other, part)) in step}
        if len(alike) > best:
            best, found = len(alike), one
    return found


def _partner(other: Indexed, part: Array) -> int | None:
    print_ = fingerprint(part)
    if not print_.informative:
        return None
    pair = other.partner(part, print_)
    return pair.reference if not isinstance(pair, int) and pair and pair.same else None


def cut(tape: Tape, where: Cuts) -> Tape:
    """The tape, in which values are cut into steps and put together again.

    What does the same to each step is done step by step; another operation reads the whole.
    """
    cutting = _Cutting(tape, where)
    for op in tape.ops:
        cutting.add(op)
    moved = cutting.moved

    def places(indices: Iterable[int]) -> frozenset[int]:
        return frozenset(place for index in indices for place in moved[index])

    return replace(
        tape,
        ops=cutting.ops,
        values=cutting.values,
        recorded=cutting.recorded,
        outputs={name: cutting.whole.get(value, value) for name, value in tape.outputs.items()},
        baked_ops=places(tape.baked_ops),
        rounded_ops=places(tape.rounded_ops),
        kernels={place: known for index, known in tape.kernels.items() for place in moved[index]},
    )


class _Cutting:
    """The program that is being made of a tape.

    Attributes:
        moved: by the index of an operation those of what stands for it.
        parts: the steps of a value that is cut.
        whole: what is read in the place of such a value, by what reads all of it.
    """

    def __init__(self, tape: Tape, where: Cuts) -> None:
        self.tape, self.where = tape, where
        self.ops: list[Op] = []
        self.values, self.recorded = list(tape.values), dict(tape.recorded)
        self.moved: dict[int, range] = {}
        self.parts: dict[int, list[int]] = {}
        self.whole: dict[int, int] = {}
        made = replace(tape, ops=self.ops, values=self.values, recorded=self.recorded)
        self.run = made.as_recorded()  # what it runs is recorded

    def add(self, op: Op) -> None:
        """Goes on with an operation of the tape."""
        first = len(self.ops)
        if self._by_steps(op):
            self.moved[op.index] = range(first, first + len(self.parts[op.outputs[0]]))
            return
        self.moved[op.index] = range(first, first + 1)
        inputs = tuple(self.whole.get(value, value) for value in op.inputs)
        self.ops.append(replace(op, index=first, inputs=inputs))
        for value in op.outputs:
            self.values[value] = replace(self.values[value], op=first)
            if value in self.where:
                self._cut_whole(op, value)

    def _cut_whole(self, op: Op, value: int) -> None:
        way, dtype = self.where[value], self.values[value].dtype
        self.parts[value] = parts = []
        for at, part in enumerate(way.parts(self.tape.recorded_array(value))):
            made = self._value(part.shape, dtype)
            self.recorded[made] = self.tape.native(np.ascontiguousarray(part), dtype)
            parts.append(made)
            self._move(op, "slice", [value], made, functools.partial(_part, way, at))
        self.whole[value] = self._value(self.values[value].shape, dtype)
        self.recorded[self.whole[value]] = self.recorded[value]
        together = functools.partial(_together, way)
        self._move(op, "stack", parts, self.whole[value], together)

    def _by_steps(self, op: Op) -> bool:
        """Does an operation to each step, where that gives the steps of what it gave."""
        value, *others = op.outputs or (-1,)
        way = self.where.get(value)
        counts = {len(self.parts[one]) for one in op.inputs if one in self.parts}
        if way is None or op.role == "random" or counts != {way.steps}:
            return False
        if any(self.tape.consumers[one] or one in self.tape.output_names for one in others):
            return False
        before = len(self.ops), len(self.values)
        for at, part in enumerate(way.parts(self.tape.recorded_array(value))):
            if not self._step(op, at, part):
                del self.ops[before[0] :], self.values[before[1] :]
                return False
        self.parts[value] = [one.outputs[0] for one in self.ops[before[0] :]]
        together = functools.partial(_together, way)
        self._move(op, "stack", self.parts[value], value, together)
        return True

    def _step(self, op: Op, at: int, part: Array) -> bool:
        """Adds what an operation does to one step, if it gives this."""
        inputs = tuple(
            self.parts[one][at] if one in self.parts else self.whole.get(one, one)
            for one in op.inputs
        )
        dtypes = [self.values[one].dtype for one in op.outputs]
        calls = [op.call]
        if op.role == "move" and len(inputs) == 1:  # to a shape that is written out
            calls.append(Transform(functools.partial(_reshaped, part.shape)))
        for call in calls:
            outputs = tuple(self._value(part.shape, dtype) for dtype in dtypes)
            made = replace(op, index=len(self.ops), inputs=inputs, outputs=outputs, call=call)
            self.ops.append(made)
            try:
                self.run.step(made)
                gave = self.run.array(outputs[0])
                if gave.shape == part.shape and residual(part, gave) <= limits.SAME_STEP:
                    return True
            except ReplayError:
                pass
            del self.ops[-1], self.values[-len(outputs) :]
        return False

    def _move(
        self, op: Op, kind: str, inputs: Sequence[int], made: int, function: Callable[..., Any]
    ) -> None:
        site, at = replace(op.site, op=kind), len(self.ops)
        call = Transform(function)
        ids = tuple(inputs), (made,)
        self.ops.append(Op(at, kind, *ids, site, "move", call=call, static=op.static))
        self.values[made] = replace(self.values[made], op=at)

    def _value(self, shape: Sequence[int], dtype: str) -> int:
        made = len(self.values)
        self.values.append(Value(made, "computed", tuple(shape), dtype, op=len(self.ops)))
        return made


def _part(way: Cut, at: int, array: Array) -> Sequence[Array]:
    return [way.parts(array)[at]]


def _together(way: Cut, *parts: Array) -> Sequence[Array]:
    return [way.together(*parts)]


def _reshaped(shape: Sequence[int], array: Array) -> Sequence[Array]:
    return [array.reshape(shape)]
