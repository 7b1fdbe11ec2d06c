"""Attention told by its arithmetic, in a layer of its own or in the middle of a larger one.

It is `softmax(q k) v`, scaled and masked in whatever way, where `q`, `k` and `v` come from dense
layers through moves, scales and shifts alone. The dense layer that follows it is its output.
"""

from __future__ import annotations

from collections.abc import Iterator

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
        before = [_dense_before(graph, value) for value in core]
        made = {one.index for one in before if one is not None}
        if None in before or not made.isdisjoint(graph.owner):
            continue
        last = _dense_behind(graph, op) or op
        ops = graph.between(made, last.index)
        yield Step("attention", graph.tape.ops[ops[0]].site, ops, opaque=True)


def _core(graph: Graph, op: Op) -> tuple[int, int, int] | None:
    """What an operation makes attention of: queries and keys, in whatever order, and values."""
    if op.word == "attention":
        return op.inputs[0], op.inputs[1], op.inputs[2]
    if not _is_of_two_live(graph, op):
        return None
    factors = op.inputs[-2:]
    for weights, values in (factors, factors[::-1]):
        scores = _scores(graph, weights)
        if scores is not None:
            one, other = scores.inputs[-2:]
            return one, other, values
    return None


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
    return one if one is not None and _is_of_two_live(graph, one) else None


def _is_of_two_live(graph: Graph, op: Op) -> bool:
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
