"""Distributions of actions: their scale, squashing, log-probabilities, and what logits are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._curves import softplus
from parity.diagnosis.causes._limits import (
    CORRECTION_EPSILON,
    CORRECTIONS_AT_FIRST,
    OF_A_DISTRIBUTION,
    OPS_TO_AN_ACTION,
    OPS_TO_THE_NOISE,
    SCALES_TRIED,
)
from parity.diagnosis.causes._reduced import changes
from parity.diagnosis.causes._substitution import (
    Inside,
    alone,
    close,
    computes,
    constants_before,
    in_candidate,
    inside_candidate,
    inside_reference,
    is_of,
    rounded,
    with_value,
)
from parity.diagnosis.causes.combinators import first_that_fits, fix
from parity.operations import DIVISIONS, LOGARITHMS
from parity.tape import Array, Op

_OF_NORMALS = (math.log(2 * math.pi), 2 * math.pi, math.sqrt(2 * math.pi))
_SCALING = DIVISIONS | {"multiply", "multiply_add"}


def is_log_probability(case: Case, value: int) -> bool:
    """Whether a value of the reference, not reduced, is made with the constant of densities."""
    reference = constants_before(
        case.reference.tape, value, case.repaired.reference.run, reduced=False
    )
    candidate = constants_before(case.candidate.tape, case.candidate.end, case.repaired.side.run)
    return all(any(map(_is_of_normals, found)) for found in (reference, candidate))


def _is_of_normals(number: float) -> bool:
    known = (factor * one for one in _OF_NORMALS for factor in (0.5, 1.0))
    return any(math.isclose(abs(number), one, rel_tol=1e-5) for one in known)


SCALES: Mapping[str, Callable[[Array], Array]] = {
    "x": alone,
    "exp(x)": np.exp,
    "exp(2 x)": lambda x: np.exp(2 * x),
    "exp(x / 2)": lambda x: np.exp(x / 2),
    "softplus(x)": softplus,
    "softplus(x)^2": lambda x: softplus(x) ** 2,
    "sqrt(softplus(x))": lambda x: np.sqrt(softplus(x)),
}


@cause("scale-parameterisation")
def scale_parameterisation(case: Case) -> Iterator[Explanation]:
    """What the network gives is taken for another form of the scale: log-std, std or variance.

    Looks like: samples too wide or too narrow, log-probabilities that are off with them; a raw
        scale may be negative.
    Proof: the reference's operations with the other function of the same raw value give the
        candidate's value.
    """
    return first_that_fits(
        case,
        (
            Explanation(
                "scale-parameterisation",
                f"the scale is {other} of what the network gives; the reference's is {name}",
                with_value(case, value, form, source),
                parameters={"scale": (name, other)},
                cost=OF_A_DISTRIBUTION,
            )
            for value, source, name in itertools.islice(_read_as_scales(case), SCALES_TRIED)
            for other, form in SCALES.items()
            if other != name and computes(case.candidate, other)
        ),
    )


def _read_as_scales(case: Case) -> Iterator[tuple[int, int, str]]:
    """Values that scale something, what they are made of, and by which form."""
    reference = inside_reference(case)
    for value in reference.values:
        if not _scales(case, value):
            continue
        sources = reference.sources(value)
        for source in (value, *(one for one in reference.values if one in sources)):
            x, made = reference.array(source), reference.array(value)
            if x.shape == made.shape and x.size:
                names = (one for one in SCALES if one != "x" and is_of(SCALES[one], x, made))
                name = "x" if source == value else next(names, "")
                if name and not (name == "x" and _is_bent(case, value)):
                    yield value, source, name


def _is_bent(case: Case, value: int) -> bool:
    """Whether the reference's region applies a curve to a value, which may change nothing here."""
    return any(op.inputs == (value,) and op.role == "compute" for op in case.reference.ops)


def _scales(case: Case, value: int) -> bool:
    """Whether a value is multiplied with noise, or divides a deviation, soon after."""
    tape = case.reference.tape
    reached = {value}
    count = 0
    for op in tape.ops[max(tape.values[value].op, 0) :]:
        if reached.isdisjoint(op.inputs):
            continue
        if op.word in _SCALING and any(map(tape.is_live, {*op.inputs} - reached)):
            return True
        if op.word == "exp":
            return False  # a scale's logarithm, which has bounds and forms of its own
        reached.update(op.outputs)
        count += op.role != "move"
        if count > OPS_TO_THE_NOISE:
            return False
    return False


@cause("squash-missing")
def squash_missing(case: Case) -> Iterator[Explanation]:
    """The action is not squashed into its bounds.

    Looks like: actions outside their bounds; near zero they are right.
    Proof: the reference's operations without the squashing function give the candidate's value.
    """
    reference = inside_reference(case)
    return first_that_fits(
        case,
        (
            Explanation(
                "squash-missing",
                "the action is not squashed; the reference squashes it by tanh",
                with_value(case, value, alone, source),
                parameters={"squash": ("tanh", "none")},
                cost=OF_A_DISTRIBUTION,
            )
            for value, source in reference.derived()
            if is_of(np.tanh, reference.array(source), reference.array(value))
            and _bounds_an_action(case, value)
        ),
    )


def _bounds_an_action(case: Case, value: int) -> bool:
    """Whether a squashed value is only scaled and shifted on its way to an output."""
    tape = case.reference.tape
    outputs = {tape.before_moves(one) for one in tape.outputs.values()}
    reached, scaled = {value}, 0
    for op in tape.ops[tape.values[value].op + 1 :]:
        if reached.isdisjoint(op.inputs):
            continue
        if op.role != "move":
            if not _is_affine(case, op, reached) or scaled == OPS_TO_AN_ACTION:
                return False
            scaled += 1
        reached.update(op.outputs)
    return scaled > 0 and not outputs.isdisjoint(reached)


def _is_affine(case: Case, op: Op, reached: set[int]) -> bool:
    """Whether an operation scales and shifts each element, or each feature, by constants."""
    tape, run = case.reference.tape, case.repaired.reference.run
    live = [one for one in op.inputs if one in reached]
    if len(live) != 1 or any(tape.is_live(one) for one in op.inputs if one != live[0]):
        return False
    x, y = run.array(live[0]), run.array(op.outputs[0])
    if x.size != y.size or tape.values[op.outputs[0]].shape[-1:] != x.shape[-1:] or not x.ndim:
        return False
    x, y = (one.reshape(-1, one.shape[-1]) for one in (x, y))
    if len(x) < 3:
        return False
    centred = x - x.mean(0)
    slope = (centred * (y - y.mean(0))).sum(0) / np.maximum((centred**2).sum(0), 1e-300)
    return close(y.mean(0) + slope * centred, y)


@cause("log-prob-reduction")
def log_prob_reduction(case: Case) -> Iterator[Explanation]:
    """The log-probabilities of an action's components are not added up, or are averaged.

    Looks like: a log-probability for each component, or the ratio of both sides is everywhere the
        number of components.
    Proof: the reference's operations with the other reduction of the components, or none, give the
        candidate's value.
    """
    for change in changes(case):
        one = change.reduction
        if not is_log_probability(case, one.source):
            continue
        words = "the components' log-probabilities"
        if change.kind == one.kind:
            reference, candidate = change.named
            text = f"{words} are reduced over axis {candidate}; "
            text += f"the reference reduces them over axis {reference}"
            parameters: dict[str, tuple[Any, Any]] = {"axis": change.named}
        else:
            now = f"the {change.kind} of {words}"
            now = f"{words} are not added up" if change.kind == "none" else now
            text = f"{now}; the reference takes their {one.kind}"
            parameters = {"kind": (one.kind, change.kind)}
        yield Explanation("log-prob-reduction", text, change.predict, parameters=parameters)


@cause("log-prob-correction")
def log_prob_correction(case: Case) -> Iterator[Explanation]:
    """The log-probability of a squashed action lacks its correction, or corrects another value.

    Looks like: log-probabilities that are right for small actions, and off more and more towards
        the bounds.
    Proof: the reference's log-probability without the correction, or with that of the value that
        the candidate reads, gives the candidate's.
    """
    reference, candidate = inside_reference(case), inside_candidate(case)
    corrections = list(_corrections(reference))
    corrected = {value for one in corrections for value in reference.sources(one)}
    read = [value for value in reference.entering if value in corrected]
    for proposals in (
        _unscaled(case, reference),
        _left_out(case, reference, corrections),
        _of_another(case, read),
        _clamped(case, reference, candidate, read),
        _too_much(case, candidate),
    ):
        yield from first_that_fits(case, proposals)


# log(1 - tanh(u)^2) of a value before tanh, or after it
_STRETCHES: tuple[Callable[[Array], Array], ...] = (
    lambda u: np.log1p(-(np.tanh(u) ** 2)),
    lambda y: np.log1p(-(y**2)),
)


def _corrections(inside: Inside) -> Iterator[int]:
    """Values in proportion to log(1 - tanh(u)^2) or log(1 - y^2), if logarithms are taken."""
    # 2 (log 2 - u - softplus(-2 u)) is the correction too
    if not any(op.word in LOGARITHMS | {"softplus"} for op in inside.view.computing):
        return
    found = set()
    for value, source in inside.derived():
        u, made = inside.array(source), inside.array(value)
        if value not in found and u.shape == made.shape:
            if any(_corrects(form, u, made) for form in _STRETCHES):
                found.add(value)
                yield value


def _corrects(form: Callable[[Array], Array], u: Array, made: Array) -> bool:
    """Whether a value is in proportion to a form where tanh does not saturate."""
    for count in (CORRECTIONS_AT_FIRST, u.size):
        few, others = u.ravel()[:count], made.ravel()[:count]
        small = np.abs(few) < 0.9
        if len(np.unique(few[small])) < 3 or not _in_proportion(others[small], form(few[small])):
            return False
    return True


def _in_proportion(made: Array, form: Array) -> bool:
    square = float(form @ form)
    factor = float(form @ made) / square if square else 0.0
    return abs(factor) > 0.1 and np.allclose(made, factor * form, 0, CORRECTION_EPSILON)


def _after(inside: Inside, corrections: list[int]) -> Iterator[int]:
    """Corrections, and what is made of them alone."""
    for value in inside.computed:
        if value in corrections or any(one in inside.sources(value) for one in corrections):
            yield value


def _left_out(case: Case, reference: Inside, corrections: list[int]) -> Iterator[Explanation]:
    for value in _after(reference, corrections):
        yield Explanation(
            "log-prob-correction",
            "the log-probability of the squashed action is not corrected; the reference's is",
            with_value(case, value, np.zeros_like),
            parameters={"correction": ("log(1 - tanh(x)^2)", "none")},
        )


def _too_much(case: Case, candidate: Inside) -> Iterator[Explanation]:
    for value in _after(candidate, list(_corrections(candidate))):
        yield fix(
            in_candidate(case, value, np.zeros_like),
            "log-prob-correction",
            "the log-probability is corrected for tanh; the reference's is not",
            parameters={"correction": ("none", "log(1 - tanh(x)^2)")},
        )


def _unscaled(case: Case, reference: Inside) -> Iterator[Explanation]:
    """The action is scaled after tanh, and the slope 1 - tanh(x)^2 is not."""
    if not any(op.word in LOGARITHMS for op in case.reference.readers(OPS_TO_THE_NOISE)):
        return
    for value, source in reference.derived():
        slope, x = reference.array(value), reference.array(source)
        if x.shape != slope.shape or not x.all() or not 0 < x.max() <= 1:
            continue
        factor = float(np.median(slope / x))
        if abs(factor - 1) < 1e-6 or not close(factor * x, slope) or not _is_slope(case, source):
            continue
        yield Explanation(
            "log-prob-correction",
            f"the correction lacks the scale of the action, {factor:g}",
            with_value(case, value, alone, source),
            parameters={"scale": (rounded(factor), 1.0)},
        )


def _is_slope(case: Case, value: int) -> bool:
    """Whether a value of the reference is 1 - y^2 of a value close before it."""
    tape, run = case.reference.tape, case.repaired.reference.run
    near = [value]
    for _ in range(OPS_TO_THE_NOISE):
        near = [one for at in near for op in [tape.producer(at)] if op for one in op.inputs]
        for one in near:
            y = run.array(one)
            if y.shape == run.array(value).shape and close(1 - y**2, run.array(value)):
                return True
    return False


def _of_another(case: Case, read: list[int]) -> Iterator[Explanation]:
    shapes = case.reference.tape.values
    for value, other in itertools.product(read, case.partners.values()):
        if other != value and shapes[other].shape == shapes[value].shape:
            yield Explanation(
                "log-prob-correction",
                "the correction for tanh is taken of another value than the squashed action, "
                "such as the scaled one",
                with_value(case, value, alone, other),
                parameters={"correction of": ("squashed action", "another value")},
            )


def _clamped(
    case: Case, reference: Inside, candidate: Inside, read: list[int]
) -> Iterator[Explanation]:
    """The candidate goes back from an action that was clamped: larger values are lost."""
    for value, other in itertools.product(read, candidate.computed):
        u, found = reference.array(value), candidate.array(other)
        limit = float(np.abs(found).max(initial=0.0))
        if found.size != u.size or not 0 < limit < np.abs(u).max():
            continue
        bound = rounded(math.tanh(limit))
        yield Explanation(
            "log-prob-correction",
            f"the value before tanh is recovered from an action clamped to {bound:g}; the "
            "reference keeps the value",
            with_value(case, value, partial(np.clip, a_min=-limit, a_max=limit)),
            parameters={"clamp": (None, bound)},
        )
