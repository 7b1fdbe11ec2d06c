"""The projections of an attention, fused into one tensor or split into several.

The attention itself is two products of live values: of queries with keys, of weights with values.
Their factors are followed back to the rows of the projections that made it, head by head.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from parity.architecture.attentions import Core, core_of
from parity.architecture.contractions import letters
from parity.architecture.graph import Graph
from parity.architecture.program import Program
from parity.architecture.step import ADDITIONS, DENSE
from parity.tape import Array, Op
from parity.weights.element_index import Addresses, follow, varying
from parity.weights.operands import Part, Term, product, rearranged

_SPAN = 1 << 36
_MATRICES = "rs", "sc", "rc"  # the axes of factors and result where no more is known


@dataclass(eq=False)
class Projection:
    """A dense product in an opaque step, and the bias that is added to it."""

    kernel: Part
    op: Op
    bias: int | None


def projections(program: Program, addresses: Addresses) -> Iterator[Part]:
    """Kernel and bias of query, key, value and output of each attention."""
    graph = program.graph
    for number, step in enumerate(program.steps):
        if step.kind != "attention":
            continue
        found = list(products(graph, addresses, number, step.ops))
        read = core_of(graph, [graph.tape.ops[index] for index in step.ops])
        if read is None:
            continue
        core = _in_order(graph, read, step.ops)
        for role, value in zip(("query", "key", "value"), core, strict=True):
            labels = follow(graph.tape, value, _units(graph, found), step.ops)
            if labels is not None:
                yield from _rows(number, role, labels, found, addresses)
        after = [
            one
            for one in found
            if one.op.index > graph.tape.values[core[2]].op
            and not any(graph.tape.graph.comes_from(value, [one.op.index]) for value in core)
        ]
        if len(after) == 1:
            yield Part(number, "output kernel", after[0].kernel.find)
            if after[0].bias is not None:
                yield Part(number, "output bias", Term(addresses, after[0].bias, flat=True))


def products(
    graph: Graph, addresses: Addresses, number: int, ops: Sequence[int]
) -> Iterator[Projection]:
    """The dense products among operations of a step, in their order."""
    for op in (graph.tape.ops[index] for index in ops):
        if op.word not in DENSE:
            continue
        kernel = product(graph, addresses, number, op)
        if kernel is None:
            continue
        read = graph.tape.product(op)
        own = [read.bias] if read is not None and read.bias is not None else []
        added = [v for v in own if graph.is_static(v)] or _added(graph, op)
        yield Projection(kernel, op, added[0] if added else None)


def _added(graph: Graph, op: Op) -> list[int]:
    reader = graph.only_reader(op.outputs[0])
    if reader is None or reader.word not in ADDITIONS:
        return []
    values = graph.tape.values
    static = [v for v in reader.inputs if graph.is_static(v)]
    # of one unit it is one number, as a constant that is added
    return [v for v in static if values[v].size > 1 or values[v].kind != "constant"]


def _in_order(graph: Graph, core: Core, ops: Sequence[int]) -> tuple[int, int, int]:
    """The queries, keys and values of an attention."""
    if core.scores is None:
        return *core.factors, core.values
    first, last = core.scores.inputs[-2:]
    left, _, result = letters(graph.tape, core.scores) or _MATRICES
    if result[-1:] in left:  # last the factor whose own axis is the last of the result
        first, last = last, first
    keys_last = _sums_over_last(graph, core, core.scores, ops)
    return (first, last, core.values) if keys_last else (last, first, core.values)


def _sums_over_last(graph: Graph, core: Core, scores: Op, ops: Sequence[int]) -> bool:
    """Whether the values are summed over the last axis of the scores, which is the keys' then."""
    shape = graph.tape.values[scores.outputs[0]].shape
    own = np.broadcast_to(np.arange(1, shape[-1] + 1, dtype=np.int64), shape)
    labels = follow(graph.tape, core.weights, {scores.outputs[0]: own}, ops)
    if labels is None:
        return True
    second = core.mixed.inputs[-2:].index(core.weights)
    *factors, result = letters(graph.tape, core.mixed) or _MATRICES
    axes, along = factors[second], varying(labels)
    return any(place - len(axes) in along for place, c in enumerate(axes) if c not in result)


def _units(graph: Graph, found: Sequence[Projection]) -> dict[int, Array]:
    """For each element of a projection's result its number, from 1, and the unit."""
    labels = {}
    for number, one in enumerate(found, 1):
        shape = graph.tape.values[one.op.outputs[0]].shape
        units = np.arange(shape[-1], dtype=np.int64) + number * _SPAN
        labels[one.op.outputs[0]] = np.broadcast_to(units, shape)
    return labels


def _rows(
    number: int,
    role: str,
    labels: Array,
    found: Sequence[Projection],
    addresses: Addresses,
) -> Iterator[Part]:
    """The part of a projection that makes one of the three, in the order of heads and units."""
    flat = labels.ravel()
    _, first = np.unique(flat, return_index=True)
    units = flat[np.sort(first)]
    which = np.unique(units // _SPAN)
    if which.size != 1 or not 0 < which[0] <= len(found):
        return
    one, rows = found[int(which[0]) - 1], units % _SPAN

    kernel = rearranged(one.kernel.find, lambda own: own[rows])
    yield Part(number, f"{role} kernel", kernel, one.kernel.input, one.kernel.axis)
    if one.bias is not None:
        bias = rearranged(Term(addresses, one.bias, flat=True), lambda own: own[rows])
        yield Part(number, f"{role} bias", bias)
