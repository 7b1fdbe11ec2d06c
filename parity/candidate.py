"""One candidate against the reference, in steps: match, locate, judge, check, measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from parity import budget
from parity.architecture import structural_differences
from parity.diagnosis.aligned import aligned
from parity.diagnosis.closing_checks import close
from parity.diagnosis.distribution_laws import in_law_of
from parity.diagnosis.doubtful_divergences import doubted
from parity.diagnosis.draw_notes import with_draws
from parity.diagnosis.host_outputs import Beside, by_value, judge_beside
from parity.diagnosis.locate import locate
from parity.diagnosis.oracle import hold_against
from parity.diagnosis.output_pairs import pair_outputs
from parity.diagnosis.outputs import in_layout_of_a_cube
from parity.diagnosis.redraw_check import redraw
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replay_check import PlainRun
from parity.diagnosis.unshared import unshared
from parity.diagnosis.verdict import Verdict, judge
from parity.findings import StructuralDifference
from parity.matching.match import Indexed, Match, match
from parity.measures.heads import paired_heads
from parity.measures.layers import layer_rows
from parity.measures.outputs import output_rows
from parity.progress import Phases
from parity.result import ByFormula, Comparison, ModelSummary
from parity.tape import Replay, Tape

# About how long each phase takes where models agree, in units of recording the reference.
RECORDING, MATCHING, LOCATING, EXPLAINING, RUNNING, MEASURING = 1.0, 4.0, 0.5, 0.5, 3.0, 2.0
WHOLE = RECORDING + MATCHING + LOCATING + EXPLAINING + RUNNING + MEASURING
_LOCATING_ONE, _EXPLAINING_ONE = 1.0, 2.0  # what each mismatch adds


@dataclass(frozen=True)
class _Outputs:
    """The outputs of two models.

    Attributes:
        pairs: those of both models.
        traced: those of them that a tape can replay.
        problems: why some outputs have no counterpart.
        beside: the verdicts on the others.
    """

    pairs: Sequence[OutputPair]
    traced: Sequence[OutputPair]
    problems: Sequence[str]
    beside: Beside


@dataclass(frozen=True)
class _Judged:
    """The match of the models as they are, the one with every mismatch repaired, the verdict."""

    matched: Match
    repaired: Match
    verdict: Verdict


def compare_candidate(
    reference: Indexed,
    candidate: Tape,
    plain_runs: tuple[PlainRun, PlainRun],
    formula: Tape | None,
    phases: Phases,
) -> Comparison:
    """Compares one candidate with the reference, and both with the formula's tape.

    Args:
        plain_runs: how both are run without being recorded.
    """
    reference, candidate, plain_runs = aligned(reference, candidate, plain_runs)
    pairs, problems = pair_outputs(reference.tape, candidate)
    outputs = _Outputs(
        pairs,
        [pair for pair in pairs if not by_value(reference.tape, candidate, pair)],
        problems,
        judge_beside(reference.tape, candidate, pairs, plain_runs),
    )
    judged = _judge(reference, candidate, outputs, phases)
    phases.begin(f"running {candidate.model} plainly", RUNNING)
    judged = _checked(reference, candidate, outputs, judged, plain_runs, phases)
    phases.begin(f"measuring the layers of {candidate.model}", MEASURING)
    return _measured(reference, candidate, outputs, judged, formula)


def structure_of(
    reference: Tape, candidate: Tape, pairs: Sequence[OutputPair]
) -> tuple[StructuralDifference, ...]:
    """What two models are made of, compared."""
    outputs = [(pair.reference, pair.candidate) for pair in pairs]
    return structural_differences(reference, candidate, outputs)


def _judge(
    reference: Indexed, candidate: Tape, outputs: _Outputs, phases: Phases, planned: bool = True
) -> _Judged:
    """Matches, locates and explains.

    Args:
        planned: whether the weights of the phases are part of the whole that was announced.
    """

    def begin(phase: str, weight: float, more: float = 0.0) -> None:
        phases.begin(phase, weight * planned, more + weight * (not planned))

    begin(f"matching {candidate.model}", MATCHING)
    matched = match(reference, candidate, phases.operations(len(candidate.ops)))
    begin(f"locating where {candidate.model} differs", LOCATING)

    def reached(count: int, share: float) -> None:
        expected = count / (share or 1.0)  # as many in the rest as up to here
        phases.reach(share, _LOCATING_ONE * expected, _EXPLAINING_ONE * expected)

    weights = unshared(matched, outputs.traced)
    if weights is not None:
        mismatches, repaired = [weights], matched
    else:
        mismatches, repaired = locate(matched, outputs.traced, reached)
    begin(f"explaining {candidate.model}", EXPLAINING, _EXPLAINING_ONE * len(mismatches))
    explained = phases.operations(len(mismatches))
    problems = [*outputs.problems, *outputs.beside.unverified]
    verdict = judge(
        matched, repaired, mismatches, outputs.pairs, problems, explained, outputs.beside
    )
    return _Judged(matched, repaired, verdict)


def _checked(
    reference: Indexed,
    candidate: Tape,
    outputs: _Outputs,
    judged: _Judged,
    plain_runs: tuple[PlainRun, PlainRun],
    phases: Phases,
) -> _Judged:
    """The verdict after the checks that run the models again, or look more closely."""
    if judged.verdict.verdict == "parity":
        judged = _on_fresh_samples(judged, outputs)
    matched, verdict = judged.matched, judged.verdict
    if verdict.verdict == "diverged":
        return replace(judged, verdict=doubted(verdict, matched, outputs.pairs, plain_runs))
    verdict, left = close(
        matched, judged.repaired, outputs.traced, outputs.pairs, verdict, plain_runs
    )
    if left:
        # what hides beside larger values is found where each element counts by itself
        sharp = Indexed(reference.tape, reference.run, reference, sharp=True)
        again = _judge(sharp, candidate, outputs, phases, planned=False)
        if again.verdict.verdict == "diverged":
            reasons = (*again.verdict.reasons, *(one.reason for one in left))
            return replace(again, verdict=replace(again.verdict, reasons=reasons))
    return replace(judged, verdict=verdict)


def _on_fresh_samples(judged: _Judged, outputs: _Outputs) -> _Judged:
    """The verdict on models that agree on the samples that they drew, if they draw any."""
    found = redraw(judged.matched, outputs.traced)
    if found is None:
        return judged
    if found.differing is not None:
        mismatches, repaired = locate(found.differing, outputs.traced)
        problems = [*outputs.problems, *outputs.beside.unverified]
        other = judge(
            found.differing, repaired, mismatches, outputs.pairs, problems, beside=outputs.beside
        )
        if other.verdict != "parity":
            return _Judged(found.differing, repaired, other)
    # what differs on fresh samples and could not be located is unverified there
    return replace(judged, verdict=with_draws(judged.verdict, judged.matched, found))


def _measured(
    reference: Indexed,
    candidate: Tape,
    outputs: _Outputs,
    judged: _Judged,
    formula: Tape | None,
) -> Comparison:
    """The result: the verdict with the rows of layers and outputs, coverage and structure."""
    matched, verdict, pairs = judged.matched, judged.verdict, outputs.pairs
    return Comparison(
        candidate=ModelSummary(candidate.model, candidate.framework, len(candidate.ops)),
        verdict=verdict.verdict,
        reasons=verdict.reasons,
        divergences=verdict.divergences,
        notes=verdict.notes,
        by_formula=_by_formula(formula, reference, outputs, judged),
        structure=_structure_in_time(reference.tape, candidate, outputs, verdict),
        layers=layer_rows(judged.repaired, verdict.ends),
        outputs=output_rows(
            reference,
            candidate,
            pairs,
            {**verdict.outputs, **outputs.beside.verdicts},
            partial(in_layout_of_a_cube, matched),
        ),
        heads=paired_heads(reference.tape, candidate, pairs),
        coverage=verdict.coverage,
        final_values={pair.name: matched.side.run.array(pair.candidate) for pair in pairs},
        caveats=(
            *reference.tape.caveats,
            *candidate.caveats,
            *outputs.beside.notes,
            *_not_in_float64(reference.run),
            *_not_in_float64(matched.side.run),
            *(said for said in budget.current().said if said not in verdict.reasons),
        ),
    )


def _by_formula(
    formula: Tape | None, reference: Indexed, outputs: _Outputs, judged: _Judged
) -> ByFormula | None:
    if formula is None:
        return None
    formula = in_law_of(formula, reference.tape)
    answers = pair_outputs(reference.tape, formula)
    verdict = judged.verdict.verdict
    return hold_against(formula, *answers, judged.matched, outputs.pairs, verdict)


def _structure_in_time(
    reference: Tape, candidate: Tape, outputs: _Outputs, verdict: Verdict
) -> tuple[StructuralDifference, ...]:
    """The differences that are found while the budget lasts; none are looked for on parity."""
    if verdict.verdict == "parity":
        return ()
    try:
        with budget.until(1.0, budget.LEAST):
            return structure_of(reference, candidate, outputs.pairs)
    except budget.Spent:
        budget.current().miss("what the models are made of")
        return ()


def _not_in_float64(run: Replay) -> tuple[str, ...]:
    """Why operations ran as recorded, in the user's words; each kind at a line once."""
    found = []
    for op in run.fallbacks:
        where = f" at {op.site.source}" if op.site.source else ""
        found.append(
            f"{run.tape.model}: {op.kind}{where} was replayed as recorded, not in float64: "
            f"{run.reasons[op.index]}"
        )
    return tuple(dict.fromkeys(found))
