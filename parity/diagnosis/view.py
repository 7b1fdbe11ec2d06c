"""A region as the causes see it: its operations, and the leaves that it reads."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from parity.diagnosis import limits
from parity.diagnosis.region import Region
from parity.tape import Array, Op, Replay, Tape, Value


@dataclass(frozen=True)
class LeafView:
    """A parameter, buffer or constant that a region reads."""

    id: int
    name: str  # its path in the model; "" for a constant
    kind: str
    array: Array  # in float64 if it is floating


@dataclass(frozen=True)
class RegionView:
    """One side's region."""

    tape: Tape
    ops: tuple[Op, ...]  # in the order of the data flow
    end: int
    leaves: tuple[LeafView, ...]  # that it reads, also through static operations

    @cached_property
    def computing(self) -> tuple[Op, ...]:
        """The operations that are no mere moves."""
        return tuple(op for op in self.ops if op.role != "move")

    @cached_property
    def value(self) -> Value:
        return self.tape.values[self.end]

    @cached_property
    def whole(self) -> bool:
        """Whether every operation that reads one of the matrices in view is in view."""
        inside = {op.index for op in self.ops}
        read = [ops for ops in self.tape.graph.readers_of_matrices if not ops.isdisjoint(inside)]
        return bool(read) and all(ops <= inside for ops in read)

    @cached_property
    def constants(self) -> list[int]:
        """The values that it reads and no input reaches: leaves, or made of leaves alone."""
        read = dict.fromkeys(value for op in self.ops for value in op.inputs)
        return [value for value in read if not self.tape.is_live(value)]

    def leaf(self, value: int) -> LeafView | None:
        """The leaf that a value is, but for static operations on the way."""
        sources = self.sources(value)
        found = [leaf for leaf in self.leaves if leaf.id in sources]
        return found[0] if len(found) == 1 else None

    def sources(self, value: int) -> set[int]:
        """The leaves that a value is made of by static operations; itself if it is one."""
        return set(self.tape.graph.leaves([value]))

    def readers(self, steps: int = 1) -> tuple[Op, ...]:
        """The computing operations that read the end, or what `steps` of them make of it."""
        reading = self.tape.graph.readers_onward(
            [self.end], lambda op: op.role == "move" or steps > 1
        )
        return tuple(itertools.islice((op for op in reading if op.role != "move"), 4 * steps))


def view_of(region: Region, end: int, run: Replay) -> RegionView:
    """A region as the causes see it, with the values of its leaves in a replay."""
    values = region.tape.values
    leaves = tuple(
        LeafView(leaf, values[leaf].name, values[leaf].kind, run.array(leaf))
        for leaf in dict.fromkeys(region.leaves())
    )
    return RegionView(region.tape, region.ops, end, leaves)


def made_from(tape: Tape, value: int, others: Collection[int]) -> frozenset[int] | None:
    """The few operations that make a value of others alone; None where there are no such."""
    ends = {*others} - {value}
    inside: set[int] = set()
    for at, op in tape.graph.backward([value], lambda at, op: at not in ends and not op.static):
        if at in ends:
            continue
        if op is None:
            if tape.values[at].kind == "input":
                return None
        elif not op.static and op.index not in inside:
            if op.role == "random" or len(inside) == limits.LINKED_STEPS:
                return None
            inside.add(op.index)
    return frozenset(inside) or None
