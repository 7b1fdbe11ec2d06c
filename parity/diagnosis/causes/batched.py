"""Reductions of the candidate alone: of what the reference does piece by piece, in a loop."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import PLAIN_REDUCTION, SOURCES_TRIED
from parity.diagnosis.causes._reduced import reduce, reductions
from parity.diagnosis.causes._sources import twins
from parity.diagnosis.causes._substitution import (
    in_candidate,
    inside_candidate,
    spell,
    subsets,
)
from parity.diagnosis.causes.combinators import first_fitting, fix


@cause("reduction-axis", tier=1)
@first_fitting
def reduced_in_one(case: Case) -> Iterator[Explanation]:
    """What the candidate does in one goes over another axis than the reference's pieces.

    Looks like: weights that add up to 1 over the memories where they should over the neighbours,
        and a reference that goes through its memories in a loop.
    Proof: the candidate's operations with the reduction over the other axis give the reference's
        value.
    """
    candidate = inside_candidate(case)
    tape = case.candidate.tape
    for one in itertools.islice(reductions(candidate), SOURCES_TRIED):
        shape = tape.values[one.source].shape
        op = tape.producer(one.value)
        for axes in subsets(len(shape)):
            if len(axes) != len(one.axes) or axes == one.axes or any(shape[i] < 2 for i in axes):
                continue
            right, wrong = spell(axes, len(shape)), spell(one.axes, len(shape))
            yield fix(
                in_candidate(
                    case,
                    one.value,
                    partial(reduce, kind=one.kind, axes=axes, keeps=one.keeps),
                    one.source,
                ),
                "reduction-axis",
                f"{one.kind} over axis {wrong} of {shape}; over axis {right} it is the reference's",
                parameters={"axis": (right, wrong)},
                unproved=twins(case),
                cost=PLAIN_REDUCTION,
                places=(None, op),
            )
