"""From what matched and where the models part to the verdict, with every reason for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from parity import budget
from parity.diagnosis import limits
from parity.diagnosis.classify import Kind, classify
from parity.diagnosis.divergences import explained, site_of, sites_of
from parity.diagnosis.divergent_draws import behind_unsure_draws, one_in_law
from parity.diagnosis.final_check import (
    agree_as_a_whole,
    beyond_rounding,
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
from parity.diagnosis.same_distribution import Distributed, distributed
from parity.diagnosis.shape_mismatch import shape_reason
from parity.diagnosis.vacuous import vacuous
from parity.matching.match import Match
from parity.numerics.difference import count_mask_differences, mask_sentinels
from parity.report.result import Coverage, Divergence, Note
from parity.tape import Site, Tape

_OTHER_WEIGHTS = ("weight-values", "weight-scale", "weight-swapped")
_UNVERIFIABLE = ("no-float64", "host-read", "other-length")


@dataclass(frozen=True)
class Verdict:
    """What a comparison came to.

    Attributes:
        verdict: `"parity"`, `"diverged"` or `"unverified"`.
        reasons: why it is not parity, in the user's words, the first the most important.
        divergences: root causes in the order of the data flow.
        notes: what is told without being an alarm.
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
    laws = partial(distributed, matched, outputs)
    found = _Sorted.of(matched, repaired, mismatches, outputs, laws)
    proofs = Proofs(matched, repaired, mismatches, outputs)
    divergences, idle = explained(proofs, found.faults, progress)
    for mismatch, note in idle:
        found.note(mismatch, note)
    beside = beside or Beside()
    tapes = matched.reference.tape, matched.side.tape
    shapes = {**_shape_reasons(matched, repaired, outputs), **beside.apart}
    masks = {pair.name: reason for pair in outputs if (reason := _masks(*tapes, pair))}
    doubts = [*structure, *found.unverified, *beside.doubts]
    doubts += [doubt for tape in tapes for doubt in tape.doubts]
    doubts += [doubt for tape in tapes for doubt in tape.lost_draws]
    coverage = _coverage(matched, repaired, outputs, structure)
    unverified = [*dict.fromkeys(doubts), *vacuous(matched, outputs, coverage)]
    like = not shapes and not masks
    # where each element counts by itself, the outputs are known to differ
    complete = budget.current().all_places
    if divergences and like and not matched.reference.sharp:
        whole = agree_as_a_whole(matched, outputs)
        if whole is None:
            whole = _seen_in_no_output(matched, outputs, divergences, found)
            complete &= whole is None or budget.current().all_explained
        if whole is not None:
            found.demote(divergences, whole)
            divergences = []
    if divergences and like and found.is_elsewhere(divergences):
        unverified += [_seen_elsewhere(one) for one in divergences]
        found.rename("divergence", "constant-precision")
        divergences = []
    faults = [mismatch for mismatch, _ in found.faults]
    one = one_in_law(matched, repaired, outputs, divergences, faults, laws) if like else ""
    if one:
        unverified.append(one)
        found.rename("divergence", "unpaired-random")
        divergences = []
    if divergences and like and _may_be_constants(matched, outputs, divergences):
        unverified += [_unexplained(one) for one in divergences]
        found.rename("divergence", "rounding")
        divergences = []
    if not any(one.unshared for one in mismatches):  # which says all that there is to say
        divergences += low_precision_divergences(repaired)  # in float64 these agree
        found.notes += low_precision_notes(repaired)
        unverified += low_precision_doubts(repaired)
    if not divergences and not complete:
        unverified += budget.current().said
    if divergences or shapes or masks:
        told = [counted(divergences)] * bool(divergences)
        verdict, reasons = "diverged", (*shapes.values(), *masks.values(), *told, *unverified)
    else:
        verdict, reasons = "unverified" if unverified else "parity", tuple(unverified)
    return Verdict(
        verdict,
        reasons,
        tuple(divergences),
        tuple(found.notes),
        coverage,
        found.ends,
        output_verdicts(matched, outputs, verdict, found.ends, {*shapes, *masks}),
        tuple(found.noted),
    )


@dataclass
class _Sorted:
    """What was found, by what follows from it; see `Verdict`.

    Attributes:
        faults: divergences, with what else is known of each.
        unverified: reasons why something could not be told.
        elsewhere: where other inputs than those that were given show a divergence.
    """

    faults: list[tuple[Mismatch, str]] = field(default_factory=list)
    noted: list[tuple[Mismatch, str]] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    unverified: list[str] = field(default_factory=list)
    ends: dict[int, str] = field(default_factory=dict)
    elsewhere: set[tuple[Site, Site]] = field(default_factory=set)

    @classmethod
    def of(
        cls,
        matched: Match,
        repaired: Match,
        mismatches: Sequence[Mismatch],
        outputs: Sequence[OutputPair],
        laws: Callable[[], Distributed | None],
    ) -> _Sorted:
        found = cls()
        for number, mismatch in enumerate(mismatches):
            try:
                with budget.until(budget.SORTING, 0.0 if number else budget.LEAST):
                    told = classify(repaired, mismatch, outputs)
                    kind, detail = found._kind(
                        matched, repaired, mismatches, mismatch, told, outputs, laws
                    )
            except budget.Spent:
                budget.current().miss(budget.KINDS)
                # the outputs may show that there is a fault; it is at the first that may be one
                if found.faults or not mismatch.residual > max(
                    mismatch.explained, limits.DIVERGENT_ANYWAY
                ):
                    continue
                if any(mismatch.random) or not beyond_rounding(matched, outputs):
                    continue
                told, kind, detail = Kind("divergence"), "divergence", ""
            if mismatch.values is not None:
                found.ends[mismatch.values[1]] = kind
            if kind == "divergence":
                found.faults.append((mismatch, detail))
                if told.elsewhere:
                    found.elsewhere.add(sites_of(mismatch))
            elif kind == "unlocated":
                continue
            elif kind == "unpaired-random":
                found.unverified.append(detail)
            elif kind in _UNVERIFIABLE:
                found.unverified.append(_unverified(kind, mismatch))
            else:
                found.notes.append(Note(kind, *sites_of(mismatch), mismatch.residual, detail))
                found.noted.append((mismatch, kind))
        return found

    def _kind(
        self,
        matched: Match,
        repaired: Match,
        mismatches: Sequence[Mismatch],
        mismatch: Mismatch,
        kind: Kind,
        outputs: Sequence[OutputPair],
        laws: Callable[[], Distributed | None],
    ) -> tuple[str, str]:
        """The kind, where draws that have no counterpart are a divergence if that can be seen.

        Where the budget ended the search for a place, the outputs have to show that it is one.
        """
        if kind.name == "divergence" and mismatch.residual > limits.NEARLY_SAME:
            unsure = behind_unsure_draws(matched, repaired, outputs, mismatches)
            seen = laws() if unsure else None
            if seen is not None and not seen.differ:
                return "unpaired-random", f"{unsure} {seen}"
        if kind.name == "divergence" and mismatch.values is None:
            if not budget.current().all_places and not beyond_rounding(matched, outputs):
                return "unlocated", ""
        if kind.name == "one-draws":  # its outputs are fixed, and the other's are not
            seen = laws()
            if seen is None or seen.differ:
                return "divergence", kind.detail
            return "unpaired-random", f"{kind.detail}; {seen}"
        if kind.name != "unpaired-random":
            return kind.name, kind.detail
        differ, said = _of_unpaired(matched, laws, kind.detail)
        return "divergence" if differ else kind.name, said

    def is_elsewhere(self, divergences: Sequence[Divergence]) -> bool:
        """Whether nothing explains them, and on the given inputs they are within rounding."""
        return all(
            one.cause is None and (one.reference, one.candidate) in self.elsewhere
            for one in divergences
        )

    def note(self, mismatch: Mismatch, note: Note) -> None:
        """Makes a note of a divergence that changes nothing on these inputs."""
        self.notes.append(note)
        if mismatch.values is not None:
            self.ends[mismatch.values[1]] = note.kind

    def demote(self, divergences: Sequence[Divergence], whole: float) -> None:
        """Makes notes of divergences that no output shows."""
        self.notes += [_as_note(divergence, whole) for divergence in divergences]
        self.rename("divergence", self.notes[-1].kind)

    def rename(self, kind: str, instead: str) -> None:
        """Has another kind where a mismatch of one kind ended."""
        self.ends = {end: instead if one == kind else one for end, one in self.ends.items()}


def _seen_in_no_output(
    matched: Match,
    outputs: Sequence[OutputPair],
    divergences: Sequence[Divergence],
    found: _Sorted,
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


def _of_unpaired(
    matched: Match, laws: Callable[[], Distributed | None], detail: str
) -> tuple[bool, str]:
    """Whether draws without a counterpart are seen to differ in distribution, and what is said."""
    if matched.reference.tape.lost_draws or matched.side.tape.lost_draws:
        return False, detail
    seen = laws()
    if seen is None:
        return False, detail
    return seen.differ, f"{detail.split('. ')[0]}; {seen}" if seen.differ else f"{detail} {seen}"


def counted(divergences: Sequence[Divergence]) -> str:
    """How many there are, as one of a verdict's reasons."""
    return f"{len(divergences)} divergence{'s' * (len(divergences) != 1)}"


def _as_note(divergence: Divergence, whole: float) -> Note:
    """What is no divergence on these inputs; another weight is told as what it is."""
    agree = f"nothing put in, the models' outputs agree to {whole:.0e} in float64"
    cause = divergence.cause
    sites = divergence.reference, divergence.candidate
    if cause is not None and cause.kind in _OTHER_WEIGHTS:
        detail = f"{cause.summary}; {agree}, on other inputs they may not"
        return Note("parameter-differs", *sites, divergence.residual, detail)
    if not divergence.residual <= limits.DIVERGENT_ANYWAY:
        detail = f"{agree}, on other inputs they may not"
        return Note("no-effect", *sites, divergence.residual, detail)
    return Note("constant-precision", *sites, divergence.residual, agree)


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


def _unverified(kind: str, mismatch: Mismatch) -> str:
    what = site_of(mismatch.candidate).described
    if kind == "host-read":
        return (
            f"{what} computes with numbers that Python made of the model's values, "
            f"and differs by {mismatch.residual:.1e}: rounding cannot be told from a fault. Keep "
            "them tensors"
        )
    if kind == "other-length":
        return (
            f"{what} gives more numbers in float64 than as it ran, or fewer, as of those above a "
            f"limit, and differs by {mismatch.residual:.1e}: rounding cannot be told from a fault"
        )
    return f"{what} has no float64: rounding cannot be told from a fault there"


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
