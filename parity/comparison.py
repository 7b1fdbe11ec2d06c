"""The main job, told as a story: record, match, locate, judge, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from parity import channels
from parity.architecture import structural_differences
from parity.diagnosis.by_formula import hold_against, record_formula
from parity.diagnosis.draw_notes import with_draws
from parity.diagnosis.judge import Verdict, judge
from parity.diagnosis.locate import locate
from parity.diagnosis.redraw import redraw
from parity.diagnosis.region import OutputPair
from parity.errors import InputError
from parity.frameworks import load
from parity.matching.match import Indexed, Match, match
from parity.model import Inputs, Model, as_arrays, flatten_inputs, lay_out, wrap
from parity.progress import Phases
from parity.report.heads import paired_heads
from parity.report.layers import layer_rows
from parity.report.outputs import odd_one_out, output_rows
from parity.report.summary import (
    Comparison,
    ModelSummary,
    Report,
    StructuralDifference,
    Structure,
)
from parity.tape import Tape

# About how long each phase takes, where models agree: recording and replaying; recording, matching,
# locating, judging, measuring layers.
_OF_REFERENCE = (1.0, 2.0)
_OF_CANDIDATE = (1.0, 4.0, 0.5, 0.5, 2.0)
_OF_A_PARTING = (1.0, 2.0)  # to locate, to explain


def compare(
    reference: Any,
    *candidates: Any,
    inputs: Inputs = None,
    formula: Callable[..., Any] | None = None,
) -> Report:
    """Runs the same inputs through models that ought to agree, and says where they part.

    Args:
        reference: a model of any framework, or `parity.wrap` of one.
        candidates: the models to be held against it; each is compared with the reference.
        inputs: an array, a tuple for several positional inputs, or a dict for named ones; in the
            reference's layout, batch first. Not needed where every model is wrapped with its own.
        formula: a function of NumPy arrays that tells what is right, such as `parity.rl.dueling_q`.
            It gets the reference's inputs in float64, and its outputs are paired with the models'.
            The report then says which model is right by it; the verdict does not hang on it.

    Returns:
        A report. Its verdict is `"parity"`, `"diverged"`, or `"unverified"` where something kept
        the comparison from telling; it has no truth value.

    Raises:
        ParityError: a model raised or cannot be recorded, a framework is missing, or the inputs do
            not fit; the message says which and what to do.
    """
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
    tape = channels.record(models[0], models[0], fed[0])
    phases.begin(f"replaying {models[0].name} in float64", _OF_REFERENCE[1])
    side = Indexed(tape, tape.replay("float64", after=phases.operations(len(tape.ops))))
    comparisons = []
    for model, arrays in zip(models[1:], fed[1:], strict=True):
        phases.begin(f"recording {model.name}", _OF_CANDIDATE[0])
        other = channels.record(model, models[0], arrays)
        comparisons.append(_compare(side, other, book, phases))
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


def _compare(reference: Indexed, candidate: Tape, book: Tape | None, phases: Phases) -> Comparison:
    """One candidate against the reference, and both against the formula's tape."""
    _, matching, locating, judging, measuring = _OF_CANDIDATE
    pairs, problems = pair_outputs(reference.tape, candidate)
    phases.begin(f"matching {candidate.model}", matching)
    matched = match(reference, candidate, phases.operations(len(candidate.ops)))
    phases.begin(f"locating where {candidate.model} parts", locating)

    def reached(count: int, share: float) -> None:
        expected = count / (share or 1.0)  # as many in the rest as up to here
        phases.reach(share, _OF_A_PARTING[0] * expected, _OF_A_PARTING[1] * expected)

    partings, repaired = locate(matched, pairs, reached)
    phases.begin(f"explaining {candidate.model}", judging, _OF_A_PARTING[1] * len(partings))
    explained = phases.operations(len(partings))
    verdict = judge(matched, repaired, partings, pairs, problems, explained)
    if verdict.verdict == "parity":
        matched, repaired, verdict = _on_fresh_samples(matched, repaired, verdict, pairs, problems)
    phases.begin(f"measuring the layers of {candidate.model}", measuring)
    by_formula = None
    if book is not None:
        answers = pair_outputs(reference.tape, book)
        by_formula = hold_against(book, *answers, matched, pairs, verdict.verdict)
    return Comparison(
        candidate=ModelSummary(candidate.model, candidate.framework, len(candidate.ops)),
        verdict=verdict.verdict,
        reasons=verdict.reasons,
        divergences=verdict.divergences,
        notes=verdict.notes,
        caveats=(*reference.tape.caveats, *candidate.caveats),
        layers=layer_rows(repaired, verdict.ends),
        outputs=output_rows(reference, candidate, pairs, verdict.outputs),
        coverage=verdict.coverage,
        structure=(
            () if verdict.verdict == "parity" else _structure(reference.tape, candidate, pairs)
        ),
        by_formula=by_formula,
        heads=paired_heads(reference.tape, candidate, pairs),
        final_values={pair.name: matched.side.run.array(pair.candidate) for pair in pairs},
    )


def _on_fresh_samples(
    matched: Match,
    repaired: Match,
    verdict: Verdict,
    pairs: Sequence[OutputPair],
    problems: Sequence[str],
) -> tuple[Match, Match, Verdict]:
    """The verdict on models that agree on the samples that they drew, if they draw any."""
    found = redraw(matched, pairs)
    if found is None:
        return matched, repaired, verdict
    if found.apart is not None:
        partings, mended = locate(found.apart, pairs)
        other = judge(found.apart, mended, partings, pairs, problems)
        if other.verdict != "parity":
            return found.apart, mended, other
    return matched, repaired, with_draws(verdict, matched, found)


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
        tapes.append(channels.record(model, models[0], arrays))
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


def pair_outputs(reference: Tape, candidate: Tape) -> tuple[list[OutputPair], list[str]]:
    """Outputs by name, or by position where the names share nothing; and what does not fit."""
    ours, theirs = reference.outputs, candidate.outputs
    problems: list[str] = []
    shared = [name for name in ours if name in theirs]
    if not shared and len(ours) == len(theirs):
        named = list(zip(ours, ours.values(), theirs.values(), strict=True))
    else:
        named = [(name, ours[name], theirs[name]) for name in shared]
        for name in ours:
            if name not in theirs:
                problems.append(
                    f"output {name!r} of {reference.model} is missing in {candidate.model}"
                )
        for name in theirs:
            if name not in ours:
                problems.append(
                    f"output {name!r} of {candidate.model} is missing in {reference.model}"
                )
    return [OutputPair(*item) for item in named], problems


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


def _check(model: Model, inputs: Inputs) -> None:
    arrays = flatten_inputs(inputs)
    if not arrays:
        raise InputError(f"The inputs of {model.name} hold no arrays.")
    for path, array in arrays.items():
        if not array.size:
            raise InputError(
                f"Input {path!r} of {model.name} is empty: its shape is {array.shape}."
            )
