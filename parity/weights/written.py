"""Recurrent cells read by what they compute: which gate is which is told by what it multiplies.

A cell in small operations is read here, whatever its tensors are called and in whatever order its
gates stand: a framework's own, rolled out, or one written by hand. The columns of each product are
followed through sums and splits to the sigmoid or tanh that makes a gate of them.

- LSTM: `o` multiplies a tanh that is no gate, `i` a tanh that is one, `f` what is neither.
- GRU: `z` weighs the one tanh against the state, `r` is the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from parity.architecture.graph import Graph
from parity.architecture.program import Program
from parity.architecture.step import BIAS, DENSE, Step, plain
from parity.tape import Array, Op
from parity.weights.addresses import Addresses, move
from parity.weights.parts import Part, product

Terms = list[tuple[float | Array, Array]]
_SPAN = 1 << 36
_GATES = ("sigmoid", "tanh")
_ORDERS = {4: ("i", "f", "g", "o"), 3: ("r", "z", "n"), 1: ("n",)}


@dataclass(frozen=True)
class _Term:
    """One addend of a value.

    Attributes:
        product: index of the operation that multiplied, or that the bias belongs to; -1 for none.
        labels: of the value's shape: columns of the product, from 1, or a bias's addresses.
    """

    product: int
    labels: Array
    is_bias: bool


@dataclass(frozen=True)
class _Gate:
    """Some columns of what goes into a sigmoid or a tanh.

    Attributes:
        sums: the value that goes in.
        turned: whether what is meant is taken from 1.
    """

    sums: int
    columns: tuple[int, ...]
    turned: bool = False

    @property
    def plain(self) -> _Gate:
        return replace(self, turned=False)


@dataclass(frozen=True)
class Written:
    """What was read of a cell.

    Attributes:
        roles: in the common arrangement.
        first: index of the first turn's product with what enters.
        step: number of the recurrence.
        skips: whether the first turn leaves out the recurrent products, and so their biases.
    """

    gates: int
    units: int
    roles: dict[str, Terms]
    first: int
    step: int
    skips: bool


def written(program: Program, addresses: Addresses) -> Iterator[Written]:
    """The cell of each recurrence that can be read, in the order of the steps."""
    steps = [(n, step) for n, step in enumerate(program.steps) if step.kind == "recurrence"]
    if steps:
        sums = _Sums(program.graph, addresses)
        for number, step in steps:
            found = _read(sums, number, step)
            if found is not None:
                yield found


class _Sums:
    """The products and biases that each value of a tape is the sum of."""

    def __init__(self, graph: Graph, addresses: Addresses) -> None:
        self.graph, self.addresses, self.tape = graph, addresses, graph.tape
        self.kernels: dict[int, Part] = {}
        self.of: dict[int, list[_Term]] = {}
        self._readers: dict[int, set[int]] = defaultdict(set)
        for op in self.tape.ops:
            for value in op.inputs if plain(op) in DENSE else ():
                for leaf in graph.weights(value) if graph.is_static(value) else ():
                    self._readers[leaf].add(op.index)
        for op in graph.live.values():
            if plain(op) in DENSE:
                self._multiplied(op)
            elif plain(op) in BIAS:
                self.of[op.outputs[0]] = list(self._added(op))
            elif op.role == "move":
                self._moved(op)
            elif plain(op) == "mul":  # a reset gate may stand before what it resets
                known = [self.of[v] for v in op.inputs if self.of.get(v)]
                if len(known) == 1 and not any(graph.is_static(v) for v in op.inputs):
                    self.of[op.outputs[0]] = known[0]

    def _shape(self, value: int) -> tuple[int, ...]:
        return self.tape.values[value].shape

    def _multiplied(self, op: Op) -> None:
        kernel = product(self.graph, self.addresses, -1, op)
        if kernel is None or not kernel.find():
            return
        self.kernels[op.index] = kernel
        shape = self._shape(op.outputs[0])
        columns = np.broadcast_to(np.arange(1, shape[-1] + 1, dtype=np.int64), shape)
        own = op.inputs[:1] if plain(op) == "addmm" else op.inputs[2:3]
        self.of[op.outputs[0]] = [
            _Term(op.index, columns, False),
            *(term for v in own for term in self._bias(v, op.index, shape)),
        ]

    def _bias(self, value: int, product: int, shape: tuple[int, ...]) -> Iterator[_Term]:
        own = self.addresses.of(value) if self.graph.is_static(value) else None
        if own is not None and own.ndim <= len(shape):
            yield _Term(product, np.broadcast_to(own, shape), True)

    def _added(self, op: Op) -> Iterator[_Term]:
        shape = self._shape(op.outputs[0])
        live = [term for v in op.inputs for term in self.of.get(v, ())]
        products = {term.product for term in live if not term.is_bias}
        owner = products.pop() if len(products) == 1 else -1
        for term in live:
            if term.labels.shape == shape:
                yield term
        for value in op.inputs:
            yield from self._bias(value, owner, shape)

    def _moved(self, op: Op) -> None:
        for n, value in enumerate(op.inputs):
            for term in self.of.get(value, ()):
                labels = [term.labels if k == n else None for k in range(len(op.inputs))]
                for output, own in zip(op.outputs, move(self.tape, op, labels) or (), strict=False):
                    self.of.setdefault(output, []).append(_Term(term.product, own, term.is_bias))

    def recurs(self, index: int) -> bool:
        """Whether a product meets what its own weights helped to compute."""
        earlier = {n for n in self.alike(self.tape.ops[index]) if n < index}
        stack, seen = [self.kernels[index].enters], set[int]()
        while stack and earlier:
            value = stack.pop()
            op = self.tape.producer(value) if value is not None else None
            if op is None or op.index in seen or op.index < min(earlier):
                continue
            if op.index in earlier:
                return True
            seen.add(op.index)
            stack.extend(op.inputs)
        return False

    def alike(self, op: Op) -> set[int]:
        """The operations that multiply by the same weights, of the first turn's zeros too."""
        return {
            index
            for value in op.inputs
            if self.graph.is_static(value)
            for leaf in self.graph.weights(value) & set(self.addresses.leaves)
            for index in self._readers[leaf]
        }


def _addresses(kernel: Part) -> Array:
    return (kernel.find() or [(1.0, np.zeros(0, np.int64))])[0][1]


# --- gates ---------------------------------------------------------------------------------------


def _read(sums: _Sums, number: int, step: Step) -> Written | None:
    gates = _Turns(sums, step).gates()
    order = _ORDERS.get(len(gates))
    if order is None or len({len(gate.columns) for gate in gates.values()}) != 1:
        return None
    rows: dict[str, list[Array]] = {}
    products: set[int] = set()
    for role in order:
        own = _rows(sums, gates[role])
        if own is None:
            return None
        products |= own[1]
        for name, array in own[0].items():
            rows.setdefault(name, []).append(array)
    whole = all(len(own) == len(order) for own in rows.values())
    if not whole or not {"kernel", "recurrent kernel"} <= set(rows):
        return None  # of what only some gates have there is no telling
    units = len(gates[order[0]].columns)
    turned = "z" in gates and gates["z"].turned
    signs = np.repeat([1.0, -1.0, 1.0], units)
    roles: dict[str, Terms] = {}
    for name, arrays in rows.items():
        sign = signs if arrays[0].ndim == 1 else signs[:, None]
        roles[name] = [(sign if turned else 1.0, np.concatenate(arrays))]
    turns = {back: {len(sums.alike(sums.tape.ops[n])) for n in products if sums.recurs(n) == back}
             for back in (False, True)}  # fmt: skip
    skips = "recurrent bias" in roles and max(turns[True]) < max(turns[False])
    entering = [sums.tape.ops[n] for n in products if not sums.recurs(n)]
    first = min(n for op in entering for n in sums.alike(op) if n in sums.graph.live)
    return Written(len(order), units, roles, first, number, skips)


def _rows(sums: _Sums, gate: _Gate) -> tuple[dict[str, Array], set[int]] | None:
    """What makes a gate, unit by unit, and the products; None where that is more than is known."""
    found: dict[str, Array] = {}
    products = set()
    for term in sums.of[gate.sums]:
        own = term.labels.reshape(-1, term.labels.shape[-1])[0][list(gate.columns)]
        name = "bias" if term.is_bias else "kernel"
        if not term.is_bias:
            products.add(term.product)
            own = _addresses(sums.kernels[term.product])[own - 1]
        if term.product >= 0 and sums.recurs(term.product):
            name = f"recurrent {name}"
        if name in found:
            return None
        found[name] = own
    return found, products


class _Turns:
    """The gates of a loop, each by the value that goes into it and its columns.

    Attributes:
        weighs: a sigmoid and the tanh that it multiplies.
        shows: a sigmoid that multiplies a tanh which is no gate.
        keeps: a sigmoid that multiplies what is neither.
    """

    def __init__(self, sums: _Sums, step: Step) -> None:
        self.sums, self.tape, self.graph = sums, sums.tape, sums.graph
        self.marks: dict[int, Array] = {}  # labels: the value that goes in, and the column
        self.turned: set[int] = set()
        self.words: dict[int, str] = {}
        self.differences: dict[int, tuple[_Gate, bool]] = {}
        self.weighs: list[tuple[_Gate, _Gate]] = []
        self.shows: list[_Gate] = []
        self.keeps: list[_Gate] = []
        self.fused: dict[str, _Gate] = {}
        for op in (self.tape.ops[index] for index in step.ops):
            self._see(op)

    def gates(self) -> dict[str, _Gate]:
        """Those of the last turn, by their names; none where they make no cell that is known."""
        if self.fused:
            return self.fused
        if self.weighs and self.shows:
            (i, g), o = self.weighs[-1], self.shows[-1]
            f = [one for one in self.keeps if one not in (i, o)]
            return {"i": i, "f": f[-1], "g": g, "o": o} if f else {}
        if self.weighs:
            z, n = self.weighs[-1]
            r = [one for one in self.keeps if one.plain != z.plain]
            z = replace(z, turned=not z.turned)  # where it weighs the new, others weigh the old
            return {"r": r[-1], "z": z, "n": n} if r else {}
        if set(self.words.values()) != {"tanh"}:
            return {}
        columns = self.tape.values[max(self.words)].shape[-1]
        return {"n": _Gate(max(self.words), tuple(range(columns)))}

    def _see(self, op: Op) -> None:
        word, output = plain(op), op.outputs[0]
        if word in _GATES and self.sums.of.get(op.inputs[0]):
            shape = self.tape.values[output].shape
            own = np.arange(1, shape[-1] + 1, dtype=np.int64) + op.inputs[0] * _SPAN
            self.marks[output] = np.broadcast_to(own, shape)
            self.words[op.inputs[0]] = word
        elif word == "lstm" and len(op.inputs) == 2 and self.sums.of.get(op.inputs[1]):
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
                self.turned.add(output)
        elif word == "linearinterpolate":
            weight, one, other = (self._gate(value) for value in op.inputs)
            if weight is not None and one is not None:
                self.weighs.append((weight, one))
            elif weight is not None and other is not None:
                self.weighs.append((replace(weight, turned=not weight.turned), other))
        elif word == "sub":
            for value, first in zip(op.inputs, (True, False), strict=False):
                gate = self._gate(value)
                if gate is not None and self.words[gate.sums] == "tanh":
                    self.differences[output] = gate, first
        elif word == "mul" and len(op.inputs) == 2:
            self._multiplied(*op.inputs)
            self._multiplied(*op.inputs[::-1])

    def _moved(self, op: Op) -> None:
        labels = [self.marks.get(value) for value in op.inputs]
        if any(one is not None for one in labels):
            self.marks.update(zip(op.outputs, move(self.tape, op, labels) or (), strict=False))
            self.turned.update(op.outputs if self.turned & set(op.inputs) else ())

    def _multiplied(self, value: int, other: int) -> None:
        sigmoid, gate = self._gate(value), self._gate(other)
        if sigmoid is None or self.words[sigmoid.sums] != "sigmoid":
            return
        maker = self.graph.source(other)
        if gate is not None and self.words[gate.sums] == "tanh":
            self.weighs.append((sigmoid, gate))
        elif other in self.differences:
            new, first = self.differences[other]
            self.weighs.append((sigmoid if first else replace(sigmoid, turned=True), new))
        elif maker is not None and plain(maker) == "tanh":
            self.shows.append(sigmoid)
        elif gate is None:
            self.keeps.append(sigmoid)

    def _gate(self, value: int) -> _Gate | None:
        labels = self.marks.get(value)
        if labels is None or not labels.ndim or not labels.all():
            return None
        row = labels.reshape(-1, labels.shape[-1])[0]
        columns = tuple(int(one) for one in row % _SPAN - 1)
        return _Gate(int(row[0] // _SPAN), columns, value in self.turned)

    def _takes_from_one(self, op: Op) -> bool:
        word = plain(op)
        turns = word in ("rsub", "subfromconstant")
        if word == "sub":
            turns = self.graph.is_static(op.inputs[0]) and not self.graph.is_static(op.inputs[1])
        return turns and self.graph.scalar(op) == 1
