"""Other rows are looked up, or summed, than the reference's: by an index that is another one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from parity.arrays import varies
from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import (
    AXES_OF_PLACES,
    COUNTED,
    NUMBERS_SHOWN,
    OTHER_SOURCE,
    SOURCES_TRIED,
)
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named, twins
from parity.diagnosis.causes._substitution import Substituted, with_value
from parity.diagnosis.causes.combinators import first_fitting, first_that_fits
from parity.diagnosis.trial import Trial
from parity.operations import LOOK_UPS
from parity.tape import Array, Op


@cause("wrong-source", "position-ids", tier=2)
def other_index(case: Case) -> Iterator[Explanation]:
    """Rows are looked up, or summed, by another index than the reference's.

    Looks like: ids without the offset of their table; messages that are summed at their senders;
        positions that are counted from 1, not 0, as behind another number for the padding.
    Proof: the reference's operations with the index that the candidate reads give the candidate's
        value; where that counts from another number, with the reference's index moved by as much.
    """
    proposals = itertools.chain(_other_start(case), _other_indices(case))
    for found in first_that_fits(case, proposals):
        yield replace(found, unproved=found.unproved or twins(case))


def _other_indices(case: Case) -> Iterator[Explanation]:
    reference, candidate = (dict(_indices(side)) for side in sides(case))
    pairs = case.inputs.pairs
    tried = itertools.product(reference.items(), candidate.items())
    for (value, right), (read, wrong) in itertools.islice(tried, SOURCES_TRIED):
        other = pairs[read].reference if read in pairs else _held(case, wrong)
        if right.size != wrong.size or other == value or _is_one(right, wrong):
            continue
        yield from _counted(case, value, right, wrong)
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


@cause("flatten-order", tier=2)
@first_fitting
def places_in_another_order(case: Case) -> Iterator[Explanation]:
    """What is put at places of a value, or read there, goes through them in another order.

    Looks like: a triangle of a matrix that is filled column by column, and not row by row.
    Proof: one side's operations with the same places along other axes first give the other side's
        value.
    """
    for side in sides(case)[::-1]:
        for op, ids in ((op, _coordinates(side, op)) for op in side.view.ops):
            places = np.array([side.model.run.array(one) for one in ids])
            for axes in itertools.permutations(range(len(ids))) if ids else ():
                turned = places[:, np.lexsort(places[list(axes)])]
                if np.array_equal(turned, places):
                    continue
                right, wrong = (_in_turn(one) for one in (places, turned))
                if side.is_candidate:
                    right, wrong = wrong, right
                found = Explanation(
                    "flatten-order",
                    f"{op.kind} goes through the places {wrong}, ..; the reference's goes "
                    f"through {right}, ..",
                    partial(_with_places, side, dict(zip(ids, turned, strict=True))),
                    parameters={"order": (right, wrong)},
                    places=(None, op) if side.is_candidate else (op, None),
                )
                yield side.changed(found)


def _coordinates(side: CaseSide, op: Op) -> tuple[int, ...]:
    """The indices along several axes, a list for each, that an operation reads."""
    found = []
    for value in op.inputs:
        array = side.model.run.array(value)
        if array.dtype.kind in "iu" and array.ndim == 1 and not side.view.tape.is_live(value):
            found.append(value)
    lengths = {side.view.tape.values[value].size for value in found}
    return (
        tuple(found)
        if 1 < len(found) <= AXES_OF_PLACES and len(lengths) == 1 and lengths != {1}
        else ()
    )


def _in_turn(places: Array) -> str:
    """The first few places in their turn, as (0, 0), (1, 0)."""
    return ", ".join(str(tuple(map(int, one))) for one in places.T[: NUMBERS_SHOWN // 2])


def _with_places(side: CaseSide, places: dict[int, Array], trial: Trial) -> Array:
    return side.run(trial.given, places)


def _indices(side: CaseSide) -> Iterator[tuple[int, Array]]:
    """The integers that the operations of a region read, each once, with what they are."""
    for value in dict.fromkeys(value for op in side.view.ops for value in op.inputs):
        array = side.model.run.array(value)
        if array.dtype.kind in "iu" and varies(array):
            yield value, array


def _is_one(right: Array, wrong: Array) -> bool:
    return bool(np.array_equal(right.reshape(-1), wrong.reshape(-1)))


def _other_start(case: Case) -> Iterator[Explanation]:
    """The same where a region ends with the index, by which rows are looked up next."""
    view = case.reference
    if view.ops and view.value.dtype.startswith("int"):
        readers = (view.tape.ops[index] for index in view.tape.consumers[view.end])
        if any(op.word in LOOK_UPS for op in readers):
            yield from _counted(case, view.end, case.first.reference, case.first.candidate)


def _counted(case: Case, value: int, right: Array, wrong: Array) -> Iterator[Explanation]:
    by = _counted_from(right, wrong) if right.size == wrong.size else 0
    if by:
        yield Explanation(
            "position-ids",
            f"positions are counted {by:+d} from the reference's",
            with_value(case, value, partial(np.add, by)),
            parameters={"position": (int(right.flat[0]), int(right.flat[0]) + by)},
        )


def _counted_from(right: Array, wrong: Array) -> int:
    """By how much an index that counts steps is moved; 0 for any other."""
    moved = np.unique(wrong.reshape(-1).astype(np.int64) - right.reshape(-1))
    counts = right.ndim and right.shape[-1] > 2
    if not counts or moved.size > 1 or (np.diff(right, axis=-1) == 1).mean() < COUNTED:
        return 0
    return int(moved[0])


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
