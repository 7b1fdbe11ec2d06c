"""Tensors of operations that are no step: a learned scale, a shift, a table that is added.

They are told apart by what they do and by the steps around them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from parity.architecture.program import Program
from parity.architecture.step import plain
from parity.tape import Array, Op
from parity.weights.addresses import Addresses, varying, without_repeats
from parity.weights.parts import Part

_ROLES = {
    **dict.fromkeys("mul div realdiv truediv".split(), "scale"),
    **dict.fromkeys("add addv2 biasadd sub bias".split(), "shift"),
}


@dataclass(frozen=True)
class Loose:
    """A part of no step, and the steps next to it, or "input" and the names of outputs."""

    part: Part
    before: frozenset[Any]
    after: frozenset[Any]


def role_of(op: Op) -> str | None:
    return _ROLES.get(plain(op))


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
        enters = live[0] if len(long) == 1 else None
        part = Part(-1, role, terms(own), enters, max(long, default=-1))
        found.append(Loose(part, before[op.index], after[op.index]))
    return found


def terms(own: Array) -> Callable[[], list[tuple[float | Array, Array]] | None]:
    return lambda: [(1.0, own)]


def pair_loose(
    ours: Iterable[Loose], theirs: Iterable[Loose], steps: Mapping[int, int]
) -> Iterator[tuple[Part, Part]]:
    """Those of one role and shape between the same steps, in their order."""

    def partners(around: frozenset[Any]) -> frozenset[Any]:
        return frozenset(steps.get(one, -1) if isinstance(one, int) else one for one in around)

    left: dict[Any, list[Part]] = defaultdict(list)
    right: dict[Any, list[Part]] = defaultdict(list)
    for one in ours:
        key = (one.part.role, one.part.shape, partners(one.before), partners(one.after))
        left[key].append(one.part)
    for one in theirs:
        right[one.part.role, one.part.shape, one.before, one.after].append(one.part)
    for key, parts in left.items():
        if len(parts) == len(right[key]):
            yield from zip(parts, right[key], strict=True)
