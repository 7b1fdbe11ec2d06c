"""Attention by its arithmetic, in a layer of its own or in the middle of a larger one.

It is `softmax(q k) v`, scaled and masked in whatever way, where `q`, `k` and `v` come from dense
layers through moves, scales and shifts alone. The dense layer that follows it is its output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parity.architecture.graph import Graph
from parity.architecture.step import ADDITIONS, DENSE, STEPS, Step
from parity.tape import Op
from parity.walk_once import Once

_SCALES = ADDITIONS | {"multiply", "divide", "divide_from"}


def written_attentions(graph: Graph) -> Iterator[Step]:
    """Each with the dense layers before and behind it."""
    for op in graph.live.values():
        core = _core(graph, op) if op.index not in graph.owner else None
        if core is None:
            continue
        before = [_dense_before(graph, value) for value in (*core.factors, core.values)]
        made = {one.index for one in before if one is not None}
        if None in before or not made.isdisjoint(graph.owner):
            continue
        last = _dense_behind(graph, op) or op
        ops = graph.tape.graph.between(made, last.index)
        yield Step("attention", graph.tape.ops[ops[0]].site, ops, opaque=True)


def attentions(graph: Graph) -> Iterator[Step]:
    """Attention in a layer of its own: that layer and those below it, however they are split."""
    for layer in dict.fromkeys(
        op.site.layer
        for op in graph.live.values()
        if op.site.layer and op.index not in graph.owner
        if op.word == "attention" or is_of_two_live(graph, op)
    ):
        below = tuple(layer + mark for mark in "./")
        ops = [
            op
            for op in graph.live.values()
            if op.site.layer == layer or op.site.layer.startswith(below)
        ]
        if sum(op.word in ("softmax", "attention") for op in ops) == 1:
            yield Step("attention", ops[0].site, tuple(op.index for op in ops), opaque=True)


@dataclass(frozen=True)
class Core:
    """The attention itself: what it makes of queries, keys and values.

    Attributes:
        factors: the queries and keys, in whatever order where `scores` is their product.
        values: what is mixed.
        mixed: the operation that gives the result.
        scores: the product of queries and keys; None where all is one operation.
        weights: the value that `values` are multiplied by, in `mixed`.
    """

    factors: tuple[int, int]
    values: int
    mixed: Op
    scores: Op | None = None
    weights: int = -1


def core_of(graph: Graph, ops: Sequence[Op]) -> Core | None:
    """The core of an attention that some operations are: fused, or two products of live values."""
    fused = next((op for op in ops if op.word == "attention"), None)
    if fused is not None:
        return _fused(fused)
    products = [op for op in ops if is_of_two_live(graph, op)]
    return _core_between(graph, *products) if len(products) == 2 else None


def _fused(op: Op) -> Core:
    queries, keys, values = op.inputs[:3]
    return Core((queries, keys), values, op)


def _core_between(graph: Graph, scores: Op, mixed: Op) -> Core | None:
    one, other = mixed.inputs[-2:]
    made = [graph.tape.graph.comes_from(value, [scores.index]) for value in (one, other)]
    if made[0] == made[1]:
        return None
    weights, values = (one, other) if made[0] else (other, one)
    first, second = scores.inputs[-2:]
    return Core((first, second), values, mixed, scores, weights)


def _core(graph: Graph, op: Op) -> Core | None:
    """The attention that an operation gives the result of, if it does."""
    if op.word == "attention":
        return _fused(op)
    if not is_of_two_live(graph, op):
        return None
    found = (_scores(graph, weights) for weights in op.inputs[-2:])
    scores = next((one for one in found if one is not None), None)
    return _core_between(graph, scores, op) if scores is not None else None


def _scores(graph: Graph, weights: int) -> Op | None:
    """The product of live values that a softmax is of, if weights are such a softmax."""
    softmax, found = False, list[Op]()
    todo = Once([weights])
    for value in todo:
        op = graph.tape.producer(value)
        if op is None or op.index not in graph.live:
            continue
        if op.word in DENSE:
            found.append(op)
            continue
        softmax = softmax or op.word == "softmax"
        if op.word == "softmax" or op.word not in STEPS:
            todo.add(graph.live_inputs(op))
    one = found[0] if softmax and len(found) == 1 else None
    return one if one is not None and is_of_two_live(graph, one) else None


def is_of_two_live(graph: Graph, op: Op) -> bool:
    factors = op.inputs[-2:]
    live = [value for value in factors if not graph.is_static(value)]
    return op.word in DENSE and len(live) == 2


def _dense_before(graph: Graph, value: int) -> Op | None:
    """The dense layer that a value is of, but for moves, scales and shifts."""
    while True:
        value = graph.root(value)
        op = graph.tape.producer(value)
        live = graph.live_inputs(op) if op is not None else []
        if op is None or len(live) != 1:
            return None
        if op.word in DENSE:
            return op
        if op.word not in _SCALES:
            return None
        value = live[0]


def _dense_behind(graph: Graph, op: Op) -> Op | None:
    reader = graph.only_reader(op.outputs[0])
    dense = reader is not None and reader.word in DENSE and reader.index not in graph.owner
    return reader if reader is not None and dense and len(graph.live_inputs(reader)) == 1 else None
