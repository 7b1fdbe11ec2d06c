"""At which places two values are joined with others: the turns of two loops go in one order."""

from __future__ import annotations

import heapq

from parity.diagnosis import limits
from parity.tape import Tape

_JOINS = ("stack", "concatenate")


def are_of_other_turns(tapes: tuple[Tape, Tape], ends: tuple[int, int]) -> bool:
    """Whether two values reach the next join of as many values at other places among these."""
    first, second = (_place(tape, end) for tape, end in zip(tapes, ends, strict=True))
    return first is not None and second is not None and first[1] == second[1] and first != second


def _place(tape: Tape, value: int) -> tuple[int, int] | None:
    """The place at which a value is joined first, and of how many; None where there is none."""
    reached, left = {value}, limits.STEPS_TO_A_JOIN
    waiting = list(tape.consumers[value])  # in the order of the tape, however long that is
    while waiting and left:
        op = tape.ops[heapq.heappop(waiting)]
        at = [place for place, one in enumerate(op.inputs) if one in reached]
        if op.word in _JOINS and len(op.inputs) > 1:
            return (at[0], len(op.inputs)) if len(at) == 1 else None
        left -= op.role != "move"
        for one in op.outputs:
            if one not in reached:
                reached.add(one)
                for index in tape.consumers[one]:
                    heapq.heappush(waiting, index)
    return None
