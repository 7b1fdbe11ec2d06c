"""The same divergence again, in other layers or at later steps: found in one run of the candidate.

An epsilon in every layer, or a slip in a cell that runs for hundreds of steps, makes models differ
at as many places. To find each by trying costs a run of what follows it. But once one is found, it
is known what it looks like: where the same operations read values that agree and give values that
do not, it is there again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from parity.budget import check
from parity.diagnosis.cut_candidates import root
from parity.diagnosis.cut_doubts import are_of_other_turns, reconverges_later
from parity.diagnosis.region import Mismatch, Region, Scene
from parity.errors import ReplayError
from parity.matching.axis_order import Order, orders
from parity.matching.fingerprint import Fingerprint
from parity.matching.match import Match, Side, rematch, share
from parity.tape import Array, Op


def recurring(found: Match, mismatch: Mismatch) -> tuple[list[Mismatch], Match]:
    """Where a divergence occurs again, and the match in which it is repaired there too.

    Args:
        found: the match in which `mismatch` is repaired.

    Returns:
        Further mismatches; none where one of them turns out not to be one, as nothing after it
        agrees again.
    """
    if mismatch.values is None or mismatch.leaves or mismatch.passed_on or not mismatch.reconverges:
        return [], found
    if any(region.entry not in region.ops for region in mismatch.regions):  # it is read elsewhere
        return [], found
    form = _Form(found, mismatch)
    first = _first(found, form)
    if first is None:
        return [], found
    places = [first]

    def watch(match: Match, op: Op) -> bool:
        check()
        if first.candidate not in match.pairs:
            match.settle(first.candidate, first.reference, first.order)
        place = form.place(match, op)
        if place is not None:
            places.append(place)
            place.repair(match)
        return True

    try:
        repaired = rematch(found, {first.candidate: first.array}, watch)
    except ReplayError:  # an operation refuses what follows
        return [], found
    if not all(reconverges_later(repaired, place.candidate) for place in places):
        return [], found
    scene = Scene(repaired, [])
    return [place.mismatch(scene) for place in places], repaired


def _first(found: Match, form: _Form) -> _Place | None:
    """The first place after which nothing agrees again.

    None where one after which something does, without a repair, disagrees with it: then it is made
    up for, as where a bias is added to either product of a cell.
    """
    for op in found.side.tape.ops:
        place = form.place(found, op)
        if place is not None and not reconverges_later(found, place.candidate):
            return place
        if place is not None and _spoils(found, place):
            return None
    return None


def _spoils(found: Match, place: _Place) -> bool:
    """Whether what reads a place agrees as it is, and no longer when the place is repaired."""
    readers = found.side.tape.consumers[place.candidate]
    if not readers:
        return True
    spoilt = False

    def watch(match: Match, op: Op) -> bool:
        nonlocal spoilt
        for value in op.outputs if op.index in readers else ():
            spoilt = spoilt or _partner(found, value) != _partner(match, value)
        return not spoilt and op.index < max(readers)

    try:
        rematch(found, {place.candidate: place.array}, watch)
    except ReplayError:  # it does not take the reference's value
        return True
    return spoilt


def _partner(match: Match, value: int) -> Fingerprint | None:
    pair = match.pairs.get(value)
    return match.reference.print(pair.reference) if pair is not None and pair.same else None


Root = tuple[int, float]
Regions = tuple[Region, Region]


@dataclass(frozen=True)
class _Place:
    """Two values that differ, with what is put in the place of the candidate's.

    Attributes:
        regions: what they end.
        gap: how far the candidate's is from the reference's.
    """

    regions: Regions
    reference: int
    candidate: int
    order: Order
    array: Array
    gap: float

    def repair(self, match: Match) -> None:
        match.side.run.replace(self.candidate, self.array)
        match.side.forget(self.candidate)
        match.injected[self.candidate] = self.array
        match.settle(self.candidate, self.reference, self.order)
        share(match, match.pairs[self.candidate], match.side.run)

    def mismatch(self, scene: Scene) -> Mismatch:
        ends = self.reference, self.candidate
        return scene.mismatch(self.regions, ends, self.order, self.gap, reconverges=True)


class _Form:
    """What a divergence looks like: the operations on either side, in their order."""

    def __init__(self, match: Match, mismatch: Mismatch) -> None:
        assert mismatch.values is not None and mismatch.order is not None
        self._reference, self._candidate = map(_Words, mismatch.regions, mismatch.values)
        self._order = mismatch.order
        self._leaves = _own_leaves((match.reference, match.side), mismatch.regions)

    def place(self, match: Match, op: Op) -> _Place | None:
        """Where an operation ends the same divergence, the inputs of which agree."""
        reference, candidate = match.reference, match.side
        value = self._candidate.given_by(op)
        if value is None or value in match.pairs or value in match.arranged:
            return None
        region = self._candidate.region(value, lambda one: one in match.pairs)
        pairs = [] if region is None else [match.pairs.get(one) for one in region.boundary()]
        if region is None or not pairs or None in pairs:
            return None
        partners = {pair.reference for pair in pairs if pair is not None}
        read = {reference.tape.before_moves(partner) for partner in partners}
        found: dict[int, tuple[Region, bool]] = {}
        for other in self._reference.made_of(read):
            own = self._reference.region(other, match.taken.__contains__)
            if own is None or other in match.taken:
                continue
            if _own_leaves((reference, candidate), (own, region)) != self._leaves:
                continue
            if {own.tape.before_moves(one) for one in own.boundary()} == read:
                found[other] = own, partners == {*own.boundary()}
        # of the parts that a value is split into, as gates, each is read by an operation of its own
        found = {one: both for one, both in found.items() if both[1]} or found
        if len(found) != 1:
            return None
        ((other, (own, _)),) = found.items()
        if are_of_other_turns(match.tapes, (other, value)):
            return None
        return self._differing(match, (own, region), other, value)

    def _differing(
        self, match: Match, regions: Regions, reference: int, candidate: int
    ) -> _Place | None:
        array, own = match.reference.array(reference), match.side.array(candidate)
        axes = self._order.axes
        order = next((one for one in orders(array.shape, own.shape) if one.axes == axes), None)
        if order is None:
            return None
        gap = match.reference.distance(reference, order.revert(own, array.shape))
        return _Place(regions, reference, candidate, order, order.apply(array), gap)


class _Words:
    """One side of what a divergence looks like."""

    def __init__(self, region: Region, end: int) -> None:
        self._tape, self._words, self._steps = region.tape, _words(region.ops), region.computing
        op = region.tape.producer(end)
        self._last = "" if op is None else op.word
        self._at = 0 if op is None else op.outputs.index(end)
        assert region.entry is not None
        self._entry = region.ops.index(region.entry)

    def given_by(self, op: Op) -> int | None:
        """What an operation gives, if it is the one that ends the region."""
        if op.word != self._last or op.static:
            return None
        return op.outputs[self._at] if self._at < len(op.outputs) else None  # a split into fewer

    def region(self, end: int, is_settled: Callable[[int], bool]) -> Region | None:
        """What lies behind a value; None where that is anything else."""
        inside: set[int] = set()

        def is_inside(value: int, op: Op) -> bool:
            if op.static or value != end and is_settled(value) or len(inside) > len(self._words):
                return False
            inside.add(op.index)
            return True

        for _ in self._tape.graph.backward([end], is_inside):
            pass
        ops = tuple(self._tape.ops[index] for index in sorted(inside))
        if _words(ops) != self._words:
            return None
        return Region(self._tape, ops, ops[self._entry])

    def made_of(self, values: set[int]) -> Iterator[int]:
        """What the last operation gives, as few steps behind values as the region has."""
        reached = deque((value, 0) for value in values)
        seen = set(values)
        while reached:
            value, steps = reached.popleft()
            for op in map(self._tape.ops.__getitem__, self._tape.consumers[value]):
                after = steps + (op.role != "move")
                if after > self._steps or not seen.isdisjoint(op.outputs):
                    continue
                seen.update(op.outputs)
                reached.extend((one, after) for one in op.outputs)
                given = self.given_by(op)
                if given is not None:
                    yield given


def _words(ops: Sequence[Op]) -> tuple[tuple[object, ...], ...]:
    """What is computed, with the numbers and names that the operations are called with.

    Lengths and axes are left out: layers differ in them.
    """
    return tuple((op.word, *_settings(op)) for op in ops)


def _settings(op: Op) -> Iterator[tuple[str, object]]:
    for name, setting in op.attributes.items():
        if isinstance(setting, (bool, float, str)):
            yield name, setting


def _own_leaves(sides: tuple[Side, Side], regions: Regions) -> tuple[set[Root], set[Root]]:
    """The parameters and constants that the one region reads and the other does not."""
    first, second = (
        {root(side.print(leaf)) for leaf in region.leaves()}
        for side, region in zip(sides, regions, strict=True)
    )
    return first - second, second - first
