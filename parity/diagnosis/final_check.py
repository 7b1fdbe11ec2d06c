"""A last look before an alarm: do the models, left alone, differ at all?

The search for the place substitutes values and compares regions; a look-alike may mislead it.
Models whose outputs are the same in float64, nothing substituted, do not diverge on these inputs,
whatever was found on the way. The bound is the sharp one of matching; no fault above float32
rounding passes.

Constants rounded to float32 leave more than that bound. There what was found counts as misled only
where putting it right makes the outputs worse, or where the outputs differ by no more than rounding
accounts for and putting it right brings them no nearer: a fault's repair does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.divergences import sites_of
from parity.diagnosis.moved_outputs import lost_in_float64, moved_outputs
from parity.diagnosis.outputs import in_reference_layout
from parity.diagnosis.region import Mismatch, OutputPair, reference_values
from parity.findings import Divergence
from parity.matching.limits import SAME
from parity.matching.match import Match
from parity.numerics.accounting import allowance, excess, of_one_kind, share_beyond, usually_moved
from parity.numerics.difference import residual
from parity.numerics.limits import FAULTY, LEAST, U32, UNITS
from parity.tape import Array


def agree_as_a_whole(matched: Match, outputs: Sequence[OutputPair]) -> float | None:
    """The largest residual of the outputs, nothing substituted; None if they are not the same."""
    largest = _largest_difference(matched, outputs, {})
    return largest if largest <= SAME else None


def repairs_harm(
    matched: Match,
    outputs: Sequence[OutputPair],
    divergences: Sequence[Divergence],
    mismatches: Sequence[Mismatch],
) -> float | None:
    """How far outputs differ that agree to float32 rounding, and that no repair brings nearer.

    Values of two functions that are nearly one on these inputs may be taken for each other. Each is
    then 'repaired' to the other, and the models, which agreed, no longer do. An output behind such
    a value differs once that is repaired, and its own repair puts right no more than that.

    Args:
        mismatches: where the divergences are.

    Returns:
        The residual of the outputs, nothing substituted; None where they differ by more, where some
        repair brings them much nearer, or none makes them differ clearly.
    """
    effects = [
        (one, one.output_before, one.output_after)
        for one in divergences
        if one.output_before is not None and one.output_after is not None
    ]
    if not len(effects) == len(divergences) > 0:
        return None
    tape = matched.side.tape
    ends = {tape.before_moves(pair.candidate) for pair in outputs}
    at_outputs = [
        sites_of(one)
        for one in mismatches
        if one.values is not None and tape.before_moves(one.values[1]) in ends
    ]
    nearer = any(
        after < limits.HELPED_BELOW_A_UNIT * before
        for one, before, after in effects
        if (one.reference, one.candidate) not in at_outputs
        or not one.residual > limits.HARMED * before
    )
    largest = max(before for _, before, _ in effects)
    harmed = any(after > limits.HARMED * before for _, before, after in effects)
    return largest if largest <= UNITS["float32"] and harmed and not nearer else None


def no_repair_shows(
    matched: Match,
    outputs: Sequence[OutputPair],
    divergences: Sequence[Divergence],
    mismatches: Sequence[Mismatch],
) -> float | None:
    """How far outputs differ that rounding accounts for, where no repair brings them nearer.

    Args:
        mismatches: where the divergences are.

    Returns:
        The largest residual; None where some element differs by more than the rounding of both
        models, or a repair brings the outputs nearer. A constant that is the reference's but for
        its last digits may differ by what the closing checks take for rounding.
    """
    last_digits = (one.cause and one.cause.kind == "constant-precision" for one in divergences)
    if all(last_digits) and not any(one.detail for one in divergences):
        return _accounted(matched, outputs, limits.LAST_DIGITS)
    nearer = [
        one
        for one in divergences
        if one.output_before is not None and one.output_after is not None
        if one.output_after < limits.HELPED * one.output_before
        # what is far off there, and hardly off at the outputs, took the place of something else
        if not one.residual > limits.DAMPED * one.output_before
    ]
    # less than a unit is what constants leave: a look-alike may have a little less of it
    sizes = [one.output_before for one in nearer if one.output_before is not None]
    if any(size > UNITS["float32"] for size in sizes):
        return None
    if nearer:
        repaired = reference_values(matched, mismatches)
        left = _largest_difference(matched, outputs, repaired)
        if left < limits.HELPED_BELOW_A_UNIT * max(sizes):
            return None
    return _accounted(matched, outputs, 1.0)


def _largest_difference(
    matched: Match, outputs: Sequence[OutputPair], substituted: Mapping[int, Array]
) -> float:
    """The largest residual of the outputs with some values substituted; inf for other shapes."""
    run = matched.side.tape.replay("float64", {**matched.given, **substituted})
    found = [0.0]
    for pair in outputs:
        reference, candidate = matched.reference.array(pair.reference), run.array(pair.candidate)
        same_shape = reference.shape == candidate.shape
        found.append(residual(reference, candidate) if same_shape else np.inf)
    return max(found)


def beyond_rounding(matched: Match, outputs: Sequence[OutputPair]) -> bool:
    """Whether outputs differ by what no two models of one function do, wherever that comes from."""
    return not matched.draws and _accounted(matched, outputs, FAULTY) is None


def no_more_than_constants(matched: Match, outputs: Sequence[OutputPair]) -> bool:
    """Whether no element differs by more than a rounding of inputs and constants moves it.

    A difference of nearly equal values magnifies constants that one model alone rounds to float32.
    """
    if beyond_rounding(matched, outputs):
        return False  # at a jump a rounding moves an output by anything
    exact = matched.exact_outputs
    names = matched.side.tape.output_names
    for pair, lost in zip(outputs, lost_in_float64(matched, outputs), strict=True):
        reference = matched.reference.array(pair.reference)
        candidate = in_reference_layout(matched, pair, exact[names[pair.candidate]])
        moved = moved_outputs(matched, pair)
        if candidate is None or moved is None:
            return False
        if {reference.dtype.kind, candidate.dtype.kind} != {"f"}:
            return False
        size = np.abs(reference)
        usual = [usually_moved(one, size) for one in moved]  # runs may miss an element by luck
        allowed = np.maximum.reduce([U32 * size + LEAST, *usual]) + lost
        if not excess(reference, candidate, allowed).ratio <= limits.CONSTANTS_OF_BOTH:
            return False
    return True


def _accounted(matched: Match, outputs: Sequence[OutputPair], limit: float) -> float | None:
    """The largest residual of the outputs; None unless `limit` times rounding accounts for all."""
    tapes = matched.tapes
    exact, names = matched.exact_outputs, tapes[1].output_names
    largest = 0.0
    for pair in outputs:
        reference, candidate = matched.reference.array(pair.reference), exact[names[pair.candidate]]
        ran, other = (
            tape.recorded_array(end) for tape, end in zip(tapes, pair.values, strict=True)
        )
        if matched.draws or not reference.shape == candidate.shape == other.shape:
            return None
        ran, reference, other, candidate = of_one_kind(ran, reference, other, candidate)
        if share_beyond((ran, reference), (other, candidate), limit) > 0:
            return None
        allowed = allowance((ran, reference), (other, candidate))
        if not excess(reference, candidate, allowed).ratio <= limit:
            return None
        largest = max(largest, residual(reference, candidate))
    return largest
