"""What both sides compute, as two short formulas: what no other cause has a name for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import LAST, Explanation, as_it_is, cause
from parity.diagnosis.causes._formula import Formulas, TooLong
from parity.diagnosis.causes._limits import FORMULAS_TRIED, OPS_OF_A_FORMULA
from parity.diagnosis.causes._named_values import NamedValues
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named
from parity.diagnosis.causes._substitution import MISFITS, Form, Substituted, alone, close
from parity.diagnosis.trial import Trial
from parity.findings import FORMULA
from parity.matching.axis_order import Order, orders
from parity.tape import Array, Op


@cause(FORMULA, "wrong-source", tier=LAST)
def different_formula(case: Case) -> Iterator[Explanation]:
    """The candidate computes another formula than the reference, and both are short.

    Looks like: a few operations on either side that have no operation in common, or one more, one
        less, or the same on other operands; or merely another value is read.
    Proof: the candidate's operations with the reference's part of the formula in the place of
        their own give the reference's value, and both parts are written out.
    """
    if any(len(view.computing) > OPS_OF_A_FORMULA for view in (case.reference, case.candidate)):
        return
    names = NamedValues(case)
    for part, other, order in _parts(case):
        texts = _texts(case, names, part, other)
        if texts is None or names.hide_weights(texts):
            continue
        spelled, legend = names.in_letters(texts)
        numbers = "; ".join(names.apart(texts))
        kind, text = FORMULA, "another formula is computed than in the reference"
        parameters, evidence = {"formula": (spelled[0], spelled[1])}, tuple(legend)
        if spelled == ["a", "b"]:
            tapes = case.reference.tape, case.candidate.tape
            read = named(tapes[0], part), named(tapes[1], other)
            kind, text = "wrong-source", f"{read[1]} is read; the reference reads {read[0]}"
            parameters, evidence = {"source": read}, ()
        yield Explanation(
            kind,
            text,
            as_it_is,
            Substituted(partial(_with_part, case, part, other, order)),
            parameters=parameters,
            evidence=evidence,
            places=(_last(sides(case)[0], part), _last(sides(case)[1], other)),
            unproved=f"only one side has {numbers}" if numbers else "",
        )
        return


def _texts(case: Case, names: NamedValues, part: int, other: int) -> tuple[str, str] | None:
    """Both parts as formulas that differ; None if there are none that a person would read."""
    for moves, constants in ((False, False), (True, False), (False, True)):
        own, candidate = (Formulas(side, names.of(side), moves, constants) for side in sides(case))
        try:
            texts = own.of(part).text, candidate.of(other).text
        except TooLong:
            return None
        if names.differ(texts):
            return texts
    return None


def _parts(case: Case) -> Iterator[tuple[int, int, Order]]:
    """What of the reference stands for what of the candidate, the smallest first, and how it lies.

    The last are the two ends.
    """
    own, other = (_arrays(side) for side in sides(case))
    ends = case.reference.end, case.candidate.end
    pairs = sorted(
        (a + b, -value, -stands)
        for (value, (a, _)), (stands, (b, _)) in itertools.product(own.items(), other.items())
        if (value, stands) != ends
    )
    alike = (
        (-value, -stands, order)
        for _, value, stands in pairs
        for order in _orders(own[-value][1], other[-stands][1])
    )
    for value, stands, order in itertools.islice(alike, FORMULAS_TRIED):
        if _fits(case, value, stands, order):
            yield value, stands, order
    if case.order is not None:
        yield case.reference.end, case.candidate.end, case.order


def _orders(array: Array, there: Array) -> Iterator[Order]:
    """The likeliest orders in which one array may stand for another of its size and kind."""
    if array.size == there.size and array.dtype.kind == there.dtype.kind:
        yield from itertools.islice(orders(array.shape, there.shape), 2)


def _fits(case: Case, part: int, other: int, order: Order) -> bool:
    try:
        with np.errstate(all="ignore"):
            return all(
                close(_with_part(case, part, other, order, trial, alone), trial.reference)
                for trial in case.trials()
            )
    except MISFITS:
        return False


def _arrays(side: CaseSide) -> dict[int, tuple[int, Array]]:
    """The values of a region, each with how many operations make it of what is read."""
    view = side.view
    computing = {op.index for op in view.computing}
    values = dict.fromkeys(
        value for op in view.ops if not op.static for value in (*op.inputs, *op.outputs)
    )
    arrays = side.values(side.case.first.given, values)
    walk = view.tape.graph.ancestors
    return {
        value: (len(computing & walk([value])), array)
        for value, array in zip(values, arrays, strict=True)
    }


def _last(side: CaseSide, value: int) -> Op | None:
    """The operation that ends a formula, but for moves; None if it is only read."""
    inside = {op.index for op in side.view.ops}
    found = op = side.view.tape.producer(value)
    while op is not None and op.role == "move" and op.index in inside and op.inputs:
        found, op = op, side.view.tape.producer(op.inputs[0])
    last = op if op is not None and op.index in inside else found
    return last if last is not None and last.index in inside else None


def _with_part(
    case: Case, part: int, other: int, order: Order, trial: Trial, change: Form
) -> Array:
    """The candidate's region with a value of the reference's in the place of one of its own."""
    (array,) = case.reference_values(trial.given, (part,))
    return case.run_candidate(trial.given, {other: change(order.apply(array))})
