"""Other rows are looked up, or summed, than the reference's: by an index that is another one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import NUMBERS_SHOWN, OTHER_SOURCE, SOURCES_TRIED
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named, twins
from parity.diagnosis.causes._substitution import Substituted, varies, with_value
from parity.diagnosis.causes.combinators import first_that_fits
from parity.tape import Array


@cause("wrong-source", tier=2)
def other_index(case: Case) -> Iterator[Explanation]:
    """Rows are looked up, or summed, by another index than the reference's.

    Looks like: ids without the offset of their table; messages that are summed at their senders.
    Proof: the reference's operations with the index that the candidate reads give the candidate's
        value.
    """
    for found in first_that_fits(case, _other_indices(case)):
        yield replace(found, unproved=found.unproved or twins(case))


def _other_indices(case: Case) -> Iterator[Explanation]:
    reference, candidate = (dict(_indices(side)) for side in sides(case))
    pairs = case.inputs.pairs
    tried = itertools.product(reference.items(), candidate.items())
    for (value, right), (read, wrong) in itertools.islice(tried, SOURCES_TRIED):
        other = pairs[read].reference if read in pairs else _held(case, wrong)
        if right.size != wrong.size or other == value or _is_one(right, wrong):
            continue
        names = named(case.reference.tape, value), _name(case, read, other)
        if names[0] == names[1]:
            names = _numbers(right, wrong)
        yield Explanation(
            "wrong-source",
            f"the rows are those of {names[1]}; the reference's are those of {names[0]}",
            _with_index(case, value, other, wrong),
            parameters={"source": names},
            cost=OTHER_SOURCE,
        )


def _indices(side: CaseSide) -> Iterator[tuple[int, Array]]:
    """The integers that the operations of a region read, each once, with what they are."""
    for value in dict.fromkeys(value for op in side.view.ops for value in op.inputs):
        array = side.model.run.array(value)
        if array.dtype.kind in "iu" and varies(array):
            yield value, array


def _is_one(right: Array, wrong: Array) -> bool:
    return bool(np.array_equal(right.reshape(-1), wrong.reshape(-1)))


def _held(case: Case, index: Array) -> int | None:
    """What the reference holds, or is given, that is an index: its code may read it elsewhere."""
    tape, run = case.reference.tape, case.repaired.reference.run
    for value in tape.values:
        if value.kind != "computed" and value.name and value.shape == index.shape:
            array = run.array(value.id)
            if array.dtype.kind in "iu" and np.array_equal(array, index):
                return value.id
    return None


def _name(case: Case, read: int, other: int | None) -> str:
    if other is not None:
        return named(case.reference.tape, other)
    return named(case.candidate.tape, read)


def _numbers(right: Array, wrong: Array) -> tuple[str, str]:
    """Two indices in numbers: a few from the first on that is another one."""
    flat = right.reshape(-1), wrong.reshape(-1)
    first = int(np.flatnonzero(flat[0] != flat[1])[0])
    shown = slice(first, first + NUMBERS_SHOWN)
    said = [", ".join(map(str, one[shown])) for one in flat]
    return f"the index {said[0]}, .. (from place {first} on)", f"the index {said[1]}, .."


def _with_index(case: Case, value: int, other: int | None, wrong: Array) -> Substituted:
    right = case.repaired.reference.run.array(value)
    # what is a cast of an input of the region follows it, as the number of scores that are kept
    if other is None or case.reference.tape.before_moves(other) not in case.roots:
        return with_value(case, value, partial(_instead, index=wrong.reshape(right.shape)))
    return with_value(case, value, partial(_like, index=right), other)


def _like(array: Array, index: Array) -> Array:
    return array.reshape(index.shape).astype(index.dtype)


def _instead(_: Array, index: Array) -> Array:
    return index
