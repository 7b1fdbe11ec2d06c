"""Values that some of their readers read as they ought to, and others in the place of another.

As a state that one layer passes to the next as it is, and to its own next step only where a mask
allows: without the mask the candidate has one value for both. Nothing could be put in its place, as
that would change both. So what reads it in vain gets a value of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from parity.diagnosis import limits
from parity.draws.draw import Array, Transform
from parity.matching.match import Match, Side
from parity.tape import Op, Site, Tape, Value

Readers = Mapping[Site, frozenset[Site]]  # by what makes values, of what reads them in vain


def readers_apart(found: Match) -> tuple[Readers, Readers]:
    """The readers of settled values whose own results are not, beside others whose results are."""
    settled = ({pair.reference for pair in found.pairs.values()}, {*found.pairs})
    sides = found.reference, found.side
    return _apart(sides[0], settled[0]), _apart(sides[1], settled[1])


def _apart(side: Side, settled: set[int]) -> Readers:
    tape = side.tape
    agrees = _steps_to_what_agrees(side, settled)
    by_maker: dict[Site, set[Site]] = defaultdict(set)
    for op in tape.ops:
        if op.static or op.role == "move":
            continue
        for value in op.outputs:
            if agrees.get(value) != 0:
                continue
            readers = [tape.ops[index] for index in tape.consumers[value] if index in tape.used]
            vain = {one.site for one in readers if agrees.keys().isdisjoint(one.outputs)}
            others = {one.site for one in readers} - vain
            if vain and others:
                by_maker[op.site] |= vain
    return {maker: frozenset(sites) for maker, sites in by_maker.items()}


def _steps_to_what_agrees(side: Side, settled: set[int]) -> dict[int, int]:
    """By value after how many operations it is, or becomes, one that agrees; a few at most.

    What one model computes for all gates at once has no partner, and its parts have.
    """
    tape = side.tape
    found = {value: 0 for value in settled if tape.is_live(value) and side.informative(value)}
    for op in reversed(tape.ops):
        steps = min((found[value] + 1 for value in op.outputs if value in found), default=None)
        if steps is not None and steps <= limits.STEPS_TO_AGREE:
            for value in op.inputs:
                found[value] = min(steps, found.get(value, steps))
    return found


def with_readers_apart(tape: Tape, readers: Readers) -> Tape:
    """The tape on which these readers get a copy of what they read."""
    ops: list[Op] = []
    values, recorded = list(tape.values), dict(tape.recorded)
    moved: dict[int, range] = {}
    copies: dict[int, int] = {}
    sites: dict[int, frozenset[Site]] = {}
    for op in tape.ops:
        first = len(ops)
        inputs = tuple(
            copies[value] if op.site in sites.get(value, ()) else value for value in op.inputs
        )
        ops.append(replace(op, index=first, inputs=inputs))
        for value in op.outputs:
            values[value] = replace(values[value], op=first)
        for value in op.outputs if op.site in readers else ():
            made, at = len(values), len(ops)
            one = values[value]
            values.append(Value(made, "computed", one.shape, one.dtype, op=at))
            recorded[made] = recorded[value]
            site = replace(op.site, op="copy")
            call = Transform(_as_it_is)
            ops.append(Op(at, "copy", (value,), (made,), site, "move", call=call))
            copies[value], sites[value] = made, readers[op.site]
        moved[op.index] = range(first, len(ops))
    return tape.remade(ops, values, recorded, moved)


def _as_it_is(array: Array) -> tuple[Array, ...]:
    return (np.asarray(array),)
