"""Values that one model computes for all steps at once, and the other step by step.

A loop over steps, heads or members gives as many values as it has turns; the other model has one
value with an axis of them, or with one of them and something else (the batch, a layer's units).
Neither is the other's partner, so that what lies between two partners would be the whole loop.
Where the models differ, such a value is cut into the steps and put together again: each step then
is a value of its own on both sides.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from parity.budget import check
from parity.diagnosis import limits
from parity.diagnosis.cut_into_steps import Cut
from parity.draws.draw import Array
from parity.errors import ReplayError
from parity.matching.fingerprint import fingerprint
from parity.matching.match import Indexed, Match
from parity.tape import Op, Tape

Cuts = Mapping[int, Cut]  # by value


def cuts(found: Match) -> tuple[Cuts, Cuts]:
    """What is to be cut in the reference and in the candidate.

    Args:
        found: the match in which what differs is repaired.
    """
    own, side = found.reference, found.side
    other = Indexed(side.tape, side.run, side, own.sharp)
    unpaired = (
        _unpaired(own, {pair.reference for pair in found.pairs.values()}),
        _unpaired(other, set(found.pairs)),
    )
    turns = _turns(own.tape, unpaired[0]), _turns(other.tape, unpaired[1])
    return (
        _cut_like(own, unpaired[0], other, turns[1]),
        _cut_like(other, unpaired[1], own, turns[0]),
    )


def _unpaired(side: Indexed, paired: set[int]) -> list[int]:
    """What a model computes that has no partner, in the order of the program."""
    tape = side.tape
    return [
        value
        for op in tape.ops
        if op.index in tape.used and op.role != "random"
        for value in op.outputs
        if value not in paired
        and tape.values[value].dtype.startswith(("float", "bf"))
        and limits.LEAST_STEP <= tape.values[value].size <= limits.LARGEST_CUT
    ]


def _turns(tape: Tape, values: Sequence[int]) -> dict[int, set[int]]:
    """Values that a line gives more than once, as in the turns of a loop, by their size."""

    def line(value: int) -> object:
        op = tape.producer(value)
        assert op is not None
        return op.site.frames, op.word, tape.values[value].shape

    times = Counter(map(line, values))
    found: dict[int, set[int]] = {}
    for value in values:
        if times[line(value)] > 1:
            found.setdefault(tape.values[value].size, set()).add(value)
    return found


def _cut_like(
    side: Indexed, values: Sequence[int], other: Indexed, turns: Mapping[int, set[int]]
) -> Cuts:
    """Values whose parts are what the other model's turns give, and how they are cut.

    What is made of them and has the axis too is cut with them: there the models may differ.
    """
    tape, left = side.tape, limits.STEPS_CUT
    found: dict[int, Cut] = {}
    for value in values:
        op = tape.producer(value)
        possible = _possible(tape.values[value].shape, turns)
        check()
        best = _most_alike(side.array(value), possible, other, turns)
        if best is None and op is not None:
            best = _as_before(side, op, value, found, possible)
        if best is not None:
            left -= best.steps
            if left < 0:
                break
            found[value] = best
    return found


def _possible(shape: Sequence[int], turns: Mapping[int, set[int]]) -> list[Cut]:
    """The ways in which a value has as many parts as there are turns of their size."""
    counts = {
        math.prod(shape) // size
        for size, of_size in turns.items()
        if math.prod(shape) % size == 0 and math.prod(shape) // size <= len(of_size)
    }
    return [way for count in sorted(counts) for way in _ways(shape, count)]


def _ways(shape: Sequence[int], count: int) -> Iterator[Cut]:
    """The ways in which the axes of a shape have so many parts."""
    for axis, length in enumerate(shape):
        if not 1 < count <= limits.LONGEST_LOOP or length % count:
            continue
        each = length // count
        yield Cut(axis, count, each)
        if each > 1:
            yield Cut(axis, count, each, in_blocks=False)


def _most_alike(
    array: Array, possible: Sequence[Cut], other: Indexed, turns: Mapping[int, set[int]]
) -> Cut | None:
    """The cut of which the most parts are what turns of the other model give."""
    best, found = 1, None  # one part alone may be chance
    for one in possible:
        step = turns[array.size // one.steps]
        alike = {partner for part in one.parts(array) if (partner := _partner(other, part)) in step}
        if len(alike) > best:
            best, found = len(alike), one
    return found


def _as_before(
    side: Indexed, op: Op, value: int, found: Cuts, possible: Sequence[Cut]
) -> Cut | None:
    """How a value has the steps of what it is made of; None where it has not.

    The other model may have nothing of its size, as where one product gives all gates.
    """
    before = {one: found[one] for one in op.inputs if one in found}
    shape = side.tape.values[value].shape
    if op.role != "move" or not before:
        return next((way for way in before.values() if way in possible or _fits(way, shape)), None)
    numbered = {one: _numbers(way, side.tape.values[one].shape) for one, way in before.items()}
    try:
        run = side.tape.replay("float64", numbered, side.run, only=[op.index])
    except ReplayError:
        return None
    made, alike = run.array(value), {way.steps for way in before.values()}
    ways = [*possible, *(way for steps in alike for way in _ways(shape, steps))]
    return next(
        (way for way in ways if {way.steps} == alike and _are_numbered(way.parts(made))), None
    )


def _fits(way: Cut, shape: Sequence[int]) -> bool:
    return way.axis < len(shape) and shape[way.axis] == way.steps * way.each


def _numbers(way: Cut, shape: Sequence[int]) -> Array:
    """For each element of a value its step."""
    numbers = np.empty(tuple(shape))
    parts = way.parts(numbers)
    parts[...] = np.arange(way.steps).reshape(-1, *[1] * (parts.ndim - 1))
    return numbers


def _are_numbered(parts: Array) -> bool:
    return all((part == at).all() for at, part in enumerate(parts))


def _partner(other: Indexed, part: Array) -> int | None:
    print_ = fingerprint(part)
    if not print_.informative:
        return None
    pair = other.partner(part, print_)
    return pair.reference if not isinstance(pair, int) and pair and pair.same else None
