"""Recurrent cells of two models: a framework's own, or written by hand, and which is which.

A cell in small operations is read by what it computes, whatever its tensors are called and in
whatever order its gates stand: a framework's own, rolled out, or one written by hand. The columns
of each product are followed through sums and splits to the sigmoid or tanh that makes a gate of
them.

A product of several values joined into one row is a sum of products, one for each of them. In a
loop the recurrent product is the one that multiplies what it helped to compute; in a single step,
the one that reads the state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from parity.architecture.graph import Graph
from parity.architecture.program import Program
from parity.architecture.step import Step
from parity.architecture.written_cells import CellStep
from parity.frameworks import load
from parity.tape import Array, Op
from parity.weights.cell_weights import CellWeights, Terms
from parity.weights.element_index import Addresses, follow
from parity.weights.operands import Part, added
from parity.weights.sums import Sums

_NO_CELL = CellStep(frozenset(), {})
_ORDERS = {4: ("i", "f", "g", "o"), 3: ("r", "z", "n"), 1: ("n",)}


@dataclass(eq=False)
class Cell:
    """One direction of one layer.

    Attributes:
        key: how many gates, units and input features it has.
        parts: kernel, recurrent kernel, bias, recurrent bias; in the common arrangement.
        tensors: numbers of those that it is made of.
        first: index of the first operation that reads it.
        step: number of the step that it is in, with others perhaps.
        skips: whether its first step leaves out the recurrent products, and so their biases, as
            Chainer's `L.GRU` does.
    """

    key: tuple[int, int, int]
    parts: dict[str, Part]
    tensors: frozenset[int]
    first: int
    step: int
    skips: bool


def cells(program: Program, addresses: Addresses) -> list[Cell]:
    """The cells of a model whose tape has recurrences, in the order in which they first run."""
    recurrent = [n for n, step in enumerate(program.steps) if step.kind == "recurrence"]
    if not recurrent:
        return []
    sums = Sums(program.graph, addresses)
    read = (_written(sums, number, program.steps[number]) for number in recurrent)
    found = [cell for cell in read if cell is not None]
    taken = {number for cell in found for number in cell.tensors}
    found += (cell for cell in _by_name(program, addresses) if not cell.tensors & taken)
    return sorted(found, key=lambda cell: cell.first)


def _by_name(program: Program, addresses: Addresses) -> Iterator[Cell]:
    """The cells of the framework's own layers."""
    numbers = addresses.numbers
    adapter, walks = load(program.graph.tape.framework), program.graph.tape.graph
    read = set(addresses.leaves.values())
    for one in adapter.TRAITS.weights.cells(numbers, lambda name: addresses.own(numbers[name])):
        tensors = {numbers[name] for name in one.tensors}
        leaves = [leaf for leaf, number in addresses.leaves.items() if number in tensors]
        readers = walks.computing_readers(walks.moved(*leaves))
        first = next((op for op in readers if op.index in program.graph.live), None)
        if first is None:
            continue
        owner = program.graph.owner.get(first.index)
        step = -1 if owner is None else program.steps.index(owner)
        own = (n for _, own in one.roles["recurrent kernel"] for n in addresses.tensors_in(own))
        # Chainer's GRU reads no recurrent weights at its first step
        skips = "recurrent bias" in one.roles and read.isdisjoint(own)
        yield _cell(program.graph, one, tensors, first, step, skips)


def _cell(
    graph: Graph, one: CellWeights, tensors: Iterable[int], first: Op, step: int, skips: bool
) -> Cell:
    width = one.roles["kernel"][0][1].shape[1]
    shapes = graph.tape.values
    live = [v for v in graph.live_inputs(first) if shapes[v].shape[-1:] == (width,)]
    parts = {
        role: Part(step, role, partial(list, terms), live[0] if role == "kernel" and live else None)
        for role, terms in one.roles.items()
    }
    key = one.gates, one.units, width
    return Cell(key, parts, frozenset(tensors), first.index, step, skips)


# --- cells in small operations --------------------------------------------------------------------


@dataclass(frozen=True)
class _Gate:
    """Some columns of what goes into a sigmoid or a tanh, by the value that goes in."""

    sums: int
    columns: tuple[int, ...]


def _written(sums: Sums, number: int, step: Step) -> Cell | None:
    """The cell of a recurrence, if it can be read."""
    gates, cell = _gates(sums, step)
    order = _ORDERS.get(len(gates))
    if order is None or len({len(gate.columns) for gate in gates.values()}) != 1:
        return None
    units = len(gates[order[0]].columns)
    terms = [term for gate in gates.values() for term in sums.of[gate.sums]]
    products = {term.product for term in terms if not term.is_bias}
    recurring = {n for n in products if sums.recurs(n)}
    recurring = recurring or sums.reads_state(products, cell.state, units)
    rows: dict[str, list[Array]] = {}
    for role in order:
        own = _rows(sums, gates[role], recurring)
        if own is None:
            return None
        for name, array in own.items():
            rows.setdefault(name, []).append(array)
    whole = all(len(own) == len(order) for own in rows.values())
    if not whole or not {"kernel", "recurrent kernel"} <= set(rows):
        return None  # of what only some gates have there is no telling
    signs = np.repeat([1.0, -1.0, 1.0], units)
    roles: dict[str, Terms] = {}
    for name, arrays in rows.items():
        sign = signs if arrays[0].ndim == 1 else signs[:, None]
        roles[name] = [(sign if cell.is_reversed else 1.0, np.concatenate(arrays))]
    alike = {n: sums.alike(sums.products[n].op) for n in products}
    turns = {back: {len(ops) for n, ops in alike.items() if (n in recurring) == back}
             for back in (False, True)}  # fmt: skip
    skips = "recurrent bias" in roles and max(turns[True]) < max(turns[False])
    first = min(i for n in products - recurring for i in alike[n] if i in sums.graph.live)
    tensors = (n for ((_, own),) in roles.values() for n in sums.addresses.tensors_in(own))
    weights = CellWeights(units, roles)
    return _cell(sums.graph, weights, tensors, sums.tape.ops[first], number, skips)


def _rows(sums: Sums, gate: _Gate, recurring: Collection[int]) -> dict[str, Array] | None:
    """What makes a gate, unit by unit; None where that is more than is known."""
    found: dict[str, Array] = {}
    # last a bias that is added to the sum of both products: it may be either's
    for term in sorted(sums.of[gate.sums], key=lambda term: term.product < 0):
        own = term.labels.reshape(-1, term.labels.shape[-1])[0][list(gate.columns)]
        name = "bias" if term.is_bias else "kernel"
        if not term.is_bias:
            own = sums.products[term.product].kernel[own - 1]
        if term.product in recurring:
            name = f"recurrent {name}"
        elif term.product < 0 and name in found:
            name = "recurrent bias"
        if name in found:
            return None
        found[name] = own
    return found


def _gates(sums: Sums, step: Step) -> tuple[dict[str, _Gate], CellStep]:
    """The gates of a loop's last step, by their names; none where it is no cell that is known."""
    tape = sums.tape
    ops = [tape.ops[index] for index in reversed(step.ops)]
    for op in ops:
        if op.word == "recurrence" and len(op.inputs) == 2 and sums.of.get(op.inputs[1]):
            units = tape.values[op.outputs[0]].shape[-1]  # Chainer's: a, i, f, o of each unit
            columns = {name: tuple(range(n, 4 * units, 4)) for n, name in enumerate("gifo")}
            return {name: _Gate(op.inputs[1], own) for name, own in columns.items()}, _NO_CELL
    read = (sums.gates.cell(op) for op in ops if op.word != "tanh")
    cell = next((one for one in read if one is not None), _NO_CELL)
    made = [op for op in ops if op.word in ("sigmoid", "tanh") and sums.of.get(op.inputs[0])]
    if cell is _NO_CELL and {op.word for op in made} == {"tanh"}:
        cell = CellStep(frozenset(), {"n": made[0].outputs[0]})
    gates = {name: _gate(sums, value, step) for name, value in cell.gates.items()}
    return {name: gate for name, gate in gates.items() if gate}, cell


def _gate(sums: Sums, value: int, step: Step) -> _Gate | None:
    """The columns that a gate's value has of what goes into its sigmoid or tanh."""
    made = sums.graph.root(value)
    op, shape = sums.tape.producer(made), sums.tape.values[made].shape
    if op is None or not shape or not sums.of.get(op.inputs[0]):
        return None
    columns = np.broadcast_to(np.arange(1, shape[-1] + 1, dtype=np.int64), shape)
    labels = follow(sums.tape, value, {made: columns}, step.ops)
    if labels is None or not labels.ndim or not labels.all():
        return None
    row = labels.reshape(-1, labels.shape[-1])[0] - 1
    return _Gate(op.inputs[0], tuple(row.tolist()))


# --- pairs ----------------------------------------------------------------------------------------


def same_biases(source: Cell, target: Cell) -> None:
    """Adds up the biases of both where one has but one."""
    if {"bias", "recurrent bias"} <= source.parts.keys() & target.parts.keys():
        return
    for cell in (source, target):
        second, bias = cell.parts.pop("recurrent bias", None), cell.parts.get("bias")
        if bias is not None and second is not None:
            cell.parts["bias"] = replace(bias, find=added([bias, second]))


def pair_cells(
    source: Sequence[Cell], target: Sequence[Cell], steps: Mapping[int, int], notes: list[str]
) -> list[tuple[Cell, Cell]]:
    """Cells of one size: those alone in steps that belong together, the others as they run."""
    pairs = []
    for key, count in Counter(cell.key for cell in source).items():
        left = [cell for cell in source if cell.key == key]
        right = [cell for cell in target if cell.key == key]
        if len(left) != len(right):
            notes.append(
                f"the source has {count} recurrent cell(s) of {key[1]} units over {key[2]} "
                f"features, the target {len(right)}: they are left over"
            )
            continue
        partners = _by_step(right)
        for step, cell in _by_step(left).items():
            other = partners.get(steps.get(step, -1))
            if cell is not None and other is not None:
                pairs.append((cell, other))
                left.remove(cell)
                right.remove(other)
        pairs += list(zip(left, right, strict=True))
    for one, other in pairs:
        if one.skips != other.skips:
            notes.append(
                f"the recurrent cell of the {'source' if one.skips else 'target'} leaves out its "
                "recurrent biases at the first step, as Chainer's L.GRU does, and the other's does "
                "not: they agree only where those biases are zero"
            )
    return pairs


def _by_step(cells: Sequence[Cell]) -> dict[int, Cell | None]:
    """The cell of each step; None where there are several."""
    counts = Counter(cell.step for cell in cells)
    return {cell.step: cell if counts[cell.step] == 1 else None for cell in cells}
