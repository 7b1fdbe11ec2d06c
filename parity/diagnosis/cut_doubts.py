"""Why values after which two models agree again may not be where they differ."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.region import Mismatch, OutputPair, Scene
from parity.matching.axis_order import Order
from parity.matching.limits import SAME
from parity.matching.match import Match, Pair, Side
from parity.numerics.difference import residual
from parity.tape import Array, Tape

_JOINS = ("stack", "concatenate")


def are_of_other_turns(tapes: tuple[Tape, Tape], ends: tuple[int, int]) -> bool:
    """Whether two values reach the next join of as many values at other places among these.

    The turns of two loops go in one order.
    """
    first, second = (_place(tape, end) for tape, end in zip(tapes, ends, strict=True))
    return first is not None and second is not None and first[1] == second[1] and first != second


def _place(tape: Tape, value: int) -> tuple[int, int] | None:
    """The first place at which a value is joined, and of how many; None where there is none.

    A state goes on to all turns behind its own.
    """
    reached, left = {value}, limits.STEPS_TO_A_JOIN
    waiting = list(tape.consumers[value])  # in the order of the tape, however long that is
    while waiting and left:
        op = tape.ops[heapq.heappop(waiting)]
        at = [place for place, one in enumerate(op.inputs) if one in reached]
        if op.word in _JOINS and len(op.inputs) > 1:
            return at[0], len(op.inputs)
        left -= op.role != "move"
        for one in op.outputs:
            if one not in reached:
                reached.add(one)
                for index in tape.consumers[one]:
                    heapq.heappush(waiting, index)
    return None


def is_undone(
    own: Side, fresh: Match, value: int, array: Array, outputs: Sequence[OutputPair]
) -> bool:
    """Whether what is substituted is another offset along an axis, and no output shows it.

    Softmax undoes what is added to its logits, and the maximum that is taken off them before: the
    place is where the models differ after that.
    """
    run, op = fresh.side.run, own.tape.producer(value)
    is_maximum = op is not None and op.word == "max"
    if not is_maximum and not _differs_by_offset(array, own.array(value)):
        return False
    pairs = ((own.array(one.candidate), run.array(one.candidate)) for one in outputs)
    return all(x.shape == y.shape and residual(x, y) <= SAME for x, y in pairs)


def _differs_by_offset(a: Array, b: Array) -> bool:
    """Whether the difference of two arrays is one number along an axis that is not the batch's."""
    if a.shape != b.shape or not a.size or a.dtype.kind != "f":
        return False
    difference = a - b
    bound = limits.ROUNDED_CONSTANTS * max(float(np.abs(a).max()), float(np.abs(b).max()))
    lengths = enumerate(a.shape[1:], 1)
    return any(n > 1 and np.ptp(difference, axis=i).max() <= bound for i, n in lengths)


def reconverges_later(repaired: Match, value: int) -> bool:
    """Whether a candidate value is an output, or anything made of it has an equal partner."""
    pairs, side = repaired.pairs, repaired.side
    if value in side.tape.outputs.values():
        return True
    after = (pairs[one] for one in side.tape.graph.descendants(value) if one in pairs)
    return any(pair.same and side.informative(pair.candidate) for pair in after)


def settles(repaired: Match, found: Mismatch, value: int) -> bool:
    """Whether what was found reads a value, and agrees after that one's repair."""
    if found.values is None or value not in found.candidate.boundary():
        return False
    pair = repaired.pairs.get(found.values[1])
    return pair is not None and pair.reference == found.values[0]


def reaches_output_by_moves(scene: Scene, a: int, b: int) -> bool:
    """Whether two values are outputs but for reshapes, so that nothing later can reconverge."""
    ends = scene.reference.tape.graph.moved(a), scene.candidate.tape.graph.moved(b)
    return any(pair.reference in ends[0] and pair.candidate in ends[1] for pair in scene.differing)


def may_lie(known: Pair, a: int, order: Order) -> bool:
    """Whether a partner may lie in an order of axes: what is near lies in its own alone."""
    return known.same or known.reference != a or order.axes == known.order.axes
