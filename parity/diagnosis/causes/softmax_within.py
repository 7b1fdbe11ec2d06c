"""A softmax of which a region goes on: other axes, another temperature, logarithms or none."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import OF_A_DISTRIBUTION, SAME_PARAMETER, SCALED_INPUT
from parity.diagnosis.causes._substitution import (
    Axes,
    Inside,
    Substituted,
    inside_candidate,
    inside_reference,
    spell,
    subsets,
    with_value,
)
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.causes.softmax import FORMS, scales_input, sums, temperature
from parity.tape import Array, Op

_INVERSES = {"softmax": ("log_softmax", np.log), "log_softmax": ("softmax", np.exp)}


@dataclass(frozen=True)
class _Step:
    """A softmax inside a region.

    Attributes:
        name: of `FORMS`.
        value, source: ids of what it gives, and of its logits.
        axes: of the value.
        temperature: by which the logits are divided.
    """

    name: str
    value: int
    source: int
    axes: Axes
    temperature: float


def _steps(inside: Inside) -> Iterator[_Step]:
    """The softmaxes inside a region, each of the first value that it is a softmax of."""
    for value in inside.computed:
        y = inside.array(value)
        before = inside.sources(value)
        alike = [one for one in inside.arrays if one in before and inside.array(one).size == y.size]
        for name in FORMS:
            found = (
                _Step(name, value, source, axes, over)
                for axes in sums(y, name)
                for source in alike
                if (over := temperature(inside.array(source).reshape(y.shape), y, name, axes))
            )
            yield from itertools.islice(found, 1)


@cause("softmax-axis", "softmax-flattened", "softmax-temperature", enclosures=True)
@first_fitting
def softmax_within(case: Case) -> Iterator[Explanation]:
    """Softmax is taken over other axes or at another temperature, and more is computed of it.

    Looks like: expected values that differ, where the probabilities themselves are in no place
        that both models have.
    Proof: the reference's operations with softmax over the candidate's axes, or at its
        temperature, in the place of its own give the candidate's value.
    """
    reference, candidate = inside_reference(case), inside_candidate(case)
    temperatures = dict.fromkeys(step.temperature for step in _steps(candidate))
    for step in _steps(reference):
        for other in temperatures:
            if not np.isclose(other, step.temperature, SAME_PARAMETER, 0.0):
                yield _at_another_temperature(case, step, other)
        for shape in _shapes(step, reference, candidate):
            yield from _over_other_axes(case, step, reference, shape)


def _at_another_temperature(case: Case, step: _Step, other: float) -> Explanation:
    shape = case.reference.tape.values[step.value].shape
    prepared = scales_input(case.reference) or scales_input(case.candidate)
    return Explanation(
        "softmax-temperature",
        f"{step.name} of the logits over {other:g}; the reference divides them by "
        f"{step.temperature:g}",
        _with_softmax(case, step, shape, step.axes, other),
        parameters={"temperature": (step.temperature, other)},
        cost=SCALED_INPUT if prepared else 0.0,
    )


def _over_other_axes(
    case: Case, step: _Step, inside: Inside, shape: tuple[int, ...]
) -> Iterator[Explanation]:
    own = next(sums(inside.array(step.value).reshape(shape), step.name), None)
    for axes in subsets(len(shape)) if own is not None else ():
        if own is None or axes == own:
            continue
        named = spell(own, len(shape)), spell(axes, len(shape))
        yield Explanation(
            "softmax-axis" if len(own) == len(axes) == 1 else "softmax-flattened",
            f"{step.name} over axis {named[1]} of {shape}; the reference takes axis {named[0]}",
            _with_softmax(case, step, shape, axes, step.temperature),
            parameters={"axis": named},
        )


def _shapes(step: _Step, *insides: Inside) -> list[tuple[int, ...]]:
    """The shape of a softmax, and those in which either side has as many numbers in more axes."""
    own = insides[0].array(step.value)
    shapes = [array.shape for inside in insides for array in inside.arrays.values()]
    finer = [one for one in shapes if len(one) > own.ndim and np.prod(one) == own.size]
    return list(dict.fromkeys([own.shape, *finer]))


def _with_softmax(
    case: Case, step: _Step, shape: tuple[int, ...], axes: Axes, over: float
) -> Substituted:
    """The reference's region with another softmax of its logits, seen in a shape."""
    own = case.reference.tape.values[step.value].shape

    def form(x: Array) -> Array:
        return FORMS[step.name](x.reshape(shape) / over, axes).reshape(own)

    return with_value(case, step.value, form, step.source)


@cause("log-softmax-vs-softmax", enclosures=True)
@first_fitting
def logarithm_within(case: Case) -> Iterator[Explanation]:
    """Probabilities go on in one model, in the other their logarithms.

    Looks like: expected values far outside the support, where one model has a logarithm or an
        exponential that the other has not.
    Proof: the reference's operations on the logarithm of its probabilities, or on the exponential
        of its log-probabilities, give the candidate's value.
    """
    reference, candidate = inside_reference(case), inside_candidate(case)
    for value in reference.values:
        for name, (other, form) in _INVERSES.items():
            if _is(name, reference.array(value)):
                given = [v for v in candidate.entering if _is(other, candidate.array(v))]
                yield Explanation(
                    "log-softmax-vs-softmax",
                    f"{other}; the reference takes {name}",
                    with_value(case, value, form),
                    parameters={"function": (name, other)},
                    cost=OF_A_DISTRIBUTION,
                    places=(_maker(reference, [value]), _maker(candidate, given)),
                )


def _is(name: str, array: Array) -> bool:
    """Whether an array is probabilities, or their logarithms."""
    return next(sums(array, name), None) is not None


def _maker(inside: Inside, values: list[int]) -> Op | None:
    """What makes the first of some values, where that lies before the region."""
    tape = inside.view.tape
    made = [tape.producer(tape.before_moves(value)) for value in values if value in inside.entering]
    return next(iter(made), None)
