"""A verdict `diverged` that is so of a recording, of float64, at a jump, or by chance alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.closing_checks import draws_by_itself, exceeding, not_drawn, weaker
from parity.diagnosis.moved_outputs import moved_outputs
from parity.diagnosis.other_samples import differ
from parity.diagnosis.output_rounding import (
    compared_outputs,
    exact_outputs,
    mostly_beyond,
)
from parity.diagnosis.outputs import in_reference_layout
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replay_check import PlainRuns, as_ran, tape_doubts
from parity.diagnosis.unshared import UNSHARED
from parity.diagnosis.verdict import Verdict, counted
from parity.errors import ParityError
from parity.matching.counts import check_counts
from parity.matching.match import Match
from parity.numerics.accounting import excess, in_reals
from parity.numerics.difference import residual
from parity.numerics.limits import ACCOUNTED
from parity.numerics.rounding_noise import rounds
from parity.tape import Array

_JUMPS = (
    "output {!r} differs only where a rounding of the inputs changes it as much, as at the cut of "
    "an angle or between two that are equally large: either model may be right there"
)
_AS_THEY_RAN = (
    "output {!r} is the same as the models ran, and differs in float64 alone, as between two that "
    "are equally large: either model may be right there"
)
_NO_NUMBER = (
    "output {!r} is a number as the models ran, and in float64 NaN or infinite in one of them "
    "alone, as the root of what is next to nothing: either model may be right there"
)


def doubted(
    verdict: Verdict, matched: Match, pairs: Sequence[OutputPair], plain: PlainRuns
) -> Verdict:
    """A verdict `diverged`; `unverified` where that is so of a recording and not of its model.

    Raises:
        CountsMoved: the replays are of other values than those that the models picked as they ran.
    """
    check_counts(matched.reference.run, matched.side.run)
    doubts = tape_doubts(plain)
    lost = [doubt for one in plain for doubt in one.lost]
    if lost:  # each run is another one
        if not _chance_may_be_why(matched, pairs, plain):
            reasons = dict.fromkeys((*verdict.reasons, *lost, *doubts))
            return replace(verdict, reasons=tuple(reasons))
        doubts = lost
    either: list[str] = []  # model may be right
    if verdict.divergences and not doubts:
        ends = ((pair, matched.side.array(pair.candidate)) for pair in pairs)
        if all(in_reference_layout(matched, *one) is not None for one in ends):
            either = _in_float64_alone(matched, pairs, plain)
        unshared = any(one.cause and one.cause.kind == UNSHARED for one in verdict.divergences)
        if not (unshared and mostly_beyond(matched, pairs, plain, 0)):
            either = either or _at_a_jump(matched, pairs, plain)
        doubts = either
    if not doubts:
        return verdict
    # with lost draws each run is another one
    if (
        not lost
        and not either
        and differ(matched, pairs, plain[0].run(), plain[1].run(), limits.DOUBTED_CLOSE)
    ):
        return replace(verdict, reasons=(*verdict.reasons, *doubts))
    others = tuple(one for one in verdict.reasons if one != counted(verdict.divergences))
    verdict = replace(verdict, reasons=others, divergences=())
    return weaker(verdict, "unverified", doubts, [pair.name for pair in pairs])


def _chance_may_be_why(matched: Match, pairs: Sequence[OutputPair], plain: PlainRuns) -> bool:
    """Whether all in which the outputs differ may be other random numbers.

    Each model runs several times, on others each time. It is not chance where some element is
    always larger in one model than it ever is in the other.
    """
    try:
        reference, candidate = (
            [side.redrawn(turn) for turn in range(limits.CHANCE_TURNS)] for side in plain
        )
    except ParityError:  # one does not take the numbers that it may draw: its runs show nothing
        return True
    for pair in pairs:
        name, other = pair.names
        laid_out = [
            in_reference_layout(matched, pair, one[other]) for one in candidate if other in one
        ]
        a, b = _ends([one[name] for one in reference if name in one]), _ends(laid_out)
        if a is None or b is None:
            continue  # other shapes in each run
        (low, high), (least, largest) = a, b
        gap = np.fmax(least - high, low - largest)
        if (gap > limits.RUNS_DIFFER * np.fmax(abs(low), abs(high))).any():
            return False
    return True


def _ends(runs: Sequence[Array | None]) -> tuple[Array, Array] | None:
    """The least and the largest that each element was; None where shapes changed."""
    arrays = [one for one in runs if one is not None and one.dtype.kind in "biuf"]
    if len({one.shape for one in arrays}) != 1 or len(arrays) < len(runs):
        return None
    together = np.stack(arrays).astype(np.float64)
    return together.min(0), together.max(0)


def _in_float64_alone(matched: Match, pairs: Sequence[OutputPair], plain: PlainRuns) -> list[str]:
    """Says so where outputs that are equal but for rounding as they ran differ in float64."""
    ran = as_ran(plain[0], {}), as_ran(plain[1], matched.draws)
    if draws_by_itself(matched) or differ(matched, pairs, *ran, limits.ROUNDED_CONSTANTS):
        return []
    compared, exact = compared_outputs(matched, pairs, plain), exact_outputs(matched, {})
    if exceeding([one for one in compared if one.is_float], exact):
        return []
    other = []
    for one in compared:
        laid_out = one.lay(exact[one.name])
        if laid_out is not None and residual(one.reference, laid_out) > limits.DOUBTED_OTHER:
            other.append(one.pair)
    fixed = not_drawn(matched, pairs, plain)
    if not other or any(pair not in fixed for pair in other):  # what is drawn is so by chance
        return []
    return [
        "as they ran the outputs are equal but for rounding, and differ in float64 alone: one of "
        "the models is another function there, as where a large constant absorbs what is added to "
        "it in float32"
    ]


def _at_a_jump(matched: Match, pairs: Sequence[OutputPair], plain: PlainRuns) -> list[str]:
    """Says so where all that differs at the outputs is what a rounding of the inputs does there.

    As at the cut of an angle, or where two are equally large: a model may fall on either side.
    """
    if draws_by_itself(matched) or mostly_beyond(matched, pairs, plain):
        return []
    fixed = not_drawn(matched, pairs, plain)
    exact, found = exact_outputs(matched, {}), []
    for one in compared_outputs(matched, pairs, plain):
        laid_out = one.lay(exact[one.name])
        if laid_out is None:
            continue
        # where a replay of one model is NaN or infinite, and neither was as it ran
        finite = [np.isfinite(in_reals(run)) for run in (*one.ran, one.reference, laid_out)]
        alone = finite[0] & finite[1] & (finite[2] != finite[3])
        counts = excess(one.reference, laid_out, one.allowed, one.masks).count
        if not counts and not alone.any():
            continue
        if one.pair not in fixed:
            return []
        if not one.is_float:
            if not np.array_equal(*one.ran):
                return []
            found.append(_AS_THEY_RAN.format(one.name))
            continue
        # where float64 gives none, what ran is all there is to go by, and all of it is rounded
        moved = moved_outputs(matched, one.pair, rounds if alone.any() else None)
        with np.errstate(all="ignore"):
            a, b = in_reals(one.reference), in_reals(laid_out)
            gap, ran = np.abs(a - b), np.abs(in_reals(one.ran[0]) - in_reals(one.ran[1]))
            same = (a == b) | ((a != a) & (b != b))
            over = np.where(alone, ran > 0, ~(gap <= ACCOUNTED * one.allowed) & ~same)
        gap = np.where(alone, 2 / ACCOUNTED * ran, gap)
        if moved is None or (over & ~(np.maximum(*moved) >= gap / 2)).any():
            return []
        found.append((_NO_NUMBER if not counts else _JUMPS).format(one.name))
    return found
