"""Finds the operations at which two models part: the frontier, from both sides, one by one.

From an output without a partner one walks back to the values that have one. What lies between is
the region in which the models part; the smallest such pair of regions is found by putting the
reference's value into the candidate and running on: where later values meet again, the region
ends, and what still parts is the next, independent divergence.
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
    """All places where the candidate parts from the reference, in the order of the data flow.

    Args:
        reached: told after each place how many there are, and the share of the program up to it.

    Returns:
        The places, and the match in which all of them are repaired; those that were found while the
        budget lasts, and always the first.
    """
    places = _Places(found)
    try:
        with budget.until(budget.LOCATING, budget.LEAST):
            places.find(outputs, reached)
            places.find_near(outputs)
    except budget.Spent:
        apart = places.apart(outputs)
        if apart or places.any_near():
            budget.current().miss(budget.PLACES)
        if apart and not places.mismatches:
            places.mismatches.append(Scene(found, apart).up_to_the_outputs())
    return sorted(places.mismatches, key=_place), places.found


class _Places:
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

    def apart(self, outputs: Sequence[OutputPair]) -> list[OutputPair]:
        """The outputs that part and whose place is not known."""
        found = self.found
        return [
            pair
            for pair in outputs
            # an output that was itself put in by force cannot be mended further, whatever its shape
            if pair.name not in self._given_up
            and pair.candidate not in found.injected
            and not output_matches(found, pair)
            and not _same_numbers(found, pair)
        ]

    def find(self, outputs: Sequence[OutputPair], reached: Callable[[int, float], None]) -> None:
        """Finds the places from which outputs part."""
        while apart := self.apart(outputs):
            scene = Scene(self.found, apart)
            step = CutSearch(scene).first_mismatch()
            if step is None:
                self.mismatches.append(scene.up_to_the_outputs())
                self._given_up.update(pair.name for pair in apart)
                continue
            mismatch, self.found = step
            self.mismatches.append(mismatch)
            reached(len(self.mismatches), _share_before(mismatch))

    def any_near(self) -> bool:
        """Whether there may be small differences that were not looked at."""
        pairs = self.found.pairs.values()
        return any(not pair.same and pair.candidate not in self._looked_at for pair in pairs)

    def find_near(self, outputs: Sequence[OutputPair]) -> None:
        """Finds small differences: last, when nothing that is farther apart has a part in them."""
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
    """Whether an output is the reference's but for its shape: that is told, and has no place."""
    ours, theirs = found.reference.array(pair.reference), found.side.array(pair.candidate)
    return ours.size == theirs.size and residual(ours.ravel(), theirs.ravel()) <= SAME


def _share_before(mismatch: Mismatch) -> float:
    region = mismatch.candidate
    return (region.ops[-1].index + 1) / len(region.tape.ops) if region.ops else 0.0


def _place(mismatch: Mismatch) -> tuple[int, int]:
    ours, theirs = mismatch.reference.entry, mismatch.candidate.entry
    return (theirs.index if theirs else 10**9, ours.index if ours else 10**9)
