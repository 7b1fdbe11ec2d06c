"""Cuts values of a tape into steps, and does step by step what treats all of them alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from parity.diagnosis import limits
from parity.draws.draw import Array, Transform
from parity.errors import ReplayError
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


def cut(tape: Tape, where: Mapping[int, Cut]) -> Tape:
    """The tape, in which values are cut into steps and put together again.

    What does the same to each step is done step by step; another operation reads the whole.
    """
    cutting = _Cutting(tape, where)
    for op in tape.ops:
        cutting.add(op)
    outputs = {name: cutting.whole.get(value, value) for name, value in tape.outputs.items()}
    made = tape.remade(cutting.ops, cutting.values, cutting.recorded, cutting.moved)
    return replace(made, outputs=outputs)


class _Cutting:
    """The program that is being made of a tape.

    Attributes:
        moved: by the index of an operation those of what stands for it.
        parts: the steps of a value that is cut.
        whole: what is read in the place of such a value, by what reads all of it.
    """

    def __init__(self, tape: Tape, where: Mapping[int, Cut]) -> None:
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
        if self._takes_steps(op):
            self.moved[op.index] = range(first, len(self.ops))
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
            self._move(op, "slice", [value], made, partial(_part, way, at))
        self.whole[value] = self._value(self.values[value].shape, dtype)
        self.recorded[self.whole[value]] = self.recorded[value]
        together = partial(_together, way)
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
        together = partial(_together, way)
        self._move(op, "stack", self.parts[value], value, together)
        return True

    def _takes_steps(self, op: Op) -> bool:
        """Reads the steps where a move takes the whole apart, as an index of one of them."""
        whole = op.inputs[0] if len(op.inputs) == 1 and op.role == "move" else -1
        if whole not in self.parts or not self.where.keys().isdisjoint(op.outputs):
            return False
        shape, size = self.tape.values[whole].shape, self.tape.values[whole].size
        numbers = np.arange(size, dtype=float).reshape(shape)
        steps = [part.tobytes() for part in self.where[whole].parts(numbers)]
        try:
            run = self.tape.replay("float64", {whole: numbers}, only=[op.index])
            made = [run.array(value).tobytes() for value in op.outputs]
        except ReplayError:
            return False
        if not set(made) <= set(steps):
            return False
        for value, taken in zip(op.outputs, made, strict=True):
            part, shape = self.parts[whole][steps.index(taken)], self.values[value].shape
            self._move(op, op.kind, [part], value, partial(_reshaped, shape))
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
            calls.append(Transform(partial(_reshaped, part.shape)))
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
