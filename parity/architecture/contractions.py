"""Products with a weight, as matrices or of several axes: which axes are in, which out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parity.architecture.graph import Graph
from parity.tape import Array, Op, Tape

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


def letters(tape: Tape, op: Op) -> tuple[str, str, str] | None:
    """A letter for each axis of a product's factors and of its result."""
    product = tape.product(op)
    if product is None:
        return None
    found = product.letters([len(tape.values[v].shape) for v in product.factors])
    return found if len(found[2]) == len(tape.values[op.outputs[0]].shape) else None


def contraction(graph: Graph, op: Op) -> Contraction | None:
    """A product of one live value with one weight of two axes or more; None where it is another."""
    product, read = graph.tape.product(op), letters(graph.tape, op)
    live = [v for v in product.factors if not graph.is_static(v)] if product is not None else []
    if product is None or read is None or len(live) != 1:
        return None
    weight_id = next(v for v in product.factors if v != live[0])
    lengths = graph.tape.values[weight_id].shape
    if not product.equation and {*lengths[:-2]} - {1}:
        return None  # several matrices
    first, second, result = read
    x, weight = (first, second) if product.factors[0] == live[0] else (second, first)
    summed = [a for a, letter in enumerate(weight) if letter in x and letter not in result]
    own = [a for a, letter in enumerate(weight) if letter not in x and letter in result]
    # an axis of length 1 before those of a matrix is none of many
    out = [a for a, letter in enumerate(weight) if a in own or letter in result and lengths[a] == 1]
    if not summed or not own or len(summed) + len(out) != len(weight) or len({*x}) != len(x):
        return None
    input_axes = tuple(x.index(weight[a]) for a in summed)
    output_axes = tuple(result.index(weight[a]) for a in own)
    return Contraction(live[0], weight_id, input_axes, tuple(summed), tuple(out), output_axes)


def laid_out(graph: Graph, op: Op, own: Array) -> Array:
    """Values of a product's result, counted as if the weight's axes stood last, as in dense."""
    found = contraction(graph, op)
    if found is None or len(own.shape) != len(graph.tape.values[op.outputs[0]].shape):
        return own
    axes = [*(a for a in range(own.ndim) if a not in found.output_axes), *found.output_axes]
    numbers: Array = own.reshape([own.shape[a] for a in axes]).transpose(np.argsort(axes))
    return numbers
