"""Tensors of operations that are no step: a learned scale, a shift, a table that is added.

They are identified by what they do and by the steps around them. Of tensors that no input is
computed with, one model takes the softplus, another the root and the square; which output that
becomes, or which operation on live values reads it, is the same. What is only set beside live
values, as a free log standard deviation is beside the means, is known by what comes after. Products
in a loop or an attention that are none of its cell's or its projections' are identified by the loop
that they are in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from parity.architecture.align import partners
from parity.architecture.program import Program
from parity.tape import Array
from parity.weights.attention import products
from parity.weights.element_index import Addresses, varying, without_repeats
from parity.weights.operands import Find, Part, Term

_ROLES = {
    **dict.fromkeys(("multiply", "divide"), "scale"),
    **dict.fromkeys(("add", "bias_add", "subtract"), "shift"),
}
_INNER = ("inner kernel", "inner bias")
_JOINED = "joined"  # of what is only moved
KNOWN_BY_STEPS = (_JOINED, *_INNER)  # roles of what a step may multiply by as well
_Around = frozenset[Any]


@dataclass(frozen=True)
class Loose:
    """A part of no step, and the steps next to it, or "input" and the names of outputs."""

    part: Part
    before: _Around
    after: _Around


def loose_parts(
    program: Program, addresses: Addresses, outputs: Mapping[int, str]
) -> Iterator[Loose]:
    """All of a model, of each kind in the order of the tape: what is only moved comes first.

    Args:
        outputs: names by value id.
    """
    graph, values = program.graph, program.graph.tape.values
    computed: list[Loose] = []

    def add(value: int, role: str, before: _Around, after: _Around) -> None:
        part = _computed_from(program, addresses, value, role)
        computed.extend([Loose(part, before, after)] if part is not None else [])

    for value, name in outputs.items():
        if graph.is_static(value):
            add(value, "constant", frozenset(), frozenset((name,)))
    before, after = program.flow({number: number for number in range(len(program.steps))})
    for op in (op for op in graph.live.values() if op.index not in graph.owner):
        around = before[op.index], after[op.index]
        if op.role == "move":
            for value in filter(graph.is_static, op.inputs):
                if values[value].dtype.startswith(("float", "bfloat")):  # no indices or masks
                    add(value, _JOINED, frozenset(), around[1])
        role = _ROLES.get(op.word)
        static = [v for v in op.inputs if graph.is_static(v) and values[v].size > 1]
        if role is None or len(static) != 1:
            continue
        own = addresses.of(static[0])
        live = [v for v in op.inputs if not graph.is_static(v)]
        if own is None:
            add(static[0], f"{role} (computed)", *around)
        elif len(live) == 1:
            long = varying(own)
            channels = live[0] if len(long) == 1 else None
            find = terms(without_repeats(own))
            yield Loose(Part(-1, role, find, channels, max(long, default=-1)), *around)
    yield from computed
    yield from _inner(program, addresses)


def _computed_from(program: Program, addresses: Addresses, value: int, role: str) -> Part | None:
    """The one tensor that a value is computed from."""
    walk = program.graph.tape.graph.backward([value], lambda value, op: True)
    numbers = {addresses.leaves[one] for one, _ in walk if one in addresses.leaves}
    trained = {number for number in numbers if addresses.tensors[number].trainable}
    numbers = trained or numbers  # bounds and the like are buffers beside it
    if len(numbers) != 1:
        return None
    return Part(-1, role, terms(addresses.own(numbers.pop()).reshape(-1)))


def _inner(program: Program, addresses: Addresses) -> Iterator[Loose]:
    """Kernels and biases of the products in opaque steps, in the order of their first use."""
    for number, step in enumerate(program.steps):
        within = frozenset((number,))
        for one in products(program.graph, addresses, -1, step.ops) if step.opaque else ():
            yield Loose(replace(one.kernel, role=_INNER[0]), within, within)
            if one.bias is not None:
                bias = Part(-1, _INNER[1], Term(addresses, one.bias, flat=True))
                yield Loose(bias, within, within)


def terms(own: Array) -> Find:
    return lambda: [(1.0, own)]


def pair_loose(
    source: Iterable[Loose], target: Iterable[Loose], steps: Mapping[int, int]
) -> Iterator[tuple[Part, Part]]:
    """Those of one role and shape between the same steps, in their order."""
    left: dict[Any, list[Part]] = defaultdict(list)
    right: dict[Any, list[Part]] = defaultdict(list)
    for one in _once(source):
        around = partners(one.before, steps), partners(one.after, steps)
        key = (one.part.role, one.part.shape, *around)
        left[key].append(one.part)
    for one in _once(target):
        right[one.part.role, one.part.shape, one.before, one.after].append(one.part)
    for key, parts in left.items():
        if len(parts) == len(right[key]):
            yield from zip(parts, right[key], strict=True)


def _once(found: Iterable[Loose]) -> Iterator[Loose]:
    """A loop reads the same values at each turn."""
    seen: set[Any] = set()
    for one in found:
        key: Any = one.part.strided  # of a kernel: its addresses may be many
        if key is None and one.part.role in _INNER:
            key = tuple(own.tobytes() for _, own in one.part.find() or ())
        if key is None or one.part.role not in _INNER or (one.part.role, key) not in seen:
            seen.add((one.part.role, key))
            yield one
