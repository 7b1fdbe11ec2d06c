"""Weights that hold other values: of another scale or precision, another layer's, others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._arrange import holds_two_numbers
from parity.diagnosis.causes._attested import is_added
from parity.diagnosis.causes._limits import (
    LAYOUTS_TRIED,
    OPERANDS_EXCHANGED,
    SAME_PARAMETER,
    STARTS_TRIED,
    WEIGHT_SCALE,
)
from parity.diagnosis.causes._sources import named_apart
from parity.diagnosis.causes._substitution import (
    Inside,
    close,
    inside_candidate,
    inside_reference,
    rounded,
    shortest,
    static_ops,
    with_value,
)
from parity.diagnosis.causes._weights import (
    Change,
    changes,
    changes_in_words,
    described,
    gives,
    holders,
    read_elsewhere,
    same,
    with_changes,
)
from parity.diagnosis.causes.biases import is_bias
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.causes.factors import CURVES
from parity.diagnosis.causes.precision import to_half_precision
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import LeafView, RegionView
from parity.matching.axis_order import orders
from parity.matching.match import Side
from parity.numerics.limits import ALIKE
from parity.tape import Array, Tape


@cause("weight-scale", "weight-precision", "weight-swapped", "index-value")
def weight(case: Case) -> Iterator[Explanation]:
    """A weight is another multiple of itself, is rounded, another layer's, or another part of one.

    Looks like: a value off by a factor; a difference of a few parts in a thousand everywhere; or
        one that has nothing in common with the reference's.
    Proof: the reference with the candidate's weight gives the candidate's value, and that weight is
        the multiple, the rounded weight, one of the reference's other weights, or as long a part
        of the stored weight that the reference reads a part of.
    """
    found = changes(case)
    related = [one for change in found if (one := _relation(case, change)) is not None]
    if _is_a_bias_twice(case, found):
        return
    if not found or len(related) < len(found) or len({one.kind for one in related}) > 1:
        return
    summary = "; ".join(dict.fromkeys(one.summary for one in related))
    yield replace(related[0], summary=summary, candidate=with_changes(case, found))


@cause("weight-scale", "activation-missing", "activation-extra", tier=1)
@first_fitting
def factor(case: Case) -> Iterator[Explanation]:
    """A value is multiplied or divided by another number.

    Looks like: a value off by a factor.
    Proof: the reference's operations with what one of them multiplies at the candidate's scale give
        the candidate's value, and the candidate multiplies by that number.
    """
    there = dict.fromkeys(by for _, by in factors(inside_candidate(case)))
    for value, here in factors(inside_reference(case)):
        for by in there:
            if not math.isclose(here, by, rel_tol=SAME_PARAMETER):
                kind, text, parameters = _factors_in_words(case, here, by)
                yield Explanation(
                    kind,
                    text,
                    with_value(case, value, partial(np.multiply, by / here)),
                    parameters=parameters,
                )


def _factors_in_words(
    case: Case, here: float, by: float
) -> tuple[str, str, dict[str, tuple[object, object]]]:
    """What two factors are to each other: one may be the other through an activation."""
    for name, curve in CURVES.items():
        if math.isclose(here, float(curve(by)), rel_tol=SAME_PARAMETER):
            if _computes(case.reference, name):
                text = f"the factor {by:g} does not go through {name}, the reference's does"
                return "activation-missing", text, {"activation": (name, "none")}
        if math.isclose(by, float(curve(here)), rel_tol=SAME_PARAMETER):
            if _computes(case.candidate, name):
                text = f"the factor {here:g} goes through {name}, the reference's does not"
                return "activation-extra", text, {"activation": ("none", name)}
    text = f"{by:g} is multiplied by; the reference multiplies by {here:g}"
    return "weight-scale", text, {"factor": (rounded(here), rounded(by))}


def _computes(view: RegionView, word: str) -> bool:
    """Whether a region, or what no input reaches and it reads, applies a function."""
    return any(op.word == word for op in (*view.ops, *static_ops(view)))


def factors(inside: Inside) -> Iterator[tuple[int, float]]:
    """Values that are others times one number, and the numbers.

    What is multiplied by 1 lies before a region: it is equal to what agrees there.
    """
    tape = inside.view.tape
    for value in (*inside.entering, *inside.computed):
        op = tape.producer(value)
        read = [one for one in (op.inputs if op else ()) if tape.is_live(one)]
        if op is None or op.word not in ("multiply", "divide") or len(read) != 1:
            continue
        x, made = inside.array(read[0]), inside.array(value)
        if value in inside.entering and not np.array_equal(x, made):
            continue
        by = float(np.vdot(x, made) / np.vdot(x, x)) if x.shape == made.shape and x.any() else 0.0
        if by and close(by * x, made):
            yield value, by


@cause("weight-swapped", "wrong-source", tier=1)
def operands_swapped(case: Case) -> Iterator[Explanation]:
    """Two values that are computed alike, with weights of one shape, have changed places.

    Looks like: scores that are the reference's transposed (query and key), or a gate that lets
        through what it should have been.
    Proof: the reference's operations with the two values exchanged give the candidate's value.
    """
    given = case.first.given
    tape = case.reference.tape
    for a, b in itertools.islice(itertools.combinations(given, 2), OPERANDS_EXCHANGED):
        if given[a].shape != given[b].shape or np.array_equal(given[a], given[b]):
            continue
        makers = tape.producer(a), tape.producer(b)
        if any(op is None or not _with_weight(case, op.inputs) for op in makers):
            continue
        predict = partial(_exchanged, case, a, b)
        if gives(case, predict):
            one_layer = _weights_of(tape, a) == _weights_of(tape, b)
            names = named_apart(tape, case.repaired.reference.run, a, b)
            yield Explanation(
                "wrong-source" if one_layer else "weight-swapped",
                f"of two values of {given[a].shape} one stands in for the other, or they are "
                "exchanged" + ("" if one_layer else ", or the weights that they are made by"),
                predict,
                evidence=(f"the two are {names[0]} and {names[1]}",),
            )


def _weights_of(tape: Tape, value: int) -> set[int]:
    """What an operation reads that no input reaches."""
    op = tape.producer(value)
    assert op is not None
    return {tape.before_moves(one) for one in op.inputs if not tape.is_live(one)}


@cause("weight-values", tier=1)
def weight_values(case: Case) -> Iterator[Explanation]:
    """A weight holds other values: another checkpoint, one never loaded, one trained further.

    Or what is read in its place is computed from it, as with noise that is added.

    Looks like: every output differs, whatever the input; a table's row differs only where it is
        looked up.
    Proof: the reference with the candidate's weight in place of its own gives the candidate's
        value.
    """
    found = changes(case)
    if not found or any(holds_two_numbers(change.leaf.array) for change in found):
        return
    others = ((change, _elsewhere(case, change)) for change in found)
    if any(other is not None and _is_another_layer(case, one, other) for one, other in others):
        return
    texts = changes_in_words(case, found)
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
    array, now = found[0].leaf.array, found[0].now
    return same(2 * array, now) or same(array, 2 * now)


def _read(case: Case, change: Change) -> str:
    """A changed weight in words; equal ones may be computed with before they are read."""
    reference, candidate = change.made(case)
    if (reference.ops or candidate.ops) and candidate.holds(reference):
        return f"what is computed of {change.name} and read"
    return described(case, change)


def _relation(case: Case, change: Change) -> Explanation | None:
    """What a changed weight is to the reference's own, or to another one."""
    weight, now = change.leaf.array, change.now
    factor = float(np.vdot(weight, now) / np.vdot(weight, weight)) if weight.any() else 0.0
    if (
        1 / WEIGHT_SCALE < abs(factor) < WEIGHT_SCALE
        and same(factor * weight, now)
        and not holds_two_numbers(weight)
    ):
        scale = shortest(factor, lambda one: math.isclose(one, factor, rel_tol=ALIKE))
        text = f"{_read(case, change)} is {scale:.6g} times the reference's"
        return Explanation("weight-scale", text, parameters={"scale": (1.0, scale)})
    for array, other, summary, wide_first in (
        (weight, now, "is rounded to {}", True),
        (now, weight, "is not rounded; the reference's is rounded to {}", False),
    ):
        for name, half in to_half_precision(array):
            if np.array_equal(half, other.astype(np.float32)):
                dtypes = ("float32", name) if wide_first else (name, "float32")
                text = f"{_read(case, change)} {summary.format(name)}"
                return Explanation("weight-precision", text, parameters={"dtype": dtypes})
    part = _another_part(case, change)
    if part is not None:
        return part
    leaf = _elsewhere(case, change)
    if leaf is None or _is_another_layer(case, change, leaf):
        return None
    return Explanation(
        "weight-swapped",
        f"where the weight reads {described(case, change)}, the numbers of "
        f"{leaf.name or 'another weight'} are read",
        parameters={"weight": (change.name, leaf.name or "another")},
    )


def _another_part(case: Case, change: Change) -> Explanation | None:
    """Of one stored weight other rows are read, as many: those one further, say."""
    reference, candidate = change.made(case)
    if not candidate.holds(reference):
        return None
    for leaf in reference.leaves:
        for whole in (leaf.array, leaf.array.T):
            right, wrong = (_start(whole, part) for part in (change.leaf.array, change.now))
            if right is None or wrong is None or right == wrong:
                continue
            count = change.now.shape[right[0]]
            here, there = (f"{start} to {start + count - 1}" for _, start in (wrong, right))
            name = leaf.name or change.name
            return Explanation(
                "index-value",
                f"rows {here} of {name} are read; the reference reads rows {there}",
                parameters={"rows": (there, here)},
            )
    return None


def _start(whole: Array, part: Array) -> tuple[int, int] | None:
    """The axis along which an array is a part of another, and where it starts there."""
    if whole.ndim != part.ndim:
        return None
    shorter = [i for i, (n, m) in enumerate(zip(part.shape, whole.shape, strict=True)) if n != m]
    if len(shorter) != 1 or part.shape[shorter[0]] > whole.shape[shorter[0]]:
        return None
    (axis,) = shorter
    rows, wanted = np.moveaxis(whole, axis, 0), np.moveaxis(part, axis, 0)
    for start in range(min(len(rows) - len(wanted) + 1, STARTS_TRIED)):
        if same(rows[start], wanted[0]) and same(rows[start : start + len(wanted)], wanted):
            return axis, start
    return None


def _elsewhere(case: Case, change: Change) -> LeafView | None:
    """Another of the reference's weights that holds the candidate's values."""
    model = case.repaired.reference
    own = {change.leaf.id, *case.reference.sources(change.leaf.id)}  # w + 1 is made of w alone
    for value in holders(model, change.now):
        array = model.array(value.id)
        if value.id not in own and array.dtype.kind == "f" and _in_some_layout(array, change.now):
            return LeafView(value.id, value.name, value.kind, array)
    return None


def _is_another_layer(case: Case, change: Change, other: LeafView) -> bool:
    """Whether the candidate reads both weights: the other one's layer is an additional one."""
    reference, candidate = case.repaired.reference, case.repaired.side
    if not _readers(candidate, change.leaf.array):
        return False
    return _readers(candidate, other.array) > _readers(reference, other.array)


def _readers(model: Side, array: Array) -> int:
    """How many live operations of a model read a weight with certain values, in any layout."""
    return sum(model.tape.graph.live_readers[value.id] for value in holders(model, array))


def _in_some_layout(array: Array, other: Array) -> bool:
    return any(
        same(order.apply(array), other)
        for order in itertools.islice(orders(array.shape, other.shape), LAYOUTS_TRIED)
    )


def _with_weight(case: Case, inputs: tuple[int, ...]) -> bool:
    tape = case.reference.tape
    return any(not tape.is_live(value) and tape.values[value].size > 1 for value in inputs)


def _exchanged(case: Case, a: int, b: int, trial: Trial) -> Array:
    return case.run_reference({**trial.given, a: trial.given[b], b: trial.given[a]})
