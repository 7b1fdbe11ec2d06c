"""What has to hold before a comparison says `parity`, whatever led there.

1. The tape is the model: replayed in the recorded precision it gives the outputs of an unrecorded
   run of the same object, as its user calls it.
2. The difference is accounted for: element by element, what the outputs differ by is the rounding
   that each model's own float64 replay measures, or what a note explains.

Matching compares each operation on the reference's own values, so what it calls parity is so of the
operations. These look at the outputs alone, and trust nothing that was found on the way. (That
every output is compared at all is seen to where outputs are read: `parity.outputs.flatten`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.case import Case, case_of
from parity.diagnosis.list_lengths import listed_otherwise
from parity.diagnosis.lost_digits import lost_in_float32_alone
from parity.diagnosis.low_precision import loosened, narrow_formats
from parity.diagnosis.masks import unwritten_masks
from parity.diagnosis.moved_outputs import lost_in_float64, moved_outputs
from parity.diagnosis.output_rounding import (
    ComparedOutput,
    are_accounted,
    compared_outputs,
    exact_outputs,
)
from parity.diagnosis.regimes import precision_decides
from parity.diagnosis.region import DifferingLeaf, Mismatch, OutputPair, reference_values
from parity.diagnosis.replay_check import Outputs, PlainRuns, tape_doubts
from parity.diagnosis.stored_noise import stored_beside_draws
from parity.diagnosis.stored_results import stored_leaves, stored_results
from parity.diagnosis.unread_inputs import doubtful_inputs
from parity.diagnosis.verdict import Verdict
from parity.errors import ParityError
from parity.matching.match import Match
from parity.numerics.accounting import (
    Excess,
    elementwise,
    excess,
    lost_of_ones,
    rounded_constants,
    rounding,
)
from parity.numerics.difference import by_column
from parity.numerics.limits import ACCOUNTED, CUT, FACTOR, FAULTY, LEAST, U32, UNITS
from parity.numerics.rounding import otherwise_rounded
from parity.numerics.rounding_noise import moved_by_rounding, rounds


@dataclass(frozen=True)
class Unaccounted:
    """An output whose difference nothing accounts for."""

    name: str
    excess: Excess
    excuse: str = ""  # what may have lost as much

    @property
    def is_fault(self) -> bool:
        return self.excess.ratio > FAULTY and not self.excuse

    @property
    def reason(self) -> str:
        """The difference in words."""
        one = self.excess
        where = f"element {list(one.index)} of " if one.index else ""
        return (
            f"{where}output {self.name!r} is {one.reference:.9g} in the reference and "
            f"{one.candidate:.9g} in the candidate, in float64: {one.ratio:.2g} times what the "
            f"rounding of both models accounts for ({one.count} of {one.size} elements differ so)"
            f"{self.excuse}"
        )


def close(
    matched: Match,
    repaired: Match,
    pairs: Sequence[OutputPair],
    every: Sequence[OutputPair],
    verdict: Verdict,
    plain: PlainRuns,
) -> tuple[Verdict, list[Unaccounted]]:
    """A verdict that is not `diverged`, after the closing checks; and what is not accounted for.

    Args:
        repaired: the match in which every divergence is repaired.
        pairs: the outputs that a tape can replay.
        every: those and what the host computed.
    """
    names = [pair.name for pair in pairs]
    doubts = tape_doubts(plain)
    if doubts:
        return weaker(verdict, "unverified", doubts, names), []
    lost = any(one.tape.lost_draws for one in plain)
    drawn = draws_by_itself(matched) or lost
    if drawn or verdict.verdict == "unverified" and matched.draws:
        # samples that are others: there is nothing to subtract where they show
        pairs, every = (not_drawn(matched, some, plain) for some in (pairs, every))
        if not pairs:
            return verdict, []
        names = [pair.name for pair in pairs]
    left, effect = unaccounted(matched, repaired, pairs, verdict.noted, plain)
    verdict = _with_effect(verdict, effect)
    if (
        not left
        and effect > limits.VISIBLE_OUTPUT
        and all(kind in _MEASURED for _, kind in verdict.noted)
    ):
        reason = (
            f"constants that differ in their last digits change the outputs by {effect:.1e} of "
            "their size: what is computed of them magnifies it. Give both models the same digits"
        )
        return weaker(verdict, "unverified", [reason], names), []
    if left:
        found = "diverged" if any(one.is_fault for one in left) else "unverified"
        return weaker(verdict, found, [one.reason for one in left], [one.name for one in left]), [
            one for one in left if not one.excess.ratio <= ACCOUNTED
        ]
    instead, reasons = _other_reasons(matched, repaired, pairs, every, verdict, plain)
    return (weaker(verdict, instead, reasons, names) if reasons else verdict), []


def _with_effect(verdict: Verdict, effect: float) -> Verdict:
    """A verdict whose notes say by how much of their size they change the outputs, if they do."""
    if not effect:
        return verdict
    said = f"together with the other notes it changes the outputs by {effect:.1e} of their size"
    notes = (
        replace(note, detail="; ".join(filter(None, (note.detail, said)))) for note in verdict.notes
    )
    return replace(verdict, notes=tuple(notes))


def _other_reasons(
    matched: Match,
    repaired: Match,
    pairs: Sequence[OutputPair],
    every: Sequence[OutputPair],
    verdict: Verdict,
    plain: PlainRuns,
) -> tuple[str, Sequence[str]]:
    """Why outputs that are accounted for are no parity, and what they are instead."""
    reasons = unwritten_masks(matched, pairs, plain) or listed_otherwise(matched, pairs, plain)
    if reasons:
        return "unverified", reasons
    noted = any(note.kind == "low-precision" for note in verdict.notes)
    half = loosened(repaired, pairs, noted)
    formats = {pair.name: narrow_formats(repaired, pair) for pair in pairs if noted}
    # where both are in half precision, that one of them is, is no news
    both = {name for name, (a, b) in formats.items() if a and a == b}
    narrow = {name: half[name] for name in half.keys() & formats.keys() - both}
    reasons = precision_decides(matched, pairs, plain, exact_outputs(matched, {}), narrow, half)
    if reasons:
        return "unverified", reasons
    instead, reasons = stored_results(matched, pairs, every, plain)
    if reasons:
        return instead, reasons
    return "unverified", [
        *stored_leaves(plain),
        *stored_beside_draws(matched, pairs, plain),
        *doubtful_inputs(plain),
    ]


def weaker(
    verdict: Verdict, instead: str, reasons: Sequence[str], outputs: Sequence[str]
) -> Verdict:
    """A verdict with another in its place, for the reasons given, and on some of the outputs."""
    each = {**verdict.outputs, **dict.fromkeys(outputs, instead)}
    first, then = (
        (reasons, verdict.reasons) if verdict.verdict != instead else (verdict.reasons, reasons)
    )
    return replace(
        verdict,
        verdict=instead,
        reasons=tuple(dict.fromkeys((*first, *then))),
        outputs=each,
    )


def unaccounted(
    matched: Match,
    repaired: Match,
    pairs: Sequence[OutputPair],
    noted: Sequence[tuple[Mismatch, str]],
    plain: PlainRuns,
) -> tuple[list[Unaccounted], float]:
    """The outputs that differ by more than is accounted for, the worst first.

    Args:
        repaired: the match in which every divergence is repaired.
        noted: what was found and is no alarm, with its kind. Its effect is measured where it is
            needed: the candidate's outputs with the reference's values there.

    Returns:
        The outputs, and by how much of their size the notes change the outputs (0 if not needed).
    """
    if are_accounted(matched, pairs, plain, limits.WITHIN_ROUNDING):
        return [], 0.0
    compared = compared_outputs(matched, pairs, plain)
    own = exact_outputs(matched, {})
    if not exceeding(compared, own, limits.WITHIN_ROUNDING):
        return [], 0.0
    compared = _beyond_float64(matched, compared)
    found = exceeding(compared, own)
    if not found:
        # in half precision constants differ by much
        single = [one for one in compared if not any(narrow_formats(repaired, one.pair))]
        return exceeding(_as_moved(matched, single), own, limits.WITHIN_ROUNDING), 0.0
    # that another parameter changes no more than rounding where it is read, excuses no output
    noted = [one for one in noted if one[1] != "parameter-differs"]
    of_their_kind = (one for one, kind in noted if _is_of_its_kind(repaired, one, kind))
    substituted = reference_values(matched, of_their_kind)
    if not substituted:
        return _not_hidden(matched, compared, found, own), 0.0
    fixed = exact_outputs(matched, substituted)
    # what is large beside a column hides none of it
    effect = max(
        (by_column(own[one.name], fixed[one.name]) for one in compared if one.is_float), default=0.0
    )
    left = exceeding(compared, fixed)
    if not left and all(kind in _MEASURED for _, kind in noted):
        # what such a note leaves at an output shows there where all that it is of moves a little
        left = exceeding(_as_moved(matched, compared), own, limits.WITHIN_ROUNDING)
        # what the notes explain is no fault, however much of it there is
        left = [
            replace(one, excess=replace(one.excess, ratio=min(one.excess.ratio, FAULTY)))
            for one in left
        ]
    return left, effect


_MAY_BE_LOST = ": float32 loses as much where 1 is added to small values, and no float64 shows it"
# Kinds of notes that say no more than that values are rounded, at a place or all over it.
_MEASURED = ("rounding", "constant-precision")


def _as_moved(matched: Match, compared: Sequence[ComparedOutput]) -> list[ComparedOutput]:
    """The same, with no more accounted for than moves elements where all that is rounded moves."""
    found = []
    for one in compared:
        moved = moved_outputs(matched, one.pair, rounds) if one.is_float else None
        if moved is not None and moved[0].shape == moved[1].shape:  # one may be complex
            own = U32 * np.abs(one.reference) + LEAST
            own = np.where(np.isinf(one.allowed), np.inf, own)  # it overflows as it runs
            one = replace(one, allowed=np.maximum.reduce([own, *moved]) + one.besides)
        found.append(one)
    return found


def _not_hidden(
    matched: Match, compared: Sequence[ComparedOutput], found: Sequence[Unaccounted], exact: Outputs
) -> list[Unaccounted]:
    """The same, but excused what a function that has no float64 may lose where nothing looks."""
    if not any(run.fallbacks for run in (matched.reference.run, matched.side.run)):
        return list(found)
    wider = [
        replace(one, allowed=one.allowed + lost_of_ones(one.reference) / ACCOUNTED)
        for one in compared
        if one.is_float
    ]
    faults = {one.name for one in exceeding(wider, exact)}
    faults -= lost_in_float32_alone(matched, compared)
    faults |= {one.pair.name for one in compared if not one.is_float}
    return [one if one.name in faults else replace(one, excuse=_MAY_BE_LOST) for one in found]


def _beyond_float64(matched: Match, compared: Sequence[ComparedOutput]) -> list[ComparedOutput]:
    """The same, with what float64 itself does not compute accounted for."""
    found = []
    losses = lost_in_float64(matched, [one.pair for one in compared])
    for one, lost in zip(compared, losses, strict=True):
        if one.is_float:
            finite = np.abs(one.reference[np.isfinite(one.reference)])
            least = np.minimum(lost, limits.FLOAT64_CANCELLED * finite.max(initial=0.0))
            one = replace(one, allowed=one.allowed + least, besides=one.besides + least)
        found.append(one)
    return found


def _is_of_its_kind(repaired: Match, mismatch: Mismatch, kind: str) -> bool:
    """Whether each element by itself, however small, differs by no more than a note allows."""
    if kind == "null-distribution":
        return False  # without float64 the outputs as they ran are all there is to go by
    if mismatch.leaves and all(_is_rounded(repaired, leaf) for leaf in mismatch.leaves):
        return True  # as a support whose middle is zero but for the rounding of its ends
    limit = CUT if kind == "rounding" else limits.NOTED_ELEMENT * max(U32, mismatch.explained)
    case = None if kind == "random" else case_of(repaired, mismatch)
    if mismatch.values is None:
        return True
    if case is None:  # of complex values nothing is known by element
        return repaired.reference.array(mismatch.values[0]).dtype.kind != "c"
    tape, value = repaired.reference.tape, mismatch.values[0]
    recorded = tape.recorded_array(value)
    first = case.first
    if recorded.shape != first.reference.shape:
        return True
    if kind == "low-precision" and _is_of_narrow_leaves(repaired, mismatch, case):
        return True
    error = rounding(recorded, repaired.reference.array(value))
    if not elementwise(first.reference, first.candidate, error) <= limit:
        return False
    try:
        moved = moved_by_rounding(tape, [value])[value]
    except ParityError:
        return True  # moved values are outside what an operation takes
    return elementwise(first.reference, first.candidate, error, moved) <= limit


def _is_of_narrow_leaves(repaired: Match, mismatch: Mismatch, case: Case) -> bool:
    """Whether no element differs by more than another rounding of the narrow leaves moves it.

    Where large terms cancel that is more than an element's float32 rounding makes likely, which is
    right by luck as often.
    """
    first, random = case.first, np.random.default_rng(0)
    most = np.zeros(first.reference.shape)
    sides = (
        (repaired.reference, case.run_reference, [leaf.reference for leaf in mismatch.leaves]),
        (repaired.side, case.run_candidate, [leaf.candidate for leaf in mismatch.leaves]),
    )
    for run, replay, leaves in sides:
        dtypes = {leaf: run.tape.values[leaf].dtype for leaf in leaves if leaf is not None}
        if not any(dtype in UNITS and dtype != "float32" for dtype in dtypes.values()):
            continue
        for _ in range(limits.OTHER_ROUNDINGS):
            moved = {
                leaf: otherwise_rounded(run.array(leaf), dtype, random)
                for leaf, dtype in dtypes.items()
            }
            try:
                step = replay(first.given, moved) - replay(first.given)
            except ParityError:  # moved values are outside what an operation takes
                return False
            np.fmax(most, np.abs(step), out=most)
    gap = np.abs(first.reference - first.candidate)
    return bool((gap <= limits.NOTED_ELEMENT * FACTOR * most).all())


def _is_rounded(repaired: Match, leaf: DifferingLeaf) -> bool:
    """Whether a constant differs by float32 rounding, of an element or of the largest."""
    pair = repaired.pairs.get(leaf.candidate) if leaf.candidate is not None else None
    if pair is None or pair.reference != leaf.reference:
        return False
    reference = repaired.reference.array(pair.reference)
    a, b = pair.order.apply(reference), repaired.side.array(pair.candidate)
    size = np.maximum(np.abs(a), np.abs(b))
    of_largest = 2 * ACCOUNTED * rounded_constants(a, b)
    return bool((np.abs(a - b) <= np.maximum(16 * U32 * size, of_largest)).all())


def exceeding(
    compared: Sequence[ComparedOutput], candidate: Outputs, limit: float = ACCOUNTED
) -> list[Unaccounted]:
    found = []
    for one in compared:
        laid_out = one.lay(candidate[one.name])
        if laid_out is not None:
            over = excess(one.reference, laid_out, one.allowed, one.masks, limit)
            found.append(Unaccounted(one.pair.name, over))
    found = [one for one in found if not one.excess.ratio <= limit]
    return sorted(found, key=lambda one: -one.excess.ratio)


def not_drawn(matched: Match, pairs: Sequence[OutputPair], plain: PlainRuns) -> list[OutputPair]:
    """The outputs that random draws change in neither model."""
    return [
        pair
        for pair in pairs
        if not any(name in one.drawn for one, name in zip(plain, pair.names, strict=True))
    ]


def draws_by_itself(matched: Match) -> bool:
    """Whether the candidate draws random samples for which the reference's were not substituted."""
    tape = matched.side.tape
    return any(
        tape.ops[index].role == "random" and value not in matched.draws
        for index in tape.used
        for value in tape.ops[index].outputs
    )
