"""A recurrent cell of one operation as the gates that it consists of.

Chainer has the gates of an LSTM in one function. Where the other model has them one by one, a gate
with another activation would be a difference of the whole cell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from parity.arrays import sigmoid
from parity.draws.draw import Transform
from parity.tape import Array, Op, Role, Tape, Value


def has_cells(tape: Tape) -> bool:
    """Whether a model has a cell that is one operation."""
    return any(_gates(tape, op) for op in tape.ops)


def in_gates(tape: Tape) -> Tape:
    """The tape with each such cell as its gates, and what these make of the states."""
    making = _Making(tape)
    for op in tape.ops:
        first = len(making.ops)
        making.add(op)
        making.moved[op.index] = range(first, len(making.ops))
    return tape.remade(making.ops, making.values, making.recorded, making.moved)


def _gates(tape: Tape, op: Op) -> str:
    """The gates of an LSTM's cell, "aifo" in the order in which a unit has them; "" for no cell."""
    gates = tape.adapter.TRAITS.gates(op)
    shapes = [tape.values[value].shape for value in (*op.inputs, *op.outputs)]
    if not gates or len(op.inputs) != 2 or len(op.outputs) != 2 or len(shapes[0]) != 2:
        return ""
    batch, units = shapes[0]
    alike = shapes == [shapes[0], (batch, len(gates) * units), shapes[0], shapes[0]]
    return gates if alike else ""


class _Making:
    """The program that is being made of a tape.

    Attributes:
        moved: by the index of an operation those of what stands for it.
    """

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.ops: list[Op] = []
        self.values, self.recorded = list(tape.values), dict(tape.recorded)
        self.moved: dict[int, range] = {}

    def add(self, op: Op) -> None:
        """Goes on with an operation of the tape."""
        gates = _gates(self.tape, op)
        if gates:
            self._cell(op, gates)
            return
        self.ops.append(replace(op, index=len(self.ops)))
        for value in op.outputs:
            self.values[value] = replace(self.values[value], op=self.ops[-1].index)

    def _cell(self, op: Op, gates: str) -> None:
        (before, together), (after, h) = op.inputs, op.outputs
        apply = partial(self._apply, op)
        count = len(gates)
        a, i, f, o = (
            apply("slice", partial(_gate, gates.index(gate), count), [together], role="move")
            for gate in "aifo"
        )
        new = apply("multiply", np.multiply, [apply("tanh", np.tanh, [a]), self._open(op, i)])
        kept = apply("multiply", np.multiply, [self._open(op, f), before])
        apply("add", np.add, [new, kept], made=after)
        shown = apply("tanh", np.tanh, [after])
        apply("multiply", np.multiply, [self._open(op, o), shown], made=h)

    def _open(self, op: Op, gate: int) -> int:
        return self._apply(op, "sigmoid", sigmoid, [gate])

    def _apply(
        self,
        op: Op,
        word: str,
        function: Callable[..., Array],
        inputs: list[int],
        role: Role = "compute",
        made: int | None = None,
    ) -> int:
        """Adds an operation within a cell, and gives its value."""
        at, dtype = len(self.ops), self.values[op.outputs[0]].dtype
        call = Transform(partial(_alone, function))
        if made is None:
            (array,) = call([self._array(value) for value in inputs], [dtype])
            made = len(self.values)
            self.values.append(Value(made, "computed", array.shape, dtype))
            self.recorded[made] = self.tape.native(np.ascontiguousarray(array), dtype)
        self.values[made] = replace(self.values[made], op=at)
        site = replace(op.site, op=f"{op.kind} {word}")
        ids = tuple(inputs), (made,)
        kind = f"{op.kind} {word}"
        self.ops.append(Op(at, kind, *ids, site, role, call=call, static=op.static, word=word))
        return made

    def _array(self, value: int) -> Array:
        return self.tape.adapter.to_numpy(self.recorded[value])


def _alone(function: Callable[..., Array], *arrays: Array) -> list[Array]:
    return [function(*arrays)]


def _gate(at: int, count: int, array: Array) -> Array:
    """One gate of all units, each of which has its gates side by side."""
    found: Array = array.reshape(len(array), -1, count)[:, :, at]
    return found
