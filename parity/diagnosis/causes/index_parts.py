"""Two parts of an index that change places, as the senders and receivers of a graph's edges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._places import part_in_words
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.cut_candidates import is_exact
from parity.diagnosis.trial import Trial
from parity.tape import Array

Pair = tuple[int, int]


@cause("operands-exchanged", tier=1)
@first_fitting
def parts_of_an_index_exchanged(case: Case) -> Iterator[Explanation]:
    """Two parts of one index are read in each other's place.

    Looks like: a graph network whose messages flow backwards: edges read as (receiver, sender).
    Proof: one side's own operations with the two parts exchanged give the other side's value; all
        such indices of a region are one.
    """
    for side in sides(case)[::-1]:
        pairs = list(_pairs(side))
        for some in [pairs, *([one] for one in pairs if len(pairs) > 1)] if pairs else []:
            first, second = (part_in_words(side.view.tape, value) for value in some[0])
            yield side.changed(
                Explanation(
                    "operands-exchanged",
                    f"{first} and {second} are read in each other's place",
                    partial(_exchanged, side, some),
                )
            )


def _pairs(side: CaseSide) -> Iterator[Pair]:
    """The two parts of each index that a region computes with, if it has two of one shape."""
    tape = side.view.tape
    parts: dict[int, dict[int, None]] = defaultdict(dict)
    for op in side.view.ops:
        for value in op.inputs if op.role != "move" or len(op.inputs) > 1 else ():
            root = tape.before_moves(value)
            if root != value and is_exact(tape.values[value].dtype) and tape.is_live(root):
                parts[root][value] = None
    for found in parts.values():
        if len(found) == 2:
            first, second = found
            a, b = (side.model.run.array(value) for value in found)
            if a.shape == b.shape and not np.array_equal(a, b):
                yield first, second


def _exchanged(side: CaseSide, some: Sequence[Pair], trial: Trial) -> Array:
    replaced: dict[int, Array] = {}
    for pair in some:
        a, b = side.values(trial.given, pair)
        replaced |= {pair[0]: b, pair[1]: a}
    return side.run(trial.given, replaced)
