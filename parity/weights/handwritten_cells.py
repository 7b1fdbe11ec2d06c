"""Recurrent cells read by what they compute: what a gate multiplies shows which it is.

A cell in small operations is read here, whatever its tensors are called and in whatever order its
gates stand: a framework's own, rolled out, or one written by hand. The columns of each product are
followed through sums and splits to the sigmoid or tanh that makes a gate of them.

- LSTM: `o` multiplies a tanh that is no gate, `i` a tanh that is one, `f` what is neither.
- GRU: `z` weighs the one tanh against the state, `r` is the other.

A product of several values joined into one row is a sum of products, one for each of them. In a
loop the recurrent product is the one that multiplies what it helped to compute; in a single step,
the one that reads the state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np

from parity.architecture.program import Program
from parity.architecture.step import Step
from parity.architecture.written_cells import INTERPOLATIONS
from parity.tape import Array, Op
from parity.weights.cell_weights import Terms
from parity.weights.element_index import Addresses, move
from parity.weights.sums import GATES, Sums

_SPAN = 1 << 36
_ORDERS = {4: ("i", "f", "g", "o"), 3: ("r", "z", "n"), 1: ("n",)}


@dataclass(frozen=True)
class _Gate:
    """Some columns of what goes into a sigmoid or a tanh.

    Attributes:
        sums: the value that goes in.
        is_reversed: whether what is meant is taken from 1.
    """

    sums: int
    columns: tuple[int, ...]
    is_reversed: bool = False

    @property
    def plain(self) -> _Gate:
        return replace(self, is_reversed=False)


@dataclass(frozen=True)
class WrittenCell:
    """What was read of a cell.

    Attributes:
        roles: in the common arrangement.
        first: index of the first step's product with the input.
        step: number of the recurrence.
        skips: whether the first step leaves out the recurrent products, and so their biases.
    """

    gates: int
    units: int
    roles: dict[str, Terms]
    first: int
    step: int
    skips: bool


def written(program: Program, addresses: Addresses) -> Iterator[WrittenCell]:
    """The cell of each recurrence that can be read, in the order of the steps."""
    steps = [(n, step) for n, step in enumerate(program.steps) if step.kind == "recurrence"]
    if steps:
        sums = Sums(program.graph, addresses)
        for number, step in steps:
            found = _read(sums, number, step)
            if found is not None:
                yield found


# --- gates ---------------------------------------------------------------------------------------


def _read(sums: Sums, number: int, step: Step) -> WrittenCell | None:
    gates = _Turns(sums, step).gates()
    order = _ORDERS.get(len(gates))
    if order is None or len({len(gate.columns) for gate in gates.values()}) != 1:
        return None
    units = len(gates[order[0]].columns)
    terms = [term for gate in gates.values() for term in sums.of[gate.sums]]
    products = {term.product for term in terms if not term.is_bias}
    recurring = {n for n in products if sums.recurs(n)}
    recurring = recurring or sums.reads_state(products, step, units)
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
    is_reversed = "z" in gates and gates["z"].is_reversed
    signs = np.repeat([1.0, -1.0, 1.0], units)
    roles: dict[str, Terms] = {}
    for name, arrays in rows.items():
        sign = signs if arrays[0].ndim == 1 else signs[:, None]
        roles[name] = [(sign if is_reversed else 1.0, np.concatenate(arrays))]
    steps = {back: {len(sums.alike(sums.products[n].op)) for n in products
                    if (n in recurring) == back} for back in (False, True)}  # fmt: skip
    skips = "recurrent bias" in roles and max(steps[True]) < max(steps[False])
    of_input = [sums.products[n].op for n in products - recurring]
    first = min(n for op in of_input for n in sums.alike(op) if n in sums.graph.live)
    return WrittenCell(len(order), units, roles, first, number, skips)


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


class _Turns:
    """The gates of a loop, each by the value that goes into it and its columns.

    Attributes:
        weighs: a sigmoid and the tanh that it multiplies.
        shows: a sigmoid that multiplies a tanh which is no gate.
        keeps: a sigmoid that multiplies what is neither.
    """

    def __init__(self, sums: Sums, step: Step) -> None:
        self.sums, self.tape, self.graph = sums, sums.tape, sums.graph
        self.marks: dict[int, Array] = {}  # labels: the value that goes in, and the column
        self.reversed: set[int] = set()
        self.words: dict[int, str] = {}
        self.differences: dict[int, tuple[_Gate, bool]] = {}
        self.weighs: list[tuple[_Gate, _Gate]] = []
        self.shows: list[_Gate] = []
        self.keeps: list[_Gate] = []
        self.fused: dict[str, _Gate] = {}
        for op in (self.tape.ops[index] for index in step.ops):
            self._see(op)

    def gates(self) -> dict[str, _Gate]:
        """Those of the last step, by their names; none where they make no cell that is known."""
        if self.fused:
            return self.fused
        if self.weighs and self.shows:
            (i, g), o = self.weighs[-1], self.shows[-1]
            f = [one for one in self._as_wide(i) if one not in (i, o)]
            return {"i": i, "f": f[-1], "g": g, "o": o} if f else {}
        if self.weighs:
            z, n = self.weighs[-1]
            r = [one for one in self._as_wide(z) if one.plain != z.plain]
            # where it weighs the new state, others weigh the old
            z = replace(z, is_reversed=not z.is_reversed)
            return {"r": r[-1], "z": z, "n": n} if r else {}
        if set(self.words.values()) != {"tanh"}:
            return {}
        columns = self.tape.values[max(self.words)].shape[-1]
        return {"n": _Gate(max(self.words), tuple(range(columns)))}

    def _is_of_this_turn(self, tanh: Op) -> bool:
        """Whether it comes after what a gate weighs: a state may be a tanh, too."""
        new = {value for _, gate in self.weighs[-1:] for value in self.tape.consumers[gate.sums]}
        return bool(new) and tanh.index > max(new)

    def _as_wide(self, gate: _Gate) -> list[_Gate]:
        """Those that keep something, of a cell's width: a head in the loop may do so as well."""
        return [one for one in self.keeps if len(one.columns) == len(gate.columns)]

    def _see(self, op: Op) -> None:
        word, output = op.word, op.outputs[0]
        if word in GATES and self.sums.of.get(op.inputs[0]):
            shape = self.tape.values[output].shape
            own = np.arange(1, shape[-1] + 1, dtype=np.int64) + op.inputs[0] * _SPAN
            self.marks[output] = np.broadcast_to(own, shape)
            self.words[op.inputs[0]] = word
        elif word == "recurrence" and len(op.inputs) == 2 and self.sums.of.get(op.inputs[1]):
            units = self.tape.values[output].shape[-1]  # Chainer's: a, i, f, o of each unit
            self.fused = {
                name: _Gate(op.inputs[1], tuple(range(n, 4 * units, 4)))
                for n, name in enumerate("gifo")
            }
        elif op.role == "move":
            self._moved(op)
        elif self._takes_from_one(op):
            live = next(v for v in op.inputs if not self.graph.is_static(v))
            if live in self.marks:
                self.marks[output] = self.marks[live]
                self.reversed.add(output)
        elif word in INTERPOLATIONS and len(op.inputs) == 3:
            weight, one, other = (self._gate(op.inputs[n]) for n in INTERPOLATIONS[word])
            if weight is not None and one is not None:
                self.weighs.append((weight, one))
            elif weight is not None and other is not None:
                self.weighs.append((replace(weight, is_reversed=not weight.is_reversed), other))
        elif word == "subtract":
            for value, first in zip(op.inputs, (True, False), strict=False):
                gate = self._gate(value)
                if gate is not None and self.words[gate.sums] == "tanh":
                    self.differences[output] = gate, first
        elif word == "multiply" and len(op.inputs) == 2:
            self._multiplied(*op.inputs)
            self._multiplied(*op.inputs[::-1])

    def _moved(self, op: Op) -> None:
        labels = [self.marks.get(value) for value in op.inputs]
        if any(one is not None for one in labels):
            self.marks.update(zip(op.outputs, move(self.tape, op, labels) or (), strict=False))
            self.reversed.update(op.outputs if self.reversed & set(op.inputs) else ())

    def _multiplied(self, value: int, other: int) -> None:
        sigmoid, gate = self._gate(value), self._gate(other)
        if sigmoid is None or self.words[sigmoid.sums] != "sigmoid":
            return
        maker = self.graph.source(other)
        if gate is not None and self.words[gate.sums] == "tanh":
            self.weighs.append((sigmoid, gate))
        elif other in self.differences:
            new, first = self.differences[other]
            self.weighs.append((sigmoid if first else replace(sigmoid, is_reversed=True), new))
        elif maker is not None and maker.word == "tanh" and self._is_of_this_turn(maker):
            self.shows.append(sigmoid)
        elif gate is None:
            self.keeps.append(sigmoid)

    def _gate(self, value: int) -> _Gate | None:
        labels = self.marks.get(value)
        if labels is None or not labels.ndim or not labels.all():
            return None
        row = labels.reshape(-1, labels.shape[-1])[0]
        columns = tuple(int(one) for one in row % _SPAN - 1)
        return _Gate(int(row[0] // _SPAN), columns, value in self.reversed)

    def _takes_from_one(self, op: Op) -> bool:
        steps = op.word == "subtract_from"
        if op.word == "subtract":
            steps = self.graph.is_static(op.inputs[0]) and not self.graph.is_static(op.inputs[1])
        return steps and self.graph.scalar(op) == 1
