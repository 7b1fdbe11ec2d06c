"""Recurrent cells of two models: a framework's own, or written by hand, and which is which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from parity.architecture.program import Program
from parity.frameworks import load
from parity.weights.cell_weights import Terms
from parity.weights.element_index import Addresses
from parity.weights.handwritten_cells import WrittenCell, written
from parity.weights.operands import Part


@dataclass(eq=False)
class Cell:
    """One direction of one layer.

    Attributes:
        roles: kernel, recurrent kernel, bias, recurrent bias.
        first: index of the first operation that reads it.
        step: number of the step that it is in, with others perhaps.
        skips: whether its first step leaves out the recurrent biases, as Chainer's `L.GRU` does.
    """

    gates: int
    units: int
    roles: dict[str, Terms]
    tensors: frozenset[int]
    first: int = -1
    step: int = -1
    skips: bool = False
    parts: dict[str, Part] = field(default_factory=dict)

    @property
    def key(self) -> tuple[int, int, int]:
        return self.gates, self.units, self.roles["kernel"][0][1].shape[1]


def cells(program: Program, addresses: Addresses) -> list[Cell]:
    """The cells of a model whose tape has recurrences, in the order in which they first run."""
    recurrent = [n for n, step in enumerate(program.steps) if step.kind == "recurrence"]
    if not recurrent:
        return []
    numbers = {name: n for n, tensor in enumerate(addresses.tensors) for name in tensor.names}
    adapter = load(program.graph.tape.framework)
    found = [_from_written(addresses, one) for one in written(program, addresses)]
    taken = {number for cell in found for number in cell.tensors}
    for one in adapter.TRAITS.weights.cells(numbers, lambda name: addresses.own(numbers[name])):
        tensors = frozenset(numbers[name] for name in one.tensors)
        cell = Cell(one.gates, one.units, one.roles, tensors)
        cell.first = _first(program, addresses, cell.tensors)
        cell.skips = "recurrent bias" in cell.roles and not _recurs(cell, addresses)
        if cell.first >= 0 and not cell.tensors & taken:
            found.append(cell)
    for cell in found:
        _make_parts(program, cell)
    return sorted(found, key=lambda cell: cell.first)


def _from_written(addresses: Addresses, one: WrittenCell) -> Cell:
    tensors = frozenset(
        n for terms in one.roles.values() for _, own in terms for n in addresses.tensors_in(own)
    )
    return Cell(one.gates, one.units, one.roles, tensors, one.first, one.step, one.skips)


def _recurs(cell: Cell, addresses: Addresses) -> bool:
    """Whether any operation reads the recurrent weights: Chainer's GRU has none at its first."""
    read = set(addresses.leaves.values())
    return any(
        not read.isdisjoint(addresses.tensors_in(own)) for _, own in cell.roles["recurrent kernel"]
    )


def _first(program: Program, addresses: Addresses, tensors: frozenset[int]) -> int:
    """The first operation that computes with a cell's tensors, and for the outputs."""
    walks = program.graph.tape.graph
    leaves = [leaf for leaf, number in addresses.leaves.items() if number in tensors]
    readers = walks.computing_readers(walks.moved(*leaves))
    return next((op.index for op in readers if op.index in program.graph.live), -1)


def _make_parts(program: Program, cell: Cell) -> None:
    graph = program.graph
    owner = graph.owner.get(cell.first)
    if cell.step < 0 and owner is not None:
        cell.step = program.steps.index(owner)
    op = graph.tape.ops[cell.first]
    width = cell.key[2]
    shapes = graph.tape.values
    live = [v for v in op.inputs if not graph.is_static(v) and shapes[v].shape[-1:] == (width,)]
    for role, terms in cell.roles.items():
        value = live[0] if role == "kernel" and live else None
        cell.parts[role] = Part(cell.step, role, lambda terms=terms: terms, value)  # type: ignore[misc]


def same_biases(source: Cell, target: Cell) -> None:
    """Adds up the biases of both where one has but one."""
    if {"bias", "recurrent bias"} <= set(source.roles) & set(target.roles):
        return
    for cell in (source, target):
        second = cell.roles.pop("recurrent bias", None)
        cell.parts.pop("recurrent bias", None)
        if second is not None and "bias" in cell.roles:
            terms = [*cell.roles["bias"], *second]
            cell.roles["bias"] = terms
            cell.parts["bias"].find = lambda terms=terms: terms  # type: ignore[misc]


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
