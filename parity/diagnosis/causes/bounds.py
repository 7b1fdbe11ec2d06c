"""One of the two bounds of a clip is missing, or too much."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
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
