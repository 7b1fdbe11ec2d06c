"""Pairs that are close but not equal: what makes them differ a little."""

from __future__ import annotations

from collections.abc import Sequence

from parity.diagnosis.cut_search import CutSearch, reconverges_later
from parity.diagnosis.region import Mismatch, OutputPair, Scene
from parity.matching.match import Match, Pair
from parity.numerics.difference import residual


def near_pairs(found: Match, outputs: Sequence[OutputPair]) -> list[Pair]:
    """Pairs that are close but not equal, among what the outputs depend on, in their order."""
    tape = found.side.tape
    needed = tape.graph.ancestors([pair.candidate for pair in outputs])
    near = []
    for pair in found.pairs.values():
        op = tape.producer(pair.candidate)
        if pair.same or op is None or op.index not in needed:
            continue
        if pair.candidate not in found.injected and found.side.informative(pair.candidate):
            near.append(pair)
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
    reference, candidate = scene.regions(pair.reference, pair.candidate)
    explained = scene.explained(reference, pair.reference, candidate, pair.candidate, pair.residual)
    if pair.residual > explained and min(reference.computing, candidate.computing) > 1:
        ends = OutputPair("", pair.reference, pair.candidate)
        step = CutSearch(Scene(found, [ends])).first_mismatch()
        if step is not None and step[0].residual > step[0].explained:
            return step
    leaves = tuple(scene.differing_leaves(reference, candidate))
    ends_ = (pair.reference, pair.candidate)
    reconverges = reconverges_later(found, pair.candidate)  # near values go on as the reference's
    mismatch = Mismatch(
        reference, candidate, ends_, pair.order, pair.residual, reconverges, explained, leaves
    )
    return mismatch, found


def _without_look_alikes(found: Match, near: Sequence[Pair]) -> list[Pair]:
    """Near pairs, but those after which the candidate itself comes closer to the same value.

    Such a one is on the way there, as the minimum is of a clip that is two operations.
    """
    if not near:
        return []
    alike: dict[object, list[Pair]] = {}  # by the reference's numbers, which copies share
    for pair in found.pairs.values():
        alike.setdefault(found.reference.print(pair.reference), []).append(pair)
    kept, run = [], None
    for pair in near:
        after = found.side.tape.graph.descendants(pair.candidate)
        others = alike[found.reference.print(pair.reference)]
        others = [one for one in others if one.candidate in after]
        if others and run is None:  # in the match what is near was put right before it went on
            run = found.side.tape.replay("float64", found.draws)
        if run is None or not any(
            residual(
                one.order.apply(found.reference.array(one.reference)), run.array(one.candidate)
            )
            < 0.5 * pair.residual
            for one in others
        ):
            kept.append(pair)
    return kept
