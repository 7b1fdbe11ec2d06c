"""Softmax over another axis, over several, twice, at another temperature, or in logarithms."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Edit, Explanation, Predict, as_it_is, cause, of_x
from parity.diagnosis.causes._substitution import (
    Inside,
    alone,
    close,
    fits,
    in_candidate,
    inside_candidate,
    inside_reference,
    is_probabilities,
    shortest,
    spell,
    sums_to_one,
    with_value,
)
from parity.operations import EXPONENTIALS, SOFTMAXES
from parity.tape import Array

Axes = tuple[int, ...]


def softmax(x: Array, axes: Axes) -> Array:
    """exp(x) / sum(exp(x)) over `axes`, in float64."""
    e = np.exp(x - x.max(axis=axes, keepdims=True))
    result: Array = e / e.sum(axis=axes, keepdims=True)
    return result


def log_softmax(x: Array, axes: Axes) -> Array:
    """Logarithm of softmax, x - log(sum(exp(x))) over `axes`, in float64."""
    shifted = x - x.max(axis=axes, keepdims=True)
    result: Array = shifted - np.log(np.exp(shifted).sum(axis=axes, keepdims=True))
    return result


_HIDDEN = -1e6  # the logarithm of the probability of what is masked
_MAKING = SOFTMAXES | EXPONENTIALS | {"cross_entropy"}  # what a softmax is computed by
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
    yield from _flat_on_one_side(case)
    for name, form in FORMS.items():
        ours = _over(x, case.first.reference, name)
        theirs = _over(x, case.first.candidate, name) if ours is not None else None
        if theirs is None and form is softmax:
            theirs = _of_a_single_entry(case)
        if ours is None or theirs is None or ours == theirs:
            continue
        kind = "softmax-axis" if len(ours) == len(theirs) == 1 else "softmax-flattened"
        axes = _named(case, ours, False), _named(case, theirs, True)
        shapes = case.written.shapes
        other = f" of {shapes[0]}" if shapes[0] != shapes[1] else ""
        sums = np.exp(case.first.candidate) if form is log_softmax else case.first.candidate
        totals = sums.sum(axis=ours)
        yield Explanation(
            kind,
            f"{name} over axis {axes[1]} of {shapes[1]}; the reference takes axis {axes[0]}{other}",
            of_x(form, theirs),
            of_x(form, ours),
            {"axis": axes} if axes[0] != axes[1] else {"axis": axes, "shape": shapes},
            Edit((name,), ("axis", "dim"), repr(_named(case, ours, True)), 1),
            evidence=(
                f"over axis {axes[0]} the candidate's probabilities add up to "
                f"{totals.min():.3g} .. {totals.max():.3g}, not 1",
            ),
        )


def _flat_on_one_side(case: Case) -> Iterator[Explanation]:
    """The softmax of what only one side has flattened, both in the shape of more axes."""
    order, first = case.order, case.first
    if order is None or len(order.fine) == sum(n > 1 for n in first.x.shape):
        return
    if not order.identity:
        return
    fine = order.fine
    x, reference, candidate = (
        one.reshape(fine) for one in (first.x, first.reference, first.candidate)
    )
    for name, form in FORMS.items():
        ours = _over(x, reference, name)
        theirs = _over(x, candidate, name) if ours is not None else None
        if ours is None or theirs is None or len(ours) == len(theirs):
            continue
        axes = spell(ours, len(fine)), spell(theirs, len(fine))
        yield Explanation(
            "softmax-flattened",
            f"{name} over axis {axes[1]} of {fine}; the reference takes axis {axes[0]}",
            of_x(_in_shape, form, theirs, fine),
            of_x(_in_shape, form, ours, fine),
            {"axis": axes},
        )
        return


def _in_shape(x: Array, form: Callable[..., Array], axes: Axes, shape: tuple[int, ...]) -> Array:
    return form(x.reshape(shape), axes).reshape(x.shape)


def _of_a_single_entry(case: Case) -> Axes | None:
    """The first axis with one entry, over which softmax is 1 throughout: a batch of one, say."""
    shape = case.first.x.shape
    softmax_there = any(op.word in _MAKING for op in case.candidate.computing)
    if 1 not in shape or not softmax_there or not (case.first.candidate == 1.0).all():
        return None
    return (shape.index(1),)


def _over(x: Array, y: Array, name: str) -> Axes | None:
    """The axes over which y is softmax of x, or its logarithm; None if it is not."""
    return next((axes for axes in _sums(y, name) if _is(FORMS[name](x, axes), y)), None)


def _sums(y: Array, name: str) -> Iterator[Axes]:
    """Axes over which numbers, or their exponentials, add up to 1."""
    if name == "log_softmax" and y.size:
        if y.max() > 0:
            return
        y = np.exp(y)
    yield from sums_to_one(y)


def _axes(x: Array) -> Iterator[Axes]:
    """Single axes, the last first; then several."""
    last_first = range(x.ndim - 1, -1, -1)
    for count in range(1, x.ndim + 1):
        yield from itertools.combinations(last_first, count)


def _named(case: Case, axes: Axes, as_candidate: bool) -> int | tuple[int, ...]:
    """Axes as one writes them: -1 for the last."""
    name = case.candidate_axis if as_candidate else case.reference_axis
    named = [name(axis) for axis in sorted(axes)]
    if len(set(named)) < len(named):  # flattened in the candidate: the reference's are clearer
        return _named(case, axes, False)
    return named[0] if len(named) == 1 else tuple(named)


def _is(predicted: Array, actual: Array) -> bool:
    return predicted.shape == actual.shape and bool(np.allclose(predicted, actual, 1e-5, 1e-7))


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
    for ours, theirs in (("softmax", "log_softmax"), ("log_softmax", "softmax")):
        axes = _over(x, case.first.reference, ours)
        if axes is None or not _is(FORMS[theirs](x, axes), case.first.candidate):
            continue
        if theirs == "softmax" and _read_by_log_softmax(case, axes):
            yield _double(of_x(softmax, axes), None, (1, 2))
            return
        yield Explanation(
            "log-softmax-vs-softmax",
            f"{theirs}; the reference takes {ours}",
            of_x(FORMS[theirs], axes),
            of_x(FORMS[ours], axes),
            {"function": (ours, theirs)},
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
    for name, form in FORMS.items():
        for axes in _sums(case.first.reference, name):
            ours = _temperature(x, case.first.reference, axes, name)
            theirs = _temperature(x, case.first.candidate, axes, name) if ours else None
            if ours is None or theirs is None or np.isclose(ours, theirs, 1e-6):
                continue
            yield Explanation(
                "softmax-temperature",
                f"{name} of the logits over {theirs:g}; the reference divides them by {ours:g}",
                of_x(_tempered, form, axes, theirs),
                of_x(_tempered, form, axes, ours),
                {"temperature": (ours, theirs)},
            )
            return
    yield from _read_by_softmax(case)


def _read_by_softmax(case: Case) -> Iterator[Explanation]:
    """The same seen before softmax: logits divided by two temperatures, which softmax reads."""
    x, run = case.first.x, case.repaired.reference.run
    square = float(np.vdot(x, x))
    tape = case.reference.tape
    is_input = bool(case.entering) and tape.producer(tape.before_moves(case.entering[0])) is None
    # what is scaled before a layer is the model's input, and no logits
    steps = 1 if is_input else 2
    made = [value for op in case.reference.readers(steps) for value in op.outputs]
    if not square:
        return
    logits = case.reference.tape.before_moves(case.reference.end)
    if not any(_is_softmax_of(run.array(logits), run.array(value)) for value in made):
        return
    ours = float(np.vdot(x, case.first.reference)) / square
    theirs = float(np.vdot(x, case.first.candidate)) / square
    if min(ours, theirs) <= 0 or np.isclose(ours, theirs, 1e-6):
        return
    if close(x * ours, case.first.reference) and close(x * theirs, case.first.candidate):
        temperatures = _written(1 / ours), _written(1 / theirs)
        yield Explanation(
            "softmax-temperature",
            f"the logits are divided by {temperatures[1]:g} before softmax; the reference divides "
            f"them by {temperatures[0]:g}",
            of_x(np.divide, temperatures[1]),
            of_x(np.divide, temperatures[0]),
            {"temperature": temperatures},
            # an attention's scale is one over the root of a length; another is a temperature
            cost=-0.1 if not _scales_products(case, temperatures) else 0.0,
        )


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
        masked = array == 0 if name == "softmax" else array < _HIDDEN
        x = np.where(masked, -np.inf, logits.reshape(array.shape))
        for axes in _sums(array, name):
            # where all of a distribution is masked it is even, whatever the logits are
            even = np.ptp(array, axis=axes, keepdims=True) == 0
            hidden = masked | even
            with np.errstate(all="ignore"):
                found = form(x, axes)
            if not even.all() and _is(np.where(hidden, 0.0, found), np.where(hidden, 0.0, array)):
                return True
    return False


def _tempered(x: Array, form: Any, axes: Axes, temperature: float) -> Array:
    result: Array = form(x / temperature, axes)
    return result


def _temperature(x: Array, y: Array, axes: Axes, name: str) -> float | None:
    """The temperature at which a softmax of x is y: both logarithms are in proportion."""
    with np.errstate(all="ignore"):
        logs = np.log(y) if name == "softmax" else y
    if not np.isfinite(logs).all():
        return None
    centred = x - x.mean(axis=axes, keepdims=True)
    slope = float(np.vdot(centred, logs - logs.mean(axis=axes, keepdims=True)))
    square = float(np.vdot(centred, centred))
    if slope <= 0 or not square or not _is(_tempered(x, FORMS[name], axes, square / slope), y):
        return None
    return _written(square / slope)


def _written(exact: float) -> float:
    return shortest(exact, lambda one: abs(one / exact - 1) < 1e-6)


@cause("double-softmax")
def double_softmax(case: Case) -> Iterator[Explanation]:
    """Softmax is taken of what is a softmax already.

    Looks like: probabilities that are nearly alike, none of them near 0 or 1.
    Proof: the reference's operations on softmax of its probabilities give the candidate's value;
        or the candidate's, without its second softmax, the reference's.
    """
    ours, theirs = inside_reference(case), inside_candidate(case)
    for value in ours.values:
        axes = is_probabilities(ours.array(value)) or _softmax_of(ours, value)
        if axes is None:
            continue
        predict = with_value(case, value, partial(softmax, axes=axes))
        if fits(predict, case.first, case.first.candidate):
            yield _double(predict, None, (1, 2))
            return
    for value in theirs.computed:
        for source in theirs.sources(value):
            if source not in theirs.arrays:
                continue
            p = theirs.array(source)
            axes = is_probabilities(p)
            if axes is None or not close(softmax(p, axes), theirs.array(value)):
                continue
            mended = in_candidate(case, value, alone, source)
            if fits(mended, case.first, case.first.reference):
                yield _double(as_it_is, mended, (1, 2))
                return
    for value in ours.computed:
        for source in ours.sources(value):
            axes = is_probabilities(ours.array(source)) if source in ours.arrays else None
            if axes is None or not close(softmax(ours.array(source), axes), ours.array(value)):
                continue
            predict = with_value(case, value, alone, source)
            if fits(predict, case.first, case.first.candidate):
                yield _double(predict, None, (2, 1))
                return


def _softmax_of(inside: Inside, value: int) -> Axes | None:
    """The axes over which the region takes softmax of a value that enters; None if it does not."""
    x = inside.array(value)
    words = {op.word for op in inside.view.computing}
    if value not in inside.entering or words.isdisjoint(_MAKING):
        return None
    same = [inside.array(one) for one in inside.computed if inside.array(one).shape == x.shape]
    for axes in _axes(x):
        for made in same:
            if close(softmax(x, axes), made) or close(log_softmax(x, axes), made):
                return axes
    return (min(1, x.ndim - 1),) if "cross_entropy" in words and x.ndim else None


def _double(candidate: Predict, reference: Predict | None, times: tuple[int, int]) -> Explanation:
    words = {1: "once", 2: "twice"}
    return Explanation(
        "double-softmax",
        f"softmax is taken {words[times[1]]}; the reference takes it {words[times[0]]}",
        candidate,
        reference,
        {"times": times},
        cost=0.2,
    )
