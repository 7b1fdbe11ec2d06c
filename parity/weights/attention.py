"""The projections of an attention, fused into one tensor or split into several.

The attention itself is two products of live values: of queries with keys, of weights with values.
Their factors are followed back to the rows of the projections that made it, head by head.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from parity.architecture.attentions import Core, core_of
from parity.architecture.graph import Graph
from parity.architecture.program import Program
from parity.architecture.step import ADDITIONS, DENSE
from parity.tape import Array, Op
from parity.weights.element_index import Addresses, move, varying
from parity.weights.operands import Part, Term, product

_SPAN = 1 << 36
_Term = list[tuple[float | Array, Array]]


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
            labels = _follow(graph, value, _units(graph, found), step.ops)
            if labels is not None:
                yield from _rows(number, role, labels, found, addresses)
        last = [one for one in found if one.op.index > _producer(graph, core[2])]
        after = [one for one in last if not _reaches(graph, one.op, core)]
        if len(after) == 1:
            yield from _whole(number, "output", after[0], addresses)


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
    return [v for v in reader.inputs if graph.is_static(v) and graph.tape.values[v].size > 1]


def _in_order(graph: Graph, core: Core, ops: Sequence[int]) -> tuple[int, int, int]:
    """The queries, keys and values of an attention."""
    if core.scores is None:
        return *core.factors, core.values
    first, last = _by_axes(graph, core.scores)
    keys_last = _sums_over_last(graph, core, core.scores, ops)
    return (first, last, core.values) if keys_last else (last, first, core.values)


def _by_axes(graph: Graph, scores: Op) -> tuple[int, int]:
    """The factors of the scores: last the one whose own axis is the last of the result."""
    one, other = scores.inputs[-2:]
    read = graph.tape.product(scores)
    left, _, result = read.letters if read is not None else ("", "", "")
    return (other, one) if result and result[-1] in left else (one, other)


def _sums_over_last(graph: Graph, core: Core, scores: Op, ops: Sequence[int]) -> bool:
    """Whether the values are summed over the last axis of the scores, which is the keys' then."""
    shape = graph.tape.values[scores.outputs[0]].shape
    own = np.broadcast_to(np.arange(1, shape[-1] + 1, dtype=np.int64), shape)
    labels = _follow(graph, core.weights, {scores.outputs[0]: own}, ops)
    if labels is None:
        return True
    second = core.mixed.inputs[-2:].index(core.weights)
    read = graph.tape.product(core.mixed)
    if read is not None and read.equation:
        left, right, result = read.letters
        letters = (left, right)[second]
        return any(labels.ndim + letters.index(c) - len(letters) in _along(labels)
                   for c in letters if c not in result)  # fmt: skip
    is_transposed = read is not None and read.transposed[second]
    return labels.ndim - (2 if is_transposed != bool(second) else 1) in _along(labels)


def _along(labels: Array) -> list[int]:
    return [labels.ndim + axis for axis in varying(labels)]


def _producer(graph: Graph, value: int) -> int:
    op = graph.tape.producer(value)
    return op.index if op is not None else -1


def _reaches(graph: Graph, op: Op, values: Sequence[int]) -> bool:
    return any(graph.tape.graph.comes_from(value, [op.index]) for value in values)


def _units(graph: Graph, found: Sequence[Projection]) -> dict[int, Array]:
    """For each element of a projection's result its number, from 1, and the unit."""
    labels = {}
    for number, one in enumerate(found, 1):
        shape = graph.tape.values[one.op.outputs[0]].shape
        units = np.arange(shape[-1], dtype=np.int64) + number * _SPAN
        labels[one.op.outputs[0]] = np.broadcast_to(units, shape)
    return labels


def _follow(
    graph: Graph, value: int, known_at: Mapping[int, Array], ops: Sequence[int]
) -> Array | None:
    """The labels of a value, followed from where they are known."""
    tape = graph.tape
    labels: dict[int, Array | None] = dict(known_at)
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

    def kernel() -> _Term | None:
        terms = one.kernel.find()
        return [(sign, own[rows]) for sign, own in terms] if terms else None

    yield Part(number, f"{role} kernel", kernel, one.kernel.input, one.kernel.axis)
    if one.bias is not None:
        find = Term(addresses, one.bias, flat=True)

        def bias() -> _Term | None:
            terms = find()
            return [(sign, own[rows]) for sign, own in terms] if terms else None

        yield Part(number, f"{role} bias", bias)


def _whole(number: int, role: str, one: Projection, addresses: Addresses) -> Iterator[Part]:
    yield Part(number, f"{role} kernel", one.kernel.find)
    if one.bias is not None:
        yield Part(number, f"{role} bias", Term(addresses, one.bias, flat=True))
