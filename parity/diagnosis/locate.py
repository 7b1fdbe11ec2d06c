"""Finds the operations at which two models part: the frontier, from both sides, one by one.

From an output without a partner one walks back to the values that have one. What lies between is
the region in which the models part; the smallest such pair of regions is found by putting the
reference's value into the candidate and running on: where later values meet again, the region
ends, and what still parts is the next, independent divergence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parity.diagnosis.near import near_pairs, parting_of_near
from parity.diagnosis.outputs import output_matches
from parity.diagnosis.region import OutputPair, Parting
from parity.diagnosis.search import Search
from parity.matching.fingerprint import SAME
from parity.matching.match import Match
from parity.numerics.difference import residual


def locate(
    found: Match,
    outputs: Sequence[OutputPair],
    reached: Callable[[int, float], None] = lambda count, share: None,
) -> tuple[list[Parting], Match]:
    """All places where the candidate parts from the reference, in the order of the data flow.

    Args:
        reached: told after each place how many there are, and the share of the program up to it.

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
        search = Search(found, apart)
        step = search.meeting_place()
        if step is None:
            partings.append(search.up_to_the_outputs())
            given_up.update(pair.name for pair in apart)
            continue
        parting, found = step
        partings.append(parting)
        reached(len(partings), _share_before(parting))
    # last, when nothing that is farther apart has a part in them any more
    looked_at: set[int] = set()
    near = near_pairs(found, outputs)
    while near:
        pair = near.pop(0)
        if pair.candidate in looked_at:
            continue
        looked_at.add(pair.candidate)
        parting, repaired = parting_of_near(found, pair)
        partings.append(parting)
        if repaired is not found:
            found = repaired
            near = near_pairs(found, outputs)
    return sorted(partings, key=_place), found


def _same_numbers(found: Match, pair: OutputPair) -> bool:
    """Whether an output is the reference's but for its shape: that is told, and has no place."""
    ours, theirs = found.reference.array(pair.reference), found.side.array(pair.candidate)
    return ours.size == theirs.size and residual(ours.ravel(), theirs.ravel()) <= SAME


def _share_before(parting: Parting) -> float:
    region = parting.candidate
    return (region.ops[-1].index + 1) / len(region.tape.ops) if region.ops else 0.0


def _place(parting: Parting) -> tuple[int, int]:
    ours, theirs = parting.reference.entry, parting.candidate.entry
    return (theirs.index if theirs else 10**9, ours.index if ours else 10**9)
