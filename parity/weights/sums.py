"""What each value of a tape is the sum of: products and biases, column by column.

A product of several values joined into one row is a sum of products, one for each of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from parity.architecture.graph import Graph
from parity.architecture.step import ADDITIONS, DENSE
from parity.architecture.written_cells import Gates
from parity.tape import Array, Op
from parity.weights.element_index import Addresses, move
from parity.weights.operands import Part, product


@dataclass(frozen=True)
class Addend:
    """One addend of a value.

    Attributes:
        product: number of the product, or of the one that the bias belongs to; -1 for none.
        labels: of the value's shape: columns of the product, from 1, or a bias's addresses.
    """

    product: int
    labels: Array
    is_bias: bool


@dataclass(frozen=True)
class KernelProduct:
    """What a kernel, or some of its columns, multiplies.

    Attributes:
        op: that multiplies.
        kernel: addresses, (out, in).
    """

    op: Op
    input: int | None
    kernel: Array


class Sums:
    """The products and biases that each value of a tape is the sum of."""

    def __init__(self, graph: Graph, addresses: Addresses) -> None:
        self.graph, self.addresses, self.tape = graph, addresses, graph.tape
        self.products: list[KernelProduct] = []
        self.of: dict[int, list[Addend]] = {}
        self.gates = Gates(graph)
        self._readers: dict[int, set[int]] = defaultdict(set)
        for op in self.tape.ops:
            for value in op.inputs if op.word in DENSE else ():
                for leaf in graph.weights(value) if graph.is_static(value) else ():
                    self._readers[leaf].add(op.index)
        for op in graph.live.values():
            if op.word in DENSE:
                self._multiplied(op)
            elif op.word in ADDITIONS:
                self.of[op.outputs[0]] = list(self._added(op))
            elif op.role == "move":
                self._moved(op)
            elif op.word == "multiply":  # a reset gate may stand before what it resets
                known = [self.of[v] for v in op.inputs if self.of.get(v)]
                if len(known) == 1 and not any(graph.is_static(v) for v in op.inputs):
                    self.of[op.outputs[0]] = known[0]

    def _shape(self, value: int) -> tuple[int, ...]:
        return self.tape.values[value].shape

    def _width(self, value: int) -> int:
        return (1, *self._shape(value))[-1]

    def _multiplied(self, op: Op) -> None:
        kernel = product(self.graph, self.addresses, -1, op)
        if kernel is None or not kernel.find():
            return
        start, shape = len(self.products), self._shape(op.outputs[0])
        self.products += self._by_joined_value(op, kernel)
        several = len(self.products) > start + 1
        columns = np.broadcast_to(np.arange(1, shape[-1] + 1, dtype=np.int64), shape)
        added = self.tape.product(op)
        own = [added.bias] if added is not None and added.bias is not None else []
        self.of[op.outputs[0]] = [
            *(Addend(number, columns, False) for number in range(start, len(self.products))),
            *(term for v in own for term in self._bias(v, -1 if several else start, shape)),
        ]

    def _by_joined_value(self, op: Op, kernel: Part) -> Iterator[KernelProduct]:
        """A product as one for each value that was joined into its input."""
        addresses = kernel.find()[0][1]  # type: ignore[index]
        value = kernel.input
        joined = self.tape.producer(self.graph.root(value)) if value is not None else None
        several = joined is not None and joined.role == "move" and len(joined.inputs) > 1
        widths = [self._width(one) for one in joined.inputs] if joined and several else []
        if joined is None or sum(widths) != addresses.shape[1]:
            yield KernelProduct(op, value, addresses)
            return
        kernels = np.split(addresses, np.cumsum(widths)[:-1], axis=1)
        for one, own in zip(joined.inputs, kernels, strict=True):
            yield KernelProduct(op, one, own)

    def _bias(self, value: int, product: int, shape: tuple[int, ...]) -> Iterator[Addend]:
        own = self.addresses.of(value) if self.graph.is_static(value) else None
        if own is not None and own.ndim <= len(shape):
            yield Addend(product, np.broadcast_to(own, shape), True)

    def _added(self, op: Op) -> Iterator[Addend]:
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
                    self.of.setdefault(output, []).append(Addend(term.product, own, term.is_bias))

    def recurs(self, number: int) -> bool:
        """Whether a product multiplies what its own weights helped to compute."""
        product = self.products[number]
        earlier = {n for n in self.alike(product.op) if n < product.op.index}
        return product.input is not None and self.tape.graph.comes_from(product.input, earlier)

    def reads_state(self, numbers: Collection[int], kept: int, units: int) -> set[int]:
        """The products of a single turn that read its state.

        It is as wide as the cell. A GRU keeps a share of it; else it is what an input of the model
        is, and of two the later: a state is given behind the input.
        """
        inputs = {number: self.products[number].input for number in numbers}
        sources = {n: self.gates.source(one) for n, one in inputs.items() if one is not None}
        wide = {one for one in sources.values() if self._width(one) == units}
        values = self.tape.values
        state = max(wide & {kept} or wide, default=None,
                    key=lambda value: (values[value].kind == "input", value))  # fmt: skip
        return {number for number, source in sources.items() if source == state}

    def alike(self, op: Op) -> set[int]:
        """The operations that multiply by the same weights, of the first turn's zeros too."""
        return {
            index
            for value in op.inputs
            if self.graph.is_static(value)
            for leaf in self.graph.weights(value) & set(self.addresses.leaves)
            for index in self._readers[leaf]
        }
