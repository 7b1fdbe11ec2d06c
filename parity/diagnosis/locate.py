"""Finds the operations at which two models diverge: the frontier, from both sides, one by one.

From an output without a partner one walks back to the values that have one. What lies between is
the region in which the models differ; the smallest such pair of regions is found by putting the
reference's value into the candidate and running on: where later values reconverge, the region
ends, and what still differs is the next, independent divergence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parity import budget
from parity.diagnosis.cut_doubts import reconverges_later
from parity.diagnosis.cut_search import CutSearch
from parity.diagnosis.outputs import output_matches
from parity.diagnosis.recurring import recurring
from parity.diagnosis.region import Mismatch, OutputPair, Scene
from parity.matching.limits import SAME
from parity.matching.match import Match, Pair
from parity.numerics.difference import residual


def locate(
    found: Match,
    outputs: Sequence[OutputPair],
    reached: Callable[[int, float], None] = lambda count, share: None,
    apart: bool = False,
) -> tuple[list[Mismatch], Match]:
    """All places where the candidate diverges from the reference, in the order of the data flow.

    Args:
        reached: called after each place with how many there are, and the share of the program up to
            it.
        apart: as in a `Scene`.

    Returns:
        The places, and the match in which all of them are repaired; those that were found while the
        budget lasts, and always the first.
    """
    places = _Located(found, apart)
    try:
        with budget.until(budget.LOCATING, budget.LEAST):
            places.find(outputs, reached)
            places.find_near(outputs)
    except budget.Spent:
        differing = places.differing(outputs)
        if differing or places.any_near():
            budget.current().miss(budget.PLACES)
        if differing and not places.mismatches:
            places.mismatches.append(Scene(found, differing).up_to_the_outputs())
    return sorted(places.mismatches, key=_place), places.found


class _Located:
    """The places as they are found, with the match in which all of them are repaired."""

    def __init__(self, found: Match, apart: bool) -> None:
        self.found, self._apart = found, apart
        self.mismatches: list[Mismatch] = []
        self._given_up: set[str] = set()
        self._looked_at: set[int] = set()

    def differing(self, outputs: Sequence[OutputPair]) -> list[OutputPair]:
        """The outputs that differ and whose place is not known."""
        found = self.found
        return [
            pair
            for pair in outputs
            # an output that was itself substituted cannot be repaired further, whatever its shape
            if pair.name not in self._given_up
            and pair.candidate not in found.injected
            and not output_matches(found, pair)
            and not _same_values(found, pair)
        ]

    def find(self, outputs: Sequence[OutputPair], reached: Callable[[int, float], None]) -> None:
        """Finds the places from which outputs diverge."""
        while differing := self.differing(outputs):
            scene = Scene(self.found, differing, self._apart)
            step = CutSearch(scene).first_mismatch()
            if step is None:
                self.mismatches.append(scene.up_to_the_outputs())
                self._given_up.update(pair.name for pair in differing)
                continue
            mismatch, self.found = step
            self._add(mismatch, reached)
            again, self.found = recurring(self.found, mismatch)
            for one in again:
                self._add(one, reached)

    def _add(self, mismatch: Mismatch, reached: Callable[[int, float], None]) -> None:
        self.mismatches.append(mismatch)
        reached(len(self.mismatches), _share_before(mismatch))

    def any_near(self) -> bool:
        """Whether there may be small differences that were not looked at."""
        pairs = self.found.pairs.values()
        return any(not pair.same and pair.candidate not in self._looked_at for pair in pairs)

    def find_near(self, outputs: Sequence[OutputPair]) -> None:
        """Finds small differences: last, when no larger difference contributes to them."""
        near = _near_pairs(self.found, outputs)
        scene = Scene(self.found, [])
        while near:
            pair = near.pop(0)
            if pair.candidate in self._looked_at:
                continue
            mismatch, repaired = mismatch_of_near(scene, pair)
            self._looked_at.add(pair.candidate)  # not before: the budget may end while it is
            self.mismatches.append(mismatch)
            if repaired is not self.found:
                self.found = repaired
                near = _near_pairs(self.found, outputs)
                scene = Scene(self.found, [])


def _near_pairs(found: Match, outputs: Sequence[OutputPair]) -> list[Pair]:
    """Pairs that are close but not equal, among what the outputs depend on, in their order."""
    tape = found.side.tape
    needed = tape.graph.ancestors([pair.candidate for pair in outputs])
    near = [
        pair
        for pair in found.pairs.values()
        if not pair.same and tape.values[pair.candidate].op in needed
        if pair.candidate not in found.injected and found.side.informative(pair.candidate)
    ]
    near = _without_look_alikes(found, near)
    return sorted(near, key=lambda pair: tape.values[pair.candidate].op)


def mismatch_of_near(scene: Scene, pair: Pair) -> tuple[Mismatch, Match]:
    """What makes a pair differ a little; looked into further if rounding does not explain it.

    Args:
        scene: of the match, for no outputs: one for all pairs of it, since making it takes as long
            as the program is.

    Returns:
        The mismatch; and the match, which is another one where a larger difference was repaired.
    """
    found = scene.found
    ends = pair.reference, pair.candidate
    regions = scene.regions(*ends)
    reconverges = reconverges_later(found, pair.candidate)  # near values go on as the reference's
    mismatch = scene.mismatch(regions, ends, pair.order, pair.residual, reconverges)
    if pair.residual > mismatch.explained and min(region.computing for region in regions) > 1:
        step = CutSearch(Scene(found, [OutputPair("", *ends)])).first_mismatch()
        if step is not None and step[0].residual > step[0].explained:
            return step
    return mismatch, found


def _without_look_alikes(found: Match, near: Sequence[Pair]) -> list[Pair]:
    """Near pairs, but those after which the candidate itself comes closer to the same value.

    Such a one is on the way there, as the minimum is of a clip that is two operations.
    """
    later = _later_look_alikes(found, near)
    if not later:
        return list(near)
    asked = {one.candidate for others in later.values() for one in others}
    # in the match what is near was put right before it went on
    own = found.side.tape.replay("float64", found.draws, kept=asked)

    def distance(one: Pair) -> float:
        reference = one.order.apply(found.reference.array(one.reference))
        return residual(reference, own.array(one.candidate))

    return [
        pair
        for pair in near
        if not any(distance(one) < 0.5 * pair.residual for one in later.get(pair.candidate, ()))
    ]


def _later_look_alikes(found: Match, near: Sequence[Pair]) -> dict[int, list[Pair]]:
    """By candidate's value, the pairs of equal reference's values of which it is a part.

    What merely lies otherwise is the value itself, and comes no closer.
    """
    graph, reference = found.side.tape.graph, found.reference
    alike: dict[object, list[Pair]] = {}  # by the reference's values, which copies share
    for pair in found.pairs.values() if near else ():
        alike.setdefault(reference.print(pair.reference), []).append(pair)
    later = {}
    for pair in near:
        after, start = graph.descendants(pair.candidate), graph.before_moves(pair.candidate)
        others = [
            one
            for one in alike[reference.print(pair.reference)]
            if one.candidate in after and graph.before_moves(one.candidate) != start
        ]
        if others:
            later[pair.candidate] = others
    return later


def _same_values(found: Match, pair: OutputPair) -> bool:
    """Whether an output is the reference's but for its shape: that has no place."""
    a, b = found.reference.array(pair.reference).ravel(), found.side.array(pair.candidate).ravel()
    return a.size == b.size and residual(a, b) <= SAME


def _share_before(mismatch: Mismatch) -> float:
    region = mismatch.candidate
    return (region.ops[-1].index + 1) / len(region.tape.ops) if region.ops else 0.0


def _place(mismatch: Mismatch) -> tuple[int, int]:
    reference, candidate = mismatch.reference.entry, mismatch.candidate.entry
    return (candidate.index if candidate else 10**9, reference.index if reference else 10**9)
