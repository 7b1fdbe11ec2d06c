"""Products with a weight of several axes, as a kernel shaped by heads: which are in, which out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parity.architecture.graph import Graph
from parity.tape import Array, Op

Axes = tuple[int, ...]


@dataclass(frozen=True)
class Contraction:
    """A value is summed over some axes, with a weight for each feature of it and of the result.

    Attributes:
        x, weight: values.
        input_axes: those of x that are summed over.
        summed, out: the weight's axes that go with them, and those that stand in the result.
        output_axes: those of the result where these stand.
    """

    x: int
    weight: int
    input_axes: Axes
    summed: Axes
    out: Axes
    output_axes: Axes

    def sizes(self, shape: Sequence[int]) -> tuple[int, int]:
        """How many features the result and the input have, by the weight's shape."""
        return math.prod(shape[a] for a in self.out), math.prod(shape[a] for a in self.summed)


def contraction(graph: Graph, op: Op) -> Contraction | None:
    """An einsum or tensordot of one live value with one weight; None where it is another."""
    live = [v for v in op.inputs if not graph.is_static(v)]
    static = [v for v in op.inputs if graph.is_static(v)]
    if len(op.inputs) != 2 or len(live) != 1 or len(static) != 1:
        return None
    product = graph.tape.product(op)
    if product is None or not product.equation:
        return None
    first, second, result = product.letters
    x, weight = (first, second) if op.inputs[0] == live[0] else (second, first)
    summed = [a for a, letter in enumerate(weight) if letter in x and letter not in result]
    out = [a for a, letter in enumerate(weight) if letter not in x and letter in result]
    if not summed or not out or len(summed) + len(out) != len(weight) or len({*x}) != len(x):
        return None
    input_axes = tuple(x.index(weight[a]) for a in summed)
    output_axes = tuple(result.index(weight[a]) for a in out)
    return Contraction(live[0], static[0], input_axes, tuple(summed), tuple(out), output_axes)


def laid_out(graph: Graph, op: Op, own: Array) -> Array:
    """Values of a product's result, counted as if the weight's axes stood last, as in dense."""
    found = contraction(graph, op)
    if found is None or len(own.shape) != len(graph.tape.values[op.outputs[0]].shape):
        return own
    axes = [*(a for a in range(own.ndim) if a not in found.output_axes), *found.output_axes]
    numbers: Array = own.reshape([own.shape[a] for a in axes]).transpose(np.argsort(axes))
    return numbers
