"""The main job, told as a story: record, match, locate, judge, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from parity import budget, layout_advice
from parity.aligned import aligned
from parity.architecture import structural_differences
from parity.diagnosis.closing_checks import close
from parity.diagnosis.doubtful_divergences import doubted
from parity.diagnosis.draw_notes import with_draws
from parity.diagnosis.host_outputs import Beside, by_value, judge_beside
from parity.diagnosis.locate import locate
from parity.diagnosis.oracle import hold_against, record_formula
from parity.diagnosis.output_pairs import pair_outputs
from parity.diagnosis.outputs import in_layout_of_a_cube
from parity.diagnosis.redraw_check import redraw
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replay_check import PlainRun, plain_run, same_samples
from parity.diagnosis.unshared import unshared
from parity.diagnosis.verdict import Verdict, judge
from parity.distribution_laws import as_told
from parity.draws.repeated import joined
from parity.draws.settled import settle
from parity.errors import InputError, ReplayError
from parity.findings import StructuralDifference
from parity.frameworks import load
from parity.frameworks.invoke import own_arithmetic
from parity.keeping import lost, one_comparison, other_generators
from parity.matching.counts import as_ran, with_counts_as_ran
from parity.matching.match import Indexed, Match, match
from parity.measures.heads import paired_heads
from parity.measures.layers import layer_rows
from parity.measures.outputs import odd_one_out, output_rows
from parity.model import Inputs, Model, as_arrays, flatten_inputs, lay_out, wrap
from parity.progress import Phases
from parity.report.report import Report
from parity.result import Comparison, ModelSummary, Structure
from parity.sampled_explanations import explained_on_samples
from parity.tape import Replay, Tape

# About how long each phase takes, where models agree: recording and replaying; recording, matching,
# locating, judging, plain runs and replays of both, measuring layers.
_OF_REFERENCE = (1.0, 2.0)
_OF_CANDIDATE = (1.0, 4.0, 0.5, 0.5, 3.0, 2.0)
_OF_A_MISMATCH = (1.0, 2.0)  # to locate, to explain


@own_arithmetic()
def compare(
    reference: Any,
    *candidates: Any,
    inputs: Inputs = None,
    formula: Callable[..., Any] | None = None,
    seconds: float | None = None,
    gigabytes: float | None = None,
) -> Report:
    """Runs the same inputs through models that ought to agree, and says where they part.

    Args:
        reference: a model of any framework, or `parity.wrap` of one.
        candidates: the models to be held against it; each is compared with the reference.
        inputs: an array, a tuple for several positional inputs, or a dict for named ones; in the
            reference's layout, batch first. A NamedTuple, a dataclass or a SimpleNamespace goes as
            one argument, or by its fields where a model takes none. None and Python's flags, words
            and numbers are passed on as they are, and held as they are. A model that fails on this
            gets the arrays as it reads them; see docs/troubleshooting.md. A model of Keras, and an
            argument `training` without a default, gets the mode's flag. Not needed where each has
            its own.
        formula: a function of NumPy arrays that tells what is right, such as `parity.rl.dueling_q`.
            It gets the reference's inputs in float64, and its outputs are paired with the models'.
            The report then says which model is right by it; the verdict does not hang on it.
        seconds, gigabytes: what each candidate's comparison may take, and the process grow by, for
            further places and explanations; default 60 s and 4 GB. The verdict and the first place
            come whatever they take. What is left out is said in the report.

    Returns:
        A report. Its verdict is `"parity"`, `"diverged"`, or `"unverified"` where something kept
        the comparison from telling; it has no truth value.

    Raises:
        ParityError: a model raised or cannot be recorded, a framework is missing, or the inputs do
            not fit; the message says which and what to do.
    """
    with budget.limits(seconds, gigabytes), one_comparison():
        return _compared(reference, candidates, inputs, formula)


def _compared(
    reference: Any,
    candidates: Sequence[Any],
    inputs: Inputs,
    formula: Callable[..., Any] | None,
) -> Report:
    started = time.perf_counter()
    if not candidates:
        raise InputError("compare needs two models or more: a reference and its candidates.")
    models = _with_distinct_names([wrap(model) for model in (reference, *candidates)])
    fed = [_inputs_of(model, models[0], inputs) for model in models]
    for model, arrays in zip(models, fed, strict=True):
        _check(model, arrays)
    book = None if formula is None else record_formula(formula, fed[0])
    phases = Phases(sum(_OF_REFERENCE) + sum(_OF_CANDIDATE) * len(candidates))
    phases.begin(f"recording {models[0].name}", _OF_REFERENCE[0])
    models[0], tape = _recorded(models[0], models[0], fed[0])
    run = plain_run(tape, models[0], fed[0])
    phases.begin(f"replaying {models[0].name} in float64", _OF_REFERENCE[1])
    ops = phases.operations(len(tape.ops))
    try:
        side = Indexed(tape, tape.replay("float64", after=ops))
    except ReplayError as error:
        tape = with_counts_as_ran(tape, error)
        side = Indexed(tape, tape.replay("float64", after=ops))
    comparisons = []
    for model, arrays in zip(models[1:], fed[1:], strict=True):
        phases.begin(f"recording {model.name}", _OF_CANDIDATE[0])
        with budget.spending():
            model, other = _recorded(model, models[0], arrays)
            theirs = plain_run(other, model, arrays)
            ours = lay_out(fed[0], models[0].input_layout, model.input_layout)
            if not same_samples(fed[0] if run.axis else ours, arrays, run.axis):
                theirs = replace(theirs, orders=())
            try:
                found = _compare(side, other, (run, theirs), book, phases)
            except ReplayError as error:
                held, other = as_ran(side, other, error)
                found = _compare(held, other, (run, theirs), book, phases)
            pair, given = (models[0], model), (fed[0], arrays)
            found = explained_on_samples(found, pair, given, (tape, other), compare)
            said = [told for one in pair for told in lost(one.obj, one.name)]
            comparisons.append(replace(found, caveats=(*found.caveats, *said)))
    phases.end()
    return Report(
        reference=ModelSummary(models[0].name, models[0].framework, len(tape.ops)),
        comparisons=tuple(comparisons),
        odd_one_out=odd_one_out(models[0].name, comparisons),
        versions={
            name: load(name).versions() for name in dict.fromkeys(m.framework for m in models)
        },
        seconds=time.perf_counter() - started,
    )


def _compare(
    reference: Indexed,
    candidate: Tape,
    plain_runs: tuple[PlainRun, PlainRun],
    book: Tape | None,
    phases: Phases,
) -> Comparison:
    """One candidate against the reference, and both against the formula's tape.

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
    matched, repaired, verdict = _judged(reference, candidate, outputs, phases)
    phases.begin(f"running {candidate.model} plainly", _OF_CANDIDATE[4])
    if verdict.verdict == "parity":
        matched, repaired, verdict = _on_fresh_samples(matched, repaired, verdict, outputs)
    if verdict.verdict == "diverged":
        verdict = doubted(verdict, matched, pairs, plain_runs)
    else:
        verdict, left = close(matched, repaired, outputs.traced, outputs.pairs, verdict, plain_runs)
        if left:
            # what hides beside larger values is found where each element counts by itself
            sharp = Indexed(reference.tape, reference.run, reference, sharp=True)
            again = _judged(sharp, candidate, outputs, phases, planned=False)
            if again[2].verdict == "diverged":
                matched, repaired, verdict = again
                reasons = (*verdict.reasons, *(one.reason for one in left))
                verdict = replace(verdict, reasons=reasons)
    phases.begin(f"measuring the layers of {candidate.model}", _OF_CANDIDATE[5])
    by_formula = None
    if book is not None:
        book = as_told(book, reference.tape)
        answers = pair_outputs(reference.tape, book)
        by_formula = hold_against(book, *answers, matched, pairs, verdict.verdict)
    structure: tuple[StructuralDifference, ...] = ()
    if verdict.verdict != "parity":
        structure = _structure_in_time(reference.tape, candidate, pairs)
    return Comparison(
        candidate=ModelSummary(candidate.model, candidate.framework, len(candidate.ops)),
        verdict=verdict.verdict,
        reasons=verdict.reasons,
        divergences=verdict.divergences,
        notes=verdict.notes,
        caveats=(
            *reference.tape.caveats,
            *candidate.caveats,
            *outputs.beside.notes,
            *_not_in_float64(reference.run),
            *_not_in_float64(matched.side.run),
            *(said for said in budget.current().said if said not in verdict.reasons),
        ),
        layers=layer_rows(repaired, verdict.ends),
        outputs=output_rows(
            reference,
            candidate,
            pairs,
            {**verdict.outputs, **outputs.beside.verdicts},
            partial(in_layout_of_a_cube, matched),
        ),
        coverage=verdict.coverage,
        structure=structure,
        by_formula=by_formula,
        heads=paired_heads(reference.tape, candidate, pairs),
        final_values={pair.name: matched.side.run.array(pair.candidate) for pair in pairs},
    )


@dataclass(frozen=True)
class _Outputs:
    """The outputs of two models.

    Attributes:
        pairs: those of both models.
        traced: those of them that a tape can replay.
        problems: why some outputs have no counterpart.
        beside: what the others came to.
    """

    pairs: Sequence[OutputPair]
    traced: Sequence[OutputPair]
    problems: Sequence[str]
    beside: Beside


def _judged(
    reference: Indexed, candidate: Tape, outputs: _Outputs, phases: Phases, planned: bool = True
) -> tuple[Match, Match, Verdict]:
    """The match of the models as they are, the one with every divergence repaired, the verdict.

    Args:
        planned: whether the weights of the phases are part of the whole that was announced.
    """
    _, matching, locating, judging, _, _ = _OF_CANDIDATE

    def begin(phase: str, weight: float, more: float = 0.0) -> None:
        phases.begin(phase, weight * planned, more + weight * (not planned))

    begin(f"matching {candidate.model}", matching)
    matched = match(reference, candidate, phases.operations(len(candidate.ops)))
    problems = [*outputs.problems, *outputs.beside.unverified]
    begin(f"locating where {candidate.model} parts", locating)

    def reached(count: int, share: float) -> None:
        expected = count / (share or 1.0)  # as many in the rest as up to here
        phases.reach(share, _OF_A_MISMATCH[0] * expected, _OF_A_MISMATCH[1] * expected)

    weights = unshared(matched, outputs.traced)
    if weights is not None:
        mismatches, repaired = [weights], matched
    else:
        mismatches, repaired = locate(matched, outputs.traced, reached)
    begin(f"explaining {candidate.model}", judging, _OF_A_MISMATCH[1] * len(mismatches))
    explained = phases.operations(len(mismatches))
    verdict = judge(
        matched,
        repaired,
        mismatches,
        outputs.pairs,
        problems,
        explained,
        outputs.beside,
    )
    return matched, repaired, verdict


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


def _on_fresh_samples(
    matched: Match, repaired: Match, verdict: Verdict, outputs: _Outputs
) -> tuple[Match, Match, Verdict]:
    """The verdict on models that agree on the samples that they drew, if they draw any."""
    found = redraw(matched, outputs.traced)
    if found is None:
        return matched, repaired, verdict
    if found.apart is not None:
        mismatches, fixed = locate(found.apart, outputs.traced)
        problems = [*outputs.problems, *outputs.beside.unverified]
        other = judge(
            found.apart, fixed, mismatches, outputs.pairs, problems, beside=outputs.beside
        )
        if other.verdict != "parity":
            return found.apart, fixed, other
    # what differs on fresh samples and could not be located is unverified there
    return matched, repaired, with_draws(verdict, matched, found)


@own_arithmetic()
def structure(reference: Any, candidate: Any, inputs: Inputs = None) -> Structure:
    """What two models are made of, compared without their weights.

    For models that share no weights yet, where values tell nothing. Both run once on the inputs.

    Args:
        reference: a model of any framework, or `parity.wrap` of one.
        candidate: the model to be held against it.
        inputs: as for `compare`; only their shapes and types matter.

    Returns:
        The differences in layers, activations and their parameters. What cannot be known of one
        of the models is no difference.

    Raises:
        ParityError: as for `compare`.
    """
    models = _with_distinct_names([wrap(model) for model in (reference, candidate)])
    tapes = []
    for model in models:
        arrays = _inputs_of(model, models[0], inputs)
        _check(model, arrays)
        tapes.append(layout_advice.record(model, models[0], arrays)[1])
    ours, theirs = tapes
    return Structure(
        reference=ModelSummary(ours.model, ours.framework, len(ours.ops)),
        candidate=ModelSummary(theirs.model, theirs.framework, len(theirs.ops)),
        differences=_structure(ours, theirs, pair_outputs(ours, theirs)[0]),
    )


def _structure(
    reference: Tape, candidate: Tape, pairs: Sequence[OutputPair]
) -> tuple[StructuralDifference, ...]:
    outputs = [(pair.reference, pair.candidate) for pair in pairs]
    return structural_differences(reference, candidate, outputs)


def _structure_in_time(
    reference: Tape, candidate: Tape, pairs: Sequence[OutputPair]
) -> tuple[StructuralDifference, ...]:
    """The differences that are found while the budget lasts."""
    try:
        with budget.until(1.0, budget.LEAST):
            return _structure(reference, candidate, pairs)
    except budget.Spent:
        budget.current().miss("what the models are made of")
        return ()


def _with_distinct_names(models: Sequence[Model]) -> list[Model]:
    """Models of one name are told apart by their framework, or else by a number."""
    named = []
    for number, model in enumerate(models, 1):
        twins = [other for other in models if other.name == model.name]
        if len(twins) == 1:
            named.append(model)
        elif len({other.framework for other in twins}) == len(twins):
            named.append(wrap(model, name=f"{model.name} ({model.framework})"))
        else:
            named.append(wrap(model, name=f"{model.name} #{number}"))
    return named


def _inputs_of(model: Model, reference: Model, inputs: Inputs) -> Inputs:
    """The inputs as this model takes them."""
    if model.inputs is not None:
        return as_arrays(model.inputs)
    if inputs is None:
        if reference.inputs is None:
            raise InputError(
                "No inputs: give compare(..., inputs=array), or parity.wrap(model, inputs=array) "
                "for every model."
            )
        inputs = reference.inputs
    return lay_out(as_arrays(inputs), reference.input_layout, model.input_layout)


def _recorded(model: Model, reference: Model, inputs: Inputs) -> tuple[Model, Tape]:
    """The model as it takes the inputs, and its tape: draws by a fixed seed are constants there."""
    model, tape = layout_advice.record(model, reference, inputs)

    def again(turn: int) -> Tape:
        others = load(model.framework).other_random_state(turn)
        with others, other_generators(model.obj, turn):
            return layout_advice.record(model, reference, inputs)[1]

    return model, joined(settle(tape, again))


def _check(model: Model, inputs: Inputs) -> None:
    arrays = flatten_inputs(inputs)
    if not arrays:
        raise InputError(f"The inputs of {model.name} hold no arrays.")
    for path, array in arrays.items():
        if not array.size:
            raise InputError(
                f"Input {path!r} of {model.name} is empty: its shape is {array.shape}."
            )
