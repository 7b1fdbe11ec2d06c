"""One of the two bounds of a clip is missing, or too much; cut off on the other side."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import FAR_OUT, OP_LEFT_OUT, SOURCES_TRIED
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import twins
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.errors import ReplayError
from parity.tape import Array, Op

_ONE_SIDED = ("clip", "clip_min", "clip_max", "maximum", "minimum", "relu")


@cause("op-missing", "op-extra", tier=2)
@first_fitting
def one_bound(case: Case) -> Iterator[Explanation]:
    """One of the two bounds of a clip is missing, or is there and should not be.

    Looks like: a target that is clipped from below alone.
    Proof: one side's operations with the other bound alone in the place of its clip give the other
        side's value.
    """
    for side in sides(case):
        for op, low, high in itertools.islice(_clips(side), SOURCES_TRIED):
            for name, bound, other in (
                ("upper", high, partial(np.maximum, low)),
                ("lower", low, partial(np.minimum, high)),
            ):
                what = f"the {name} bound{_number(bound)} of {op.kind}"
                kind, text = "op-missing", f"{what} is missing here"
                said = (f"{name} bound", "none")
                if side.is_candidate:
                    kind, text = "op-extra", f"{what} is applied here, the reference has none here"
                    said = said[::-1]
                yield side.changed(
                    Explanation(
                        kind,
                        text,
                        partial(_bounded, side, op, other),
                        parameters={"bound": said},
                        unproved=twins(case),
                        cost=OP_LEFT_OUT / 2,
                        places=(None, op) if side.is_candidate else (op, None),
                    )
                )


@cause("operands-exchanged", tier=1)
@first_fitting
def other_side_cut(case: Case) -> Iterator[Explanation]:
    """A maximum with a number stands for the minimum with it, or the other way round.

    Looks like: an error of which the negative part is kept, where the positive one belongs.
    Proof: one side's operations, cut off on the other side of the number, give the other side's
        value.
    """
    words: dict[Callable[..., Array], str]
    words = {np.maximum: "from below", np.minimum: "from above"}
    for side in sides(case):
        for op, value, bound, form in itertools.islice(_one_sided(side), SOURCES_TRIED):
            other = np.minimum if form is np.maximum else np.maximum
            own, there = words[form], words[other]
            right, wrong = (there, own) if side.is_candidate else (own, there)
            yield side.changed(
                Explanation(
                    "operands-exchanged",
                    f"cut off {wrong} at {bound:g}; the reference cuts off {right}",
                    partial(_cut_off, side, op, value, partial(other, bound)),
                    parameters={"cut off": (right, wrong)},
                    places=(None, op) if side.is_candidate else (op, None),
                )
            )


def _one_sided(side: CaseSide) -> Iterator[tuple[Op, int, float, Callable[..., Array]]]:
    """The operations that cut off at one number alone, with what they read, and which way."""
    tape = side.view.tape
    for op in side.view.ops:
        live = [value for value in op.inputs if tape.is_live(value)]
        if op.word not in _ONE_SIDED or len(live) != 1 or len(op.outputs) != 1:
            continue
        like = side.model.run.array(live[0])
        if like.dtype.kind != "f" or not like.size:
            continue
        try:
            low, high = (_at(side, op, live[0], np.full_like(like, x)) for x in (-FAR_OUT, FAR_OUT))
        except ReplayError:
            continue
        for bound, passed, form in ((low, high, np.maximum), (high, low, np.minimum)):
            if (np.abs(passed) == FAR_OUT).all() and (bound == bound.flat[0]).all():
                if abs(bound.flat[0]) < FAR_OUT / 2:
                    yield op, live[0], float(bound.flat[0]), form


def _cut_off(side: CaseSide, op: Op, value: int, form: Callable[..., Array], trial: Trial) -> Array:
    (array,) = side.values(trial.given, (value,))
    return side.run(trial.given, {op.outputs[0]: form(array)})


def _clips(side: CaseSide) -> Iterator[tuple[Op, Array, Array]]:
    """The operations that cut off at two bounds, with those: what each gives far out."""
    tape = side.view.tape
    for op in side.view.ops:
        live = [value for value in op.inputs if tape.is_live(value)]
        if op.word != "clip" or len(live) != 1 or len(op.outputs) != 1:
            continue
        like = side.model.run.array(live[0])
        if like.dtype.kind != "f" or not like.size:
            continue
        try:
            low, high = (_at(side, op, live[0], np.full_like(like, x)) for x in (-FAR_OUT, FAR_OUT))
        except ReplayError:
            continue
        if (np.abs(low) < FAR_OUT / 2).all() and (np.abs(high) < FAR_OUT / 2).all():
            yield op, low, high


def _at(side: CaseSide, op: Op, value: int, array: Array) -> Array:
    run = side.view.tape.replay("float64", {value: array}, side.model.run, only={op.index})
    return run.array(op.outputs[0])


def _number(bound: Array) -> str:
    return f" {bound.flat[0]:g}" if (bound == bound.flat[0]).all() else ""


def _bounded(side: CaseSide, op: Op, other: partial[Array], trial: Trial) -> Array:
    (value,) = (one for one in op.inputs if side.view.tape.is_live(one))
    (array,) = side.values(trial.given, (value,))
    return side.run(trial.given, {op.outputs[0]: other(array)})
