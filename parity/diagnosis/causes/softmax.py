"""Softmax over another axis, over several, twice, at another temperature, or in logarithms."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Edit, Explanation, Predict, as_it_is, cause, of_x
from parity.diagnosis.causes._limits import (
    MASKED,
    OF_A_SECOND_SOFTMAX,
    SCALED_INPUT,
    STEPS_TO_PROBABILITIES,
)
from parity.diagnosis.causes._substitution import (
    Axes,
    Inside,
    alone,
    close,
    in_candidate,
    inside_candidate,
    inside_reference,
    is_probabilities,
    spell,
    subsets,
    sums_to_one,
    with_value,
)
from parity.diagnosis.causes.combinators import first_fitting, other_parameter
from parity.diagnosis.normalisation import plain
from parity.diagnosis.view import RegionView
from parity.operations import EXPONENTIALS, SOFTMAXES
from parity.tape import Array


def log_softmax(x: Array, axes: Axes) -> Array:
    """Logarithm of softmax, x - log(sum(exp(x))) over `axes`, in float64."""
    shifted = x - x.max(axis=axes, keepdims=True)
    result: Array = shifted - np.log(np.exp(shifted).sum(axis=axes, keepdims=True))
    return result


def softmax(x: Array, axes: Axes) -> Array:
    """exp(x) / sum(exp(x)) over `axes`, in float64."""
    return np.asarray(np.exp(log_softmax(x, axes)))


_COMPUTING = SOFTMAXES | EXPONENTIALS | {"cross_entropy"}  # the operations that compute a softmax
FORMS = {"softmax": softmax, "log_softmax": log_softmax}


@cause("softmax-axis", "softmax-flattened", enclosures=True)
def softmax_axis(case: Case) -> Iterator[Explanation]:
    """Softmax is taken over another axis, or over several at once.

    Looks like: probabilities that do not add up to 1 over the axis that they should; with a batch
        of one and softmax over the batch all of them are 1.
    Proof: softmax of the reference's logits over the other axis gives the candidate's
        probabilities, and over the reference's axis the reference's.
    """
    x = case.first.x
    if x.shape != case.first.reference.shape or x.ndim < 2:
        return
    flattened = (found for name in FORMS for found in _flattened_on_one_side(case, name))
    yield from itertools.islice(flattened, 1)
    for name, form in FORMS.items():
        yield from other_parameter(
            case, form, partial(_axes, case, name), partial(_over_other_axes, case, name)
        )


def _axes(case: Case, name: str, x: Array, y: Array) -> Axes | None:
    found = _over(x, y, name)
    if found is not None or name != "softmax" or y is not case.first.candidate:
        return found
    # over an axis of one entry softmax is 1 throughout: a batch of one, say
    computed = any(op.word in _COMPUTING for op in case.candidate.computing)
    return (x.shape.index(1),) if 1 in x.shape and computed and (y == 1.0).all() else None


def _over_other_axes(case: Case, name: str, reference: Axes, candidate: Axes) -> Explanation:
    axes = _named(case, reference, False), _named(case, candidate, True)
    shapes = case.written.shapes
    other = f" of {shapes[0]}" if shapes[0] != shapes[1] else ""
    given = case.first.candidate
    totals = (np.exp(given) if name == "log_softmax" else given).sum(axis=reference)
    return Explanation(
        "softmax-axis" if len(reference) == len(candidate) == 1 else "softmax-flattened",
        f"{name} over axis {axes[1]} of {shapes[1]}; the reference takes axis {axes[0]}{other}",
        parameters={"axis": axes} if axes[0] != axes[1] else {"axis": axes, "shape": shapes},
        edit=Edit((name,), ("axis", "dim"), repr(_named(case, reference, True)), 1),
        evidence=(
            f"over axis {axes[0]} the candidate's probabilities add up to "
            f"{totals.min():.3g} .. {totals.max():.3g}, not 1",
        ),
    )


def _flattened_on_one_side(case: Case, name: str) -> Iterator[Explanation]:
    """The softmax of what only one side has flattened, both in the shape of more axes."""
    order = case.order
    if order is None or not order.identity:
        return
    shape = order.fine
    if len(shape) == sum(n > 1 for n in case.first.x.shape):
        return

    def form(x: Array, axes: Axes) -> Array:
        return FORMS[name](x.reshape(shape), axes).reshape(x.shape)

    def claim(*both: Axes) -> Explanation:
        axes = spell(both[0], len(shape)), spell(both[1], len(shape))
        text = f"{name} over axis {axes[1]} of {shape}; the reference takes axis {axes[0]}"
        return Explanation("softmax-flattened", text, parameters={"axis": axes})

    def solve(x: Array, y: Array) -> Axes | None:
        return _over(x.reshape(shape), y.reshape(shape), name)

    for found in other_parameter(case, form, solve, claim):
        axes = found.parameters["axis"]
        if isinstance(axes[0], tuple) != isinstance(axes[1], tuple):
            yield found


def _over(x: Array, y: Array, name: str) -> Axes | None:
    """The axes over which y is softmax of x, or its logarithm; None if it is not."""
    return next((axes for axes in sums(y, name) if close(FORMS[name](x, axes), y)), None)


def sums(y: Array, name: str) -> Iterator[Axes]:
    """Axes over which values, or their exponentials, add up to 1."""
    if name == "log_softmax" and y.size:
        if y.max() > 0:
            return
        y = np.exp(y)
    yield from sums_to_one(y)


def _named(case: Case, axes: Axes, as_candidate: bool) -> int | Axes:
    """Axes as one writes them: -1 for the last."""
    name = case.candidate_axis if as_candidate else case.reference_axis
    named = [name(axis) for axis in sorted(axes)]
    if len(set(named)) < len(named):  # flattened in the candidate: the reference's are clearer
        return _named(case, axes, False)
    return named[0] if len(named) == 1 else tuple(named)


@cause("log-softmax-vs-softmax", "double-softmax", enclosures=True)
def log_softmax_for_softmax(case: Case) -> Iterator[Explanation]:
    """One model gives probabilities, the other their logarithms.

    Looks like: one side is positive and adds up to 1, the other is negative.
    Proof: the logarithm of the reference's probabilities is the candidate's value, or its
        exponential, with the softmax of the same logits on both sides.
    """
    x = case.first.x
    if x.shape != case.first.reference.shape or x.ndim < 1:
        return
    for reference, candidate in (("softmax", "log_softmax"), ("log_softmax", "softmax")):
        axes = _over(x, case.first.reference, reference)
        if axes is None or not close(FORMS[candidate](x, axes), case.first.candidate):
            continue
        if candidate == "softmax" and _read_by_log_softmax(case, axes):
            yield _double(of_x(softmax, axes))
            return
        yield Explanation(
            "log-softmax-vs-softmax",
            f"{candidate}; the reference takes {reference}",
            of_x(FORMS[candidate], axes),
            of_x(FORMS[reference], axes),
            {"function": (reference, candidate)},
        )


def _read_by_log_softmax(case: Case, axes: Axes) -> bool:
    """Whether the candidate goes on with log-softmax: of log-probabilities it changes nothing."""
    run = case.repaired.side.run
    end = run.array(case.candidate.end)
    read = [run.array(value) for op in case.candidate.readers() for value in op.outputs]
    return end.ndim == case.first.reference.ndim and any(
        close(log_softmax(end, axes), one) for one in read if one is not end
    )


@cause("softmax-temperature", enclosures=True)
def softmax_temperature(case: Case) -> Iterator[Explanation]:
    """The logits are divided by another temperature before softmax.

    Looks like: probabilities in the same order, all flatter or all sharper.
    Proof: softmax of the logits over the candidate's temperature gives its probabilities, over the
        reference's the reference's.
    """
    x = case.first.x
    if x.shape != case.first.reference.shape or x.shape != case.first.candidate.shape:
        return
    tempered = (
        one
        for name in FORMS
        for axes in sums(case.first.reference, name)
        for one in _at_another_temperature(case, name, axes)
    )
    found = next(tempered, None)
    if found is None and _softmax_follows(case):
        found = next(other_parameter(case, np.divide, _divisor, partial(_divided, case)), None)
    if found is not None:
        prepared = scales_input(case.reference) or scales_input(case.candidate)
        yield replace(found, cost=SCALED_INPUT) if prepared else found


def _at_another_temperature(case: Case, name: str, axes: Axes) -> Iterator[Explanation]:
    def form(x: Array, temperature: float) -> Array:
        return FORMS[name](x / temperature, axes)

    def claim(reference: float, candidate: float) -> Explanation:
        return Explanation(
            "softmax-temperature",
            f"{name} of the logits over {candidate:g}; the reference divides them by {reference:g}",
            parameters={"temperature": (reference, candidate)},
        )

    return other_parameter(case, form, partial(temperature, name=name, axes=axes), claim)


def temperature(x: Array, y: Array, name: str, axes: Axes) -> float | None:
    """By what logits are divided before their softmax; both logarithms are in proportion."""
    with np.errstate(all="ignore"):
        logs = np.log(y) if name == "softmax" else y
    if not np.isfinite(logs).all():
        return None
    centred = x - x.mean(axis=axes, keepdims=True)
    slope = float(np.vdot(centred, logs - logs.mean(axis=axes, keepdims=True)))
    square = float(np.vdot(centred, centred))
    if slope <= 0 or not square or not close(FORMS[name](x / (square / slope), axes), y):
        return None
    return plain(square / slope, 1e-6, 11)


def scales_input(view: RegionView) -> bool:
    """Whether a line of its own scales the model's input: what softmax then reads is prepared."""
    tape = view.tape
    for op in view.computing:
        live = [one for one in op.inputs if tape.is_live(one)]
        if op.word not in ("multiply", "divide") or len(live) != 1:
            continue
        readers = tape.graph.computing_readers(tape.graph.moved(op.outputs[0]))
        lines = {(one.site.layer, one.site.source) for one in readers}
        if tape.producer(tape.before_moves(live[0])) is None and lines:
            return (op.site.layer, op.site.source) not in lines
    return False


def _divided(case: Case, reference: float, candidate: float) -> Explanation:
    return Explanation(
        "softmax-temperature",
        f"the logits are divided by {candidate:g} before softmax; the reference divides "
        f"them by {reference:g}",
        parameters={"temperature": (reference, candidate)},
        # an attention's scale is one over the root of a length; another is a temperature
        cost=0.0 if _scales_products(case, (reference, candidate)) else -0.1,
    )


def _softmax_follows(case: Case) -> bool:
    """Whether what the reference computes here are logits: softmax reads them."""
    tape, run = case.reference.tape, case.repaired.reference.run
    is_input = bool(case.entering) and tape.producer(tape.before_moves(case.entering[0])) is None
    # what is scaled before a layer is the model's input, and no logits
    steps = 1 if is_input else STEPS_TO_PROBABILITIES
    logits = run.array(tape.before_moves(case.reference.end))
    made = (value for op in case.reference.readers(steps) for value in op.outputs)
    return any(_is_softmax_of(logits, run.array(value)) for value in made)


def _divisor(x: Array, y: Array) -> float | None:
    """The positive number by which x is divided in y."""
    square = float(np.vdot(x, x))
    factor = float(np.vdot(x, y)) / square if square else 0.0
    return plain(1 / factor, 1e-6, 11) if factor > 0 and close(x * factor, y) else None


def _scales_products(case: Case, temperatures: tuple[float, float]) -> bool:
    """Whether a temperature is the root of the length that products of queries and keys add up."""
    tape = case.reference.tape
    op = tape.producer(tape.before_moves(case.entering[0])) if case.entering else None
    length = tape.values[op.inputs[0]].shape[-1:] if op is not None and op.inputs else ()
    return any(np.isclose(one**2, length).any() for one in temperatures)


def _is_softmax_of(logits: Array, array: Array) -> bool:
    """Whether an array is softmax, or its logarithm, of logits; some may have been masked."""
    if array.dtype.kind != "f" or array.size != logits.size or not array.size:
        return False
    for name, form in FORMS.items():
        masked = array == 0 if name == "softmax" else array < MASKED
        x = np.where(masked, -np.inf, logits.reshape(array.shape))
        for axes in sums(array, name):
            # where all of a distribution is masked it is even, whatever the logits are
            even = np.ptp(array, axis=axes, keepdims=True) == 0
            hidden = masked | even
            with np.errstate(all="ignore"):
                found = form(x, axes)
            if not even.all() and close(np.where(hidden, 0.0, found), np.where(hidden, 0.0, array)):
                return True
    return False


@cause("double-softmax", enclosures=True)
@first_fitting
def double_softmax(case: Case) -> Iterator[Explanation]:
    """Softmax is taken of what is a softmax already.

    Looks like: probabilities that are nearly alike, none of them near 0 or 1.
    Proof: the reference's operations on softmax of its probabilities give the candidate's value;
        or the candidate's, without its second softmax, the reference's.
    """
    reference, candidate = inside_reference(case), inside_candidate(case)
    for value in reference.values:
        axes = is_probabilities(reference.array(value)) or _softmax_of(reference, value)
        if axes is not None:
            yield _double(with_value(case, value, partial(softmax, axes=axes)))
    for value, source in _second_softmaxes(candidate):
        yield _double(as_it_is, in_candidate(case, value, alone, source))
    for value, source in _second_softmaxes(reference):
        yield _double(with_value(case, value, alone, source), times=(2, 1))


def _second_softmaxes(inside: Inside) -> Iterator[tuple[int, int]]:
    """Values that are the softmax of probabilities, with these."""
    for value, source in inside.derived():
        p = inside.array(source)
        axes = is_probabilities(p)
        if axes is not None and close(softmax(p, axes), inside.array(value)):
            yield value, source


def _softmax_of(inside: Inside, value: int) -> Axes | None:
    """The axes over which the region takes softmax of an input; None if it does not."""
    x = inside.array(value)
    words = {op.word for op in inside.view.computing}
    if value not in inside.entering or words.isdisjoint(_COMPUTING):
        return None
    same = [inside.array(one) for one in inside.computed if inside.array(one).shape == x.shape]
    for axes in subsets(x.ndim):
        for made in same:
            if close(softmax(x, axes), made) or close(log_softmax(x, axes), made):
                return axes
    return (min(1, x.ndim - 1),) if "cross_entropy" in words and x.ndim else None


def _double(
    candidate: Predict, reference: Predict | None = None, times: tuple[int, int] = (1, 2)
) -> Explanation:
    words = {1: "once", 2: "twice"}
    return Explanation(
        "double-softmax",
        f"softmax is taken {words[times[1]]}; the reference takes it {words[times[0]]}",
        candidate,
        reference,
        {"times": times},
        cost=OF_A_SECOND_SOFTMAX,
    )
