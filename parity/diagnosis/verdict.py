"""From what matched and where the models diverge to the verdict, with every reason for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity import budget
from parity.diagnosis.divergences import explained
from parity.diagnosis.divergent_draws import one_in_law
from parity.diagnosis.final_check import (
    agree_as_a_whole,
    no_more_than_constants,
    no_repair_shows,
    repairs_harm,
)
from parity.diagnosis.host_outputs import Beside
from parity.diagnosis.low_precision import (
    low_precision_divergences,
    low_precision_doubts,
    low_precision_notes,
)
from parity.diagnosis.outputs import output_matches, output_verdicts
from parity.diagnosis.proof import Proofs
from parity.diagnosis.region import Mismatch, OutputPair
from parity.diagnosis.shape_mismatch import shape_reason
from parity.diagnosis.sorted_mismatches import Evidence, SortedMismatches
from parity.diagnosis.vacuous import vacuous
from parity.findings import Divergence, Note
from parity.matching.match import Match
from parity.numerics.difference import count_mask_differences, mask_sentinels
from parity.result import Coverage
from parity.tape import Tape


@dataclass(frozen=True)
class Verdict:
    """What a comparison came to.

    Attributes:
        verdict: `"parity"`, `"diverged"` or `"unverified"`.
        reasons: why it is not parity, in the user's words, the first the most important.
        divergences: root causes in the order of the data flow.
        notes: what is reported without being an alarm.
        ends: the candidate's values that end a mismatch, with its kind.
        outputs: the verdict on each output by itself, by name.
        noted: what the notes are of, with its kind, where it was found between operations.
    """

    verdict: str
    reasons: tuple[str, ...]
    divergences: tuple[Divergence, ...]
    notes: tuple[Note, ...]
    coverage: Coverage
    ends: Mapping[int, str]
    outputs: Mapping[str, str]
    noted: tuple[tuple[Mismatch, str], ...] = ()


def judge(
    matched: Match,
    repaired: Match,
    mismatches: Sequence[Mismatch],
    outputs: Sequence[OutputPair],
    structure: Sequence[str],
    progress: Callable[..., Any] | None = None,
    beside: Beside | None = None,
) -> Verdict:
    """Weighs what was found; parity is only what was really compared.

    Args:
        matched: the match as the models are.
        repaired: the match after every mismatch was repaired.
        structure: outputs that have no counterpart.
        progress: called after each mismatch that was explained.
        beside: what the outputs that are on no tape came to.
    """
    evidence = Evidence(matched, repaired, mismatches, outputs)
    found = SortedMismatches.of(evidence)
    proofs = Proofs(matched, repaired, mismatches, outputs)
    divergences, idle = explained(proofs, found.faults, progress)
    for mismatch, note in idle:
        found.note(mismatch, note)
    beside = beside or Beside()
    tapes = matched.reference.tape, matched.side.tape
    shapes = {**_shape_reasons(matched, repaired, outputs), **beside.differing}
    masks = {pair.name: reason for pair in outputs if (reason := _masks(*tapes, pair))}
    doubts = [*structure, *found.unverified, *beside.doubts]
    doubts += [doubt for tape in tapes for doubt in tape.doubts]
    doubts += [doubt for tape in tapes for doubt in tape.lost_draws]
    coverage = _coverage(matched, repaired, outputs, structure)
    unverified = [*dict.fromkeys(doubts), *vacuous(matched, outputs, coverage)]
    complete = budget.current().all_places
    if not shapes and not masks:
        divergences, reasons, known = _without_doubtful(evidence, found, divergences)
        unverified += reasons
        complete &= known
    if not any(one.unshared for one in mismatches):  # which says all that there is to say
        divergences += low_precision_divergences(repaired)  # in float64 these agree
        found.notes += low_precision_notes(repaired)
        unverified += low_precision_doubts(repaired)
    if not divergences and not complete:
        unverified += budget.current().said
    if divergences or shapes or masks:
        count = [counted(divergences)] * bool(divergences)
        verdict = "diverged"
        unverified = [*shapes.values(), *masks.values(), *count, *unverified]
    else:
        verdict = "unverified" if unverified else "parity"
    return Verdict(
        verdict,
        tuple(unverified),
        tuple(divergences),
        tuple(found.notes),
        coverage,
        found.ends,
        output_verdicts(matched, outputs, verdict, found.ends, {*shapes, *masks}),
        tuple(found.noted),
    )


def _without_doubtful(
    evidence: Evidence, found: SortedMismatches, divergences: list[Divergence]
) -> tuple[list[Divergence], list[str], bool]:
    """Divergences without those that the outputs do not confirm, which become notes or doubts.

    Returns:
        What is left, the doubts, and whether all is known that this was decided by.
    """
    matched, outputs = evidence.matched, evidence.outputs
    complete = True
    # where each element counts by itself, the outputs are known to differ
    if divergences and not matched.reference.sharp:
        whole = agree_as_a_whole(matched, outputs)
        if whole is None:
            whole = _seen_in_no_output(matched, outputs, divergences, found)
            complete = whole is None or budget.current().all_explained
        if whole is not None:
            found.demote(divergences, whole)
            divergences = []
    unverified: list[str] = []
    if divergences and found.is_elsewhere(divergences):
        unverified += [_seen_elsewhere(one) for one in divergences]
        found.rename("divergence", "constant-precision")
        divergences = []
    faults = [mismatch for mismatch, _ in found.faults]
    one = one_in_law(matched, evidence.repaired, outputs, divergences, faults, evidence.laws)
    if one:
        unverified.append(one)
        found.rename("divergence", "unpaired-random")
        divergences = []
    if divergences and _may_be_constants(matched, outputs, divergences):
        unverified += [_unexplained(one) for one in divergences]
        found.rename("divergence", "rounding")
        divergences = []
    return divergences, unverified, complete


def _seen_in_no_output(
    matched: Match,
    outputs: Sequence[OutputPair],
    divergences: Sequence[Divergence],
    found: SortedMismatches,
) -> float | None:
    """How far the outputs differ, where none shows any of the divergences; else None.

    It hangs on what repairs do: where the budget left some of them out it is no more than likely.
    """
    whole = repairs_harm(divergences)
    if whole is not None:
        return whole
    return no_repair_shows(matched, outputs, divergences, [one for one, _ in found.faults])


def _may_be_constants(
    matched: Match, outputs: Sequence[OutputPair], divergences: Sequence[Divergence]
) -> bool:
    """Whether nothing explains them, and rounded constants do to the outputs what they do."""
    if any(one.cause is not None for one in divergences) or matched.drawing.reference:
        return False
    return no_more_than_constants(matched, outputs)


def _shape_reasons(
    matched: Match, repaired: Match, outputs: Sequence[OutputPair]
) -> dict[str, str]:
    """What is said of outputs of two shapes, by name."""
    tapes = matched.reference.tape, matched.side.tape
    return {
        pair.name: shape_reason(
            pair.name,
            tapes[0].model,
            matched.reference.array(pair.reference),
            tapes[1].model,
            matched.side.run.array(pair.candidate),
        )
        for pair in outputs
        if tapes[0].values[pair.reference].shape != tapes[1].values[pair.candidate].shape
        and not output_matches(repaired, pair)
    }


def counted(divergences: Sequence[Divergence]) -> str:
    """How many there are, as one of a verdict's reasons."""
    return f"{len(divergences)} divergence{'s' * (len(divergences) != 1)}"


def _seen_elsewhere(divergence: Divergence) -> str:
    return (
        f"{divergence.candidate.described} is the reference's but for rounding on these inputs, "
        f"and may be another function on others: {divergence.detail}. Compare on inputs like those "
        "too, if the models are to take them"
    )


def _unexplained(divergence: Divergence) -> str:
    return (
        f"{divergence.candidate.described} differs by {divergence.residual:.1e} of its size and "
        "nothing explains it, but the outputs differ by no more than one rounding of inputs and "
        "constants moves them: a constant may be rounded to float32 in one model alone"
    )


def _masks(reference: Tape, candidate: Tape, pair: OutputPair) -> str:
    """NaN or infinity in the working precision in one model only."""
    a = reference.adapter.to_numpy(reference.recorded[pair.reference])
    b = candidate.adapter.to_numpy(candidate.recorded[pair.candidate])
    if a.shape != b.shape:
        return ""
    a, b = mask_sentinels(a), mask_sentinels(b)
    count = count_mask_differences(a, b)
    if not count:
        return ""
    nan = (
        (np.isnan(a) != np.isnan(b)).any() if a.dtype.kind == "f" and b.dtype.kind == "f" else False
    )
    what = "NaN" if nan else "infinite"
    return f"output {pair.name!r} is {what} in one model only, at {count} of {a.size} places"


def _coverage(
    matched: Match, repaired: Match, outputs: Sequence[OutputPair], structure: Sequence[str]
) -> Coverage:
    """Counts informative values that the inputs reach, moves left out."""
    taken = {matched.reference.print(pair.reference) for pair in repaired.pairs.values()}
    ours = [
        matched.reference.print(value)
        for op in matched.reference.tape.ops
        if not op.static and op.role != "move"
        for value in op.outputs
        if matched.reference.informative(value)
    ]
    theirs = [
        value
        for op in repaired.side.tape.ops
        if not op.static and op.role != "move"
        for value in op.outputs
        if repaired.side.informative(value)
    ]
    return Coverage(
        reference_values=len(ours),
        reference_matched=sum(print_ in taken for print_ in ours),
        candidate_values=len(theirs),
        candidate_matched=sum(
            value in repaired.pairs or value in repaired.injected for value in theirs
        ),
        outputs_compared=len(outputs),
        outputs_total=len(outputs) + len(structure),
    )
