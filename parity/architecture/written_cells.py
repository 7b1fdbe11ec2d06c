"""One step of a recurrence that is written out, by its gates.

A policy that acts takes one step at a time, so no weight multiplies what it helped to compute. What
is left of the loop is its arithmetic, on gates that read an input and a state at once:

- LSTM: `o * tanh(f * c + i * g)`;
- GRU: `(1 - z) * n + z * h` in any of its forms, with `h` among what the gates read;
- a plain cell: `tanh(W x + U h)`, with `h` an input of the model and the result an output.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from parity.architecture.graph import Graph
from parity.architecture.step import ADDITIONS, DENSE, Step
from parity.tape import Op
from parity.walk_once import Once

# Of their inputs the weight, what it weighs, and what the rest of 1 weighs.
_INTERPOLATIONS = {"interpolate": (0, 1, 2), "lerp": (2, 1, 0)}


@dataclass(frozen=True)
class _Gate:
    """A sigmoid or a tanh of sums of products.

    Attributes:
        sources: the live values that they read, with moves and gates on the way left out.
        resets: the gates that multiply some of them, or a product of them.
    """

    word: str
    sources: frozenset[int]
    resets: tuple[int, ...]


@dataclass(frozen=True)
class CellStep:
    """What makes a new state.

    Attributes:
        sources: the live values that its gates read.
        gates: values by name: i, f, g and o of an LSTM, r (where there is one), z and n of a GRU,
            n of a plain cell.
        state: of what an LSTM or a GRU keeps a share.
        is_reversed: whether z weighs the new state, and not the old.
    """

    sources: frozenset[int]
    gates: Mapping[str, int]
    state: int = -1
    is_reversed: bool = False


def written_cells(graph: Graph) -> Iterator[Step]:
    """The cells that no loop has taken already; one that several agents share is one cell."""
    read = Gates(graph)
    found: dict[frozenset[int], set[int]] = defaultdict(set)
    for op in graph.live.values():
        cell = read.cell(op)
        ops = read.ops(op, {*cell.sources, cell.state}) if cell else ()
        if ops and not any(index in graph.owner for index in ops):
            found[_weights(graph, ops)].update(ops)
    for every in found.values():
        first = graph.tape.ops[min(every)]
        yield Step("recurrence", first.site, tuple(sorted(every)), opaque=True)


def gates_of(graph: Graph) -> Collection[int]:
    """The results of the sigmoids and tanhs that read two sources at once."""
    return Gates(graph).of.keys()


def _weights(graph: Graph, ops: Iterable[int]) -> frozenset[int]:
    """The leaves that the products among operations multiply by."""
    products = [op for op in map(graph.tape.ops.__getitem__, ops) if op.word in DENSE]
    static = {v for op in products for v in op.inputs if graph.is_static(v)}
    return frozenset(leaf for value in static for leaf in graph.weights(value))


class Gates:
    """The gates of a tape, by the value that each makes."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.tape = graph, graph.tape
        self.of: dict[int, _Gate] = {}
        self._before: dict[int, _Gate] = {}  # by what the activations read
        for op in graph.live.values():
            if op.word in ("sigmoid", "tanh"):
                gate = self._read(op)
                if len(gate.sources) > 1:
                    self.of[op.outputs[0]] = gate

    def _maker(self, value: int, *words: str) -> Op | None:
        """What made a value before moves; where words are given, only if it is one of them."""
        op = self.tape.producer(self.graph.root(value))
        return op if op is not None and (not words or op.word in words) else None

    def _gate(self, value: int) -> _Gate | None:
        return self.of.get(self.graph.root(value))

    # --- what a gate reads -----------------------------------------------------------------------

    def _read(self, op: Op) -> _Gate:
        sources: set[int] = set()
        resets: list[int] = []
        todo = Once(op.inputs[:1])
        for value in todo:
            known = self._before.get(self.graph.root(value))
            if known is not None:  # as the state that the step before goes on from
                sources |= known.sources
                resets += known.resets
                continue
            maker = self._maker(value)
            live = self.graph.live_inputs(maker) if maker is not None else []
            if maker is None or not live:
                continue
            if maker.word in DENSE and len(live) == 1:
                sources |= self._sources(live[0], resets)
            elif maker.word in ADDITIONS:
                todo.add(live)
            elif maker.word == "multiply":
                todo.add(self._before_reset(live, resets))
        gate = _Gate(op.word, frozenset(sources), tuple(resets))
        self._before[self.graph.root(op.inputs[0])] = gate
        return gate

    def _sources(self, value: int, resets: list[int]) -> set[int]:
        found = set[int]()
        todo = Once([value])
        for one in todo:
            root = self.graph.root(one)
            maker = self.tape.producer(root)
            live = self.graph.live_inputs(maker) if maker is not None else []
            parts: list[int] = []
            if maker is not None and maker.role == "move" and len(live) > 1:
                parts = live
            elif maker is not None and maker.word == "multiply":
                parts = self._before_reset(live, resets)
            todo.add(parts)
            found.update(() if parts else [root])
        return found

    def source(self, value: int) -> int:
        """What a product reads, before moves and before a gate resets it."""
        maker = self._maker(value, "multiply")
        others = self._before_reset(maker.inputs, []) if maker is not None else []
        return self.graph.root(others[0] if others else value)

    def _before_reset(self, factors: Collection[int], resets: list[int]) -> list[int]:
        """What a gate resets, or a product of it; what an LSTM shows, a tanh, is none."""
        others = [value for value in factors if self._gate(value) is None]
        if not len(others) == 1 < len(factors) or self._maker(others[0], "tanh"):
            return []
        resets += (value for value in factors if value not in others)
        return others

    # --- cells -----------------------------------------------------------------------------------

    def cell(self, op: Op) -> CellStep | None:
        """The cell whose new state an operation makes; None where it makes none."""
        word, live = op.word, self.graph.live_inputs(op)
        if word == "multiply" and len(live) == 2:
            return self._lstm(*live) or self._lstm(*live[::-1])
        if word in (*ADDITIONS, "subtract") and len(live) == 2:
            return self._gru(*live) or self._gru(*live[::-1])
        if word in _INTERPOLATIONS and len(live) == 3:
            return self._weighed(*(live[n] for n in _INTERPOLATIONS[word]))
        return self._plain(op) if word == "tanh" else None

    def _lstm(self, shown: int, value: int) -> CellStep | None:
        output, tanh = self._gate(shown), self._maker(value, "tanh")
        if output is None or tanh is None or self._gate(value):
            return None
        state = self._maker(tanh.inputs[0], *ADDITIONS)
        gates, kept = {"o": shown}, -1
        for term in self.graph.live_inputs(state) if state is not None else ():
            product = self._maker(term, "multiply")
            read = {one: self._gate(one) for one in product.inputs} if product is not None else {}
            factors = {gate.word if gate else "": one for one, gate in read.items()}
            if factors.keys() == {"sigmoid", "tanh"}:
                gates |= {"i": factors["sigmoid"], "g": factors["tanh"]}
            elif factors.keys() == {"sigmoid", ""}:
                gates["f"] = factors["sigmoid"]
                kept = self.graph.root(factors[""])
        return CellStep(output.sources, gates, kept) if len(gates) == 4 else None

    def _gru(self, one: int, other: int) -> CellStep | None:
        root = self.graph.root
        maker, beside = self._maker(other, "multiply"), self._maker(one, "multiply")
        if maker is None or len(maker.inputs) != 2:
            return None
        for weight, what in (maker.inputs, maker.inputs[::-1]):
            z, inner = self._weight(weight), self._maker(what, "subtract")
            if z is None:
                continue
            ends = list(inner.inputs) if inner is not None else []
            if len(ends) == 2 and root(one) in map(root, ends):
                rest, weighed = ends if root(ends[0]) == root(one) else ends[::-1]
                return self._weighed(weight, weighed, rest)
            if beside is not None and len(beside.inputs) == 2:
                for again, kept in (beside.inputs, beside.inputs[::-1]):
                    same = self._weight(again)
                    if same is not None and self._gate(same) is self._gate(z):
                        return self._weighed(weight, what, kept)
        return None

    def _weight(self, value: int) -> int | None:
        """The sigmoid that weighs, or that is taken from 1 to weigh."""
        maker = self._maker(value, "subtract", "subtract_from")
        live = self.graph.live_inputs(maker) if maker is not None else []
        value = live[0] if len(live) == 1 else value
        gate = self._gate(value)
        return value if gate is not None and gate.word == "sigmoid" else None

    def _weighed(self, weight: int, one: int, other: int) -> CellStep | None:
        """The cell of a new state: a weight's share of `one`, and the rest of `other`."""
        z = self._weight(weight)
        weighs = self._gate(z) if z is not None else None
        for value, state in ((one, other), (other, one)):
            new = self._gate(value)
            if z is None or weighs is None or new is None or new.word != "tanh":
                continue
            kept, sources = self.graph.root(state), weighs.sources | new.sources
            if kept in new.sources & weighs.sources:
                by_itself = self.graph.root(z) == self.graph.root(weight)
                gates = {"z": z, "n": value}
                gates |= {"r": new.resets[-1]} if new.resets else {}
                return CellStep(sources, gates, kept, by_itself == (value == one))
        return None

    def _plain(self, op: Op) -> CellStep | None:
        gate, values = self.of.get(op.outputs[0]), self.tape.values
        if gate is None or op.outputs[0] not in map(self.graph.root, self.tape.outputs.values()):
            return None
        width = values[op.outputs[0]].shape[-1:]
        states = [v for v in gate.sources if values[v].kind == "input"]
        is_cell = any(values[v].shape[-1:] == width for v in states)
        return CellStep(gate.sources, {"n": op.outputs[0]}) if is_cell else None

    def ops(self, last: Op, ends: Collection[int]) -> tuple[int, ...]:
        """The operations of a cell, from what it reads to the one that makes its new state."""

        def is_inside(value: int, op: Op) -> bool:
            return op.index in self.graph.live and self.graph.root(value) not in ends

        walk = self.tape.graph.backward(last.inputs, is_inside)
        found = {op.index for value, op in walk if op is not None and is_inside(value, op)}
        return tuple(sorted({last.index, *found}))
