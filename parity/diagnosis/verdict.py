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
from parity.diagnosis.outputs import output_matches, output_verdicts, shape_reason
from parity.diagnosis.proof import Proofs
from parity.diagnosis.region import Mismatch, OutputPair
from parity.diagnosis.sorted_mismatches import Evidence, SortedMismatches
from parity.diagnosis.vacuous import vacuous
from parity.findings import Divergence, Note
from parity.matching.match import Match
from parity.numerics.difference import count_mask_differences, mask_sentinels
from parity.result import Coverage


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
    progress: Callable[..., Any] | None,
    beside: Beside,
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
    divergences = found.without_small(divergences)
    tapes = matched.tapes
    shapes = {**_shape_reasons(matched, repaired, outputs), **beside.differing}
    masks = {pair.name: reason for pair in outputs if (reason := _masks(matched, pair))}
    doubts = [*structure, *found.unverified, *beside.doubts]
    doubts += [*tapes[0].doubts, *tapes[1].doubts, *tapes[0].lost_draws, *tapes[1].lost_draws]
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
    """The divergences that outputs confirm, doubts, and whether all is known that decided this."""
    matched, outputs = evidence.matched, evidence.outputs
    faults = [mismatch for mismatch, _ in found.faults]
    complete = True
    # where each element counts by itself, the outputs are known to differ
    if divergences and not matched.reference.sharp:
        whole = agree_as_a_whole(matched, outputs)
        if whole is None:
            # it hangs on what repairs do: where some were left out it is no more than likely
            whole = repairs_harm(matched, outputs, divergences, faults)
            if whole is None:
                whole = no_repair_shows(matched, outputs, divergences, faults)
            complete = whole is None or budget.current().all_explained
        if whole is not None:
            found.demote(divergences, whole)
            divergences = []
    unverified: list[str] = []
    if divergences and found.is_elsewhere(divergences):
        unverified += [_seen_elsewhere(one) for one in divergences]
        found.rename("divergence", "constant-precision")
        divergences = []
    one = one_in_law(matched, evidence.repaired, outputs, divergences, faults, evidence.laws)
    if one:
        unverified.append(one)
        found.rename("divergence", "unpaired-random")
        divergences = []
    unknown = not any(one.is_named for one in divergences) and not matched.drawing.reference
    if divergences and unknown and no_more_than_constants(matched, outputs):
        unverified += [_unexplained(one) for one in divergences]
        found.rename("divergence", "rounding")
        divergences = []
    return divergences, unverified, complete


def _shape_reasons(
    matched: Match, repaired: Match, outputs: Sequence[OutputPair]
) -> dict[str, str]:
    """What is said of outputs of two shapes, by name."""
    reference, candidate = matched.tapes
    return {
        pair.name: shape_reason(
            pair.name,
            (reference.model, candidate.model),
            (matched.reference.array(pair.reference), matched.side.array(pair.candidate)),
        )
        for pair in outputs
        if reference.values[pair.reference].shape != candidate.values[pair.candidate].shape
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


def _masks(matched: Match, pair: OutputPair) -> str:
    """NaN or infinity in the working precision in one model only."""
    a, b = matched.recorded(pair.values)
    if a.shape != b.shape:
        return ""
    a, b = mask_sentinels(a), mask_sentinels(b)
    count = count_mask_differences(a, b)
    if not count:
        return ""
    floats = a.dtype.kind == b.dtype.kind == "f"
    what = "NaN" if floats and (np.isnan(a) != np.isnan(b)).any() else "infinite"
    return f"output {pair.name!r} is {what} in one model only, at {count} of {a.size} places"


def _coverage(
    matched: Match, repaired: Match, outputs: Sequence[OutputPair], structure: Sequence[str]
) -> Coverage:
    """Counts informative values that the inputs reach, moves left out."""
    taken = {matched.reference.print(pair.reference) for pair in repaired.pairs.values()}
    reference, candidate = (
        [
            value
            for op in side.tape.ops
            if not op.static and op.role != "move"
            for value in op.outputs
            if side.informative(value)
        ]
        for side in (matched.reference, repaired.side)
    )
    known = repaired.pairs.keys() | repaired.injected.keys()
    return Coverage(
        reference_values=len(reference),
        reference_matched=sum(matched.reference.print(value) in taken for value in reference),
        candidate_values=len(candidate),
        candidate_matched=sum(value in known for value in candidate),
        outputs_compared=len(outputs),
        outputs_total=len(outputs) + len(structure),
    )
