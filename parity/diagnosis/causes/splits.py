"""An axis is split into parts in another order: a fused projection read as (heads, 3, size)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import SPLITS_OF_A_REGION
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named
from parity.diagnosis.causes._substitution import Form, Substituted
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.tape import Array, Op


@cause("head-split-order", tier=1)
@first_fitting
def split_in_another_order(case: Case) -> Iterator[Explanation]:
    """An axis is split into three parts or more, whose order is another one.

    Looks like: queries, keys and values of one projection that hold parts of each other.
    Proof: one side's operations on the axis split in the other order give the other side's value.
    """
    for side in sides(case)[::-1]:
        for op, axis, parts in itertools.islice(_splits(side), SPLITS_OF_A_REGION):
            for order in itertools.permutations(range(len(parts))):
                read = tuple(parts[one] for one in order)
                if order == tuple(sorted(order)):
                    continue
                words = _in_words(parts, order), _in_words(parts, range(len(parts)))
                if not side.is_candidate:
                    words = words[::-1]
                yield side.changed(
                    Explanation(
                        "head-split-order",
                        f"axis {axis} of {named(side.view.tape, op.inputs[0])} is split as "
                        f"{words[1]}; the reference's is as {words[0]}",
                        Substituted(partial(_with_split, side, op, axis, (read, order))),
                        parameters={"split": words},
                        places=(None, op) if side.is_candidate else (op, None),
                    )
                )


def _splits(side: CaseSide) -> Iterator[tuple[Op, int, tuple[int, ...]]]:
    """The operations of a region that split one axis into three or more, with the parts."""
    values = side.view.tape.values
    for op in side.view.ops:
        if op.static or op.word != "reshape" or len(op.outputs) != 1:
            continue
        before, after = values[op.inputs[0]].shape, values[op.outputs[0]].shape
        count = len(after) - len(before) + 1
        for axis, length in enumerate(before) if count > 2 else ():
            parts = after[axis : axis + count]
            whole = (*before[:axis], *parts, *before[axis + 1 :])
            if whole == after and math.prod(parts) == length and min(parts) > 1:
                yield op, axis, parts


def _in_words(parts: Sequence[int], order: Sequence[int]) -> str:
    """The lengths of parts; where some are as long as others, with the places that they have."""
    lengths = ", ".join(str(parts[one]) for one in order)
    if len({*parts}) == len(parts):
        return f"({lengths})"
    return f"({lengths}), in the order {', '.join(map(str, order))}"


def _with_split(
    side: CaseSide,
    op: Op,
    axis: int,
    split: tuple[tuple[int, ...], tuple[int, ...]],
    trial: Trial,
    change: Form,
) -> Array:
    read, order = split
    (array,) = side.values(trial.given, op.inputs[:1])
    parted = array.reshape(*array.shape[:axis], *read, *array.shape[axis + 1 :])
    back = [axis + order.index(one) for one in range(len(order))]
    rest = range(axis + len(order), parted.ndim)
    laid = parted.transpose(*range(axis), *back, *rest)
    return side.run(trial.given, {op.outputs[0]: change(np.ascontiguousarray(laid))})
