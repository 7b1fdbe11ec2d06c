"""Finds the smallest pair of regions after which two models go on as one, by trying.

The reference's value is put into the candidate and what follows is run on: where later values meet
again, the region ends.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from parity.budget import check
from parity.diagnosis.cut_candidates import TRIES, Ends, root
from parity.diagnosis.outputs import output_matches
from parity.diagnosis.region import (
    Mismatch,
    OutputPair,
    Region,
)
from parity.errors import ReplayError
from parity.matching.axis_order import Order
from parity.matching.match import Match, Pair, Side, rematch, share
from parity.numerics.limits import U32
from parity.tape import Array, Op

_IN_DOUBT = 4  # operations more, for which what is put off is given up
_SPLITS = 60  # of a region into one operation and the rest, at all depths: their number explodes
_IN_A_ROW = 8  # differences: what comes after them may be as many again
_BARELY = 16 * U32  # what rounded constants leave between values that meet
_PATIENCE = 40  # operations after which values that were put in must have met something


class Search(Ends):
    """Tries pairs of values as the end of a region: where what follows meets again, it ends."""

    def __init__(
        self, found: Match, apart: Sequence[OutputPair], splits: Iterator[int] | None = None
    ) -> None:
        super().__init__(found, apart)
        self._splits = iter(range(_SPLITS)) if splits is None else splits
        self._doubted: tuple[int, int, Order, bool] | None = None  # the first that was put off

    def meeting_place(self) -> tuple[Mismatch, Match] | None:
        """The smallest pair of regions after which the models go on as one.

        Where the outputs part all the same, it may be that one side changes what the other hands on
        to several readers: if after that the models go on more than twice as far, it is there.
        """
        step = self._first_meeting()
        if step is None or all(output_matches(step[1], pair) for pair in self.apart):
            return step
        gain = self._gain(step[1])
        for a, b in self.where_one_hands_on():
            for order in self.orders(a, b):
                other = self._meet(a, b, order, again=False)
                if other is not None and self._gain(other[1]) > 2 * gain:
                    return other
        return step

    def _gain(self, repaired: Match) -> int:
        """How many values have a partner after a repair that had none."""
        return sum(p.same for value, p in repaired.pairs.items() if value not in self.found.pairs)

    def _first_meeting(self) -> tuple[Mismatch, Match] | None:
        """The smallest pair of regions after which something meets again."""
        ends = [(pair.reference, pair.candidate) for pair in self.apart if self._one_size(pair)]
        for a, b in itertools.chain(itertools.islice(self.candidates(), TRIES), ends):
            check()
            if self._doubted and self.depth(a, b) > self.depth(*self._doubted[:2]) + _IN_DOUBT:
                break
            known = self.found.pairs.get(b)
            steps = []
            for order in self.orders(a, b):
                if known is not None and not (order.stable and self._may_lie(known, a, order)):
                    continue
                step = self._meet(a, b, order, again=known is not None)
                if step is not None:
                    steps.append(step)
            # with axes of one length several orders fit: the right one goes on the farthest
            for step in sorted(steps, key=lambda step: self._agreement(step[1]), reverse=True):
                return step
        if self._doubted is not None:
            return self._meet(*self._doubted, doubt=False)
        return None

    def _meet(
        self, a: int, b: int, order: Order, again: bool, doubt: bool = True
    ) -> tuple[Mismatch, Match] | None:
        """The mismatch that two values end, if the models go on as one after them.

        Args:
            again: whether they are partners already, in another order of axes; that order must
                then carry on in what is made of them.
            doubt: whether to put off what meets for no sure, where one side alone reads weights.
        """
        array = order.apply(self.found.reference.array(a))
        tried = self._try(a, b, array, order if again else None)
        if tried is None:
            return None
        repaired, sure = tried
        passed_on = self.found.pairs.get(b) if b in self.passed_on[1] else None
        if not sure and (a in self.passed_on[0] or b in self.passed_on[1]):
            return None
        if a in self.passed_on[0]:
            regions = Region(self.reference.side.tape, (), None), self.region(self.candidate, b)
        else:
            regions = self.regions(a, b, itself=again)
        ours, theirs = self.with_counterparts(*regions)
        skipped = [] if sure or not doubt else self._readers_of_what_is_skipped(ours, theirs)
        if 1 in skipped:
            return None
        if skipped:  # a loop's weights, or those of layers that share them
            self._doubted = self._doubted or (a, b, order, again)
            return None
        ours = self.or_where_it_is_read(self.reference, ours, a)
        theirs = self.or_where_it_is_read(self.candidate, theirs, b)
        if min(ours.computing, theirs.computing) > 1:
            first = self._first_of_several(ours, a, theirs, b)
            if first is not None:
                return first
        repaired.pairs[b] = Pair(a, b, order, 0.0)
        share(repaired, repaired.pairs[b], repaired.side.run)
        gap = self._gap(a, b, order)
        explained = self.explained(ours, a, theirs, b, gap)
        leaves = tuple(self.differing_leaves(ours, theirs))
        ends = (a, b)  # `_try` saw later values reconverge
        mismatch = Mismatch(ours, theirs, ends, order, gap, True, explained, leaves, passed_on)
        return mismatch, repaired

    def _gap(self, a: int, b: int, order: Order) -> float:
        """How far the candidate's `b` is from the reference's `a`."""
        shape = self.found.reference.array(a).shape
        theirs = order.revert(self.candidate.side.array(b), shape)
        return self.found.reference.distance(a, theirs)

    def _one_size(self, pair: OutputPair) -> bool:
        values = self.reference.side.tape.values, self.candidate.side.tape.values
        return values[0][pair.reference].size == values[1][pair.candidate].size

    def _agreement(self, repaired: Match) -> tuple[int, int]:
        """How many outputs agree after a repair, and how many values."""
        outputs = sum(output_matches(repaired, pair) for pair in self.apart)
        return outputs, sum(pair.same for pair in repaired.pairs.values())

    def _first_of_several(
        self, ours: Region, a: int, theirs: Region, b: int, depth: int = 1
    ) -> tuple[Mismatch, Match] | None:
        """The first of consecutive differences, after none of which anything meets.

        Two faults one after the other look like one region. They are two where the regions go
        operation by operation: the same kind on both sides, the same inputs, other outputs, each.
        Of many it is enough that the next few do so.
        """
        inside = {op.index for op in ours.ops}, {op.index for op in theirs.ops}
        for first, other in self.candidates():
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
            order = next(iter(self.orders(first, other)), None)
            if order is None:
                continue
            if next(self._splits, None) is None:
                return None
            array = order.apply(self.found.reference.array(first))
            fresh = self._with(other, array, lambda match, op: op.index <= theirs.ops[-1].index)
            if fresh is None:
                continue
            rest = Search(fresh, self.apart, self._splits)
            rest.reference.settled[first] = True
            remaining = rest.region(rest.reference, a), rest.region(rest.candidate, b)
            if not _one_operation_each(*remaining) and not (
                min(region.computing for region in remaining) > 1
                and (
                    depth == _IN_A_ROW
                    or rest._first_of_several(remaining[0], a, remaining[1], b, depth + 1)
                )
            ):
                continue
            gap = self._gap(first, other, order)
            leaves = tuple(self.differing_leaves(*small))
            repaired = self._with(other, array, lambda match, op: True)
            if repaired is None:
                continue
            repaired.pairs[other] = Pair(first, other, order, 0.0)
            explained = self.explained(small[0], first, small[1], other, gap)
            reconverges = reconverges_later(repaired, other)
            ends = (first, other)
            return Mismatch(*small, ends, order, gap, reconverges, explained, leaves), repaired
        return None

    def _try(self, a: int, b: int, array: Array, order: Order | None) -> tuple[Match, bool] | None:
        """Puts an array in the place of `b`; the new match if something later meets, else None.

        An activation gives the same of any two equal values: what enters the next one, put in the
        place of what enters this one, meets too. Sure is what meets as an output, or is made with
        numbers of its own, such as a layer's weights.

        Args:
            order: the order of axes in which it must meet, if that matters.

        Returns:
            The match, and whether it is sure.
        """
        after_a = self.found.reference.tape.graph.descendants(a)
        after_b = self.candidate.side.tape.graph.descendants(b) | {b}
        outputs = {pair.candidate: pair.reference for pair in self.apart}
        reconverges = sure = False
        left = _PATIENCE
        lent: set[int] = set()  # made of values that came near and were replaced: no proof

        def watch(match: Match, op: Op) -> bool:
            nonlocal reconverges, sure, left
            left -= op.role != "move"
            for value in op.outputs:
                pair = match.pairs.get(value)
                if not lent.isdisjoint(op.inputs) or (pair and pair.residual > _BARELY):
                    lent.add(value)
                    continue
                if pair is None or not pair.same:
                    continue
                if value in self.found.pairs and not self._comes_nearer(pair, outputs):
                    continue
                if order is not None and len(order.axes) == len(pair.order.axes):
                    if order.axes != pair.order.axes:
                        continue
                if op.role == "move" and outputs.get(value) != pair.reference:
                    continue
                if not self._is_read(pair):
                    continue
                if pair.reference in after_a and match.side.informative(value):
                    reconverges = True
                    ends = outputs.get(value) == pair.reference
                    sure = sure or ends or self._reads_its_own(match, op, after_b)
            return reconverges or left > 0

        fresh = self._with(b, array, watch)
        if fresh is None:
            return None
        if outputs.get(b) == a or self._reaches_output_by_moves(a, b):
            reconverges = sure = True
        return (fresh, sure) if reconverges else None

    def _may_lie(self, known: Pair, a: int, order: Order) -> bool:
        """Whether a partner may lie in an order of axes: what is near lies in its own alone."""
        return known.same or known.reference != a or order.axes == known.order.axes

    def _comes_nearer(self, pair: Pair, outputs: dict[int, int]) -> bool:
        """Whether what is looked into, because it was near, is now the same."""
        near = outputs.get(pair.candidate) == pair.reference
        return near and not self.found.pairs[pair.candidate].same

    def _is_read(self, pair: Pair) -> bool:
        """Whether both models go on with a pair; what a fused norm gives besides leads nowhere."""
        ours, theirs = self.reference.side.tape, self.candidate.side.tape
        return all(
            bool(tape.consumers[value]) or value in tape.outputs.values()
            for tape, value in ((ours, pair.reference), (theirs, pair.candidate))
        )

    def _reads_its_own(self, match: Match, op: Op, made: set[int]) -> bool:
        """Whether an operation reads numbers that no other does, not made of what was put in."""
        tape = self.candidate.side.tape
        return any(
            value not in made
            and tape.graph.live_readers[tape.before_moves(value)] == 1
            and match.side.array(value).size > 1
            and match.side.informative(value)
            for value in op.inputs
        )

    def _readers_of_what_is_skipped(self, ours: Region, theirs: Region) -> list[int]:
        """Of weights that one region alone reads, how many operations of the other side do.

        Empty where both regions read such weights, or neither: no layer is skipped.
        """
        sides = self.reference.side, self.candidate.side
        read = [
            _weights(side, (value for op in region.ops for value in op.inputs))
            for side, region in zip(sides, (ours, theirs), strict=True)
        ]
        known = [_weights(side, (v.id for v in side.tape.values if v.op < 0)) for side in sides]
        skipped = [
            [
                known[other][one]
                for one in read[own]
                if one not in read[other] and one in known[other]
            ]
            for own, other in ((0, 1), (1, 0))
        ]
        return [] if all(skipped) else skipped[0] or skipped[1]

    def _with(self, b: int, array: Array, watch: Callable[[Match, Op], bool]) -> Match | None:
        """The match with an array put in; None where an operation does not take what it makes."""
        try:
            return rematch(self.found, {b: array}, watch)
        except ReplayError:  # as lengths that must be sorted
            return None

    def _reaches_output_by_moves(self, a: int, b: int) -> bool:
        """Whether two values are outputs but for reshapes, so that nothing later can meet."""
        ends = (
            self.found.reference.tape.graph.moved(a),
            self.candidate.side.tape.graph.moved(b),
        )
        return any(pair.reference in ends[0] and pair.candidate in ends[1] for pair in self.apart)


def reconverges_later(repaired: Match, value: int) -> bool:
    """Whether a candidate value is an output, or anything made of it has an equal partner."""
    pairs, side = repaired.pairs, repaired.side
    if value in side.tape.outputs.values():
        return True
    after = (pairs[one] for one in side.tape.graph.descendants(value) if one in pairs)
    return any(pair.same and side.informative(pair.candidate) for pair in after)


def _weights(side: Side, values: Iterable[int]) -> dict[tuple[int, float], int]:
    """The parameters and constants among values, by size and norm, with how many read them."""
    found: dict[tuple[int, float], int] = {}
    for leaf in {side.tape.before_moves(value) for value in values}:
        if side.tape.values[leaf].op >= 0 or side.tape.values[leaf].kind == "input":
            continue
        print_ = side.print(leaf)
        if print_.size > 1 and print_.informative:
            found[root(print_)] = found.get(root(print_), 0) + side.tape.graph.live_readers[leaf]
    return found


def _one_operation_each(ours: Region, theirs: Region) -> bool:
    """Whether two regions are one operation each, of one kind but for how frameworks write it."""
    if ours.computing != 1 or theirs.computing != 1:
        return False
    kinds = [
        re.sub(r"v\d+$", "", next(op.kind for op in region.ops if op.role != "move").lower())
        for region in (ours, theirs)
    ]
    return kinds[0].replace("_", "") == kinds[1].replace("_", "")
