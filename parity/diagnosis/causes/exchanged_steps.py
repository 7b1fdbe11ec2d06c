"""Two steps in the other order: reductions along two axes, a product and what works by element."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import OPS_BEHIND_A_STEP
from parity.diagnosis.causes._reduced import KINDS
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._substitution import (
    Axes,
    close,
    inside_reference,
    subsets,
    with_value,
)
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.operations import ADDITIONS, DIVISIONS, PRODUCTS, SUBTRACTIONS
from parity.tape import Array, Op


def _log_sum_exp(x: Array, axis: Axes, keepdims: bool) -> Array:
    high = x.max(axis=axis, keepdims=True)
    found: Array = high + np.log(np.exp(x - high).sum(axis=axis, keepdims=True))
    return found if keepdims else np.squeeze(found, axis)


_REDUCING: Mapping[str, Callable[..., Array]] = {**KINDS, "log_sum_exp": _log_sum_exp}
_BY_ELEMENT = SUBTRACTIONS | DIVISIONS | ADDITIONS - {"bias_add"} | {"multiply"}
_ACTIVATIONS = frozenset(("relu", "tanh", "sigmoid", "gelu", "silu", "elu", "softplus", "abs"))


@cause("op-order", tier=1)
@first_fitting
def reductions_exchanged(case: Case) -> Iterator[Explanation]:
    """Two reductions along two axes are taken in the other order.

    Looks like: the densities of a mixture added up over dimensions before they are mixed.
    Proof: the reference's two reductions of the same value, exchanged, give the candidate's value.
    """
    inside = inside_reference(case)
    for last in case.reference.ops:
        first = case.reference.tape.producer(last.inputs[0]) if last.inputs else None
        if first is None or first not in case.reference.ops or first.word == last.word:
            continue
        if not {first.word, last.word} <= _REDUCING.keys():
            continue
        ends = first.inputs[0], first.outputs[0], last.outputs[0]
        x, between, made = map(inside.array, ends)
        axes, then = _axes(first.word, x, between), _axes(last.word, between, made)
        if axes is None or then is None:
            continue
        left = [axis for axis in range(x.ndim) if between.ndim == x.ndim or axis not in axes]
        steps = (last.word, tuple(left[axis] for axis in then)), (first.word, axes)
        yield Explanation(
            "op-order",
            f"{last.kind} is taken before {first.kind}; the reference takes it after",
            with_value(case, ends[2], partial(_reduced, steps=steps, shape=made.shape), ends[0]),
            parameters={"taken": (f"{first.kind}, {last.kind}", f"{last.kind}, {first.kind}")},
        )


def _axes(word: str, x: Array, made: Array) -> Axes | None:
    """The axes along which an array is another one reduced."""
    for axes in subsets(x.ndim) if x.dtype.kind == "f" and made.size < x.size else ():
        found = np.asarray(_REDUCING[word](x, axis=axes, keepdims=False))
        if found.size == made.size and close(found.ravel(), made.ravel()):
            return axes
    return None


def _reduced(x: Array, steps: tuple[tuple[str, Axes], ...], shape: tuple[int, ...]) -> Array:
    for word, axes in steps:
        x = _REDUCING[word](x, axis=axes, keepdims=True)
    return x.reshape(shape)


@cause("op-order", tier=1)
@first_fitting
def behind_the_product(case: Case) -> Iterator[Explanation]:
    """What works element by element is applied to what a product takes, or to what it gives.

    Looks like: a gate that multiplies a state before the recurrent matrix, not the product.
    Proof: one side's operations without it, and it applied to what they give, make the other
        side's value.
    """
    for side in sides(case):
        computing = [op for op in side.view.ops if op.role != "move" and not op.static]
        if not 1 < len(computing) <= OPS_BEHIND_A_STEP + 1:
            continue
        step, behind = computing[0], computing[1:]
        product = next((op for op in behind if op.word in PRODUCTS), None)
        if product is None or step.word not in _BY_ELEMENT | _ACTIVATIONS:
            continue
        was, now = ("after", "before") if side.is_candidate else ("before", "after")
        places = ("last", "first") if side.is_candidate else ("first", "last")
        for value in _alike(side, step):
            yield side.changed(
                Explanation(
                    "op-order",
                    f"{step.kind} is applied {now} {product.kind}; the reference applies it {was}",
                    partial(_applied_behind, side, step, value),
                    parameters={"applied": places},
                )
            )


def _alike(side: CaseSide, step: Op) -> list[int]:
    """The inputs of a step that are like what it gives and what the region gives.

    Native kernels need not take operands of other shapes.
    """
    values = side.view.tape.values
    shapes = {values[value].shape for value in (*step.outputs, side.view.end)}
    live = dict.fromkeys(filter(side.view.tape.is_live, step.inputs))
    return [value for value in live if {values[value].shape} == shapes]


def _applied_behind(side: CaseSide, step: Op, value: int, trial: Trial) -> Array:
    """What a region gives whose first step is applied to its result instead."""
    (given,) = side.values(trial.given, (value,))
    (made,) = side.values(trial.given, (side.view.end,), dict.fromkeys(step.outputs, given))
    (found,) = side.values(trial.given, step.outputs, {value: made})
    return side.case.as_reference(found) if side.is_candidate else found
