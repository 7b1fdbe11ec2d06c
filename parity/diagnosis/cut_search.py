"""Finds the smallest pair of regions after which two models agree again, by trying.

The reference's value is substituted in the candidate, and what follows runs on: where later values
reconverge, the region ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from math import inf

from parity.budget import check
from parity.diagnosis import limits
from parity.diagnosis.cut_candidates import CutCandidates
from parity.diagnosis.cut_doubts import (
    are_of_other_turns,
    is_undone,
    may_lie,
    reaches_output_by_moves,
    reconverges_later,
    settles,
)
from parity.diagnosis.joined_branches import Branch, branches
from parity.diagnosis.loop_entries import or_first_in_loop
from parity.diagnosis.outputs import output_matches
from parity.diagnosis.region import Mismatch, Region, Scene
from parity.diagnosis.skipped_weights import (
    are_layers_of_other_weights,
    readers_of_what_is_skipped,
)
from parity.diagnosis.small_regions import (
    contains,
    has_other_products,
    is_normalisation,
    one_operation_each,
)
from parity.errors import ReplayError
from parity.matching.axis_order import Order
from parity.matching.match import Match, Pair, Side, rematch, share
from parity.tape import Array, Op


class CutSearch:
    """Tries pairs of values as the end of a region: it ends where later values reconverge."""

    def __init__(self, scene: Scene, splits: Iterator[int] | None = None) -> None:
        self.scene, self.found = scene, scene.found
        self.reference, self.candidate = scene.reference, scene.candidate
        self.ends = CutCandidates(scene)
        self._splits = iter(range(limits.SPLITS_TRIED)) if splits is None else splits
        self._doubted: tuple[int, int, Order, bool] | None = None  # the first that was put off

    def first_mismatch(self) -> tuple[Mismatch, Match] | None:
        """The smallest pair of regions after which the models agree again.

        Where the outputs differ all the same, one side may change what the other passes on to
        several readers: if more than twice as many values match after that, it is there; or twice
        as many, where a reader is what was found first, and agrees after that, too.
        """
        step = self._first_cut()
        if step is None or all(output_matches(step[1], pair) for pair in self.scene.differing):
            return step
        whole = self._whole_cut(step[0])
        if whole is not None:
            return whole
        gain = self._gain(step[1])
        larger = self._slightly_larger_cut(step[0], gain)
        if larger is not None:
            return larger
        for a, b in self.ends.where_one_passes_on():
            for order in self.ends.orders(a, b):
                other = self._meet(a, b, order, again=False)
                sure = other is not None
                other = other or self._meet(a, b, order, again=False, doubt=False)
                if other is None:
                    continue
                reader = settles(other[1], step[0], b)
                if (sure or reader) and self._gain(other[1]) > 2 * gain - reader:
                    # what cancels further on, as a state's value in an advantage, misled the first
                    return self._larger_cut(step[0]) or other
        return step

    def _gain(self, repaired: Match) -> int:
        """How many values have a partner after a repair that had none."""
        return sum(p.same for value, p in repaired.pairs.items() if value not in self.found.pairs)

    def _whole_cut(self, found: Mismatch) -> tuple[Mismatch, Match] | None:
        """A larger cut after which all outputs agree, where a region passes on more than its end.

        What a norm's offset is added to may be computed from its scale: it is no end without it.
        """
        if found.values is None or not any(map(self._passes_more, found.regions, found.values)):
            return None
        return self._larger_cut(found)

    def _larger_cut(self, found: Mismatch) -> tuple[Mismatch, Match] | None:
        """A larger cut after which all outputs agree, and that passes on no more than its end."""
        return self._first_that(
            (
                pair
                for pair in self._behind(found)
                if not any(map(self._passes_more, self.scene.own_regions(*pair), pair))
            ),
            limits.WHOLE_CUT_TRIES,
            lambda match: self._agreement(match)[0] == len(self.scene.differing),
        )

    def _slightly_larger_cut(self, found: Mismatch, gain: int) -> tuple[Mismatch, Match] | None:
        """A cut a few operations on after which far more agrees: what agreed first was chance.

        As where the share of a blend is what another turn of the loop multiplies with.
        """
        if found.values is None or gain > limits.FEW_AGREE:
            return None
        most = self.ends.depth(*found.values) + limits.UNSURE_STEPS
        near = (
            pair
            for pair in self._behind(found)
            if self.ends.depth(*pair) <= most
            if all(map(contains, self.scene.own_regions(*pair), found.regions))
        )
        enough = 2 * gain + limits.FEW_AGREE
        return self._first_that(
            near, limits.LARGER_CUT_TRIES, lambda match: self._gain(match) >= enough
        )

    def _behind(self, found: Mismatch) -> Iterator[tuple[int, int]]:
        """Pairs at which a larger region of the same layers may end."""
        least = self.ends.depth(*found.values) if found.values else inf
        for pair in self.ends.candidates()[: limits.CUT_TRIES]:
            if self.ends.depth(*pair) > least and pair[1] not in self.found.pairs:
                larger = self.scene.own_regions(*pair)
                if not any(map(has_other_products, larger, found.regions)):
                    yield pair

    def _first_that(
        self, pairs: Iterator[tuple[int, int]], tries: int, is_enough: Callable[[Match], bool]
    ) -> tuple[Mismatch, Match] | None:
        for a, b in islice(pairs, tries):
            for order in self.ends.orders(a, b):
                other = self._meet(a, b, order, again=False)
                if other is not None and is_enough(other[1]):
                    return other
        return None

    def _passes_more(self, region: Region, end: int) -> bool:
        """Whether differing values are made outside a region of others of it than its end."""
        walk = self.reference if region.tape is self.reference.tape else self.candidate
        tape, inside = walk.tape, {op.index for op in region.ops}
        differing = {
            value
            for op in region.ops
            for value in op.outputs
            if value != end and not self.scene.is_settled(walk, value)
        }
        outside = {index for value in differing for index in tape.consumers[value]} - inside
        made = (value for index in outside & set(tape.used) for value in tape.ops[index].outputs)
        return any(not self.scene.is_settled(walk, value) for value in made)

    def _first_cut(self) -> tuple[Mismatch, Match] | None:
        """The smallest pair of regions after which something reconverges."""
        for a, b, fitting in self.ends.to_be_tried():
            check()
            if self._doubted is not None:
                surer = self.ends.depth(*self._doubted[:2]) + limits.UNSURE_STEPS
                if self.ends.depth(a, b) > surer:
                    break
            known = self.found.pairs.get(b)
            orders = [
                order
                for order in fitting
                if known is None or order.stable and may_lie(known, a, order)
            ]
            steps = [self._meet(a, b, order, again=known is not None) for order in orders]
            found = [step for step in steps if step is not None]
            if found:  # with axes of one length several orders fit: the right one goes farthest
                best = max(found, key=lambda step: self._agreement(step[1]))
                if not are_of_other_turns(self.found.tapes, (a, b)):
                    return best
                order = best[0].order or fitting[0]
                self._doubted = self._doubted or (a, b, order, known is not None)
        if self._doubted is not None:
            return self._meet(*self._doubted, doubt=False)
        return None

    def _meet(
        self, a: int, b: int, order: Order, again: bool, doubt: bool = True
    ) -> tuple[Mismatch, Match] | None:
        """The mismatch that two values end, if the models agree again after them.

        Partners already (`again`) must carry on in that order of axes; with `doubt`, an unsure one
        where one side alone reads weights is put off.
        """
        array = order.apply(self.found.reference.array(a))
        tried = self._try(a, b, array, order if again else None)
        if tried is None:
            return None
        repaired, sure = tried
        sure = sure or self._weighs_otherwise(a, b)
        passes_on = a in self.ends.passed_on[0], b in self.ends.passed_on[1]
        if not sure and any(passes_on) and doubt:
            return None
        if passes_on[0]:
            regions = Region(self.reference.tape, (), None), self.scene.region(self.candidate, b)
        else:
            regions = self.scene.regions(a, b, itself=again)
        reference, candidate = self.scene.with_counterparts(*regions)
        doubt = doubt and not sure
        skipped = readers_of_what_is_skipped(reference, candidate, *self._sides) if doubt else []
        if skipped:
            if 1 not in skipped:  # a loop's weights, or those of layers that share them
                self._doubted = self._doubted or (a, b, order, again)
            return None
        regions = (
            self.scene.or_where_it_is_read(self.reference, reference, a),
            self.scene.or_where_it_is_read(self.candidate, candidate, b),
        )
        regions = or_first_in_loop(self.scene, regions)
        joined = list[Branch]()
        if min(region.computing for region in regions) > 1:
            joined = branches(self.scene, (a, b), self.ends.orders)
            first = self._first_branch(joined) if self.scene.apart else None
            first = first or self._first_of_several(regions, (a, b))
            if first is not None:
                return first
        repaired.pairs[b] = Pair(a, b, order, 0.0)
        share(repaired, repaired.pairs[b], repaired.side.run)
        gap = self._gap(a, b, order)
        # `_try` saw later values reconverge
        mismatch = self.scene.mismatch(regions, (a, b), order, gap, reconverges=True)
        passed_on = self.found.pairs.get(b) if passes_on[1] else None
        return replace(mismatch, passed_on=passed_on, branches=bool(joined)), repaired

    def _gap(self, a: int, b: int, order: Order) -> float:
        """How far the candidate's `b` is from the reference's `a`."""
        reference = self.found.reference
        candidate = order.revert(self.candidate.side.array(b), reference.array(a).shape)
        return reference.distance(a, candidate)

    def _agreement(self, repaired: Match) -> tuple[int, int]:
        """How many outputs agree after a repair, and how many values."""
        outputs = sum(output_matches(repaired, pair) for pair in self.scene.differing)
        return outputs, sum(pair.same for pair in repaired.pairs.values())

    def _first_branch(self, found: Sequence[Branch]) -> tuple[Mismatch, Match] | None:
        """The first of the branches that differ before they are joined, as a query and its keys."""
        if not found:
            return None
        a, b, order, array = min(found, key=lambda one: one.candidate)
        repaired = self._with(b, array, lambda match, op: True)
        if repaired is None:
            return None
        repaired.pairs[b] = Pair(a, b, order, 0.0)
        small, gap = self.scene.own_regions(a, b), self._gap(a, b, order)
        return self.scene.mismatch(small, (a, b), order, gap, reconverges=True), repaired

    def _first_of_several(
        self, regions: tuple[Region, Region], ends: tuple[int, int], depth: int = 1
    ) -> tuple[Mismatch, Match] | None:
        """The first of several differences, after none of which anything reconverges by itself.

        Two faults one after the other, or in two branches that are joined, look like one region.
        They are several where the regions go operation by operation: the same kind on both sides,
        the same inputs, other outputs, each. Of many it is enough that the next few do so.
        """
        made, last = (regions[0].made, regions[1].made), regions[1].ops[-1].index
        for first, other in self.ends.candidates():
            if (first, other) == ends or first not in made[0] or other not in made[1]:
                continue
            small = self.scene.own_regions(first, other)
            if not one_operation_each(*small):
                continue
            order = next(iter(self.ends.orders(first, other)), None)
            if order is None or not self._is_read(Pair(first, other, order, 0.0)):
                continue
            if next(self._splits, None) is None:
                return None
            array = order.apply(self.found.reference.array(first))
            fresh = self._with(other, array, lambda match, op: op.index <= last)
            if fresh is None:
                continue
            rest = CutSearch(Scene(fresh, self.scene.differing), self._splits)
            rest.reference.settled[first] = True
            remaining = rest.scene.own_regions(*ends)
            if is_normalisation(small[0], remaining[0]):
                continue
            end = fresh.pairs.get(ends[1])
            joined = end is not None and end.same and end.reference == ends[0]
            if not (joined or one_operation_each(*remaining)) and not (
                min(region.computing for region in remaining) > 1
                and (
                    depth == limits.MISMATCHES_IN_A_ROW
                    or rest._first_of_several(remaining, ends, depth + 1)
                )
            ):
                continue
            gap = self._gap(first, other, order)
            mismatch = self.scene.mismatch(small, (first, other), order, gap, reconverges=True)
            repaired = self._with(other, array, lambda match, op: True)
            if repaired is None:
                continue
            repaired.pairs[other] = Pair(first, other, order, 0.0)
            return replace(mismatch, reconverges=reconverges_later(repaired, other)), repaired
        return None

    def _try(self, a: int, b: int, array: Array, order: Order | None) -> tuple[Match, bool] | None:
        """The match with an array in place of `b` if something later reconverges; is it sure?

        Activations of equal values are equal: the input of the next one, substituted for the input
        of this one, reconverges too. It is sure of an output, and of what is computed with values
        of its own, such as a layer's weights. It must reconverge in `order`, if one is given.
        """
        after_a = self.reference.tape.graph.descendants(a)
        after_b = self.candidate.tape.graph.descendants(b) | {b}
        outputs = {pair.candidate: pair.reference for pair in self.scene.differing}
        reconverges, sure, prints = False, False, self.found.reference.print
        left = limits.STEPS_TO_RECONVERGE
        replaced: set[int] = set()  # made of values that came near and were replaced: no proof

        def watch(match: Match, op: Op) -> bool:
            nonlocal reconverges, sure, left
            left -= op.role != "move"
            for value in op.outputs:
                pair = match.pairs.get(value)
                if not replaced.isdisjoint(op.inputs) or (
                    pair and pair.residual > limits.ROUNDED_CONSTANTS
                ):
                    replaced.add(value)
                    continue
                if pair is None or not pair.same:
                    continue
                is_end = outputs.get(value) == pair.reference
                if prints(outputs.get(value, pair.reference)) != prints(pair.reference):
                    continue  # an output that becomes another value than its own is no proof
                known = self.found.pairs.get(value)
                # an output that is looked into because it was near may come nearer
                if known is not None and not (is_end and not known.same):
                    continue
                if order is not None and len(order.axes) == len(pair.order.axes):
                    if order.axes != pair.order.axes:
                        continue
                if op.role == "move" and not is_end or not self._is_read(pair):
                    continue
                if pair.reference in self.found.taken and not is_end:
                    continue  # which the candidate has already: another call of the same layers
                if pair.reference in after_a and match.side.informative(value):
                    reconverges = True
                    sure = sure or is_end or self._reads_its_own(match, op, after_b)
            return reconverges or left > 0

        fresh = self._with(b, array, watch)
        if fresh is None:
            return None
        if outputs.get(b) == a or reaches_output_by_moves(self.scene, a, b):
            reconverges = sure = True
        if not reconverges:
            return None
        if not sure and is_undone(self.candidate.side, fresh, b, array, self.scene.differing):
            return None
        return fresh, sure

    def _is_read(self, pair: Pair) -> bool:
        """Whether both models read a pair; further outputs of a fused norm are read by nothing."""
        sides = (self.reference.tape, pair.reference), (self.candidate.tape, pair.candidate)
        return all(tape.consumers[one] or one in tape.outputs.values() for tape, one in sides)

    def _reads_its_own(self, match: Match, op: Op, made: set[int]) -> bool:
        """Whether an operation reads values that no other does, not made of the substituted one."""
        tape = self.candidate.tape
        return any(
            value not in made
            and tape.graph.live_readers[tape.before_moves(value)] == 1
            and match.side.array(value).size > 1
            and match.side.informative(value)
            for value in op.inputs
        )

    @property
    def _sides(self) -> tuple[Side, Side]:
        return self.reference.side, self.candidate.side

    def _weighs_otherwise(self, a: int, b: int) -> bool:
        """Whether two layers of the same input read different weights, one of them nowhere else.

        As where one module stands in the places of two: what the other would give is nowhere.
        """
        if self.ends.depth(a, b) > limits.A_LAYER_EACH:
            return False
        if self.reference.roots[a] != self.candidate.roots[b]:
            return False
        return are_layers_of_other_weights(a, b, *self._sides)

    def _with(self, b: int, array: Array, watch: Callable[[Match, Op], bool]) -> Match | None:
        """The match with an array substituted; None where an operation refuses what follows."""
        try:
            return rematch(self.found, {b: array}, watch)
        except ReplayError:  # as lengths that must be sorted
            return None
