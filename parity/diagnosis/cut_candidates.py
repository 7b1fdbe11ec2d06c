"""Pairs of values at which the region between two models may end, the smallest regions first."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Sequence
from math import inf

from parity.budget import check
from parity.diagnosis import limits
from parity.diagnosis.region import Scene, SideWalk
from parity.matching.axis_order import Order, orders
from parity.matching.fingerprint import Fingerprint
from parity.matching.match import Pair


class CutCandidates:
    """The values that may end the region in which outputs differ.

    Attributes:
        passed_on: the reference's and the candidate's values that have a partner, and may be where
            the other side has another value all the same; see `where_one_passes_on`.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.passed_on: tuple[list[int], list[int]] = [], []

    def candidates(self) -> list[tuple[int, int]]:
        """Pairs of values that could end the region, the smallest regions first."""
        reference = self._measure(
            self.scene.reference, [pair.reference for pair in self.scene.differing]
        )
        candidate = self._measure(
            self.scene.candidate, [pair.candidate for pair in self.scene.differing]
        )
        values = self.scene.found.reference.tape.values, self.scene.candidate.side.tape.values
        by_size: dict[int, list[int]] = {}
        for a in sorted(reference, key=lambda value: (self.scene.reference.depth[value], value)):
            by_size.setdefault(values[0][a].size, []).append(a)

        def ending_in(b: int) -> Iterator[tuple[int, int, int, int]]:
            check()
            depth, roots = self.scene.candidate.depth[b], self.scene.candidate.roots[b]
            if b in self.scene.found.arranged:  # the same values in another arrangement
                yield depth, 0, b, self.scene.found.arranged[b]
            for a in by_size.get(values[1][b].size, ()):
                roots_a = self.scene.reference.roots[a]
                if roots_a and roots and roots_a.isdisjoint(roots):
                    continue
                if _is_exact(values[0][a].dtype) == _is_exact(values[1][b].dtype):
                    depth_a = self.scene.reference.depth[a]
                    yield depth_a + depth, abs(depth_a - depth), b, a

        swapped = [(pair.reference, pair.candidate) for pair in self._ambiguous_inputs()]
        swapped += self._swapped_in_the_reference()
        # merged as they are asked for: a long loop has a million pairs, and few are looked at
        ranked = heapq.merge(*(ending_in(b) for b in candidate))
        return swapped + [(a, b) for _, _, b, a in itertools.islice(ranked, 4 * limits.CUT_TRIES)]

    def where_one_passes_on(self) -> list[tuple[int, int]]:
        """Pairs of a value that one side passes on and one that the other computes from it.

        A residual block adds its input to its result; a block without the sum passes on the result.
        """
        walks = self.scene.reference, self.scene.candidate
        made = [
            [v for v, depth in walk.depth.items() if depth <= limits.PASSED_ON_STEPS]
            for walk in walks
        ]
        ends = (
            [pair.reference for pair in self.scene.differing],
            [pair.candidate for pair in self.scene.differing],
        )
        self.passed_on = (
            self._values_passed_on(walks[0], ends[0]),
            self._values_passed_on(walks[1], ends[1]),
        )
        pairs = [
            *itertools.product(self.passed_on[0], made[1]),
            *itertools.product(made[0], self.passed_on[1]),
        ]
        values = self.scene.reference.side.tape.values, self.scene.candidate.side.tape.values
        fitting = [
            (a, b)
            for a, b in pairs
            if self.depth(a, b) <= limits.PASSED_ON_STEPS
            and values[0][a].size == values[1][b].size
            and not self.scene.reference.roots[a].isdisjoint(self.scene.candidate.roots[b])
            and self.scene.reference.side.informative(a)
            and self.scene.candidate.side.informative(b)
        ]
        return sorted(fitting, key=lambda pair: self.depth(*pair))[: limits.PASSED_ON_TRIED]

    def _values_passed_on(self, walk: SideWalk, outputs: Sequence[int]) -> list[int]:
        """Values with a partner that several operations of the differing part read, and no others.

        The other side may have changed them before.
        """
        region = self.scene.region(walk, *outputs)
        inside = {op.index for op in region.ops}
        found = []
        for value in region.boundary():
            readers = walk.side.tape.consumers[value]
            if len(readers) > 1 and inside.issuperset(readers) and walk.side.informative(value):
                walk.depth[value], walk.roots[value] = 0, {root(walk.side.print(value))}
                found.append(value)
        return found

    def _ambiguous_inputs(self) -> list[Pair]:
        """Pairs that the differing part reads, whose axes of one length have changed places.

        A transposed square matches its original: whether it should have been transposed shows only
        in what is made of it.
        """
        found = []
        for op in self.scene.region(
            self.scene.candidate, *(pair.candidate for pair in self.scene.differing)
        ).ops:
            for value in op.inputs:
                pair = self._where_it_was_swapped(value)
                if pair is not None and pair not in found:
                    found.append(pair)
        return found[: limits.FEW_CUT_TRIES]

    def _swapped_in_the_reference(self) -> list[tuple[int, int]]:
        """The same where the reference transposes a square and the candidate does not."""
        found = []
        for op in self.scene.region(
            self.scene.reference, *(pair.reference for pair in self.scene.differing)
        ).ops:
            for value in op.inputs:
                producer = self.scene.reference.side.tape.producer(value)
                if producer is None or producer.static or producer.role != "move":
                    continue
                array, print_ = (
                    self.scene.found.reference.array(value),
                    self.scene.found.reference.print(value),
                )
                partner = self.scene.candidate.side.partner(array, print_)
                if not isinstance(partner, Pair) or partner.order.stable:
                    continue
                ends = (value, partner.reference)
                if ends not in found and partner.reference in self.scene.found.pairs:
                    found.append(ends)
        return found[: limits.FEW_CUT_TRIES]

    def _where_it_was_swapped(self, value: int) -> Pair | None:
        """The first of the moves behind a value after which axes of one length lie otherwise."""
        first = None
        while True:
            pair = self.scene.found.pairs.get(value)
            op = self.scene.candidate.side.tape.producer(value)
            if pair is None or pair.order.stable or value in self.scene.found.injected:
                return first
            if op is None or op.static or op.role != "move":
                return first
            if not self.scene.is_settled(self.scene.candidate, value):
                return first
            first, value = pair, op.inputs[0]

    def _measure(self, walk: SideWalk, outputs: Sequence[int]) -> list[int]:
        """The unsettled values before `outputs`, with how far and from what they were computed."""
        tape = walk.side.tape
        found = []
        for op in self.scene.region(walk, *outputs).ops:
            check()
            depth, roots = 0, set()
            for value in op.inputs:
                producer = tape.producer(value)
                if value in walk.depth:
                    depth = max(depth, walk.depth[value])
                    roots |= walk.roots[value]
                elif producer is None and tape.values[value].kind != "input":
                    continue
                elif producer is None or not producer.static:
                    roots.add(root(walk.side.print(value)))
            for value in op.outputs:
                if not self.scene.is_settled(walk, value):
                    walk.depth[value] = depth + (op.role != "move")
                    walk.roots[value] = roots
                    found.append(value)
        return found

    def orders(self, a: int, b: int) -> list[Order]:
        """Axis orders in which `a` fits in the place of `b`; those of its neighbours first.

        Of their shapes in float64: a list of what lies above a limit may be longer there.
        """
        shapes = self.scene.found.reference.array(a).shape, self.scene.candidate.side.array(b).shape
        fitting = list(orders(*shapes))
        if len(fitting) > 1:
            nearby = {
                pair.order.axes
                for pair in self.scene.found.pairs.values()
                if len(pair.order.axes) == len(fitting[0].axes)
            }
            fitting.sort(key=lambda order: order.axes not in nearby)
        return fitting[: limits.ORDERS_TRIED]

    def depth(self, a: int, b: int) -> float:
        """The computing operations behind two values."""
        return self.scene.reference.depth.get(a, inf) + self.scene.candidate.depth.get(b, inf)


def root(print_: Fingerprint) -> tuple[int, float]:
    """Size and norm, which no layout changes."""
    return print_.size, float(f"{print_.norm:.6g}")


def _is_exact(dtype: str) -> bool:
    return not dtype.startswith(("float", "bfloat", "complex"))
