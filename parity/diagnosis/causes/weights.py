"""Weights that hold other numbers: of another scale or precision, another layer's, others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._attested import is_added
from parity.diagnosis.causes._weights import (
    Change,
    changes,
    described,
    gives,
    made,
    read_elsewhere,
    same,
    told_numbers,
    with_changes,
)
from parity.diagnosis.causes.biases import is_bias
from parity.diagnosis.view import LeafView
from parity.matching.axis_order import orders
from parity.matching.match import Side
from parity.tape import Array

_FACTOR = 1e6  # no one scales a weight by more
_MOST_EXCHANGES = 40  # pairs of values; more enter a loop, which is no product of two


@cause("weight-scale", "weight-precision", "weight-swapped")
def weight(case: Case) -> Iterator[Explanation]:
    """A weight is another multiple of itself, is rounded, or is another layer's.

    Looks like: a value off by a factor; a difference of a few parts in a thousand everywhere; or
        one that has nothing in common with the reference's.
    Proof: the reference with the candidate's weight gives the candidate's value, and that weight is
        the multiple, the rounded weight, or one of the reference's other weights.
    """
    found = changes(case)
    told = [one for change in found if (one := _relation(case, change)) is not None]
    if _is_a_bias_twice(case, found):
        return
    if not found or len(told) < len(found) or len({kind for kind, *_ in told}) > 1:
        return
    kind = told[0][0]
    parameters = {name: pair for _, _, (name, pair) in told[:1]}
    summary = "; ".join(dict.fromkeys(text for _, text, _ in told))
    yield Explanation(kind, summary, with_changes(case, found), parameters=parameters)


@cause("weight-swapped", tier=1)
def operands_swapped(case: Case) -> Iterator[Explanation]:
    """Two values that are computed alike, with weights of one shape, have changed places.

    Looks like: scores that are the reference's transposed (query and key), or a gate that lets
        through what it should have been.
    Proof: the reference's operations with the two values exchanged give the candidate's value.
    """
    fed = case.first.given
    tape = case.reference.tape
    for a, b in itertools.islice(itertools.combinations(fed, 2), _MOST_EXCHANGES):
        if fed[a].shape != fed[b].shape or np.array_equal(fed[a], fed[b]):
            continue
        makers = tape.producer(a), tape.producer(b)
        if any(op is None or not _with_weight(case, op.inputs) for op in makers):
            continue
        predict = _exchanged(case, a, b)
        if gives(case, predict):
            yield Explanation(
                "weight-swapped",
                f"of two values of {fed[a].shape} one stands in for the other, or they are "
                "exchanged, or the weights that they are made by",
                predict,
            )


@cause("weight-values", tier=1)
def weight_values(case: Case) -> Iterator[Explanation]:
    """A weight holds other numbers: another checkpoint, one never loaded, one trained further.

    Or what is read in its place is computed from it, as with noise that is added.

    Looks like: every output differs, whatever the input; a table's row differs only where it is
        looked up.
    Proof: the reference with the candidate's weight in place of its own gives the candidate's
        value.
    """
    found = changes(case)
    if not found or any(_is_mask(change.leaf.array) for change in found):
        return
    others = ((change, _elsewhere(case, change)) for change in found)
    if any(other is not None and _is_another_layer(case, one, other) for one, other in others):
        return
    texts = told_numbers(case, found)
    if not all(texts):
        return
    yield Explanation(
        "weight-values",
        ", ".join(texts),
        with_changes(case, found),
        unproved=next((text for change in found if (text := read_elsewhere(case, change))), ""),
        cost=len(found),
    )


def _is_a_bias_twice(case: Case, found: Sequence[Change]) -> bool:
    """Whether a bias is added twice on one side: no one scales a bias by two."""
    if len(found) != 1 or not is_bias(found[0].leaf) or not is_added(case.reference, found[0].leaf):
        return False
    ours, now = found[0].leaf.array, found[0].now
    return same(2 * ours, now) or same(ours, 2 * now)


def _read(case: Case, change: Change) -> str:
    """A changed weight in words; equal ones may be computed with before they are read."""
    ours, theirs = made(case.reference, change.leaf.id), made(case.candidate, change.theirs.id)
    computed = (ours.ops or theirs.ops) and theirs.holds(ours)
    if computed:
        return f"what is computed of {change.name} and read"
    return described(case, change)


Told = tuple[str, str, tuple[str, tuple[object, object]]]


def _relation(case: Case, change: Change) -> Told | None:
    """(kind, summary, (parameter, (reference's, candidate's))) of a changed weight."""
    ours, now = change.leaf.array, change.now
    factor = float(np.vdot(ours, now) / np.vdot(ours, ours)) if ours.any() else 0.0
    if 1 / _FACTOR < abs(factor) < _FACTOR and same(factor * ours, now) and not _is_mask(ours):
        scale = _short(factor)
        return (
            "weight-scale",
            f"{_read(case, change)} is {scale:.6g} times the reference's",
            ("scale", (1.0, scale)),
        )
    for name, rounded in _rounded(ours):
        if np.array_equal(rounded, now.astype(np.float32)):
            return (
                "weight-precision",
                f"{_read(case, change)} is rounded to {name}",
                ("dtype", ("float32", name)),
            )
    for name, rounded in _rounded(now):
        if np.array_equal(rounded, ours.astype(np.float32)):
            return (
                "weight-precision",
                f"{_read(case, change)} is not rounded; the reference's is rounded to {name}",
                ("dtype", (name, "float32")),
            )
    other = _elsewhere(case, change)
    if other is not None and not _is_another_layer(case, change, other):
        return (
            "weight-swapped",
            f"where the reference reads {described(case, change)}, the numbers of "
            f"{other.name or 'another weight'} are read",
            ("weight", (change.name, other.name or "another")),
        )
    return None


def _is_mask(array: Array) -> bool:
    """Whether an array holds two numbers only, zero and another."""
    return len(np.unique(array)) <= 2


def _short(number: float) -> float:
    """The shortest decimal that is the number but for float32 rounding."""
    for digits in range(1, 8):
        shorter = float(f"{number:.{digits}g}")
        if abs(shorter - number) <= 1e-6 * abs(number):
            return shorter
    return number


def _rounded(array: Array) -> Iterator[tuple[str, Array]]:
    narrow = array.astype(np.float32)
    with np.errstate(over="ignore"):
        half = narrow.astype(np.float16).astype(np.float32)
    yield "float16", half
    bits = narrow.view(np.uint32).astype(np.uint64)
    nearest = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) << 16
    yield "bfloat16", nearest.astype(np.uint32).view(np.float32)


def _elsewhere(case: Case, change: Change) -> LeafView | None:
    """Another of the reference's weights that holds the candidate's numbers."""
    side = case.repaired.reference
    made_of = case.reference.sources(change.leaf.id)  # w + 1 is made of w, and no other weight
    bag = np.sort(change.now, axis=None)
    for value in side.tape.values:
        if value.op >= 0 or value.kind == "input" or value.size != bag.size:
            continue
        array = side.array(value.id)
        if value.id in {change.leaf.id, *made_of} or array.dtype.kind != "f":
            continue
        if same(np.sort(array, axis=None), bag) and _in_some_layout(array, change.now):
            return LeafView(value.id, value.name, value.kind, array)
    return None


def _is_another_layer(case: Case, change: Change, other: LeafView) -> bool:
    """Whether the candidate reads both weights, the other one more often than the reference.

    Then that weight's layer is an additional one, and the changed weight is where it was.
    """
    ours, theirs = case.repaired.reference, case.repaired.side
    if not _readers(theirs, change.leaf.array):
        return False
    return _readers(theirs, other.array) > _readers(ours, other.array)


def _readers(side: Side, array: Array) -> int:
    """How many live operations of a model read a weight with certain numbers, in any layout."""
    bag = np.sort(array, axis=None)
    return sum(
        side.tape.graph.live_readers[value.id]
        for value in side.tape.values
        if value.op < 0
        and value.kind != "input"
        and value.size == bag.size
        and same(np.sort(side.array(value.id), axis=None), bag)
    )


def _in_some_layout(array: Array, other: Array) -> bool:
    return any(
        same(order.apply(array), other)
        for order in itertools.islice(orders(array.shape, other.shape), 24)
    )


def _with_weight(case: Case, inputs: tuple[int, ...]) -> bool:
    tape = case.reference.tape
    for value in inputs:
        producer = tape.producer(value)
        if tape.values[value].kind in ("parameter", "constant") or (producer and producer.static):
            if tape.values[value].size > 1:
                return True
    return False


def _exchanged(case: Case, a: int, b: int) -> Predict:
    return lambda trial: case.run_reference({**trial.given, a: trial.given[b], b: trial.given[a]})
