"""The random draws of a tape: which of its values are drawn, and what is made of noise alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from parity.draws.draw import Draw
from parity.tape import Op, Tape
from parity.walk_once import Once


@dataclass(frozen=True)
class Unit:
    """Numbers that are drawn together: all of a draw, or a piece that is read by itself.

    Attributes:
        value: the id of the draw's value or of the piece.
        op: the operation that draws.
        draw: what it draws from, None where that is not known.
    """

    value: int
    op: Op
    draw: Draw | None
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __str__(self) -> str:
        where = f" at {self.op.site.source}" if self.op.site.source else ""
        return f"{self.draw or self.op.kind} of shape {self.shape}{where}"


def units(reference: Tape, candidate: Tape) -> tuple[list[Unit], list[Unit]]:
    """The draws that lead to outputs, in program order.

    Where one model draws at once what the other draws one after another, the pieces into which a
    draw is cut count, and not the draw.
    """
    both = _drawn(reference), _drawn(candidate)
    sizes = [Counter(unit.size for unit in side) for side in both]
    return (
        [piece for unit in both[0] for piece in _cut(reference, unit, sizes[0], sizes[1])],
        [piece for unit in both[1] for piece in _cut(candidate, unit, sizes[1], sizes[0])],
    )


def _drawn(tape: Tape) -> list[Unit]:
    return [
        Unit(op.outputs[0], op, op.draw, tape.values[op.outputs[0]].shape)
        for op in tape.ops
        if op.role == "random" and op.index in tape.used and tape.values[op.outputs[0]].size
        if not _is_a_seed(tape, op)
    ]


def _is_a_seed(tape: Tape, op: Op) -> bool:
    """Whether integers are drawn by which stateless operations draw, and nothing else."""
    if op.draw is not None or "int" not in tape.values[op.outputs[0]].dtype:
        return False
    read, used = Once(op.outputs), set(tape.outputs.values())
    for value in read:
        for index in tape.consumers[value]:
            reader = tape.ops[index]
            if reader.role == "random":
                if not tape.adapter.TRAITS.is_stateless(reader):
                    return False
            else:
                read.add(reader.outputs)
    return used.isdisjoint(read)


def _cut(tape: Tape, unit: Unit, own: Counter[int], other: Counter[int]) -> Sequence[Unit]:
    if own[unit.size] == other[unit.size]:
        return [unit]
    pieces = _pieces(tape, unit.value)
    if len(pieces) < 2:
        return [unit]
    array = tape.adapter.to_numpy
    drawn = np.concatenate([array(tape.recorded[value]).ravel() for value in pieces])
    if drawn.size > unit.size or np.unique(drawn).size < drawn.size:
        return [unit]  # one number is read twice
    return [Unit(one, unit.op, unit.draw, tape.values[one].shape) for one in pieces]


def _pieces(tape: Tape, value: int) -> list[int]:
    """What smaller values a value is cut into, if nothing else reads it."""
    size = tape.values[value].size
    found: list[int] = []
    readers = [index for index in tape.consumers[value] if index in tape.used]
    for index in readers:
        op = tape.ops[index]
        if op.role != "move" or op.inputs[0] != value:
            return []
        for made in op.outputs:
            if tape.values[made].size > size:
                return []
            if tape.values[made].size == size:
                found += _pieces(tape, made)
            else:
                found.append(made)
    return found if found and sum(tape.values[one].size for one in found) <= size else []


@dataclass(frozen=True)
class Origins:
    """Which values are computed from random draws, and which from the model's inputs."""

    noise: frozenset[int]
    data: frozenset[int]

    def mixed(self, value: int) -> bool:
        return value in self.noise and value in self.data


def origins(tape: Tape) -> Origins:
    """A draw counts as noise alone, though it may read a tensor for its shape."""

    def read(op: Op) -> Iterable[int]:
        if op.role != "random":
            return op.inputs
        return op.draw.reads.values() if op.draw is not None else ()

    drawn = (value for op in tape.ops if op.role == "random" for value in op.outputs)
    inputs = (value.id for value in tape.values if value.kind == "input")
    return Origins(
        frozenset(tape.graph.forward(drawn)), frozenset(tape.graph.forward(inputs, read))
    )
