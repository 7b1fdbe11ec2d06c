"""The main job: `compare` and `structure`. What is done to each candidate is in candidate.py."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from parity import budget
from parity.candidate import RECORDING, WHOLE, compare_candidate, structure_of
from parity.diagnosis.oracle import record_formula
from parity.diagnosis.output_pairs import pair_outputs
from parity.diagnosis.replay_check import PlainRun, plain_run, same_samples
from parity.errors import InputError, ReplayError
from parity.frameworks import load
from parity.frameworks.invoke import own_arithmetic
from parity.inputs import layout_advice
from parity.keeping import lost, one_comparison
from parity.matching.counts import as_ran, with_counts_as_ran
from parity.matching.match import Indexed
from parity.measures.outputs import odd_one_out
from parity.model import Inputs, Model, lay_out, wrap
from parity.outputs.gradients import drawn
from parity.preparation import inputs_of, recorded, with_distinct_names
from parity.progress import Phases
from parity.report.report import Report
from parity.result import Comparison, ModelSummary, Structure
from parity.sampled_explanations import explained_on_samples
from parity.tape import Tape
from parity.ties import without_ties
from parity.weights.gradients import cotangents, places

_RECORDING, _REPLAYING = 1.0, 2.0  # the reference; candidate.py has the other phases


@own_arithmetic()
def compare(
    reference: Any,
    *candidates: Any,
    inputs: Inputs = None,
    formula: Callable[..., Any] | None = None,
    gradients: bool = False,
    seconds: float | None = None,
    gigabytes: float | None = None,
) -> Report:
    """Runs the same inputs through models that ought to agree, and reports where they diverge.

    Args:
        reference: a model of any framework, or `parity.wrap` of one.
        candidates: models to be compared with the reference, each by itself.
        inputs: an array, a tuple for several positional inputs, or a dict for named ones; in the
            reference's layout, batch first. A NamedTuple, a dataclass or a SimpleNamespace goes as
            one argument, or by its fields where a model takes none. None and Python's flags, words
            and numbers are passed on unchanged. A model that fails on this
            gets the arrays as it reads them; see docs/troubleshooting.md. A model of Keras, and an
            argument `training` without a default, gets the mode's flag. Not needed where each has
            its own.
        formula: a function of NumPy arrays that computes what is right, as `parity.rl.dueling_q`.
            It gets the reference's inputs in float64, and its outputs are paired with the models'.
            The report then says which model is right by it; the verdict does not depend on it.
        gradients: whether the backward pass is compared as well: vector-Jacobian products of all
            outputs with respect to inputs and parameters, which are outputs then, by the names and
            in the layout of the reference's.
        seconds, gigabytes: what each candidate's comparison may take, and the process grow by, for
            further places and explanations; default 60 s and 4 GB. The verdict and the first place
            come whatever they take. What is left out is said in the report.

    Returns:
        A report. Its verdict is `"parity"`, `"diverged"`, or `"unverified"` where the
        comparison could not decide; it has no truth value.

    Raises:
        ParityError: a model raised or cannot be recorded, a framework is missing, or the inputs do
            not fit; the message says which and what to do.
    """
    with budget.limits(seconds, gigabytes), one_comparison():
        return _compared(reference, candidates, inputs, formula, gradients)


def _compared(
    reference: Any,
    candidates: Sequence[Any],
    inputs: Inputs,
    formula: Callable[..., Any] | None,
    gradients: bool,
) -> Report:
    started = time.perf_counter()
    if not candidates:
        raise InputError("compare needs two models or more: a reference and its candidates.")
    models = with_distinct_names([wrap(model) for model in (reference, *candidates)])
    given = [inputs_of(model, models[0], inputs) for model in models]
    formula_tape = None if formula is None else record_formula(formula, given[0])
    phases = Phases(_RECORDING + _REPLAYING + WHOLE * len(candidates))
    forward = None
    if gradients:
        _check_gradients(models)
        forward = recorded(models[0], models[0], given[0])[1]
        models[0] = replace(models[0], cotangents=drawn)
    side, first = _recorded_reference(models[0], given[0], phases)
    comparisons = []
    for model, arrays in zip(models[1:], given[1:], strict=True):
        phases.begin(f"recording {model.name}", RECORDING)
        with budget.spending():
            model, tape = recorded(model, first.model, arrays)
            if forward is None:
                second = plain_run(tape, model, arrays)
            else:
                second = _differentiated((first, forward), (model, tape), arrays)
            comparisons.append(_with_candidate(side, first, second, formula_tape, phases))
    phases.end()
    return Report(
        reference=ModelSummary(first.model.name, first.model.framework, len(side.tape.ops)),
        comparisons=tuple(comparisons),
        odd_one_out=odd_one_out(models[0].name, comparisons),
        versions={
            name: load(name).versions() for name in dict.fromkeys(m.framework for m in models)
        },
        seconds=time.perf_counter() - started,
    )


def _check_gradients(models: Sequence[Model]) -> None:
    for model in models:
        if model.framework == "numpy":
            raise InputError(
                f"{model.name} is NumPy code, which has no gradients: compare it without "
                "gradients=True, or write it over tensors."
            )


def _recorded_reference(model: Model, inputs: Inputs, phases: Phases) -> tuple[Indexed, PlainRun]:
    phases.begin(f"recording {model.name}", _RECORDING)
    model, tape = recorded(model, model, inputs)
    run = plain_run(tape, model, inputs)
    phases.begin(f"replaying {model.name} in float64", _REPLAYING)
    ops = phases.operations(len(tape.ops))
    try:
        side = Indexed(tape, tape.replay("float64", after=ops))
    except ReplayError as error:
        tape = with_counts_as_ran(tape, error)
        side = Indexed(tape, tape.replay("float64", after=ops))
    return side, run


def _differentiated(
    reference: tuple[PlainRun, Tape], candidate: tuple[Model, Tape], inputs: Inputs
) -> PlainRun:
    """The candidate with gradients, by the names and in the layout of the reference's.

    Args:
        reference: its run with gradients, and its tape without.
        candidate: the model and its tape, without gradients.
    """
    (first, forward), (model, tape) = reference, candidate
    model = replace(model, cotangents=cotangents(forward, tape))
    laid_out = places((first.model, model), (forward, tape), (first.inputs, inputs), first.tape)
    model, tape = recorded(model, first.model, inputs)
    return plain_run(tape, model, inputs).made(laid_out.tape, laid_out.outputs)


def _with_candidate(
    side: Indexed, first: PlainRun, second: PlainRun, formula: Tape | None, phases: Phases
) -> Comparison:
    tape, given = second.tape, first.inputs
    if not first.axis:
        given = lay_out(given, first.model.input_layout, second.model.input_layout)
    if not same_samples(given, second.inputs, first.axis):
        second = replace(second, orders=())
    runs = first, second
    try:
        found = compare_candidate(side, tape, runs, formula, phases)
    except ReplayError as error:
        side, tape = as_ran(side, tape, error)
        found = compare_candidate(side, tape, runs, formula, phases)
    found = explained_on_samples(found, runs, compare)
    found = without_ties(found, runs, compare)
    caveats = [caveat for one in runs for caveat in lost(one.model.obj, one.model.name)]
    return replace(found, caveats=(*found.caveats, *caveats))


@own_arithmetic()
def structure(reference: Any, candidate: Any, inputs: Inputs = None) -> Structure:
    """What two models are made of, compared without their weights.

    For models that share no weights yet, where values show nothing. Both run once on the inputs.

    Args:
        reference: a model of any framework, or `parity.wrap` of one.
        candidate: the model to be compared with it.
        inputs: as for `compare`; only their shapes and types matter.

    Returns:
        The differences in layers, activations and their parameters. What cannot be known of one
        of the models is no difference.

    Raises:
        ParityError: as for `compare`.
    """
    models = with_distinct_names([wrap(model) for model in (reference, candidate)])
    tapes = []
    for model in models:
        arrays = inputs_of(model, models[0], inputs)
        tapes.append(layout_advice.record(model, models[0], arrays)[1])
    first, second = tapes
    return Structure(
        reference=ModelSummary(first.model, first.framework, len(first.ops)),
        candidate=ModelSummary(second.model, second.framework, len(second.ops)),
        differences=structure_of(first, second, pair_outputs(first, second)[0]),
    )
