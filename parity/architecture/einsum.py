"""Products with a weight of several axes, as a kernel shaped by heads: which are in, which out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_letters

import numpy as np

from parity.architecture.graph import Graph
from parity.architecture.step import plain
from parity.tape import Array, Op

Axes = tuple[int, ...]


@dataclass(frozen=True)
class Contraction:
    """What enters is summed over, with a weight for each that enters and each that is given.

    Attributes:
        x, weight: values.
        entering: the axes of x that are summed over.
        into, out: the weight's axes that meet them, and those that stand in the result.
        given: the axes of the result where those stand.
    """

    x: int
    weight: int
    entering: Axes
    into: Axes
    out: Axes
    given: Axes

    def sizes(self, shape: Sequence[int]) -> tuple[int, int]:
        """How many features are given and how many enter, by the weight's shape."""
        return math.prod(shape[a] for a in self.out), math.prod(shape[a] for a in self.into)


def contraction(graph: Graph, op: Op) -> Contraction | None:
    """An einsum or tensordot of one live value with one weight; None where it is another."""
    live = [v for v in op.inputs if not graph.is_static(v)]
    static = [v for v in op.inputs if graph.is_static(v)]
    if len(op.inputs) != 2 or len(live) != 1 or len(static) != 1:
        return None
    ranks = [len(graph.tape.values[v].shape) for v in (*op.inputs, op.outputs[0])]
    words = _equation(op, ranks) if plain(op) in ("einsum", "tensordot") else None
    if words is None or [len(word) for word in words] != ranks:
        return None
    at = op.inputs.index(live[0])
    x, weight, result = words[at], words[1 - at], words[2]
    into = [a for a, letter in enumerate(weight) if letter in x and letter not in result]
    out = [a for a, letter in enumerate(weight) if letter not in x and letter in result]
    if not into or not out or len(into) + len(out) != len(weight) or len({*x}) != len(x):
        return None
    entering = tuple(x.index(weight[a]) for a in into)
    given = tuple(result.index(weight[a]) for a in out)
    return Contraction(live[0], static[0], entering, tuple(into), tuple(out), given)


def laid_out(graph: Graph, op: Op, own: Array) -> Array:
    """Numbers of a product's result, counted as if what is given stood last, as a dense layer's."""
    found = contraction(graph, op)
    if found is None or len(own.shape) != len(graph.tape.values[op.outputs[0]].shape):
        return own
    axes = [*(a for a in range(own.ndim) if a not in found.given), *found.given]
    numbers: Array = own.reshape([own.shape[a] for a in axes]).transpose(np.argsort(axes))
    return numbers


def _equation(op: Op, ranks: Sequence[int]) -> list[str] | None:
    """A letter for each axis of both factors and of the result."""
    told, axes = op.attributes.get("equation"), op.attributes.get("axes")
    if "in_subs" in op.attributes:
        told = f"{op.attributes['in_subs']}->{op.attributes['out_sub']}"
    if isinstance(told, str) and "->" in told:
        words = told.replace(" ", "").replace("->", ",").split(",")
        return [_without_dots(w, n) for w, n in zip(words, ranks, strict=False)]
    if isinstance(axes, int):
        axes = list(range(ranks[0] - axes, ranks[0])), list(range(axes))
    if not isinstance(axes, (list, tuple)) or len(axes) != 2:
        return None
    over = [[one] if isinstance(one, int) else list(one) for one in axes]
    first, second = list(ascii_letters[: ranks[0]]), list(ascii_letters[-ranks[1] :])
    for one, other in zip(*over, strict=True):
        second[other] = first[one]
    kept = [letter for letter in (*first, *second) if (letter in first) != (letter in second)]
    return ["".join(word) for word in (first, second, kept)]


def _without_dots(word: str, rank: int) -> str:
    """Axes that an equation leaves out, in letters that none has."""
    hidden = rank - len(word.replace("...", ""))
    return word.replace("...", "".join(chr(0x3B1 + n) for n in range(20 - hidden, 20)))
