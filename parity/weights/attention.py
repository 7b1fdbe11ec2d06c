"""The projections of an attention, fused into one tensor or split into several.

The attention itself is two products of live values: of queries with keys, of weights with values.
What enters them is followed back to the rows of the projections that made it, head by head.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from parity.architecture.graph import Graph
from parity.architecture.program import Program
from parity.architecture.step import BIAS, DENSE, plain
from parity.tape import Array, Op
from parity.weights.addresses import Addresses, move
from parity.weights.parts import Part, Term, product

_SPAN = 1 << 36
_FUSED = "scaleddotproduct"
_Term = list[tuple[float | Array, Array]]


@dataclass(eq=False)
class _Projection:
    """A dense product in an attention, and the bias that is added to it."""

    kernel: Part
    op: Op
    bias: int | None


def projections(program: Program, addresses: Addresses) -> Iterator[Part]:
    """Kernel and bias of query, key, value and output of each attention."""
    graph = program.graph
    for number, step in enumerate(program.steps):
        if step.kind != "attention":
            continue
        found = list(_dense(graph, addresses, number, step.ops))
        core = _core(graph, step.ops)
        if core is None:
            continue
        for role, value in zip(("query", "key", "value"), core, strict=True):
            labels = _follow(graph, value, found, step.ops)
            if labels is not None:
                yield from _rows(number, role, labels, found, addresses)
        last = [one for one in found if one.op.index > _producer(graph, core[2])]
        after = [one for one in last if not _reaches(graph, one.op, core)]
        if len(after) == 1:
            yield from _whole(number, "output", after[0], addresses)


def _dense(
    graph: Graph, addresses: Addresses, number: int, ops: Sequence[int]
) -> Iterator[_Projection]:
    for op in (graph.tape.ops[index] for index in ops):
        if plain(op) not in DENSE:
            continue
        kernel = product(graph, addresses, number, op)
        if kernel is None:
            continue
        own = op.inputs[:1] if plain(op) == "addmm" else op.inputs[2:3]
        added = [v for v in own if graph.is_static(v)] or _added(graph, op)
        yield _Projection(kernel, op, added[0] if added else None)


def _added(graph: Graph, op: Op) -> list[int]:
    reader = graph.only_reader(op.outputs[0])
    if reader is None or plain(reader) not in BIAS:
        return []
    return [v for v in reader.inputs if graph.is_static(v) and graph.tape.values[v].size > 1]


def _core(graph: Graph, ops: Sequence[int]) -> tuple[int, int, int] | None:
    """The queries, keys and values as they enter the attention itself."""
    live = []
    for op in (graph.tape.ops[index] for index in ops):
        if plain(op).startswith(_FUSED):
            return op.inputs[0], op.inputs[1], op.inputs[2]
        factors = op.inputs[-2:]
        if plain(op) in DENSE and len(factors) == 2:
            if not any(graph.is_static(value) for value in factors):
                live.append(op)
    if len(live) != 2:
        return None
    weights = live[1].inputs[-2:]
    values = [v for v in weights if not _comes_from(graph, v, live[0].index)]
    first = live[0].inputs[-2:]
    # the keys are what the softmax runs over: the axis that it has in common with the values
    query, key = first if plain(live[0]) != "einsum" else _by_equation(live[0])
    return (query, key, values[0]) if len(values) == 1 else None


def _by_equation(op: Op) -> tuple[int, int]:
    """Queries and keys of an einsum: the queries' own axis comes before the keys' in the result."""
    inputs, result = str(op.attributes.get("equation", "")).replace(" ", "").split("->")
    left, right = inputs.split(",")
    own = [next(result.index(c) for c in one if c in result and c not in other)
           for one, other in ((left, right), (right, left))]  # fmt: skip
    a, b = op.inputs[-2:]
    return (a, b) if own[0] < own[1] else (b, a)


def _comes_from(graph: Graph, value: int, index: int) -> bool:
    seen, stack = set(), [value]
    while stack:
        op = graph.tape.producer(stack.pop())
        if op is None or op.index in seen or op.index < index:
            continue
        if op.index == index:
            return True
        seen.add(op.index)
        stack.extend(op.inputs)
    return False


def _producer(graph: Graph, value: int) -> int:
    op = graph.tape.producer(value)
    return op.index if op is not None else -1


def _reaches(graph: Graph, op: Op, values: Sequence[int]) -> bool:
    return any(_comes_from(graph, value, op.index) for value in values)


def _follow(
    graph: Graph, value: int, found: Sequence[_Projection], ops: Sequence[int]
) -> Array | None:
    """For each element of a value the projection (from 1) and unit that it came from."""
    tape = graph.tape
    labels: dict[int, Array | None] = {}
    for number, one in enumerate(found, 1):
        shape = tape.values[one.op.outputs[0]].shape
        units = np.arange(shape[-1], dtype=np.int64) + number * _SPAN
        labels[one.op.outputs[0]] = np.broadcast_to(units, shape)
    for op in (tape.ops[index] for index in ops):
        if op.outputs[0] in labels:
            continue
        given = [labels.get(v) for v in op.inputs]
        known = [one for one in given if one is not None]
        shape = tape.values[op.outputs[0]].shape
        moved = move(tape, op, given) if known and op.role == "move" else None
        for n, output in enumerate(op.outputs):
            if moved is not None:
                labels[output] = moved[n]
            elif len(known) == 1 and known[0].shape == shape and op.role != "move":
                labels[output] = known[0]
    return labels.get(value)


def _rows(
    number: int,
    role: str,
    labels: Array,
    found: Sequence[_Projection],
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

    def kernel() -> _Term | None:
        terms = one.kernel.find()
        return [(sign, own[rows]) for sign, own in terms] if terms else None

    yield Part(number, f"{role} kernel", kernel, one.kernel.enters, one.kernel.axis)
    if one.bias is not None:
        find = Term(addresses, one.bias, flat=True)

        def bias() -> _Term | None:
            terms = find()
            return [(sign, own[rows]) for sign, own in terms] if terms else None

        yield Part(number, f"{role} bias", bias)


def _whole(number: int, role: str, one: _Projection, addresses: Addresses) -> Iterator[Part]:
    yield Part(number, f"{role} kernel", one.kernel.find)
    if one.bias is not None:
        yield Part(number, f"{role} bias", Term(addresses, one.bias, flat=True))
