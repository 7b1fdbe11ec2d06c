"""Tensors of operations that are no step: a learned scale, a shift, a table that is added.

They are identified by what they do and by the steps around them. Products in a loop or an attention
that are none of its cell's or its projections' are identified by the loop that they are in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from parity.architecture.align import partners
from parity.architecture.program import Program
from parity.tape import Array, Op
from parity.weights.attention import products
from parity.weights.element_index import Addresses, varying, without_repeats
from parity.weights.operands import Find, Part, Term

_ROLES = {
    **dict.fromkeys(("multiply", "divide"), "scale"),
    **dict.fromkeys(("add", "bias_add", "subtract"), "shift"),
}
_INNER = ("inner kernel", "inner bias")


@dataclass(frozen=True)
class Loose:
    """A part of no step, and the steps next to it, or "input" and the names of outputs."""

    part: Part
    before: frozenset[Any]
    after: frozenset[Any]


def role_of(op: Op) -> str | None:
    return _ROLES.get(op.word)


def loose(program: Program, addresses: Addresses) -> list[Loose]:
    """In the order of the tape."""
    graph, values = program.graph, program.graph.tape.values
    before, after = program.flow({number: number for number in range(len(program.steps))})
    found = []
    for op in graph.live.values():
        role = role_of(op)
        static = [v for v in op.inputs if graph.is_static(v) and values[v].size > 1]
        live = [v for v in op.inputs if not graph.is_static(v)]
        if op.index in graph.owner or role is None or len(static) != 1 or len(live) != 1:
            continue
        own = addresses.of(static[0])
        if own is None:
            continue
        long = varying(own)
        own = without_repeats(own)
        value = live[0] if len(long) == 1 else None
        part = Part(-1, role, terms(own), value, max(long, default=-1))
        found.append(Loose(part, before[op.index], after[op.index]))
    return found


def inner(program: Program, addresses: Addresses) -> Iterator[Loose]:
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
    """A loop reads the same numbers at each turn."""
    seen: set[Any] = set()
    for one in found:
        key: Any = one.part.strided  # of a kernel: its addresses may be many
        if key is None and one.part.role in _INNER:
            key = tuple(own.tobytes() for _, own in one.part.find() or ())
        if key is None or one.part.role not in _INNER or (one.part.role, key) not in seen:
            seen.add((one.part.role, key))
            yield one
