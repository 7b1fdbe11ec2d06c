"""Distinguishes a look-alike of a value from its partner, by what follows its substitution."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from parity.draws.pairing import step_to
from parity.errors import ReplayError
from parity.matching import limits
from parity.matching.fingerprint import fingerprint
from parity.matching.matched import Match, Pair
from parity.tape import Array, Op, Replay, Tape


def leads_astray(found: Match, near: Pair, op: Op, run: Replay) -> bool:
    """Whether what follows is nearer the reference if a value is left alone than if it is replaced.

    That distinguishes a look-alike from a partner. A product without its bias is near the sum where
    the bias is small, half of `x` near its GELU where `x` is small: what the candidate lacks there
    it adds next, and the substituted value would have it twice. One value is not enough to trust a
    replacement: `(xW + hU) + b` has a sum in common with `(xW + b) + hU` if `xW + b` is
    substituted. And what the reference makes the value of says nothing for it: of a logarithm that
    is substituted for the argument of an exponential, the exponential makes what the logarithm was
    taken of.
    """
    tape = found.side.tape
    alone, replaced = run.branch(), run.branch()
    replaced.replace(near.candidate, near.order.apply(found.reference.array(near.reference)))
    nearer, left = 0, limits.LOOK_AHEAD
    for later in _computed_from(tape, near.candidate, op):
        try:
            for branch in (alone, replaced):
                step_to(tape, later, branch, found)
        except ReplayError:  # the substituted value does not fit what follows
            return True
        if later.role == "move":  # it gives the substituted value
            continue
        speaks = False
        for value in later.outputs:
            (gap, _), (other, like) = (
                _nearest(found, one.array(value)) for one in (alone, replaced)
            )
            speaks |= min(gap, other) < np.inf
            if max(gap, other) <= limits.SAME:
                continue
            if limits.CLEARLY * gap < other:
                return True
            if limits.CLEARLY * other < gap and not _leads_to(
                found.reference.tape, like, near.reference
            ):
                nearer += 1
            if nearer == limits.ENOUGH_NEARER:
                return False
        left -= speaks
        if not left:
            break
    return False


def _computed_from(tape: Tape, value: int, op: Op) -> Iterator[Op]:
    """The next operations that depend on a value of `op`, and the moves between them."""
    touched = {value}
    left = limits.STEPS_AHEAD
    for later in tape.ops[op.index + 1 :]:
        if left and not touched.isdisjoint(later.inputs):
            touched.update(later.outputs)
            left -= later.role != "move"
            yield later


def _nearest(found: Match, array: Array) -> tuple[float, int]:
    """How far an array is from the value of the reference that it resembles, and which that is."""
    print_ = fingerprint(array)
    partner = found.reference.partner(array, print_, found.taken) if array.size else None
    if partner is None or isinstance(partner, int) or not print_.informative:
        return float("inf"), -1
    return partner.residual, partner.reference


def _leads_to(tape: Tape, value: int, later: int) -> bool:
    """Whether one value is made of another."""
    maker, last = tape.producer(value), tape.producer(later)
    if maker is None or last is None or maker.index >= last.index:
        return False
    walk = tape.graph.backward([later], lambda _, op: op.index > maker.index)
    return any(at == value for at, _ in walk)
