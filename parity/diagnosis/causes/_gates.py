"""How recurrent layers hold their gates: in blocks of weights, or each in its own."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes._limits import OPS_OF_A_LONG_LOOP, OPS_TO_A_BLOCK
from parity.diagnosis.view import LeafView, RegionView
from parity.operations import ADDITIONS
from parity.tape import Array, Replay, Tape
from parity.walk_once import Once

_GATES = (4, 3)  # of an LSTM and of a GRU


@dataclass(frozen=True)
class GatePart:
    """Where a leaf holds a gate: places along one of its axes."""

    leaf: LeafView
    axis: int
    places: Array


Packing = Sequence[Sequence[GatePart]]  # the parts of each gate


def gate_blocks(tape: Tape, value: int) -> set[int]:
    """Values of which this one is a third or a quarter, but for additions and an activation.

    What is chosen or multiplied on the way is a state and no gate; what is reshaped is no part.
    """
    size = tape.values[value].size
    units = tape.values[value].shape[-1] if tape.values[value].shape else 0
    found: set[int] = set()
    todo = Once([value])
    for at in todo:
        shape = tape.values[at].shape
        if not shape:
            continue
        if shape[-1] in (3 * units, 4 * units):
            if tape.values[at].size * units >= size * shape[-1]:
                found.add(at)
            continue
        op = tape.producer(at)
        if op is None or op.static or shape[-1] != units:
            continue
        live = [one for one in op.inputs if tape.is_live(one)]
        fixed = (one for one in op.inputs if not tape.is_live(one))
        numbers_only = all(tape.values[one].size == 1 for one in fixed)
        if op.role == "move" or op.word in ADDITIONS or (len(live) == 1 and numbers_only):
            todo.add(live)
    return found


def gate_place(tape: Tape, run: Replay, value: int) -> tuple[int, int] | None:
    """Which gate of how many a value is, by where it is cut from their block; None if unknown."""
    blocks, at = gate_blocks(tape, value), value
    for _ in range(OPS_TO_A_BLOCK):
        op = tape.producer(at)
        if op is None:
            return None
        block = next((one for one in op.inputs if one in blocks), None)
        if block is not None and op.role == "move":
            shape, units = tape.values[block].shape, tape.values[at].shape[-1]
            given = {block: np.broadcast_to(np.arange(shape[-1], dtype=np.float64), shape)}
            cut = tape.replay("float64", given, run, only={op.index}).array(at)
            first = int(cut.min())
            whole = first % units == 0 and cut.max() - first == units - 1
            return (first // units, shape[-1] // units) if whole else None
        live = [one for one in op.inputs if tape.is_live(one)]
        at = next((one for one in live if gate_blocks(tape, one) & blocks), -1)
        if at < 0:
            return None
    return None


def packings_of_gates(case: Case) -> Iterator[Packing]:
    """The ways in which leaves hold gates whose products one side splits into as many."""
    leaves = case.reference.leaves
    layers = [one for one in layers_of(leaves) if _are_split(case, *one)]
    return packings(leaves, layers, blocks_only=is_a_long_loop(case))


def is_a_long_loop(case: Case) -> bool:
    return len(case.reference.ops) > OPS_OF_A_LONG_LOOP


def packings(
    leaves: Sequence[LeafView], layers: Iterable[tuple[int, int]], blocks_only: bool = False
) -> Iterator[Packing]:
    """The ways in which leaves may hold gates: in blocks, alternating, or each in its own.

    Args:
        layers: the numbers of gates and of units.
        blocks_only: leaves out gates whose numbers alternate.
    """
    for count, units in layers:
        blocked = [leaf for leaf in leaves if count * units in leaf.array.shape]
        places = np.arange(count * units)
        blocks, alternating = places.reshape(count, units), places.reshape(units, count).T
        for gates in (blocks,) if blocks_only else (blocks, alternating):
            yield [
                [GatePart(one, one.array.shape.index(count * units), at) for one in blocked]
                for at in gates
            ]
    yield from _in_leaves_of_their_own(leaves)


def _in_leaves_of_their_own(leaves: Sequence[LeafView]) -> Iterator[Packing]:
    """Each gate with kernels and biases of its own, in the order of the gates.

    What has no axis of the layer's units is none of them; nor is a head that reads them, if one
    knows it by its rows.
    """
    by_shape: dict[tuple[int, ...], list[LeafView]] = {}
    for leaf in sorted(leaves, key=_numbered):
        if real(leaf) and leaf.array.size > 1:
            by_shape.setdefault(leaf.array.shape, []).append(leaf)
    squares = [shape for shape in by_shape if len(shape) == 2 and shape[0] == shape[1]]
    for (units, _), count in itertools.product(squares, _GATES):
        flat = [shape for shape in by_shape if len(shape) < 3 and units in shape]
        for shapes in (flat, [shape for shape in flat if shape[0] == units]):
            of_layer = [by_shape[shape] for shape in shapes]
            if any(len(alike) % count for alike in of_layer):
                continue
            yield [
                [
                    GatePart(leaf, 0, np.arange(len(leaf.array)))
                    for alike in of_layer
                    for leaf in alike[gate::count]
                ]
                for gate in range(count)
            ]
            break


def _numbered(leaf: LeafView) -> tuple[str, int, int]:
    """Sorts the weights w0, w1, ... of a layer by number, and others as they were recorded."""
    found = re.fullmatch(r"(.*?[^0-9])([0-9]+)", leaf.name)
    return ("", 0, leaf.id) if found is None else (found[1], int(found[2]), leaf.id)


def in_order(packing: Packing, order: Sequence[int]) -> dict[int, Array]:
    """The leaves that hold gates, with these gates in the places of the first, second, ..."""
    found: dict[int, Array] = {}
    for gate, source in zip(packing, (packing[number] for number in order), strict=True):
        for part, other in zip(gate, source, strict=True):
            array = found.setdefault(part.leaf.id, part.leaf.array.copy())
            moved = np.moveaxis(array, part.axis, 0)
            moved[part.places] = np.moveaxis(other.leaf.array, other.axis, 0)[other.places]
    return found


def is_of_biases(part: GatePart) -> bool:
    """Whether a leaf holds one number for each of a gate's units, or one for each of two biases."""
    return part.leaf.array.ndim == 1 or part.leaf.array.size == 2 * part.leaf.array.shape[part.axis]


def _are_split(case: Case, count: int, units: int) -> bool:
    """Whether one side splits what it makes of its weights into so many blocks.

    A convolution's two halves may be as many channels as four gates.
    """
    return any(
        _splits_off(view.tape, leaf.id, count, units)
        for view in (case.reference, case.candidate)
        for leaf in view.leaves
        if count * units in leaf.array.shape
    )


def _splits_off(tape: Tape, leaf: int, count: int, units: int) -> bool:
    """Whether a block is cut out of what is made of a leaf, but for additions and activations."""
    values = Once([leaf])
    for value in values:
        for op in (tape.ops[index] for index in tape.consumers[value]):
            if op.word == "recurrence":
                return True
            shapes = [tape.values[one].shape for one in op.outputs]
            if op.role == "move" and any(units in s and count * units not in s for s in shapes):
                if not op.static:
                    return True
            live = [one for one in op.inputs if tape.is_live(one)]
            added = op.word in ADDITIONS or len(live) < 2
            if added or value == leaf or op.role == "move":
                values.add(one for one in op.outputs if count * units in tape.values[one].shape)
    return False


def layers_of(leaves: Sequence[LeafView]) -> Iterator[tuple[int, int]]:
    """Number of gates and of units, by the kernels that are as many times wider than high.

    A GRU may have the kernels of two gates in one, and that of the third by itself.
    """
    matrices = [leaf.array.shape for leaf in leaves if leaf.array.ndim == 2 and real(leaf)]
    found = {
        (count, units)
        for shape in matrices
        for count in (*_GATES, 2)
        for units in shape
        if sorted(shape) == [units, count * units] and units > 1
        if count > 2 or (units, units) in matrices
    }
    yield from sorted(found, reverse=True)


def real(leaf: LeafView) -> bool:
    return leaf.array.dtype.kind == "f"


def is_of_gates(shape: tuple[int, ...]) -> bool:
    """Whether one axis of a matrix is as many times the other as there are gates."""
    return len(shape) == 2 and max(shape) in [count * min(shape) for count in _GATES]


def of_a_recurrent_layer(case: Case) -> bool:
    """Whether a weight of the model is a recurrent kernel: each step reads it, or one operation."""
    tape = case.reference.tape
    return any(
        is_of_gates(value.shape) and value.shape[0] > 1 and is_read_by_steps(tape, value.id)
        for value in tape.values
        if value.op < 0 and value.kind in ("parameter", "constant")
    )


def step_axes(case: Case) -> set[int]:
    """Axes of the reference's value along which one place of the model's input reaches several.

    A place is a step of a sample: the other end's numbers are put there, and the model is run. The
    samples of a batch do not mix.
    """
    side, end = case.repaired.reference, case.reference.end
    before = range(case.reference.value.op + 1)
    as_it_is = side.run.array(end)
    found: set[int] = set()
    for value in side.tape.inputs.values():
        array = side.run.array(value)
        for at, other in ((0, -1), (-1, 0)):
            moved = array.copy()
            places = min(2, array.ndim)
            moved[(at,) * places] = array[(other,) * places]
            run = side.tape.replay("float64", {value: moved}, side.run, only=before)
            changed = (run.array(end) != as_it_is).nonzero()
            found |= {axis for axis, places in enumerate(changed) if len(set(places)) > 1}
    return found


def is_read_by_steps(tape: Tape, leaf: int) -> bool:
    """Whether several operations read a leaf, as the steps of a loop do, or a recurrent one."""
    readers = [op for _, op in tape.graph.readers(leaf, lambda op: op.static)]
    return len(readers) > 1 or any(op.word == "recurrence" for op in readers)


def carries(view: RegionView) -> bool:
    """Whether something goes from step to step: a weight meets what was made by it before.

    So it is where one operation is a recurrent layer's, whose inside is its own.
    """
    tape = view.tape
    ops = {op.index: op for op in view.ops}
    if any(op.word == "recurrence" for op in ops.values()):
        return True
    for readers in tape.graph.readers_of_matrices:
        for first in sorted(readers & ops.keys()):
            made = {one for value in ops[first].outputs for one in tape.graph.descendants(value)}
            if any(not made.isdisjoint(ops[at].inputs) for at in readers & ops.keys()):
                return True
    return False
