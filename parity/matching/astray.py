"""Tells a look-alike of a value from its partner, by what follows if it is put in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from parity.draws.pairing import step_to
from parity.errors import ReplayError
from parity.matching.fingerprint import SAME, fingerprint
from parity.tape import Array, Op, Replay, Tape

if TYPE_CHECKING:
    from parity.matching.match import Match, Pair

_LOOK_AHEAD = 8  # operations after a replacement that may speak for or against it
_CLEARLY = 2.0  # times nearer
_ENOUGH = 2  # values that are nearer with a replacement than without


def leads_astray(found: Match, near: Pair, op: Op, run: Replay) -> bool:
    """Whether what follows is nearer the reference if a value is left alone than if it is replaced.

    That tells a look-alike from a partner. A product without its bias is near the sum where the
    bias is small, half of `x` near its GELU where `x` is small: what the candidate lacks there it
    adds next, and what was put in would have it twice. One value is not enough to trust a
    replacement: `(xW + hU) + b` has a sum in common with `(xW + b) + hU` if `xW + b` is put in.
    """
    tape = found.side.tape
    alone, replaced = run.branch(), run.branch()
    replaced.replace(near.candidate, near.order.apply(found.reference.array(near.reference)))
    nearer = 0
    for later in _computed_from(tape, near.candidate, op):
        try:
            for branch in (alone, replaced):
                step_to(tape, later, branch, found)
        except ReplayError:  # what is put in does not fit what follows
            return True
        for value in later.outputs:
            gaps = [_gap(found, branch.array(value)) for branch in (alone, replaced)]
            if max(gaps) <= SAME:
                continue
            if _CLEARLY * gaps[0] < gaps[1]:
                return True
            nearer += _CLEARLY * gaps[1] < gaps[0]
            if nearer == _ENOUGH:
                return False
    return False


def _computed_from(tape: Tape, value: int, op: Op) -> Iterator[Op]:
    """The next few operations that depend on a value of `op`, and the moves between them."""
    touched = {value}
    left = _LOOK_AHEAD
    for later in tape.ops[op.index + 1 :]:
        if left and not touched.isdisjoint(later.inputs):
            touched.update(later.outputs)
            left -= later.role != "move"
            yield later


def _gap(found: Match, array: Array) -> float:
    """How far an array is from the value of the reference that it resembles."""
    print_ = fingerprint(array)
    partner = found.reference.partner(array, print_, found.taken) if array.size else None
    return (
        partner.residual
        if partner is not None and not isinstance(partner, int) and print_.informative
        else float("inf")
    )
