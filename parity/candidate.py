"""One candidate against the reference, in steps: match, locate, judge, check, measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from parity import budget
from parity.architecture import structural_differences
from parity.diagnosis.aligned import aligned
from parity.diagnosis.cells_in_gates import has_cells, in_gates
from parity.diagnosis.closing_checks import close
from parity.diagnosis.cut_into_steps import cut
from parity.diagnosis.distribution_laws import in_law_of
from parity.diagnosis.doubtful_divergences import doubted
from parity.diagnosis.draw_notes import with_draws
from parity.diagnosis.host_outputs import Beside, by_value, judge_beside
from parity.diagnosis.locate import locate
from parity.diagnosis.oracle import hold_against
from parity.diagnosis.output_pairs import pair_outputs
from parity.diagnosis.outputs import in_reference_layout
from parity.diagnosis.readers_apart import readers_apart, with_readers_apart
from parity.diagnosis.redraw_check import redraw
from parity.diagnosis.region import Mismatch, OutputPair
from parity.diagnosis.replay_check import PlainRuns
from parity.diagnosis.steps_of_loops import cuts
from parity.diagnosis.unshared import unshared
from parity.diagnosis.verdict import Verdict, judge
from parity.diagnosis.weights_alone import (
    as_of_inputs,
    differ_in_weights_alone,
    has_learned_inputs,
    with_learned_inputs,
)
from parity.findings import FORMULA, StructuralDifference
from parity.matching.match import Indexed, Match, match
from parity.measures.heads import paired_heads
from parity.measures.layers import layer_rows
from parity.measures.outputs import output_rows
from parity.progress import Phases
from parity.result import Comparison, ModelSummary
from parity.tape import Replay, Tape

# About how long each phase takes where models agree, in units of recording the reference.
RECORDING, MATCHING, LOCATING, EXPLAINING, RUNNING, MEASURING = 1.0, 4.0, 0.5, 0.5, 3.0, 2.0
WHOLE = RECORDING + MATCHING + LOCATING + EXPLAINING + RUNNING + MEASURING
_LOCATING_ONE, _EXPLAINING_ONE = 1.0, 2.0  # what each mismatch adds


@dataclass(frozen=True)
class _Located:
    """The match of the models as they are, the one with every mismatch repaired, and these."""

    matched: Match
    repaired: Match
    mismatches: Sequence[Mismatch]


@dataclass(frozen=True)
class _Judged:
    """The match of the models as they are, the one with every mismatch repaired, the verdict.

    Attributes:
        branches: whether a mismatch is of several branches, each of which differs.
    """

    matched: Match
    repaired: Match
    verdict: Verdict
    branches: bool = False

    @property
    def unexplained(self) -> tuple[int, int, int]:
        """How many divergences have no cause, how many none with a name, and how many no proof."""
        causes = [one.cause for one in self.verdict.divergences]
        kinds = [cause.kind for cause in causes if cause is not None]
        proved = sum(cause is not None and cause.confirmed for cause in causes)
        return causes.count(None), kinds.count(FORMULA), len(causes) - proved

    @property
    def nearly_explained(self) -> int:
        """How many divergences have a cause that comes close."""
        return sum(one.closest is not None for one in self.verdict.divergences)

    @property
    def blames_weights(self) -> bool:
        """Whether other numbers are read in the place of weights, as far as is known."""
        causes = (one.cause for one in self.verdict.divergences)
        return any(cause is not None and cause.kind == "weight-values" for cause in causes)


def compare_candidate(
    reference: Indexed,
    candidate: Tape,
    plain_runs: PlainRuns,
    formula: Tape | None,
    phases: Phases,
) -> Comparison:
    """Compares one candidate with the reference, and both with the formula's tape.

    Args:
        plain_runs: how both are run without being recorded.
    """
    reference, candidate, plain_runs = aligned(reference, candidate, plain_runs)
    pairs, problems = pair_outputs(reference.tape, candidate)
    beside = judge_beside(reference.tape, candidate, pairs, plain_runs)
    step = _Steps(reference, candidate, plain_runs, phases, pairs, problems, beside)
    located = step.located(reference)
    if located.mismatches and all(map(has_learned_inputs, located.matched.tapes)):
        step = step.changed((with_learned_inputs, with_learned_inputs))
        located = step.located(step.reference, planned=False)
    judged = step.explained(located)
    for again in (
        _Steps.by_gates,
        _Steps.by_steps,
        _Steps.by_readers,
        _Steps.by_branches,
        _Steps.with_weights_alone,
    ):
        if judged.verdict.verdict == "diverged" and budget.current().has_time_again:
            step, judged = again(step, judged)
    phases.begin(f"running {candidate.model} plainly", RUNNING)
    judged = step.checked(judged)
    phases.begin(f"measuring the layers of {candidate.model}", MEASURING)
    return step.measured(judged, formula)


def structure_of(
    reference: Tape, candidate: Tape, pairs: Sequence[OutputPair]
) -> tuple[StructuralDifference, ...]:
    """What two models are made of, compared."""
    return structural_differences(reference, candidate, [pair.values for pair in pairs])


@dataclass(frozen=True)
class _Steps:
    """The steps of one comparison.

    Attributes:
        pairs: the outputs of both models.
        problems: why some outputs have no counterpart.
        beside: the verdicts on the outputs that no tape can replay.
    """

    reference: Indexed
    candidate: Tape
    plain_runs: PlainRuns
    phases: Phases
    pairs: Sequence[OutputPair]
    problems: Sequence[str]
    beside: Beside

    @cached_property
    def traced(self) -> list[OutputPair]:
        """The outputs that a tape can replay."""
        tapes = self.reference.tape, self.candidate
        return [pair for pair in self.pairs if not by_value(*tapes, pair)]

    def judged(self, reference: Indexed, planned: bool = True, apart: bool = False) -> _Judged:
        """Matches, locates and explains; see `located`."""
        return self.explained(self.located(reference, planned, apart), planned)

    def located(self, reference: Indexed, planned: bool = True, apart: bool = False) -> _Located:
        """Matches and locates.

        Args:
            planned: whether the weights of the phases are part of the whole that was announced.
            apart: whether branches that are joined are divergences of their own.
        """
        model = self.candidate.model
        self._begin(planned, f"matching {model}", MATCHING)
        operations = self.phases.operations(len(self.candidate.ops))
        matched = match(reference, self.candidate, operations)
        self._begin(planned, f"locating where {model} differs", LOCATING)

        def reached(count: int, share: float) -> None:
            expected = count / (share or 1.0)  # as many in the rest as up to here
            self.phases.reach(share, _LOCATING_ONE * expected, _EXPLAINING_ONE * expected)

        weights = unshared(matched, self.traced)
        if weights is not None:
            return _Located(matched, matched, [weights])
        mismatches, repaired = locate(matched, self.traced, reached, apart)
        return _Located(matched, repaired, mismatches)

    def explained(self, found: _Located, planned: bool = True) -> _Judged:
        """The verdict on what is located, with its causes."""
        count = len(found.mismatches)
        self._begin(
            planned, f"explaining {self.candidate.model}", EXPLAINING, _EXPLAINING_ONE * count
        )
        progress = self.phases.operations(count)
        return self._verdict(found.matched, found.repaired, found.mismatches, progress)

    def _begin(self, planned: bool, phase: str, weight: float, more: float = 0.0) -> None:
        self.phases.begin(phase, weight * planned, more + weight * (not planned))

    def by_gates(self, judged: _Judged) -> tuple[_Steps, _Judged]:
        """The models with the cells of one of them as gates, where the other has none."""
        cells = [has_cells(tape) for tape in judged.matched.tapes]
        if not any(judged.unexplained) or all(cells) or not any(cells):
            return self, judged
        return self._again(judged, [in_gates if one else None for one in cells])

    def by_steps(self, judged: _Judged) -> tuple[_Steps, _Judged]:
        """The models with what one of them computes at once cut as the other's loops have it."""
        if not any(judged.unexplained):
            return self, judged
        where = cuts(judged.repaired)
        changes = [partial(cut, where=one) if one else None for one in where]
        return self._again(judged, changes) if any(where) else (self, judged)

    def by_readers(self, judged: _Judged) -> tuple[_Steps, _Judged]:
        """The models with what some of a value's readers read in vain as a value of its own."""
        missing, _, unproved = judged.unexplained
        if not missing and not unproved:
            return self, judged
        where = readers_apart(judged.matched)
        changes = [partial(with_readers_apart, readers=one) if one else None for one in where]
        return self._again(judged, changes) if any(where) else (self, judged)

    def by_branches(self, judged: _Judged) -> tuple[_Steps, _Judged]:
        """The models with what differs in several branches as a divergence of each."""
        if not judged.branches or not any(judged.unexplained):
            return self, judged
        return self._again(judged, (None, None))

    def with_weights_alone(self, judged: _Judged) -> tuple[_Steps, _Judged]:
        """The models with what they compute of weights alone looked into as all else is."""
        # that other weights are read may hold for what they give, and not say where it differs
        layers = not any(judged.unexplained)
        if layers and not judged.blames_weights:
            return self, judged
        if not differ_in_weights_alone(judged.matched, layers):
            return self, judged
        return self._again(judged, (as_of_inputs, as_of_inputs), layers)

    def changed(self, changes: Sequence[Callable[[Tape], Tape] | None]) -> _Steps:
        """The same models with their programs changed, of the reference and of the candidate."""
        first, second = (
            run.made(change) if change else run
            for run, change in zip(self.plain_runs, changes, strict=True)
        )
        known = self.reference
        if changes[0]:
            known = Indexed(first.tape, first.tape.replay("float64"), sharp=known.sharp)
        pairs, problems = pair_outputs(known.tape, second.tape)
        return replace(
            self,
            reference=known,
            candidate=second.tape,
            plain_runs=(first, second),
            pairs=pairs,
            problems=problems,
        )

    def _again(
        self,
        judged: _Judged,
        changes: Sequence[Callable[[Tape], Tape] | None],
        as_much: bool = False,
    ) -> tuple[_Steps, _Judged]:
        """The models with their programs changed, if more is explained so; else what is known.

        Args:
            as_much: whether it is enough that as much is explained, by a formula or otherwise.
        """
        step = self.changed(changes)
        missed = budget.current().missed.copy()
        again = step.judged(step.reference, planned=False, apart=True)
        better = again.unexplained < judged.unexplained
        as_well = judged.unexplained[0] > 0 and again.unexplained == judged.unexplained
        as_well = as_well and again.nearly_explained >= judged.nearly_explained
        if as_much:
            as_well = again.unexplained[::2] <= judged.unexplained[::2]
        if again.verdict.verdict == "diverged" and (better or as_well):
            return step, again
        budget.current().missed = missed
        return self, judged

    def _verdict(
        self,
        matched: Match,
        repaired: Match,
        mismatches: Sequence[Mismatch],
        explained: Callable[..., Any] | None = None,
    ) -> _Judged:
        problems = [*self.problems, *self.beside.unverified]
        verdict = judge(matched, repaired, mismatches, self.pairs, problems, explained, self.beside)
        return _Judged(matched, repaired, verdict, any(one.branches for one in mismatches))

    def checked(self, judged: _Judged) -> _Judged:
        """The verdict after the checks that run the models again, or look more closely."""
        if judged.verdict.verdict == "parity":
            judged = self._on_fresh_samples(judged)
        matched, verdict, pairs = judged.matched, judged.verdict, self.pairs
        if verdict.verdict == "diverged":
            return replace(judged, verdict=doubted(verdict, matched, pairs, self.plain_runs))
        verdict, left = close(
            matched, judged.repaired, self.traced, pairs, verdict, self.plain_runs
        )
        if left:
            # what hides beside larger values is found where each element counts by itself
            known = self.reference
            again = self.judged(Indexed(known.tape, known.run, known, sharp=True), planned=False)
            if again.verdict.verdict == "diverged":
                reasons = (*again.verdict.reasons, *(one.reason for one in left))
                return replace(again, verdict=replace(again.verdict, reasons=reasons))
        return replace(judged, verdict=verdict)

    def _on_fresh_samples(self, judged: _Judged) -> _Judged:
        """The verdict on models that agree on the samples that they drew, if they draw any."""
        found = redraw(judged.matched, self.traced)
        if found is None:
            return judged
        if found.differing is not None:
            mismatches, repaired = locate(found.differing, self.traced)
            other = self._verdict(found.differing, repaired, mismatches)
            if other.verdict.verdict != "parity":
                return other
        # what differs on fresh samples and could not be located is unverified there
        return replace(judged, verdict=with_draws(judged.verdict, judged.matched, found))

    def measured(self, judged: _Judged, formula: Tape | None) -> Comparison:
        """The result: the verdict with the rows of layers and outputs, coverage and structure."""
        matched, verdict, pairs = judged.matched, judged.verdict, self.pairs
        reference, candidate, beside = self.reference, self.candidate, self.beside
        by_formula = None
        if formula is not None:
            formula = in_law_of(formula, reference.tape)
            answers = pair_outputs(reference.tape, formula)
            by_formula = hold_against(formula, *answers, matched, pairs, verdict.verdict)
        return Comparison(
            candidate=ModelSummary(candidate.model, candidate.framework, len(candidate.ops)),
            verdict=verdict.verdict,
            reasons=verdict.reasons,
            divergences=verdict.divergences,
            notes=verdict.notes,
            by_formula=by_formula,
            structure=() if verdict.verdict == "parity" else self._structure_in_time(),
            layers=layer_rows(judged.repaired, verdict.ends),
            outputs=output_rows(
                reference,
                candidate,
                pairs,
                {**verdict.outputs, **beside.verdicts},
                partial(in_reference_layout, matched),
            ),
            heads=paired_heads(reference.tape, candidate, pairs),
            coverage=verdict.coverage,
            final_values={pair.name: matched.side.array(pair.candidate) for pair in pairs},
            caveats=(
                *reference.tape.caveats,
                *candidate.caveats,
                *beside.notes,
                *_not_in_float64(reference.run),
                *_not_in_float64(matched.side.run),
                *(said for said in budget.current().said if said not in verdict.reasons),
            ),
        )

    def _structure_in_time(self) -> tuple[StructuralDifference, ...]:
        """The differences that are found while the budget lasts."""
        try:
            with budget.until(1.0, budget.LEAST):
                return structure_of(self.reference.tape, self.candidate, self.pairs)
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
