"""Pairs of values at which the region between two models may end, the smallest regions first."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from math import inf

from parity.budget import check
from parity.diagnosis import limits
from parity.diagnosis.region import Scene, SideWalk
from parity.diagnosis.swapped_squares import swapped_squares
from parity.matching.axis_order import Order, find_order, orders, sample, without_ones
from parity.matching.fingerprint import Fingerprint
from parity.matching.limits import SAME
from parity.matching.matched import SAME_VALUES
from parity.operations import FILLED
from parity.tape import Op, Tape


class CutCandidates:
    """The values that may end the region in which outputs differ.

    Attributes:
        passed_on: the reference's and the candidate's values that have a partner, and may be where
            the other side has another value all the same; see `where_one_passes_on`.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene, self.found = scene, scene.found
        self.reference, self.candidate = scene.reference, scene.candidate
        self.passed_on: tuple[list[int], list[int]] = [], []

    def candidates(self) -> list[tuple[int, int]]:
        """Pairs of values that could end the region, the smallest regions first."""
        ranked = itertools.islice(self._ranked(alike=False), 4 * limits.CUT_TRIES)
        return self._swapped + list(ranked)

    def _ranked(self, alike: bool) -> Iterator[tuple[int, int]]:
        """The pairs of values that fit; those alone that are made with the same weights."""
        walks = self.reference, self.candidate
        ends = [self._measure(walk) for walk in walks]
        (depth, depths), (dtypes, others) = (
            (walk.depth for walk in walks),
            ([value.dtype for value in walk.tape.values] for walk in walks),
        )

        def key(walk: SideWalk, value: int) -> object:
            size = walk.tape.values[value].size
            return (size, frozenset(walk.weights[value])) if alike else size

        fitting: dict[object, list[int]] = {}
        for a in sorted(ends[0], key=lambda value: (depth[value], value)):
            fitting.setdefault(key(walks[0], a), []).append(a)

        def ending_in(b: int, behind: float) -> Iterator[tuple[float, int, int, int]]:
            check()
            if b in self.found.arranged and not behind:  # the same in another arrangement
                yield depths[b], 0, b, self.found.arranged[b]
            for a in fitting.get(key(walks[1], b), ()):
                apart = behind == limits.OTHER_ROOTS
                if apart and depth[a] + depths[b] > limits.OTHER_ROOTS_WITHIN:
                    return
                if is_exact(dtypes[a]) == is_exact(others[b]) and self._behind(a, b) == behind:
                    yield depth[a] + depths[b] + behind, abs(depth[a] - depths[b]), b, a

        # merged as they are asked for: a long loop has a million pairs, and few are looked at
        ways = 0.0, limits.OTHER_WEIGHTS, limits.OTHER_ROOTS
        for _, _, b, a in heapq.merge(*(ending_in(b, way) for b in ends[1] for way in ways)):
            yield a, b

    def _behind(self, a: int, b: int) -> float | None:
        """By how many operations more a pair is put behind others; None where it is none."""
        roots = self.reference.roots[a], self.candidate.roots[b]
        weights = self.reference.weights[a], self.candidate.weights[b]
        others = weights[0].isdisjoint(weights[1])
        if all(roots) and roots[0].isdisjoint(roots[1]):
            return None if others else limits.OTHER_ROOTS  # the same layers of another value
        return limits.OTHER_WEIGHTS if others and all(weights) else 0.0

    def to_be_tried(self) -> Iterator[tuple[int, int, list[Order]]]:
        """Pairs with their axis orders, the smallest regions first, then the outputs.

        What moves alone make of a value is the same array in the place of another: no new try.
        """
        known: set[tuple[int, bytes]] = set()
        likely = self.candidates()
        arranged = {*self._swapped, *((a, b) for b, a in self.found.arranged.items())}
        for pairs, tries in (
            (likely, limits.CUT_TRIES),
            (self._ranked(alike=True), limits.ALIKE_TRIES),
            (self._bottlenecks(), limits.BOTTLENECK_TRIES),
        ):
            yield from itertools.islice(self._not_tried(pairs, arranged, known), tries)
        values = self.reference.tape.values, self.candidate.tape.values
        for a, b in (pair.values for pair in self.scene.differing):
            if values[0][a].size == values[1][b].size:
                yield a, b, self.orders(a, b)

    def _not_tried(
        self,
        pairs: Iterable[tuple[int, int]],
        arranged: Collection[tuple[int, int]],
        known: set[tuple[int, bytes]],
    ) -> Iterator[tuple[int, int, list[Order]]]:
        """Those with an array that is no other's in the same place, or arranged anew."""
        for a, b in pairs:
            fitting = []
            maker = self.reference.tape.producer(a)
            anew = (a, b) in arranged or maker is None or maker.word not in SAME_VALUES
            for order in self.orders(a, b):
                laid = order.apply(self.found.reference.array(a))
                key = b, laid.ravel()[sample(laid.size)].tobytes()
                if key not in known or anew:
                    known.add(key)
                    fitting.append(order)
            if fitting:
                yield a, b, fitting

    def _bottlenecks(self) -> Iterator[tuple[int, int]]:
        """Pairs of values through which all goes that differs, the first ones first.

        Behind many operations there are more pairs of values than can be tried: the result of an
        attention whose query and key are turned, say.
        """
        ends = [
            list(itertools.islice(self._passed_by_all(walk), limits.BOTTLENECKS))
            for walk in (self.reference, self.candidate)
        ]
        values = self.reference.tape.values, self.candidate.tape.values
        ranked = sorted(
            itertools.product(*map(enumerate, ends)), key=lambda one: one[0][0] + one[1][0]
        )
        for (_, a), (_, b) in ranked:
            if values[0][a].size == values[1][b].size:
                yield a, b

    def _passed_by_all(self, walk: SideWalk) -> Iterator[int]:
        ops = self.scene.differing_region(walk).ops
        last_read = {value: op.index for op in ops for value in op.inputs}
        open_ = set[int]()
        for op in ops:
            check()
            open_ -= {value for value in op.inputs if last_read[value] == op.index}
            differing = [value for value in op.outputs if not self.scene.is_settled(walk, value)]
            made = {value for value in differing if value in last_read}
            open_ |= made
            if len(open_) == 1 and open_ == made:
                yield from made

    @cached_property
    def _swapped(self) -> list[tuple[int, int]]:
        """Pairs of values that are one but for where its elements lie, or what fills them."""
        swapped = self._arranged_by_each() + self._filled_for_inputs()
        return swapped + swapped_squares(self.scene)

    def where_one_passes_on(self) -> list[tuple[int, int]]:
        """Pairs of a value that one side passes on and one that the other computes from it.

        A residual block adds its input to its result; a block without the sum passes on the result.
        """
        reference, candidate = self.reference, self.candidate
        made = [
            [v for v, depth in walk.depth.items() if depth <= limits.PASSED_ON_STEPS]
            for walk in (reference, candidate)
        ]
        self.passed_on = self._values_passed_on(reference), self._values_passed_on(candidate)
        pairs = [
            *itertools.product(self.passed_on[0], made[1]),
            *itertools.product(made[0], self.passed_on[1]),
        ]
        fitting = [
            (a, b)
            for a, b in pairs
            if self.depth(a, b) <= limits.PASSED_ON_STEPS
            and reference.tape.values[a].size == candidate.tape.values[b].size
            and not reference.roots[a].isdisjoint(candidate.roots[b])
            and reference.side.informative(a)
            and candidate.side.informative(b)
        ]
        return sorted(fitting, key=lambda pair: self.depth(*pair))[: limits.PASSED_ON_TRIED]

    def _values_passed_on(self, walk: SideWalk) -> list[int]:
        """Values with a partner that several operations read, all of them in the differing part."""
        region = self.scene.differing_region(walk)
        inside = {op.index for op in region.ops}
        found = []
        for value in region.boundary():
            readers = walk.tape.consumers[value]
            if len(readers) > 1 and inside.issuperset(readers) and walk.side.informative(value):
                walk.depth[value], walk.roots[value] = 0, {root(walk.side.print(value))}
                walk.weights[value] = set()
                found.append(value)
        return found

    def _arranged_by_each(self) -> list[tuple[int, int]]:
        """The first values that each side's moves make of one, with its elements at other places.

        Either may have a partner among what the moves pass through on the other side.
        """
        starts = self._moved(self.reference)
        found: list[tuple[int, int]] = []
        for root, chain in self._moved(self.candidate):
            pair = self.found.pairs.get(root)
            start = None if pair is None else self.reference.tape.before_moves(pair.reference)
            for _, other in (one for one in starts if one[0] == start):
                steps = itertools.product(enumerate(other), enumerate(chain))
                ranked = sorted(steps, key=lambda one: one[0][0] + one[1][0])
                pairs = ((a, b) for (_, a), (_, b) in ranked if self._lie_otherwise(a, b))
                found += itertools.islice(pairs, limits.FEW_CUT_TRIES)
        return list(dict.fromkeys(found))[: 2 * limits.FEW_CUT_TRIES]

    def _moved(self, walk: SideWalk) -> list[tuple[int, list[int]]]:
        """What the differing part reads that moves alone made of a value, with each step."""
        found = {}
        for value in dict.fromkeys(self._read(walk)):
            chain: list[int] = []
            op = walk.tape.producer(value)
            while op is not None and not op.static and _rearranges(walk.tape, op):
                chain.insert(0, value)
                value = op.inputs[0]
                op = walk.tape.producer(value)
            if chain:
                found[chain[-1]] = value, chain
        return list(found.values())

    def _lie_otherwise(self, a: int, b: int) -> bool:
        """Whether two values have the same three axes or more, and hold the same in no order."""
        check()
        reference, candidate = self.found.reference, self.candidate.side
        shapes = reference.array(a).shape, candidate.array(b).shape
        lengths = [sorted(without_ones(shape)) for shape in shapes]
        if lengths[0] != lengths[1] or len(lengths[0]) < 3:
            return False
        return find_order(reference.array(a), candidate.array(b), SAME, reference.print(a)) is None

    def _filled_for_inputs(self) -> list[tuple[int, int]]:
        """Each input that one side alone reads, with what the other fills with a number instead."""
        walks = self.reference, self.candidate
        found = []
        for own, filled in (self._given(*walks), self._given(*reversed(walks))[::-1]):
            pairs = [
                (a, b)
                for a, b in itertools.product(own, filled)
                if walks[0].tape.values[a].shape == walks[1].tape.values[b].shape
            ]
            found += pairs
        for a, b in found:
            for known, walk, value in zip(self.passed_on, walks, (a, b), strict=True):
                if walk.tape.producer(value) is None and value not in known:
                    known.append(value)
        return found[: limits.FEW_CUT_TRIES]

    def _given(self, walk: SideWalk, other: SideWalk) -> tuple[list[int], list[int]]:
        """The inputs that one side alone computes with, and what the other fills with a number."""
        inputs = [
            value
            for value in self.scene.differing_region(walk).boundary()
            if walk.tape.values[value].kind == "input"
        ]
        if not inputs:
            return [], []
        computed = {
            other.tape.before_moves(value)
            for op in self.scene.differing_region(other).ops
            if op.word not in FILLED
            for value in op.inputs
        }
        read = {self.scene.partner(other, value) for value in computed}
        inputs = [value for value in inputs if value not in read]
        filled = [
            value
            for op in self.scene.differing_region(other).ops
            if op.word in FILLED and op.word != "shape"
            for value in op.outputs
            if not self.scene.is_settled(other, value)
        ]
        return inputs, filled

    def _read(self, walk: SideWalk) -> Iterator[int]:
        return (value for op in self.scene.differing_region(walk).ops for value in op.inputs)

    def _measure(self, walk: SideWalk) -> list[int]:
        """The unsettled values, after it is noted how far and from what they were computed."""
        tape = walk.tape
        found = []
        for op in self.scene.differing_region(walk).ops:
            check()
            depth, roots, weights = 0, set(), set()
            for value in op.inputs:
                if value in walk.depth:
                    depth = max(depth, walk.depth[value])
                    roots |= walk.roots[value]
                    weights |= walk.weights.get(value, set())
                elif not tape.is_live(value):
                    if tape.values[value].size > 1:
                        weights.add(root(walk.side.print(value)))
                else:
                    roots.add(root(walk.side.print(value)))
            for value in op.outputs:
                if not self.scene.is_settled(walk, value):
                    walk.depth[value] = depth + (op.role != "move")
                    walk.roots[value], walk.weights[value] = roots, weights
                    found.append(value)
        return found

    def orders(self, a: int, b: int) -> list[Order]:
        """Axis orders in which `a` fits in the place of `b`; those of its neighbours first.

        Of their shapes in float64: a list of what lies above a limit may be longer there.
        """
        shapes = self.found.reference.array(a).shape, self.candidate.side.array(b).shape
        fitting = list(orders(*shapes))
        if len(fitting) > 1:
            nearby = {
                pair.order.axes
                for pair in self.found.pairs.values()
                if len(pair.order.axes) == len(fitting[0].axes)
            }
            fitting.sort(key=lambda order: order.axes not in nearby)
        return fitting[: limits.ORDERS_TRIED]

    def depth(self, a: int, b: int) -> float:
        """The computing operations behind two values."""
        return self.reference.depth.get(a, inf) + self.candidate.depth.get(b, inf)


def root(print_: Fingerprint) -> tuple[int, float]:
    """Size and norm, which no layout changes."""
    return print_.size, float(f"{print_.norm:.6g}")


def is_exact(dtype: str) -> bool:
    """Whether values of a dtype are integers or booleans."""
    return not dtype.startswith(("float", "bfloat", "complex"))


def _rearranges(tape: Tape, op: Op) -> bool:
    """Whether an operation splits, permutes or merges axes: all elements of a value, once each."""
    if op.role != "move" or len(op.inputs) != 1 or op.word in ("flip", "roll"):
        return False
    return tape.values[op.inputs[0]].size == tape.values[op.outputs[0]].size
