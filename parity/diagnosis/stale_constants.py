"""Masks that the candidate's host made of values that differ further up: they differ with them.

What the host made is a constant of the recording. Where the reference's value is substituted for
what it was made of, it stays what it was, and what reads it differs once more, for no reason of its
own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, product

from parity.diagnosis import limits
from parity.diagnosis.case import Case, case_of
from parity.diagnosis.region import Mismatch
from parity.errors import ReplayError
from parity.matching.limits import SAME
from parity.matching.match import Match
from parity.numerics.difference import residual
from parity.tape import Array, Tape

Fault = tuple[Mismatch, str]


def without_stale(
    repaired: Match, faults: Sequence[Fault]
) -> tuple[Sequence[Fault], Sequence[Fault]]:
    """The faults, and those that only follow from one before: the candidate's flags are old there.

    Args:
        faults: where the models diverge, in the candidate's order, with what else is known of it.
    """
    if len(faults) < 2:
        return faults, ()
    stale = [fault for fault in faults[1:] if _is_stale(repaired, fault[0])]
    return [fault for fault in faults if not any(fault is one for one in stale)], stale


def _is_stale(repaired: Match, mismatch: Mismatch) -> bool:
    """Whether it agrees with values of the reference's in place of those that the host made."""
    tape = repaired.side.tape
    read = dict.fromkeys(value for op in mismatch.candidate.ops for value in op.inputs)
    made = [value for value in read if _is_made_by_the_host(tape, value)]
    case = case_of(repaired, mismatch) if made else None
    if case is None:
        return False
    others = [_alike(case, value) for value in made]
    tries = islice(product(*others), limits.STALE_TRIES)
    return any(_agrees_with(case, dict(zip(made, chosen, strict=True))) for chosen in tries)


def _is_made_by_the_host(tape: Tape, value: int) -> bool:
    """Whether a constant may be: it has no name in the model."""
    leaf = tape.values[value]
    return leaf.kind == "constant" and not leaf.name and leaf.size > 1


def _agrees_with(case: Case, given: Mapping[int, Array]) -> bool:
    try:
        found = case.run_candidate(case.first.given, given)
    except ReplayError:
        return False
    return residual(case.first.reference, found) <= SAME


def _alike(case: Case, value: int) -> list[Array]:
    """What the reference computes here that may be what the host made, the nearest first."""
    own = case.repaired.side.run.array(value)
    reference = case.replays(case.first.given)[0]
    found = []
    for other in dict.fromkeys(other for op in case.reference.ops for other in op.outputs):
        if not case.reference.tape.is_live(other):
            continue  # it is the same on all inputs: no host made it of what differs
        array = reference.array(other)
        laid = array if array.shape == own.shape else _as_candidate(case, array)
        if laid.shape == own.shape and (laid.dtype.kind == "b") >= (own.dtype.kind == "b"):
            found.append(laid.astype(own.dtype))
    return sorted(found, key=lambda array: int((array != own).sum()))


def _as_candidate(case: Case, array: Array) -> Array:
    """The same as the candidate's values lie, where it has the shape of the reference's end."""
    if case.order is None or array.shape != case.reference.value.shape:
        return array
    return case.order.apply(array)
