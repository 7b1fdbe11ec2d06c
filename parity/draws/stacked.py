"""Draws that one model makes one by one, as in a loop over samples, and the other at once.

They become one draw that is cut: the draws at one line are independent and of one law, so that all
of them together are one draw of more numbers, wherever in the program it is made.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from parity.draws.draw import Array, Transform
from parity.draws.families import known
from parity.tape import Op, Tape, Value

Line = tuple[object, ...]  # what draws at one line of a loop have in common


def lines_of_loops(reference: Tape, candidate: Tape) -> tuple[frozenset[Line], frozenset[Line]]:
    """The lines at which each model draws one by one what the other draws at once."""
    both = reference, candidate
    loops = [_loops(tape) for tape in both]
    sizes = [Counter(_size(tape, op) for op in _drawn(tape)) for tape in both]
    whole = [
        {line: len(ops) * _size(tape, ops[0]) for line, ops in found.items()}
        for tape, found in zip(both, loops, strict=True)
    ]
    found = []
    for own, other in ((0, 1), (1, 0)):
        lines = set()
        for line, ops in loops[own].items():
            size, total = _size(both[own], ops[0]), whole[own][line]
            at_once = sizes[other][total] > sizes[own][total] or total in whole[other].values()
            if at_once and sizes[own][size] > sizes[other][size]:
                lines.add(line)
        found.append(frozenset(lines))
    return found[0], found[1]


def stacked(tape: Tape, lines: Collection[Line]) -> Tape:
    """The tape, in which the draws at these lines are cut from one draw at the beginning of it."""
    loops = [ops for line, ops in _loops(tape).items() if line in lines]
    if not loops:
        return tape
    later = tape.moved_back(len(loops))
    ops, values, recorded = later.ops, later.values, later.recorded
    whole: list[Op] = []
    for one_by_one in loops:
        drawn = [tape.adapter.to_numpy(tape.recorded[op.outputs[0]]) for op in one_by_one]
        together = np.stack(drawn)
        first = tape.values[one_by_one[0].outputs[0]]
        made = Value(len(values), "computed", together.shape, first.dtype, op=len(whole))
        values.append(made)
        recorded[made.id] = tape.native(together, first.dtype)
        whole.append(
            replace(one_by_one[0], index=len(whole), inputs=(), outputs=(made.id,), call=None)
        )
        for at, op in enumerate(one_by_one):
            ops[op.index] = replace(
                ops[op.index],
                kind="slice",
                role="move",
                inputs=(made.id,),
                call=Transform(functools.partial(_cut, at)),
                draw=None,
            )
    return replace(later, ops=[*whole, *ops])


def _cut(at: int, together: Array) -> Sequence[Array]:
    return [together[at]]


def _loops(tape: Tape) -> dict[Line, list[Op]]:
    """The draws that are made at a line more than once."""
    found: dict[Line, list[Op]] = {}
    for op in _drawn(tape):
        made = tape.values[op.outputs[0]]
        if known(op.draw):
            law = op.draw.name, *sorted(op.draw.parameters.items())
            found.setdefault((op.site, law, made.shape, made.dtype), []).append(op)
    return {line: ops for line, ops in found.items() if len(ops) > 1}


def _drawn(tape: Tape) -> list[Op]:
    drawn = (op for op in tape.ops if op.role == "random" and op.index in tape.used)
    return [op for op in drawn if len(op.outputs) == 1]


def _size(tape: Tape, op: Op) -> int:
    return tape.values[op.outputs[0]].size
