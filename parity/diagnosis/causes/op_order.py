"""What one model applies last, and the other first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._limits import SOURCES_TRIED
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes.combinators import all_fitting
from parity.diagnosis.cut_candidates import is_exact
from parity.diagnosis.trial import Trial
from parity.operations import ADDITIONS, CONVOLUTIONS, PRODUCTS
from parity.tape import Array, Op


@cause("op-order", tier=1)
@all_fitting
def op_order(case: Case) -> Iterator[Explanation]:
    """What is applied last in one model is applied first in the other.

    Looks like: a norm behind the activation or the residual sum, an activation of each term and not
        of their sum.
    Proof: one side's operations, the last one applied to their inputs instead, give the
        other side's value.
    """
    for side in sides(case):
        computing = [op for op in side.view.ops if op.role != "move" and not op.static]
        last = computing[-1] if len(computing) > 1 else None
        if last is None or side.view.end not in last.outputs:
            continue
        if is_exact(side.view.tape.values[side.view.end].dtype):
            continue  # of a flag the root, the square and the size are that flag
        before = _made_before(side, last)
        entering = () if before is None else _alike(side, last, before)
        if before is None or not entering:
            continue
        places = ("last", "first") if not side.is_candidate else ("first", "last")
        was = "after" if not side.is_candidate else "before"
        now = "before" if not side.is_candidate else "after"
        alone = ((value,) for value in entering if len(entering) > 1)
        sets = (entering, *itertools.islice(alone, SOURCES_TRIED))
        predictions: list[Predict] = [
            *(partial(_applied_first, side, last, before, values) for values in sets),
            *_past_a_sum(side, last, before, entering),
        ]
        for predict in predictions:
            yield side.changed(
                Explanation(
                    "op-order",
                    f"{last.kind} is applied {now} {computing[0].kind}; the reference applies it "
                    f"{was}",
                    predict,
                    parameters={"applied": places},
                )
            )


def _made_before(side: CaseSide, op: Op) -> int | None:
    """What an operation that works element by element takes of what is computed before it."""
    tape, inside = side.view.tape, {value for one in side.view.ops for value in one.outputs}
    made = [value for value in op.inputs if value in inside and tape.is_live(value)]
    if len(made) != 1 or op.outputs[0] != side.view.end or op.word in PRODUCTS | CONVOLUTIONS:
        return None
    alike = tape.values[made[0]].shape == tape.values[op.outputs[0]].shape
    return made[0] if alike else None


def _alike(side: CaseSide, last: Op, before: int) -> tuple[int, ...]:
    """What is read in the shape of what is computed: kernels need not take others."""
    values = side.view.tape.values
    entering = (value for value in side.entering if value not in last.inputs)
    return tuple(one for one in entering if values[one].shape == values[before].shape)


def _applied_first(
    side: CaseSide, last: Op, before: int, values: tuple[int, ...], trial: Trial
) -> Array:
    """What a region gives whose last operation is applied to its inputs instead."""
    applied = {
        value: side.values(trial.given, last.outputs[:1], {before: array})[0]
        for value, array in zip(values, side.values(trial.given, values), strict=True)
    }
    (found,) = side.values(trial.given, (before,), applied)
    return side.case.as_reference(found) if side.is_candidate else found


def _past_a_sum(
    side: CaseSide, last: Op, before: int, entering: tuple[int, ...]
) -> Iterator[Predict]:
    """The last operation applied first for all that read a value but the residual sum."""
    run = side.model.run
    for value in entering:
        readers = [op for op in side.view.ops if value in op.inputs and len(op.outputs) == 1]
        others = [op.outputs[0] for op in readers if op.word not in ADDITIONS]
        flat = run.array(value).ravel()
        reshaped = [
            one
            for one in side.entering
            if one != value and np.array_equal(run.array(one).ravel(), flat)
        ]
        if len(others) < len(readers) and (others or reshaped):
            yield partial(_applied_for, side, last, before, value, others, reshaped)


def _applied_for(
    side: CaseSide,
    last: Op,
    before: int,
    value: int,
    made: Sequence[int],
    reshaped: Sequence[int],
    trial: Trial,
) -> Array:
    """What a region gives whose last operation is applied to an input, for some that read it.

    Args:
        made: what those make of the value.
        reshaped: the same value as others read it.
    """
    (array,) = side.values(trial.given, (value,))
    (applied,) = side.values(trial.given, last.outputs[:1], {before: array})
    arrays = side.values(trial.given, made, {value: applied})
    replaced = dict(zip(made, arrays, strict=True))
    for one in reshaped:
        replaced[one] = applied.reshape(side.view.tape.values[one].shape)
    (found,) = side.values(trial.given, (before,), replaced)
    return side.case.as_reference(found) if side.is_candidate else found
