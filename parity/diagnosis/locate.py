"""Finds the operations at which two models diverge: the frontier, from both sides, one by one.

From an output without a partner one walks back to the values that have one. What lies between is
the region in which the models differ; the smallest such pair of regions is found by putting the
reference's value into the candidate and running on: where later values reconverge, the region
ends, and what still differs is the next, independent divergence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parity import budget
from parity.diagnosis.cut_search import CutSearch
from parity.diagnosis.near_matches import mismatch_of_near, near_pairs
from parity.diagnosis.outputs import output_matches
from parity.diagnosis.region import Mismatch, OutputPair, Scene
from parity.matching.limits import SAME
from parity.matching.match import Match
from parity.numerics.difference import residual


def locate(
    found: Match,
    outputs: Sequence[OutputPair],
    reached: Callable[[int, float], None] = lambda count, share: None,
) -> tuple[list[Mismatch], Match]:
    """All places where the candidate diverges from the reference, in the order of the data flow.

    Args:
        reached: called after each place with how many there are, and the share of the program up to
            it.

    Returns:
        The places, and the match in which all of them are repaired; those that were found while the
        budget lasts, and always the first.
    """
    places = _Located(found)
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
    """The places as they are found.

    Attributes:
        found: the match in which all of them are repaired.
        mismatches: the places.
    """

    def __init__(self, found: Match) -> None:
        self.found = found
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
            and not _same_numbers(found, pair)
        ]

    def find(self, outputs: Sequence[OutputPair], reached: Callable[[int, float], None]) -> None:
        """Finds the places from which outputs part."""
        while differing := self.differing(outputs):
            scene = Scene(self.found, differing)
            step = CutSearch(scene).first_mismatch()
            if step is None:
                self.mismatches.append(scene.up_to_the_outputs())
                self._given_up.update(pair.name for pair in differing)
                continue
            mismatch, self.found = step
            self.mismatches.append(mismatch)
            reached(len(self.mismatches), _share_before(mismatch))

    def any_near(self) -> bool:
        """Whether there may be small differences that were not looked at."""
        pairs = self.found.pairs.values()
        return any(not pair.same and pair.candidate not in self._looked_at for pair in pairs)

    def find_near(self, outputs: Sequence[OutputPair]) -> None:
        """Finds small differences: last, when no larger difference contributes to them."""
        near = near_pairs(self.found, outputs)
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
                near = near_pairs(self.found, outputs)
                scene = Scene(self.found, [])


def _same_numbers(found: Match, pair: OutputPair) -> bool:
    """Whether an output is the reference's but for its shape: that has no place."""
    reference, candidate = found.reference.array(pair.reference), found.side.array(pair.candidate)
    return (
        reference.size == candidate.size and residual(reference.ravel(), candidate.ravel()) <= SAME
    )


def _share_before(mismatch: Mismatch) -> float:
    region = mismatch.candidate
    return (region.ops[-1].index + 1) / len(region.tape.ops) if region.ops else 0.0


def _place(mismatch: Mismatch) -> tuple[int, int]:
    reference, candidate = mismatch.reference.entry, mismatch.candidate.entry
    return (candidate.index if candidate else 10**9, reference.index if reference else 10**9)
