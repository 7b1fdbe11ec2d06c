"""The right values at other places: another index, or rows that are tiled and not repeated."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._arrange import (
    alike,
    holds_two_numbers,
    same_bag_at_a_glance,
)
from parity.diagnosis.causes._index_in_words import index_in_words
from parity.diagnosis.causes._limits import (
    INDEX_COST,
    POSITIONS_SHOWN,
    ROWS_COMPARED,
    SOURCES_TRIED,
    VALUES_TRIED,
)
from parity.diagnosis.causes._rows import (
    Form,
    Laid,
    by_contents,
    form_of,
    in_words,
    is_of_distances,
    labels,
    ways_to_lay,
)
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named
from parity.diagnosis.causes._substitution import (
    Inside,
    in_candidate_layout,
    inside_candidate,
    inside_reference,
    with_value,
)
from parity.diagnosis.causes.combinators import first_fitting
from parity.operations import CONVOLUTIONS
from parity.tape import Array, Tape

# --- another index --------------------------------------------------------------------------------


@cause("index-value")
@first_fitting
def other_index(case: Case) -> Iterator[Explanation]:
    """Another index of an axis is read, or another range of it.

    Looks like: predictions made from a neighbouring token; a target that is a step off.
    Proof: what the reference cuts from a value, cut at the place where the candidate's lies, gives
        the candidate's value.
    """
    reference = inside_reference(case)
    others = list(_laid_values(case, inside_candidate(case)))
    for value, source in itertools.islice(_cuts(reference), SOURCES_TRIED):
        part, whole = reference.array(value), reference.array(source)
        for axis, length in enumerate(whole.shape):
            count = part.size * length // whole.size
            was = _places(whole, part, axis, count)
            if was is None:
                continue
            for other in others:
                now = _places(whole, other, axis, count) if other.shape == part.shape else None
                if now is not None and not np.array_equal(was, now):
                    yield _of_places(case, (value, source), axis, (was, now))


def _laid_values(case: Case, candidate: Inside) -> Iterator[Array]:
    yield case.first.candidate
    yield from (candidate.array(value) for value in candidate.computed)


def _cuts(reference: Inside) -> Iterator[tuple[int, int]]:
    """What moves alone make of a larger value."""
    tape = reference.view.tape
    for value, source in reference.derived():
        part, whole = reference.array(value), reference.array(source)
        if whole.size > part.size > 1 and whole.size <= ROWS_COMPARED:
            maker = tape.producer(tape.before_moves(source))
            if maker is not None and maker.word in CONVOLUTIONS:
                continue  # that is a crop, which says more
            if tape.before_moves(value) in (tape.before_moves(source), source):
                yield value, source


def _places(whole: Array, part: Array, axis: int, count: int) -> Array | None:
    """Where along an axis of a value each slice of a part lies, if at one place, one by one."""
    length = whole.shape[axis]
    if not count or part.size * length != whole.size * count or count == length:
        return None
    laid = Laid(whole.shape, (axis,)).rows(whole)
    if count == 1:
        rows = part.reshape(1, -1)
    elif part.ndim == whole.ndim and part.shape[axis] == count:
        rows = Laid(part.shape, (axis,)).rows(part)
    else:
        return None
    found = labels(laid, rows)
    if found is None or len(np.unique(found[0])) < length:
        return None
    at = np.argsort(found[0])
    places = at[np.clip(np.searchsorted(found[0][at], found[1]), 0, length - 1)]
    one_by_one = count == 1 or bool((np.diff(places) == 1).all())
    return places if one_by_one and np.array_equal(found[0][places], found[1]) else None


def _of_places(
    case: Case, cut: tuple[int, int], axis: int, places: tuple[Array, Array]
) -> Explanation:
    (value, source), (was, now) = cut, places
    tape, shape = case.reference.tape, case.reference.tape.values[cut[0]].shape
    length = tape.values[source].shape[axis]
    at = in_candidate_layout(case, source, (axis,))
    words = index_in_words(was, length), index_in_words(now, length)
    return Explanation(
        "index-value",
        f"{words[1]} of axis {at} of {_name(tape, source)} is read; the reference reads {words[0]}",
        with_value(case, value, partial(_cut, axis=axis, places=now, shape=shape), source),
        parameters={"index": words},
        cost=INDEX_COST,
    )


def _cut(array: Array, axis: int, places: Array, shape: tuple[int, ...]) -> Array:
    return np.take(array, places, axis).reshape(shape)


# --- rows in another order ------------------------------------------------------------------------


@cause("axis-order", "roll-shift", tier=1)
@first_fitting
def rows_otherwise(case: Case) -> Iterator[Explanation]:
    """The rows of an operand, or of a constant that is joined or added, are in another order.

    Looks like: a sample's features beside another sample's; ids that are repeated where they
        should be tiled; relative positions of the wrong sign.
    Proof: a value of the candidate's holds the rows of one of the reference's at other places; the
        reference's operations on its own with the rows there give the candidate's value.
    """
    one, other = sides(case)
    held = dict(_held(other))
    if not case.reference.computing and not case.candidate.computing:
        held[case.candidate.end] = case.first.candidate  # as the reference's lies
    for value, array in _held(one).items():
        for key, found in held.items():
            if found.size == array.size and not np.array_equal(found.ravel(), array.ravel()):
                if _same_numbers(array, found):
                    yield from _orders(case, value, array, (key, found))


def _held(side: CaseSide) -> Mapping[int, Array]:
    """What the operations of a region read and give, but for parameters: those have no order."""
    tape, view = side.view.tape, side.view
    ids = dict.fromkeys(value for op in view.ops for value in (*op.inputs, *op.outputs))
    kept = [
        value
        for value in ids
        if tape.values[value].kind != "parameter"
        and tape.values[value].dtype.startswith(("float", "bfloat", "int"))
        and 3 < tape.values[value].size <= ROWS_COMPARED
    ][:VALUES_TRIED]
    return dict(zip(kept, side.values(side.case.first.given, kept), strict=True))


def _same_numbers(one: Array, other: Array) -> bool:
    finite = np.isfinite(one).all() and np.isfinite(other).all()
    if not finite or np.ptp(one) == 0 or not same_bag_at_a_glance(one, other):
        return False
    return alike(np.sort(one, axis=None), np.sort(other, axis=None))


def _orders(
    case: Case, value: int, array: Array, found_there: tuple[int, Array]
) -> Iterator[Explanation]:
    other, found = found_there
    for laid in ways_to_lay(array.shape, found.shape):
        rows = labels(laid.rows(array), laid.rows(found))
        if rows is None or not np.array_equal(np.sort(rows[0]), np.sort(rows[1])):
            continue
        form = form_of(*rows, laid.lengths)
        if form is None and len(laid.axes) > 1:
            continue  # of single elements any order is one
        places = by_contents(*rows) if form is None else form.places
        name = _name(case.candidate.tape, other)
        kind, text, parameters = _in_words(name, _axes(laid, found.shape), rows, form)
        if form is not None and form.kind == "exchanged" and is_of_distances(rows[0], laid.lengths):
            text = f"{text}: each distance along them has the other sign"
        yield Explanation(
            kind,
            text,
            with_value(case, value, partial(laid.taken, places=places)),
            parameters=parameters,
            unproved=_may_be_another(case, value, array, form),
        )


def _may_be_another(case: Case, value: int, array: Array, form: Form | None) -> str:
    if form is None and not case.reference.tape.is_live(value) and holds_two_numbers(array):
        return "it is a constant of two numbers: another one may hold its rows by chance"
    return ""


def _axes(laid: Laid, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of a value as it lies, of which those of its rows begin."""
    starts = [int(np.prod(laid.shape[:axis])) for axis in laid.axes]
    before = [int(np.prod(shape[:axis])) for axis in range(len(shape))]
    return tuple(
        next(axis for axis, size in enumerate(before) if size == start and shape[axis] > 1)
        for start in starts
    )


def _in_words(
    name: str, axes: tuple[int, ...], rows: tuple[Array, Array], form: Form | None
) -> tuple[str, str, Mapping[str, tuple[object, object]]]:
    at = axes[0]
    orders = in_words(rows[0]), in_words(rows[1])
    if form is None:
        first = by_contents(*rows)[:POSITIONS_SHOWN].tolist()
        order = ", ".join(map(str, first))
        return "axis-order", f"the rows of {name} along axis {at} are in the order {order}", {}
    if form.kind == "exchanged":
        return (
            "axis-order",
            f"{name} is read with its axes {at} and {axes[1]} exchanged",
            {"axes": (axes, axes[::-1])},
        )
    if form.kind in ("tiled", "repeated"):
        words = ("repeated", "tiled") if form.kind == "tiled" else ("tiled", "repeated")
        return (
            "axis-order",
            f"the rows of {name} are {words[1]} along axis {at} ({orders[1]}); the reference's are "
            f"{words[0]}",
            {"rows": words},
        )
    if form.kind == "reversed":
        return "axis-order", f"the rows of {name} along axis {at} are in reverse order", {}
    if form.kind == "rolled":
        return (
            "roll-shift",
            f"the rows of {name} are shifted by {form.number} along axis {at}",
            {"shift": (0, form.number)},
        )
    return (
        "axis-order",
        f"axis {at} of {name} is read as {form.number} x {len(rows[0]) // form.number}, the other "
        "way round",
        {},
    )


def _name(tape: Tape, value: int) -> str:
    """A value in words: a constant has no name, but its reader knows it."""
    root = tape.before_moves(value)
    if tape.values[root].kind == "constant":
        return "a constant"
    return named(tape, value)
