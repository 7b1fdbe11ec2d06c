"""A table that the host or the model makes, as a window, that holds other numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from parity.arrays import varies
from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import CLOSE
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named
from parity.diagnosis.causes._substitution import Form
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.normalisation import plain
from parity.diagnosis.trial import Trial
from parity.tape import Array, Op

# The table that an operation was given, of its result and of the other operand.
_SOLVED: Mapping[str, Form] = {"multiply": np.divide, "add": np.subtract}
_COST = 2.0  # what says why the numbers differ is preferred


@cause("weight-values", tier=2)
@first_fitting
def table_of_other_numbers(case: Case) -> Iterator[Explanation]:
    """A table that is multiplied by, or added, holds other numbers than the reference's operations.

    Looks like: Hann's window for Hamming's, which the reference computes in another form.
    Proof: the candidate's operations with the numbers that the reference's values need give the
        reference's value on all inputs; the numbers are read off the first of them.
    """
    candidate = sides(case)[1]
    for op, table in _tables(candidate):
        found = _needed(case, candidate, op, table)
        if found is None:
            continue
        tape, held = candidate.view.tape, candidate.model.array(table)
        apart = np.abs(found - held) > CLOSE * np.abs(held).max()
        at = np.unravel_index(np.argmax(np.abs(found - held)), held.shape)
        place = ", ".join(map(str, at))
        yield candidate.changed(
            Explanation(
                "weight-values",
                f"other numbers in {named(tape, table)} ({int(apart.sum())} of {held.size} differ)",
                partial(_with, candidate, table, found),
                parameters={f"at [{place}]": (plain(float(found[at])), plain(float(held[at])))},
                cost=_COST,
                places=(None, tape.producer(tape.before_moves(table))),
            )
        )


def _tables(side: CaseSide) -> Iterator[tuple[Op, int]]:
    """The operation that ends a region, where one of its two operands is a table."""
    tape, end = side.view.tape, side.view.end
    for op in side.view.ops:
        if end not in op.outputs or op.word not in _SOLVED or len({*op.inputs}) != 2:
            continue
        for table in op.inputs:
            known = tape.values[table]
            if tape.is_live(table) or known.size < 2:
                continue
            if any(tape.values[leaf].size > 1 for leaf in tape.graph.leaves([table])):
                continue  # a tensor that is held may be a weight
            if known.dtype.startswith(("float", "bfloat")) and varies(side.model.array(table)):
                yield op, table


def _needed(case: Case, side: CaseSide, op: Op, table: int) -> Array | None:
    """The table with which an operation gives the reference's value; None where none does.

    Where the table is repeated along an axis, it is read off where the other operand is largest.
    """
    (other,) = (value for value in op.inputs if value != table)
    (x,) = side.values(case.first.given, (other,))
    held = side.model.array(table)
    if case.order is None:
        return None
    wanted = case.order.apply(case.first.reference)
    if wanted.shape != case.candidate.value.shape:
        return None
    if held.size == wanted.size and not case.first.given:
        return None  # on one input some numbers always fit
    with np.errstate(all="ignore"):
        solved = _SOLVED[op.word](wanted, np.broadcast_to(x, wanted.shape))
    shape = (1,) * (wanted.ndim - held.ndim) + held.shape
    weight = np.abs(np.broadcast_to(x, wanted.shape))
    for axis, (length, full) in enumerate(zip(shape, wanted.shape, strict=True)):
        if length != full:
            best = weight.argmax(axis, keepdims=True)
            solved, weight = (np.take_along_axis(one, best, axis) for one in (solved, weight))
    found: Array = solved.reshape(held.shape)
    return found if np.isfinite(found).all() else None


def _with(side: CaseSide, table: int, numbers: Array, trial: Trial) -> Array:
    return side.run(trial.given, {table: numbers})
