"""Another activation, another variant or slope of it, one too few or one too many."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Edit, Explanation, cause
from parity.diagnosis.causes._attested import before_kernels
from parity.diagnosis.causes._curves import Curve, recognise
from parity.diagnosis.causes._limits import (
    CURVE_POINTS,
    CURVE_POINTS_AT_FIRST,
    OPS_OF_A_LAYER,
    OPS_OF_AN_ACTIVATION,
    PAIRS_OF_VALUES,
)
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import is_bound, near, unchanging
from parity.diagnosis.causes._substitution import (
    Inside,
    alone,
    fits,
    in_candidate,
    inside_candidate,
    inside_reference,
    on_side,
    with_value,
)
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView
from parity.tape import Array, Op, Replay, Tape

_CUT_OFF = ("hardtanh", "relu6")  # clips, of which the other model may have one at other bounds


@cause("activation-kind", "gelu-variant", "leaky-slope", "hard-sigmoid-slope", enclosures=True)
def activation_kind(case: Case) -> Iterator[Explanation]:
    """Another activation, another approximation of GELU, or another slope.

    Looks like: values that differ on one side of zero only (slope, ReLU against ELU), by at most
        5e-4 (GELU by tanh or erf), or where they should saturate.
    Proof: with the reference's curve the inputs give the reference's values, with the candidate's
        the candidate's; slopes are solved for.
    """
    points = sample_of(case)
    if points is None:
        return
    x, reference, candidate = points
    a, b = recognise(x, reference), recognise(x, candidate)
    if a is None or b is None or a.alike(b):
        return
    if not are_said_so(case, a, b):
        return
    kind, text, (name, pair), edit = stated_of(a, b)
    yield Explanation(
        kind,
        text,
        lambda trial: b(_input(trial)),
        lambda trial: a(_input(trial)),
        {name: pair},
        edit,
    )


def stated_of(
    a: Curve, b: Curve
) -> tuple[str, str, tuple[str, tuple[object, object]], Edit | None]:
    """The cause of two curves, in words, the parameter that differs, and the edit of a slope."""
    kind, (name, pair) = _stated(a, b)
    text = f"{b.name.split()[0]} with {name} {pair[1]}; the reference has {pair[0]}"
    if kind == "activation-kind" and name == "kind":
        text = f"{pair[1]} in place of {pair[0]}"
    slopes = ("alpha", "slope", "negative_slope")
    return (
        kind,
        text,
        (name, pair),
        Edit((), slopes, repr(pair[0])) if kind == "leaky-slope" else None,
    )


def _stated(a: Curve, b: Curve) -> tuple[str, tuple[str, tuple[object, object]]]:
    """The cause of two curves, and the parameter that differs."""
    gelu = [curve.name.split() for curve in (a, b)]
    if gelu[0][0] == gelu[1][0] == "gelu":
        return "gelu-variant", ("kind", (gelu[0][1], gelu[1][1]))
    if a.name != b.name:
        return "activation-kind", ("kind", (a.name, b.name))
    if a.name == "leaky_relu":
        return "leaky-slope", ("slope", (a.slope, b.slope))
    if a.name.startswith("hard_"):
        return "hard-sigmoid-slope", ("slope", (a.slope, b.slope))
    return "activation-kind", ("alpha", (a.slope or 1.0, b.slope or 1.0))


def sample_of(case: Case) -> tuple[Array, Array, Array] | None:
    """Some x with both sides' y, from the user's inputs and from others spread wide."""
    first = case.first
    inputs = first.inputs
    if not inputs or any(not np.array_equal(inputs[0], other) for other in inputs[1:]):
        return None
    if inputs[0].size != first.reference.size or first.candidate.shape != first.reference.shape:
        return None
    some = _some(first.x.size)
    trials = [(_input(one), one.reference, one.candidate) for one in (first, case.wide)]
    x, reference, candidate = (
        np.concatenate([array.ravel()[some] for array in arrays])
        for arrays in zip(*trials, strict=True)
    )
    return x, reference, candidate


def _input(trial: Trial) -> Array:
    """The input in the shape of the output: a flatten may lie between."""
    return trial.x.reshape(trial.reference.shape)


def are_said_so(case: Case, a: Curve, b: Curve) -> bool:
    """Whether two hard sigmoids are written as such: any scaled clip is one, moved."""
    if a.name != b.name or not a.name.startswith("hard_"):
        return True
    return not any(map(_cuts_below_zero, sides(case)))


def _cuts_below_zero(side: CaseSide) -> bool:
    """Whether a lower bound is negative, which that of a hard sigmoid is not."""
    for op in side.view.ops:
        if op.word in ("clip", "clip_min", "maximum"):
            given, cut = side.values(side.case.wide.given, (op.inputs[0], op.outputs[0]))
            if cut.size and given.min() < cut.min() < 0:
                return True
    return False


def _some(size: int) -> slice:
    return slice(None, None, max(1, size // CURVE_POINTS))


@cause("activation-missing", tier=0, enclosures=True)
def activation_missing(case: Case) -> Iterator[Explanation]:
    """An activation is left out.

    Looks like: values below zero where there should be none, or unbounded ones.
    Proof: the reference's own operations without the activation give the candidate's value.
    """
    return _left_out(case, missing=True)


@cause("activation-extra", tier=0, enclosures=True)
def activation_extra(case: Case) -> Iterator[Explanation]:
    """An activation is applied that the reference has not.

    Looks like: no values below zero, or none beyond 1, where the reference has some.
    Proof: the candidate's own operations without the activation give the reference's value.
    """
    return _left_out(case, missing=False)


def _left_out(case: Case, missing: bool) -> Iterator[Explanation]:
    """An activation that one side applies and the other lacks.

    Args:
        missing: whether it is the candidate that lacks it.
    """
    having, lacking = sides(case) if missing else sides(case)[::-1]
    if len(having.view.ops) > OPS_OF_A_LAYER:
        return
    other = inside_candidate(case) if missing else inside_reference(case)
    replaced = with_value if missing else in_candidate
    for curve, before, after in curves_within(case, having.view, having.values):
        predict = replaced(case, after, alone, before)
        if not fits(predict, case.first, lacking.end(case.first)):
            continue
        further = _is_as_often(curve, having, lacking)
        near_it = not further and _is_near(other, curve)
        text = _in_words(curve, missing, further, near_it)
        if not further and not near_it:
            text += _of_no_effect(curve, other)
        yield Explanation(
            "activation-missing" if missing else "activation-extra",
            text,
            *on_side(predict, not missing),
            {"activation": (curve.name, None) if missing else (None, curve.name)},
            unproved=_as_many(case, curve, before, missing) if near_it else "",
        )
        return


def _in_words(curve: Curve, missing: bool, further: bool, near_it: bool) -> str:
    name = curve.name
    if further and missing:
        return f"{name} is applied further on, the reference applies it here"
    if further:
        return f"{name} is applied here, the reference applies it further on"
    if near_it:
        return f"one {name} {'fewer' if missing else 'more'} here than the reference applies"
    if missing:
        return f"no {name} here, which the reference applies"
    return f"{name} is applied, the reference has no activation here"


def _as_many(case: Case, curve: Curve, value: int, missing: bool) -> str:
    """Why a curve may not be one too few, or too many: both models apply it as often in all.

    What is read may be another value then: the square root of a deviation, whose square is what
    the reference has for the deviation itself.

    Args:
        value: what it is applied to, by the side that does so; its shape is asked for.
    """
    tape = case.repaired.side.tape  # in the run itself what differs is repaired
    runs = case.repaired.reference.run, tape.replay("float64", case.repaired.given)
    having, lacking = runs if missing else runs[::-1]
    shape = having.array(value).shape
    if _times(curve, lacking, shape) < _times(curve, having, shape):
        return ""
    return f"both models apply {curve.name} as often: what it is applied to may be another value"


def _times(curve: Curve, run: Replay, shape: tuple[int, ...]) -> int:
    """How often operations of a run give a curve of a value of some shape, one or several."""
    tape = run.tape
    ops = {index: tape.ops[index] for index in sorted(tape.used)}
    pairs = (pair for pair in _pairs(tape, ops) if tape.values[pair[0]].shape == shape)
    return len({after for x, after in pairs if _lies_on(curve, run.array(x), run.array(after))})


def _lies_on(curve: Curve, x: Array, y: Array) -> bool:
    if not np.ptp(x) > 0:
        return False
    with np.errstate(all="ignore"):
        few = slice(None, None, max(1, x.size // CURVE_POINTS_AT_FIRST))
        points = ((x.ravel()[some], y.ravel()[some]) for some in (few, slice(None)))
        return all(np.allclose(curve(a), b, 1e-6, 0.0, equal_nan=True) for a, b in points)


def _of_no_effect(curve: Curve, other: Inside) -> str:
    """What the other model has there instead: a clip that nothing reaches, a ReLU of what is not
    negative.
    """
    tape = other.view.tape
    for op in near(other):
        alone = sum(tape.is_live(value) for value in op.inputs) == 1
        if not any(unchanging(other, [op])) or not (is_bound(op) or alone):
            continue
        if curve.name in _CUT_OFF and is_bound(op):
            return f"; the other model's {op.kind} there cuts nothing off"
        return f"; the other model's {op.kind} there changes nothing on these inputs"
    return ""


def _is_near(other: Inside, curve: Curve) -> bool:
    """Whether the other side applies a curve next to the place as well."""
    tape = other.view.tape
    return any(
        _is_curve(curve, *(other.base.array(one) for one in (used, made)))
        for op in (*near(other), *other.view.readers())
        for made, used in itertools.product(op.outputs[:1], op.inputs)
        if all("float" in tape.values[one].dtype for one in (made, used))
        and tape.values[made].shape == tape.values[used].shape
        and tape.is_live(used)
    )


def _is_as_often(curve: Curve, having: CaseSide, lacking: CaseSide) -> bool:
    """Whether a side that lacks a curve has it further on, before the next kernel, as often.

    Others may read the inputs too: what they make of them is not on the way.
    """
    return 0 < _times_further_on(curve, having) <= _times_further_on(curve, lacking)


def _times_further_on(curve: Curve, side: CaseSide) -> int:
    run, end = side.model.run, side.view.end
    made, leading = run.tape.graph.descendants(end), run.tape.graph.ancestors([end])
    ops = {
        op.index: op
        for op in before_kernels(run.tape, side.entering)
        if op.index in leading or not made.isdisjoint(op.outputs)
    }
    supplied = {value: run.array(value) for value in side.entering}
    run = run.tape.replay("float64", supplied, run, only=ops)  # in the run itself much is repaired
    pairs = _pairs(run.tape, ops)
    return len({after for x, after in pairs if _is_curve(curve, run.array(x), run.array(after))})


def _is_curve(curve: Curve, x: Array, y: Array) -> bool:
    some = _some(x.size)
    found = recognise(x.ravel()[some], y.ravel()[some])
    return found is not None and found.alike(curve)


Values = Callable[[Mapping[int, Array], Sequence[int]], list[Array]]


def curves_of(case: Case, view: RegionView, values: Values) -> list[Curve]:
    """The known curves in a region."""
    return [curve for curve, _, _ in curves_within(case, view, values)]


def curves_within(case: Case, view: RegionView, values: Values) -> Iterator[tuple[Curve, int, int]]:
    """Pairs of values of a region, the second of which is a known curve of the first."""
    inside = {op.index: op for op in view.ops}
    pairs = list(itertools.islice(_pairs(view.tape, inside), PAIRS_OF_VALUES))
    if not pairs:
        return
    ids = sorted({value for pair in pairs for value in pair})
    trials = case.first, case.wide
    runs = [dict(zip(ids, values(trial.given, ids), strict=True)) for trial in trials]
    for before, after in pairs:
        some = _some(runs[0][before].size)
        x, y = (
            np.concatenate([run[value].ravel()[some] for run in runs]) for value in (before, after)
        )
        if x.shape != y.shape:  # a selection, of fewer elements on other inputs
            continue
        curve = recognise(x, y)
        if curve is not None:
            yield curve, before, after


def _pairs(tape: Tape, inside: Mapping[int, Op]) -> Iterator[tuple[int, int]]:
    values = tape.values
    for op in inside.values():
        for after in op.outputs[:1] if op.role != "move" and not op.static else ():
            for before in _behind(tape, op, inside):
                floating = values[before].dtype.startswith(("float", "bfloat"))
                alike = values[before].shape == values[after].shape and values[before].size > 1
                if floating and alike and tape.is_live(before):
                    yield before, after


def _behind(tape: Tape, op: Op, inside: Collection[int]) -> Iterator[int]:
    """Values that an operation is computed from, within a few operations."""
    seen: dict[int, None] = {}
    level: dict[int, None] = dict.fromkeys(op.inputs)
    for _ in range(OPS_OF_AN_ACTIVATION):
        seen.update(level)
        makers = (tape.producer(value) for value in level)
        behind = (
            one for op in makers if op is not None and op.index in inside for one in op.inputs
        )
        level = {value: None for value in behind if value not in seen}
    yield from seen
