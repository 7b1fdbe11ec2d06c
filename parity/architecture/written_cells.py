"""One step of a recurrence that is written out, by its gates.

A policy that acts takes one step at a time, so no weight multiplies what it helped to compute. What
is left of the loop is its arithmetic, on gates that read an input and a state at once:

- LSTM: `o * tanh(f * c + i * g)`;
- GRU: `(1 - z) * n + z * h` in any of its forms, with `h` among what the gates read;
- a plain cell: `tanh(W x + U h)`, with `h` an input of the model and the result an output.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from parity.architecture.graph import Graph
from parity.architecture.step import ADDITIONS, DENSE, Step
from parity.tape import Op
from parity.walk_once import Once

# Of their inputs the weight, what it weighs, and what the rest of 1 weighs.
INTERPOLATIONS = {"interpolate": (0, 1, 2), "lerp": (2, 1, 0)}
_REVERSED = frozenset(("subtract", "subtract_from"))


@dataclass(frozen=True)
class _Gate:
    """A sigmoid or a tanh of sums of products.

    Attributes:
        sources: the live values that they read, with moves and gates on the way left out.
    """

    word: str
    sources: frozenset[int]


def written_cells(graph: Graph) -> Iterator[Step]:
    """The cells that no loop has taken already; one that several agents share is one cell."""
    read = Gates(graph)
    found: dict[frozenset[int], set[int]] = defaultdict(set)
    for op in graph.live.values():
        ends = read.cell(op)
        ops = read.ops(op, ends) if ends else ()
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
        for op in graph.live.values():
            if op.word in ("sigmoid", "tanh"):
                gate = self._read(op)
                if len(gate.sources) > 1:
                    self.of[op.outputs[0]] = gate

    # --- what a gate reads -----------------------------------------------------------------------

    def _read(self, op: Op) -> _Gate:
        sources: set[int] = set()
        todo = Once(op.inputs[:1])
        for value in todo:
            maker = self._maker(value)
            live = self.graph.live_inputs(maker) if maker is not None else []
            if maker is None or not live:
                continue
            if maker.word in DENSE and len(live) == 1:
                sources |= self._sources(live[0])
            elif maker.word in ADDITIONS:
                todo.add(live)
            elif maker.word == "multiply":
                todo.add(self.before_reset(live))
        return _Gate(op.word, frozenset(sources))

    def _sources(self, value: int) -> set[int]:
        found = set()
        todo = Once([value])
        for one in todo:
            root = self.graph.root(one)
            maker = self.tape.producer(root)
            live = self.graph.live_inputs(maker) if maker is not None else []
            others = (
                self.before_reset(live) if maker is not None and maker.word == "multiply" else []
            )
            if maker is not None and maker.role == "move" and len(live) > 1:
                todo.add(live)
            elif others:
                todo.add(others)
            else:
                found.add(root)
        return found

    def before_reset(self, factors: Collection[int]) -> list[int]:
        """What a gate resets, or a product of it; what an LSTM shows, a tanh, is none."""
        others = [value for value in factors if self._gate(value) is None]
        maker = self._maker(others[0]) if len(others) == 1 < len(factors) else None
        shown = maker is not None and maker.word == "tanh"
        return others if len(others) == 1 < len(factors) and not shown else []

    def _maker(self, value: int) -> Op | None:
        return self.tape.producer(self.graph.root(value))

    def _gate(self, value: int) -> _Gate | None:
        return self.of.get(self.graph.root(value))

    # --- cells -----------------------------------------------------------------------------------

    def cell(self, op: Op) -> frozenset[int]:
        """What the cell reads whose new state an operation makes; nothing where it makes none."""
        word, live = op.word, self.graph.live_inputs(op)
        if word == "multiply" and len(live) == 2:
            return self._lstm(*live) or self._lstm(*live[::-1])
        if word in (*ADDITIONS, "subtract") and len(live) == 2:
            return self._gru(*live) or self._gru(*live[::-1])
        if word in INTERPOLATIONS and len(live) == 3:
            weight, one, other = (live[n] for n in INTERPOLATIONS[word])
            return self._weighed(self._weight(weight), one, other)
        return self._plain(op) if word == "tanh" else frozenset()

    def _lstm(self, shown: int, value: int) -> frozenset[int]:
        output, tanh = self._gate(shown), self._maker(value)
        if output is None or tanh is None or tanh.word != "tanh" or self._gate(value):
            return frozenset()
        state = self._maker(tanh.inputs[0])
        terms = (
            self.graph.live_inputs(state) if state is not None and state.word in ADDITIONS else []
        )
        words, kept = [], []
        for maker in map(self._maker, terms):
            for factor in maker.inputs if maker is not None and maker.word == "multiply" else ():
                gate = self._gate(factor)
                words.append(gate.word if gate else "")
                kept += [] if gate else [self.graph.root(factor)]
        known = sorted(words) == ["", "sigmoid", "sigmoid", "tanh"]
        return output.sources.union(kept) if known else frozenset()

    def _gru(self, one: int, other: int) -> frozenset[int]:
        maker, beside = self._maker(other), self._maker(one)
        if maker is None or maker.word != "multiply" or len(maker.inputs) != 2:
            return frozenset()
        for weight, what in (maker.inputs, maker.inputs[::-1]):
            z, inner = self._weight(weight), self._maker(what)
            if z is None:
                continue
            if (
                inner is not None
                and inner.word == "subtract"
                and self.graph.root(one) in map(self.graph.root, inner.inputs)
            ):
                return self._weighed(z, *inner.inputs)
            if beside is not None and beside.word == "multiply" and len(beside.inputs) == 2:
                for again, kept in (beside.inputs, beside.inputs[::-1]):
                    if self._weight(again) is z:
                        return self._weighed(z, what, kept)
        return frozenset()

    def _weight(self, value: int) -> _Gate | None:
        """The sigmoid that weighs, or that is taken from 1 to weigh."""
        maker = self._maker(value)
        if (
            maker is not None
            and maker.word in _REVERSED
            and len(self.graph.live_inputs(maker)) == 1
        ):
            value = self.graph.live_inputs(maker)[0]
        gate = self._gate(value)
        return gate if gate is not None and gate.word == "sigmoid" else None

    def _weighed(self, z: _Gate | None, one: int, other: int) -> frozenset[int]:
        for value, state in ((one, other), (other, one)):
            new = self._gate(value)
            if z is None or new is None or new.word != "tanh":
                continue
            if self.graph.root(state) in new.sources & z.sources:
                return z.sources | new.sources
        return frozenset()

    def _plain(self, op: Op) -> frozenset[int]:
        gate, values = self.of.get(op.outputs[0]), self.tape.values
        if gate is None or op.outputs[0] not in map(self.graph.root, self.tape.outputs.values()):
            return frozenset()
        width = values[op.outputs[0]].shape[-1:]
        states = [v for v in gate.sources if values[v].kind == "input"]
        return gate.sources if any(values[v].shape[-1:] == width for v in states) else frozenset()

    def ops(self, last: Op, ends: Collection[int]) -> tuple[int, ...]:
        """The operations of a cell, from what it reads to the one that makes its new state."""
        found = {last.index}
        todo = Once(last.inputs)
        for value in todo:
            op = self.tape.producer(value)
            if (
                op is not None
                and op.index in self.graph.live
                and self.graph.root(value) not in ends
            ):
                found.add(op.index)
                todo.add(op.inputs)
        return tuple(sorted(found))
