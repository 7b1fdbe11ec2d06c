"""Finds the operations at which two models part: the frontier, from both sides, one by one.

From an output without a partner one walks back to the values that have one. What lies between is
the region in which the models part; the smallest such pair of regions is found by putting the
reference's value into the candidate and running on: where later values meet again, the region
ends, and what still parts is the next, independent divergence.
"""

from __future__ import annotations

import heapq
import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from parity.matching.fingerprint import SAME
from parity.matching.match import Indexed, Match, Pair, pair_up_leaves, rematch
from parity.matching.order import Order, orders
from parity.numerics.difference import residual
from parity.numerics.draws import DRAWS_ERROR_RATE, same_distribution
from parity.numerics.rounding import U32, explained_by_constants
from parity.tape import Array, Op, Tape

_TRIES = 60  # pairs of values that are tried as the end of a region
_FEW_TRIES = 3
_ORDERS = 6  # axis orders that are tried for a pair: all, where three axes have one length
_MUCH = 0.1  # no rounding of a float32 parameter leaves so much
_PATIENCE = 40  # operations after which values that were put in must have met something


@dataclass(frozen=True)
class Region:
    """Operations of one tape between values that have a partner and one that has none.

    Attributes:
        ops: in the order of the data flow.
        entry: the first that computes something new (or arranges it anew): where the models part.
    """

    tape: Tape
    ops: tuple[Op, ...]
    entry: Op | None

    def boundary(self) -> Iterator[int]:
        """What enters the region: inputs, and values that operations outside it computed."""
        inside = {value for op in self.ops for value in op.outputs}
        for value in dict.fromkeys(value for op in self.ops for value in op.inputs):
            producer = self.tape.producer(value)
            if value in inside or (producer is not None and producer.static):
                continue
            if producer is not None or self.tape.values[value].kind == "input":
                yield value

    def leaves(self) -> Iterator[int]:
        """Parameters and constants that the operations read, also through static operations."""
        seen: set[int] = set()
        stack = [value for op in self.ops for value in op.inputs]
        while stack:
            value = stack.pop()
            if value in seen:
                continue
            seen.add(value)
            op = self.tape.producer(value)
            if op is None:
                if self.tape.values[value].kind != "input":
                    yield value
            elif op.static:
                stack.extend(op.inputs)


@dataclass(frozen=True)
class Leaf:
    """A parameter, buffer or constant that has no equal on the other side.

    Attributes:
        reference, candidate: value ids; either may be missing.
        relation: `"arranged"` (the same numbers in another order), `"near"` or `"other"`.
    """

    reference: int | None
    candidate: int | None
    relation: str


@dataclass(frozen=True)
class Parting:
    """A pair of regions at which the two models part, and the values that end them.

    Attributes:
        values: value ids in the reference and the candidate, or None where nothing meets later.
        residual: of the candidate's value, computed from the reference's inputs, in float64.
        explained: how much of it float32 rounding of the region's constants explains.
        leaves: parameters and constants entering the region that differ.
        met: whether later values meet again once the reference's value is put in.
    """

    reference: Region
    candidate: Region
    values: tuple[int, int] | None
    order: Order | None
    residual: float
    explained: float = 0.0
    leaves: tuple[Leaf, ...] = ()
    met: bool = True

    @property
    def random(self) -> tuple[bool, bool]:
        """Whether random numbers are drawn in the reference's and in the candidate's region."""
        return (
            any(op.role == "random" for op in self.reference.ops),
            any(op.role == "random" for op in self.candidate.ops),
        )


@dataclass(frozen=True)
class OutputPair:
    """Two outputs that ought to be equal: name, and value id on both sides."""

    name: str
    reference: int
    candidate: int


def locate(found: Match, outputs: Sequence[OutputPair]) -> tuple[list[Parting], Match]:
    """All places where the candidate parts from the reference, in the order of the data flow.

    Returns:
        The places, and the match in which all of them are repaired.
    """
    partings = []
    given_up: set[str] = set()
    while True:
        apart = [
            pair
            for pair in outputs
            # an output that was itself put in by force cannot be mended further, whatever its shape
            if pair.name not in given_up
            and pair.candidate not in found.injected
            and not output_matches(found, pair)
            and not _same_numbers(found, pair)
        ]
        if not apart:
            break
        scene = _Scene(found, apart)
        step = scene.meeting_place()
        if step is None:
            partings.append(scene.up_to_the_outputs())
            given_up.update(pair.name for pair in apart)
            continue
        parting, found = step
        partings.append(parting)
    # last, when nothing that is farther apart has a part in them any more
    looked_at: set[int] = set()
    near = near_pairs(found, outputs)
    while near:
        pair = near.pop(0)
        if pair.candidate in looked_at:
            continue
        looked_at.add(pair.candidate)
        parting, repaired = _parting_of_near(found, pair)
        partings.append(parting)
        if repaired is not found:
            found = repaired
            near = near_pairs(found, outputs)
    return sorted(partings, key=_place), found


def output_matches(found: Match, pair: OutputPair) -> bool:
    """Whether a candidate's output is the reference's, element by element."""
    ours, theirs = found.reference.array(pair.reference), found.side.array(pair.candidate)
    if ours.shape == theirs.shape:
        # an output that no input reaches is a constant, and may have been rounded to float32
        constant = all(
            producer is None or producer.static
            for producer in (
                found.reference.tape.producer(pair.reference),
                found.side.tape.producer(pair.candidate),
            )
        )
        return residual(ours, theirs) <= (4 * U32 if constant else SAME)
    # the other layout of images, batch first, is the one other shape that is no difference
    if ours.ndim < 3:
        return False
    return any(
        moved.shape == theirs.shape and residual(moved, theirs) <= SAME
        for moved in (np.moveaxis(ours, 1, -1), np.moveaxis(ours, -1, 1))
    )


def _same_numbers(found: Match, pair: OutputPair) -> bool:
    """Whether an output is the reference's but for its shape: that is told, and has no place."""
    ours, theirs = found.reference.array(pair.reference), found.side.array(pair.candidate)
    return ours.size == theirs.size and residual(ours.ravel(), theirs.ravel()) <= SAME


def near_pairs(found: Match, outputs: Sequence[OutputPair]) -> list[Pair]:
    """Pairs that are close but not equal, among what the outputs depend on, in their order."""
    tape = found.side.tape
    needed = _ancestors(tape, [pair.candidate for pair in outputs])
    near = []
    for pair in found.pairs.values():
        op = tape.producer(pair.candidate)
        if pair.same or op is None or op.index not in needed:
            continue
        if pair.candidate not in found.injected and found.side.informative(pair.candidate):
            near.append(pair)
    return sorted(near, key=lambda pair: tape.values[pair.candidate].op)


def _parting_of_near(found: Match, pair: Pair) -> tuple[Parting, Match]:
    """What makes a pair differ a little; looked into further if rounding does not explain it.

    Returns:
        The parting; and the match, which is another one where a larger difference was repaired.
    """
    scene = _Scene(found, [])
    ours, theirs = scene.regions(pair.reference, pair.candidate)
    explained = scene.explained(ours, pair.reference, theirs, pair.candidate, pair.residual)
    if pair.residual > explained and min(_computing(ours), _computing(theirs)) > 1:
        ends = OutputPair("", pair.reference, pair.candidate)
        step = _Scene(found, [ends]).meeting_place()
        if step is not None and step[0].residual > step[0].explained:
            return step
    leaves = tuple(scene.differing_leaves(ours, theirs))
    ends_ = (pair.reference, pair.candidate)
    return Parting(ours, theirs, ends_, pair.order, pair.residual, explained, leaves), found


def _one_operation_each(ours: Region, theirs: Region) -> bool:
    """Whether two regions are one operation each, of one kind but for how frameworks write it."""
    if _computing(ours) != 1 or _computing(theirs) != 1:
        return False
    kinds = [
        re.sub(r"v\d+$", "", next(op.kind for op in region.ops if op.role != "move").lower())
        for region in (ours, theirs)
    ]
    return kinds[0].replace("_", "") == kinds[1].replace("_", "")


def _made(region: Region) -> set[int]:
    """What a region's operations give, used or not."""
    return {value for op in region.ops for value in op.outputs}


def _computing(region: Region) -> int:
    return sum(op.role != "move" for op in region.ops)


def _place(parting: Parting) -> tuple[int, int]:
    ours, theirs = parting.reference.entry, parting.candidate.entry
    return (theirs.index if theirs else 10**9, ours.index if ours else 10**9)


@dataclass
class _Walk:
    """One tape as seen from outputs that part."""

    side: Indexed
    settled: dict[int, bool] = field(default_factory=dict)
    depth: dict[int, int] = field(default_factory=dict)  # unsettled value: computing ops behind it
    roots: dict[int, set[tuple[int, float]]] = field(default_factory=dict)  # what it starts from


class _Scene:
    """Both tapes, what has a partner, and what lies between that and the outputs that part."""

    def __init__(self, found: Match, apart: Sequence[OutputPair]) -> None:
        self.found = found
        self.reference = _Walk(found.reference)
        self.candidate = _Walk(Indexed(found.side.tape, found.side.run, found.side))
        self.partners = found.by_reference
        self.apart = apart
        # an output that parts is unsettled, whatever else its numbers may resemble
        for pair in apart:
            self.reference.settled[pair.reference] = False
            self.candidate.settled[pair.candidate] = False

    # --- which values have a partner --------------------------------------------------------------

    def is_settled(self, walk: _Walk, value: int) -> bool:
        known = walk.settled.get(value)
        if known is None:
            known = walk.settled[value] = self._has_partner(walk, value)
        return known

    def _has_partner(self, walk: _Walk, value: int) -> bool:
        if walk is self.candidate and value in self.found.injected:
            return True
        other = self._partner(walk, value)
        if other is None:
            return False
        if walk.side.informative(value):
            return True
        # the same few numbers stand in many places: they count only where both were computed
        opposite = self.reference if walk is self.candidate else self.candidate
        op = opposite.side.tape.producer(other)
        return op is not None and not op.static

    def _partner(self, walk: _Walk, value: int) -> int | None:
        """The value of the other side that a value is."""
        if walk is self.candidate:
            pair = self.found.pairs.get(value)
            return pair.reference if pair else None
        pair = self.partners.get(value)
        return pair.candidate if pair else self._find_in_candidate(value)

    def _find_in_candidate(self, value: int) -> int | None:
        array = self.found.reference.array(value)
        if not array.size:
            return None
        partner = self.candidate.side.partner(array, self.found.reference.print(value))
        return partner.reference if isinstance(partner, Pair) and partner.same else None

    # --- regions ----------------------------------------------------------------------------------

    def regions(self, a: int, b: int, itself: bool = True) -> tuple[Region, Region]:
        """What lies between two values and those behind them that have a partner.

        What one side's operations give besides, as a fused norm its mean, the other side computes
        within its region too.
        """
        again = itself or self.is_settled(self.reference, a)
        ours = self.region(self.reference, a, itself=again)
        theirs = self.region(self.candidate, b, itself=itself, besides=_made(ours) - {a})
        ours = self.region(self.reference, a, itself=again, besides=_made(theirs) - {b})
        return ours, theirs

    def region(
        self, walk: _Walk, *values: int, itself: bool = False, besides: Collection[int] = ()
    ) -> Region:
        """What lies between values and those behind them that have a partner.

        Args:
            itself: whether to go on from `values` that have a partner.
            besides: values of the other side whose partners do not end the region.
        """
        tape = walk.side.tape
        inside: set[int] = set()
        stack = list(values)
        makers = [op for value in values if (op := tape.producer(value)) is not None]
        static = itself or all(op.static for op in makers)  # no input reaches what is asked for
        while stack:
            value = stack.pop()
            op = tape.producer(value)
            if op is None or op.index in inside or (op.static and not static):
                continue
            if self.is_settled(walk, value) and not (itself and value in values):
                if not besides or self._partner(walk, value) not in besides:
                    continue
            inside.add(op.index)
            stack.extend(op.inputs)
        ops = tuple(tape.ops[index] for index in sorted(inside))
        return Region(tape, ops, self._entry(walk, ops))

    def _entry(self, walk: _Walk, ops: Sequence[Op]) -> Op | None:
        live = [op for op in ops if not op.static] or ops
        for op in live:
            if op.role != "move" or self._arranges(walk, op):
                return op
        return live[0] if live else None

    def _arranges(self, walk: _Walk, op: Op) -> bool:
        """Whether a move puts numbers that the other side has in an order that it has not."""
        if walk is self.candidate:
            return any(value in self.found.arranged for value in op.outputs)
        arrays = [(walk.side.array(value), walk.side.print(value)) for value in op.outputs]
        return any(isinstance(self.candidate.side.partner(*pair), int) for pair in arrays)

    def _with_counterparts(self, ours: Region, theirs: Region) -> tuple[Region, Region]:
        """Where one side arranges numbers anew, the other's place is where it arranges the same."""
        return (
            self._from_counterpart(self.reference, ours, self.candidate, theirs),
            self._from_counterpart(self.candidate, theirs, self.reference, ours),
        )

    def _from_counterpart(
        self, walk: _Walk, region: Region, other: _Walk, others: Region
    ) -> Region:
        entry = others.entry
        if entry is None or entry.role != "move":
            return region
        for value in entry.outputs:
            if other is self.candidate:
                counterpart = self.found.arranged.get(value)
            else:
                array = other.side.array(value)
                found = walk.side.partner(array, other.side.print(value))
                counterpart = found if isinstance(found, int) else None
            op = None if counterpart is None else walk.side.tape.producer(counterpart)
            if op is not None and op.role == "move":
                ops = region.ops if op in region.ops else (op, *region.ops)
                return Region(region.tape, ops, op)
        return region

    def _or_where_it_is_read(self, walk: _Walk, region: Region, value: int) -> Region:
        """An input that one model changes and the other takes as it is: the place is its reader."""
        if region.entry is not None:
            return region
        tape = walk.side.tape
        ends = [pair.candidate if walk is self.candidate else pair.reference for pair in self.apart]
        apart = {op.index for op in self.region(walk, *ends).ops}
        for moved in sorted(_only_moves(tape, value)):
            for index in tape.consumers[moved]:
                if index in apart:
                    return Region(tape, region.ops, tape.ops[index])
        return region

    def up_to_the_outputs(self) -> Parting:
        """The whole of what parts, where nothing later meets."""
        ours = self.region(self.reference, *(pair.reference for pair in self.apart))
        theirs = self.region(self.candidate, *(pair.candidate for pair in self.apart))
        gap = float("inf")
        for pair in self.apart:
            a = self.found.reference.array(pair.reference)
            b = self.candidate.side.array(pair.candidate)
            if a.shape == b.shape:
                gap = residual(a, b)
        leaves = tuple(self.differing_leaves(ours, theirs))
        return Parting(ours, theirs, None, None, gap, 0.0, leaves, met=False)

    def explained(self, ours: Region, a: int, theirs: Region, b: int, gap: float) -> float:
        """How much of what two values are apart the rounding of constants explains."""
        if gap > _MUCH and not any(
            region.tape.values[leaf].dtype in ("float16", "bfloat16")
            for region in (ours, theirs)
            for leaf in region.leaves()
        ):
            return 0.0
        sides = ((self.reference.side, ours, a), (self.candidate.side, theirs, b))
        return max(
            explained_by_constants(side.tape, side.run, region.ops, region.leaves(), value, gap)
            for side, region, value in sides
        )

    # --- where they meet again --------------------------------------------------------------------

    def meeting_place(self) -> tuple[Parting, Match] | None:
        """The smallest pair of regions after which the models go on as one.

        Random draws end in pairs that could be of one distribution, if there are such: a mask put
        in the place of the uniform numbers that it is made from works too, and tells less.
        """
        second_best = None
        ends = [(pair.reference, pair.candidate) for pair in self.apart if self._one_size(pair)]
        for a, b in itertools.chain(itertools.islice(self._candidates(), _TRIES), ends):
            known = self.found.pairs.get(b)
            steps = []
            for order in self._orders(a, b):
                if known is not None and not order.stable:
                    continue
                step = self._meet(a, b, order, again=known is not None)
                if step is not None:
                    steps.append(step)
            # with axes of one length several orders fit: the right one goes on the farthest
            for step in sorted(steps, key=lambda step: self._agreement(step[1]), reverse=True):
                if not all(step[0].random) or self._drawn_alike(a, b):
                    return step
                second_best = second_best or step
        return second_best

    def _meet(self, a: int, b: int, order: Order, again: bool) -> tuple[Parting, Match] | None:
        """The parting that two values end, if the models go on as one after them.

        Args:
            again: whether they are partners already, in another order of axes; that order must
                then carry on in what is made of them.
        """
        array = order.apply(self.found.reference.array(a))
        repaired = self._try(a, b, array, order if again else None)
        if repaired is None:
            return None
        ours, theirs = self._with_counterparts(*self.regions(a, b, itself=again))
        ours = self._or_where_it_is_read(self.reference, ours, a)
        theirs = self._or_where_it_is_read(self.candidate, theirs, b)
        if min(_computing(ours), _computing(theirs)) > 1:
            first = self._first_of_several(ours, a, theirs, b)
            if first is not None:
                return first
        repaired.pairs[b] = Pair(a, b, order, 0.0)
        gap = residual(array, self.candidate.side.array(b))
        explained = self.explained(ours, a, theirs, b, gap)
        leaves = tuple(self.differing_leaves(ours, theirs))
        return Parting(ours, theirs, (a, b), order, gap, explained, leaves), repaired

    def _one_size(self, pair: OutputPair) -> bool:
        values = self.reference.side.tape.values, self.candidate.side.tape.values
        return values[0][pair.reference].size == values[1][pair.candidate].size

    def _agreement(self, repaired: Match) -> tuple[int, int]:
        """How many outputs agree after a repair, and how many values."""
        outputs = sum(output_matches(repaired, pair) for pair in self.apart)
        return outputs, sum(pair.same for pair in repaired.pairs.values())

    def _drawn_alike(self, a: int, b: int) -> bool:
        arrays = self.found.reference.array(a), self.candidate.side.array(b)
        return same_distribution(*arrays) >= DRAWS_ERROR_RATE

    def _first_of_several(
        self, ours: Region, a: int, theirs: Region, b: int
    ) -> tuple[Parting, Match] | None:
        """The first of consecutive differences, after none of which anything meets.

        Two faults one after the other look like one region. They are two where the regions go
        operation by operation: the same kind on both sides, the same inputs, other outputs, each.
        """
        inside = {op.index for op in ours.ops}, {op.index for op in theirs.ops}
        for first, other in self._candidates():
            makers = (
                self.reference.side.tape.producer(first),
                self.candidate.side.tape.producer(other),
            )
            if makers[0] is None or makers[1] is None or (first, other) == (a, b):
                continue
            if makers[0].index not in inside[0] or makers[1].index not in inside[1]:
                continue
            small = self.region(self.reference, first), self.region(self.candidate, other)
            if not _one_operation_each(*small):
                continue
            order = next(iter(self._orders(first, other)), None)
            if order is None:
                continue
            array = order.apply(self.found.reference.array(first))
            fresh = rematch(
                self.found, {other: array}, lambda match, op: op.index <= theirs.ops[-1].index
            )
            rest = _Scene(fresh, self.apart)
            rest.reference.settled[first] = True
            remaining = rest.region(rest.reference, a), rest.region(rest.candidate, b)
            if not _one_operation_each(*remaining) and not (
                min(_computing(region) for region in remaining) > 1
                and rest._first_of_several(remaining[0], a, remaining[1], b)
            ):
                continue
            gap = residual(array, self.candidate.side.array(other))
            leaves = tuple(self.differing_leaves(*small))
            repaired = rematch(self.found, {other: array}, lambda match, op: True)
            repaired.pairs[other] = Pair(first, other, order, 0.0)
            explained = self.explained(small[0], first, small[1], other, gap)
            return Parting(*small, (first, other), order, gap, explained, leaves), repaired
        return None

    def _try(self, a: int, b: int, array: Array, order: Order | None) -> Match | None:
        """Puts an array in the place of `b`; the new match if something later meets, else None.

        Args:
            order: the order of axes in which it must meet, if that matters.
        """
        after_a = _descendants(self.found.reference.tape, a)
        outputs = {pair.candidate: pair.reference for pair in self.apart}
        met = False
        left = _PATIENCE

        def watch(match: Match, op: Op) -> bool:
            nonlocal met, left
            left -= op.role != "move"
            for value in op.outputs:
                pair = match.pairs.get(value)
                if pair is None or not pair.same or value in self.found.pairs:
                    continue
                if order is not None and len(order.axes) == len(pair.order.axes):
                    if order.axes != pair.order.axes:
                        continue
                if op.role == "move" and outputs.get(value) != pair.reference:
                    continue
                if pair.reference in after_a and match.side.informative(value):
                    met = True
            return met or left > 0

        fresh = rematch(self.found, {b: array}, watch)
        if outputs.get(b) == a or self._reaches_output_by_moves(a, b):
            met = True
        return fresh if met else None

    def _reaches_output_by_moves(self, a: int, b: int) -> bool:
        """Whether two values are outputs but for reshapes, so that nothing later can meet."""
        ends = (
            _only_moves(self.found.reference.tape, a),
            _only_moves(self.candidate.side.tape, b),
        )
        return any(pair.reference in ends[0] and pair.candidate in ends[1] for pair in self.apart)

    def _candidates(self) -> list[tuple[int, int]]:
        """Pairs of values that could end the region, the smallest regions first."""
        ours = self._measure(self.reference, [pair.reference for pair in self.apart])
        theirs = self._measure(self.candidate, [pair.candidate for pair in self.apart])
        values = self.found.reference.tape.values, self.candidate.side.tape.values
        by_size: dict[int, list[int]] = {}
        for a in sorted(ours, key=lambda value: (self.reference.depth[value], value)):
            by_size.setdefault(values[0][a].size, []).append(a)

        def ending_in(b: int) -> Iterator[tuple[int, int, int, int]]:
            depth, roots = self.candidate.depth[b], self.candidate.roots[b]
            if b in self.found.arranged:  # the same numbers, put in another arrangement
                yield depth, 0, b, self.found.arranged[b]
            for a in by_size.get(values[1][b].size, ()):
                roots_a = self.reference.roots[a]
                if roots_a and roots and roots_a.isdisjoint(roots):
                    continue
                if _is_exact(values[0][a].dtype) == _is_exact(values[1][b].dtype):
                    depth_a = self.reference.depth[a]
                    yield depth_a + depth, abs(depth_a - depth), b, a

        swapped = [(pair.reference, pair.candidate) for pair in self._ambiguous_inputs()]
        swapped += self._swapped_in_the_reference()
        # merged as they are asked for: a long loop has a million pairs, and few are looked at
        ranked = heapq.merge(*(ending_in(b) for b in theirs))
        return swapped + [(a, b) for _, _, b, a in itertools.islice(ranked, 4 * _TRIES)]

    def _ambiguous_inputs(self) -> list[Pair]:
        """Pairs that feed what parts, whose axes of one length have changed places.

        A transposed square matches its original: whether it should have been transposed shows only
        in what is made of it.
        """
        found = []
        for op in self.region(self.candidate, *(pair.candidate for pair in self.apart)).ops:
            for value in op.inputs:
                pair = self._where_it_was_swapped(value)
                if pair is not None and pair not in found:
                    found.append(pair)
        return found[:_FEW_TRIES]

    def _swapped_in_the_reference(self) -> list[tuple[int, int]]:
        """The same where the reference transposes a square and the candidate does not."""
        found = []
        for op in self.region(self.reference, *(pair.reference for pair in self.apart)).ops:
            for value in op.inputs:
                producer = self.reference.side.tape.producer(value)
                if producer is None or producer.static or producer.role != "move":
                    continue
                array, print_ = self.found.reference.array(value), self.found.reference.print(value)
                partner = self.candidate.side.partner(array, print_)
                if not isinstance(partner, Pair) or partner.order.stable:
                    continue
                ends = (value, partner.reference)
                if ends not in found and partner.reference in self.found.pairs:
                    found.append(ends)
        return found[:_FEW_TRIES]

    def _where_it_was_swapped(self, value: int) -> Pair | None:
        """The first of the moves behind a value after which axes of one length lie otherwise."""
        first = None
        while True:
            pair = self.found.pairs.get(value)
            op = self.candidate.side.tape.producer(value)
            if pair is None or pair.order.stable or value in self.found.injected:
                return first
            if op is None or op.static or op.role != "move":
                return first
            if not self.is_settled(self.candidate, value):
                return first
            first, value = pair, op.inputs[0]

    def _measure(self, walk: _Walk, outputs: Sequence[int]) -> list[int]:
        """The unsettled values before `outputs`, with how far and from what they were computed."""
        tape = walk.side.tape
        found = []
        for op in self.region(walk, *outputs).ops:
            depth, roots = 0, set()
            for value in op.inputs:
                producer = tape.producer(value)
                if value in walk.depth:
                    depth = max(depth, walk.depth[value])
                    roots |= walk.roots[value]
                elif producer is None and tape.values[value].kind != "input":
                    continue
                elif producer is None or not producer.static:
                    print_ = walk.side.print(value)
                    roots.add((print_.size, float(f"{print_.norm:.6g}")))
            for value in op.outputs:
                if not self.is_settled(walk, value):
                    walk.depth[value] = depth + (op.role != "move")
                    walk.roots[value] = roots
                    found.append(value)
        return found

    def _orders(self, a: int, b: int) -> list[Order]:
        """Axis orders in which `a` fits in the place of `b`; those of its neighbours first."""
        values = self.found.reference.tape.values, self.candidate.side.tape.values
        fitting = list(orders(values[0][a].shape, values[1][b].shape))
        if len(fitting) > 1:
            nearby = {
                pair.order.axes
                for pair in self.found.pairs.values()
                if len(pair.order.axes) == len(fitting[0].axes)
            }
            fitting.sort(key=lambda order: order.axes not in nearby)
        return fitting[:_ORDERS]

    # --- leaves -----------------------------------------------------------------------------------

    def differing_leaves(self, ours: Region, theirs: Region) -> Iterator[Leaf]:
        """Parameters and constants that enter the candidate's region and have no equal."""
        known = set(ours.leaves())
        pair_up_leaves(self.found, theirs.leaves())
        self.partners = self.found.by_reference
        for leaf in theirs.leaves():
            if not self.candidate.side.informative(leaf):
                continue
            pair = self.found.pairs.get(leaf)
            if pair is not None and not pair.same:
                yield Leaf(pair.reference, leaf, "near")
            elif pair is None:
                arranged = self.found.arranged.get(leaf)
                if arranged is not None:
                    yield Leaf(arranged, leaf, "arranged")
                    continue
                size = self.candidate.side.tape.values[leaf].size
                alike = [
                    value
                    for value in known
                    if self.found.reference.tape.values[value].size == size
                    and value not in self.partners
                ]
                yield Leaf(alike[0] if alike else None, leaf, "other")


def _is_exact(dtype: str) -> bool:
    return not dtype.startswith(("float", "bfloat", "complex"))


def _ancestors(tape: Tape, values: Sequence[int]) -> set[int]:
    """Indices of the operations that values depend on."""
    found: set[int] = set()
    stack = list(values)
    while stack:
        op = tape.producer(stack.pop())
        if op is not None and op.index not in found:
            found.add(op.index)
            stack.extend(op.inputs)
    return found


def _descendants(tape: Tape, value: int) -> set[int]:
    """Values that depend on a value, without itself."""
    found = {value}
    producer = tape.producer(value)
    for op in tape.ops[producer.index + 1 if producer else 0 :]:
        if not found.isdisjoint(op.inputs):
            found.update(op.outputs)
    found.discard(value)
    return found


def _only_moves(tape: Tape, value: int) -> set[int]:
    """A value and what is made of it by moves alone."""
    found = {value}
    for op in tape.ops:
        if op.role == "move" and not found.isdisjoint(op.inputs):
            found.update(op.outputs)
    return found
