"""Tensors of one number throughout that hold another number, as a first state of ones."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import numpy as np

from parity.arrays import varies
from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import FILLS_TRIED
from parity.diagnosis.causes._places import part_in_words
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named
from parity.diagnosis.causes._substitution import rounded
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.operations import FILLED, PRODUCTS
from parity.tape import Array


@cause("fill-value")
@first_fitting
def filled_with_another(case: Case) -> Iterator[Explanation]:
    """A tensor that is one number throughout holds another number, as a first state.

    Looks like: a recurrent layer that differs from its first step on, with the right weights.
    Proof: one side's own operations with the other side's number in it give the other side's value.
    """
    both = sides(case)
    for side, other in (both, both[::-1]):
        numbers = _numbers_of(other)
        tried = (
            (value, own, number)
            for value, own in _filled(side)
            for number in sorted(numbers[side.view.tape.values[value].size] - {own})
        )
        for value, own, number in itertools.islice(tried, FILLS_TRIED):
            reference, candidate = (number, own) if side.is_candidate else (own, number)
            yield side.changed(
                Explanation(
                    "fill-value",
                    f"{named(side.view.tape, value)} is {rounded(candidate)} throughout, the "
                    f"reference's {rounded(reference)}",
                    partial(_with_number, side, value, number),
                    parameters={"value": (rounded(reference), rounded(candidate))},
                )
            )


@cause("wrong-source", tier=2)
@first_fitting
def filled_and_not_read(case: Case) -> Iterator[Explanation]:
    """A tensor of one number throughout is read, where the other model reads a value that it has.

    Looks like: a running mean that starts from zeros, and not from the first value.
    Proof: one side's own operations on that value in its place give the other side's value.
    """
    both = sides(case)
    for side in both[::-1]:
        tape = side.view.tape
        tried = itertools.product(_filled(side), side.entering)
        for (value, number), other in itertools.islice(tried, FILLS_TRIED):
            if tape.values[value].shape != tape.values[other].shape or not tape.is_live(other):
                continue
            filled = f"{rounded(number)} throughout" if number else "zeros"
            right, wrong = part_in_words(tape, other), filled
            if not side.is_candidate:
                right, wrong = wrong, right
            yield side.changed(
                Explanation(
                    "wrong-source",
                    f"what is read is {wrong}; the reference reads {right}",
                    partial(_with_another, side, value, other),
                    parameters={"source": (right, wrong)},
                )
            )


@cause("wrong-source", tier=2)
@first_fitting
def read_for_zeros(case: Case) -> Iterator[Explanation]:
    """A value is multiplied where the other model multiplies zeros by the same.

    Looks like: a recurrent layer that begins with the last state of another, and not with zeros.
    Proof: one side's own operations with zeros in the value's place give the other side's value.
    """
    both = sides(case)
    for side, other in (both[::-1], both):
        for value in itertools.islice(_in_the_place_of_zeros(side, other), FILLS_TRIED):
            right, wrong = "zeros", part_in_words(side.view.tape, value)
            if not side.is_candidate:
                right, wrong = wrong, right
            yield side.changed(
                Explanation(
                    "wrong-source",
                    f"what is read is {wrong}; the reference reads {right}",
                    partial(_with_number, side, value, 0.0),
                    parameters={"source": (right, wrong)},
                )
            )


def _in_the_place_of_zeros(side: CaseSide, other: CaseSide) -> Iterator[int]:
    """Factors of a region's products that are zeros in the other model's products."""
    tape, found = side.view.tape, set[int]()
    for op in side.view.ops:
        if op.word not in ("multiply", *PRODUCTS) or len(op.inputs) < 2:
            continue
        for value, factor in itertools.permutations(op.inputs[:2]):
            partner = _counterpart(side, other, factor)
            if value in found or partner is None or not tape.is_live(value):
                continue
            graph = other.view.tape.graph
            readers = graph.computing_readers(graph.moved(partner))
            read = {one for reader in readers if reader.word == op.word for one in reader.inputs}
            if any(_is_zero(other, one, tape.values[value].size) for one in read):
                found.add(value)
                yield value


def _counterpart(side: CaseSide, other: CaseSide, value: int) -> int | None:
    """The other model's partner of a value, or the leaf that has the same numbers."""
    matched, tape = side.case.repaired, side.view.tape
    pair = (matched.pairs if side.is_candidate else matched.by_reference).get(value)
    if pair is not None:
        return pair.reference if side.is_candidate else pair.candidate if pair.same else None
    value = tape.before_moves(value)
    if tape.producer(value) is not None:
        return None
    numbers = np.sort(side.model.run.array(value), axis=None)
    for leaf in other.view.tape.values:
        if leaf.op < 0 and leaf.size == len(numbers):
            if np.array_equal(np.sort(other.model.run.array(leaf.id), axis=None), numbers):
                return leaf.id
    return None


def _is_zero(side: CaseSide, value: int, size: int) -> bool:
    tape = side.view.tape
    same_size = tape.values[value].size == size and not tape.is_live(value)
    return same_size and not side.model.run.array(value).any()


def _with_another(side: CaseSide, value: int, other: int, trial: Trial) -> Array:
    """What a side gives with an input of it in a filled tensor's place, wherever that is read.

    Another input may be made of it: the first value less zeros is that value.
    """
    tape, entering = side.view.tape, side.entering
    held = dict(zip(entering, side.values(trial.given, entering), strict=True))
    replaced = {value: held[other]}
    base = side.model.run
    for one in entering:
        op = tape.producer(one)
        if op is not None and value in op.inputs and len({*op.inputs}) == 2:
            left = op.inputs[op.inputs[0] == value]
            if not np.array_equal(base.array(left), base.array(one)):
                continue
            known = {value: held[other], left: held[one]}
            replaced[one] = tape.replay("float64", known, base, only={op.index}).array(one)
    return side.run(trial.given, replaced)


def _filled(side: CaseSide) -> Iterator[tuple[int, float]]:
    """What a region reads or makes that is filled with one number, and the number."""
    view, run = side.view, side.model.run
    before = (view.tape.ops[index] for index in view.tape.graph.static_before(view.ops))
    held = (
        *(op.outputs[0] for op in before if op.word in FILLED),
        *(one.id for one in view.leaves),
    )
    yield from _of_one_number(side, ((value, run.array(value)) for value in dict.fromkeys(held)))
    made = [op.outputs[0] for op in view.ops if op.word in FILLED]
    arrays = side.values(side.case.first.given, made)  # as it was before any repair
    yield from _of_one_number(side, zip(made, arrays, strict=True))


def _numbers_of(side: CaseSide) -> Mapping[int, set[float]]:
    """The numbers with which a model fills tensors anywhere, by their size.

    Anywhere: what is added as 0 is in no region.
    """
    tape, run = side.view.tape, side.model.run
    made = (op.outputs[0] for op in tape.ops if op.word in FILLED)
    held = (one.id for one in tape.values if one.kind == "constant" and one.size > 1)
    found: dict[int, set[float]] = defaultdict(set)
    known = ((value, run.array(value)) for value in dict.fromkeys((*made, *held)))
    for value, number in _of_one_number(side, known):
        found[tape.values[value].size].add(number)
    return found


def _of_one_number(
    side: CaseSide, values: Iterable[tuple[int, Array]]
) -> Iterator[tuple[int, float]]:
    for value, array in values:
        known = side.view.tape.values[value]
        if known.size < 2 or not known.dtype.startswith(("float", "bfloat")):
            continue
        if not varies(array) and np.isfinite(array.flat[0]):
            yield value, float(array.flat[0])


def _with_number(side: CaseSide, value: int, number: float, trial: Trial) -> Array:
    filled = np.full(side.view.tape.values[value].shape, number)
    return side.run(trial.given, {value: filled})
