"""Where in one value two parts of it lie, as the last step of a sequence and its first."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes._index_in_words import index_in_words, sliced
from parity.diagnosis.causes._sources import named
from parity.errors import ReplayError
from parity.tape import Array, Replay, Tape


@dataclass(frozen=True)
class Apart:
    """Two parts of one value that are the same but for their place along an axis of it."""

    name: str  # the value in words
    axis: int
    words: tuple[str, str]  # the reference's place, and the candidate's

    @property
    def sentence(self) -> str:
        right, wrong = self.words
        return f"{wrong} of axis {self.axis} of {self.name} is read; the reference reads {right}"


def apart(case: Case, right: int, wrong: int) -> Apart | None:
    """How what both models take of one value differs; None where it is not so.

    Moves are run on the numbers of the places, so that equal contents do not mislead.

    Args:
        right: what the reference reads, one of its values.
        wrong: what the candidate reads, one of the candidate's.
    """
    reference, candidate = case.repaired.reference.run, case.repaired.side.run
    whole = reference.tape.before_moves(right)
    source = candidate.tape.before_moves(wrong)
    pair = case.repaired.pairs.get(source)
    if source == wrong or pair is None or not pair.same:
        return None
    if reference.tape.before_moves(pair.reference) != whole:
        return None
    cut = _last_whole(reference.tape, whole, right)
    shape = reference.tape.values[cut].shape
    if math.prod(shape) != reference.tape.values[whole].size:
        return None  # a part that is repeated
    try:
        there = pair.order.apply(places_of(reference, whole, pair.reference)).ravel()
        places = places_of(reference, whole, right), there[places_of(candidate, source, wrong)]
        laid = np.argsort(places_of(reference, whole, cut), axis=None)  # where each element lies
        places = laid[places[0]], laid[places[1]]
    except (ReplayError, ValueError, IndexError):
        return None
    along = [[np.unique(one) for one in np.unravel_index(of.ravel(), shape)] for of in places]
    axes = [i for i, one in enumerate(zip(*along, strict=True)) if not np.array_equal(*one)]
    if len(axes) != 1 or places[0].size != places[1].size:
        return None
    (axis,) = axes
    if any((np.diff(of[axis]) != 1).any() for of in along):
        return None  # every second one, say: no range
    words = tuple(index_in_words(of[axis], shape[axis]) for of in along)
    return Apart(named(reference.tape, whole), axis, (words[0], words[1]))


def _last_whole(tape: Tape, whole: int, part: int) -> int:
    """The last of the values, each moved from the one before, that has all of the first."""
    while tape.values[part].size < tape.values[whole].size:
        op = tape.producer(part)
        assert op is not None
        part = op.inputs[0]
    return part


def places_of(run: Replay, whole: int, part: int) -> Array:
    """The place in a value of each element that moves make of it, counted from 0."""
    tape = run.tape
    size, shape = tape.values[whole].size, tape.values[whole].shape
    moves = tape.graph.ancestors([part]) - tape.graph.ancestors([whole])
    numbers = np.arange(size, dtype=np.float64).reshape(shape)
    found = tape.replay("float64", {whole: numbers}, run, only=moves).array(part)
    return np.rint(found).astype(np.int64)


def part_in_words(tape: Tape, part: int) -> str:
    """A value in words, as the part of another that moves alone make it, if they do."""
    start, size = tape.before_moves(part), tape.values[part].size
    whole = _last_whole(tape, start, part)
    if tape.values[whole].size <= size:
        return named(tape, part)
    try:
        places = places_of(tape.as_recorded(), whole, part)
    except ReplayError:
        return named(tape, part)
    index = sliced(tape.values[whole].shape, places)
    return f"{named(tape, whole)}[{index}]" if index else f"a part of {named(tape, whole)}"
