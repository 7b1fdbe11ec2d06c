"""Where axes of one length begin to lie otherwise: a transposed square matches its original."""

from __future__ import annotations

from collections.abc import Iterator

from parity.diagnosis import limits
from parity.diagnosis.region import Scene, SideWalk
from parity.matching.match import Pair
from parity.operations import PRODUCTS
from parity.tape import Op


def swapped_squares(scene: Scene) -> list[tuple[int, int]]:
    """Pairs behind what differs, of the reference and the candidate, where one is transposed."""
    return _in_the_candidate(scene) + _in_the_reference(scene)


def _in_the_candidate(scene: Scene) -> list[tuple[int, int]]:
    """The first pairs behind what the differing part reads of which the candidate's is."""
    read = _read(scene, scene.candidate)
    swapped = (_where_it_was_swapped(scene, value) for value in read)
    found = dict.fromkeys((one.reference, one.candidate) for one in swapped if one is not None)
    return list(found)[: limits.FEW_CUT_TRIES]


def _in_the_reference(scene: Scene) -> list[tuple[int, int]]:
    """The same where the reference transposes a square and the candidate does not."""
    found = []
    for value in dict.fromkeys(_read(scene, scene.reference)):
        producer = scene.reference.tape.producer(value)
        if producer is None or producer.static or producer.role != "move":
            continue
        partner = scene.in_candidate(value)
        if isinstance(partner, Pair) and not partner.order.stable:
            if partner.reference in scene.found.pairs:
                found.append((value, partner.reference))
    return found[: limits.FEW_CUT_TRIES]


def _read(scene: Scene, walk: SideWalk) -> Iterator[int]:
    return (value for op in scene.differing_region(walk).ops for value in op.inputs)


def _where_it_was_swapped(scene: Scene, value: int) -> Pair | None:
    """The first of the moves behind a value after which axes of one length lie otherwise.

    What is computed of such a value lies as that one does: behind it the moves count if they begin
    where the axes still lie alike; or what is computed, if it exchanges the axes itself.
    """
    first, computed, pairs = None, False, scene.found.pairs
    for _ in range(limits.SWAPPED_STEPS):
        pair = pairs.get(value)
        op = scene.candidate.tape.producer(value)
        if pair is not None and pair.order.stable or value in scene.found.injected:
            return first
        if op is None or op.static:
            break
        if pair is None or op.role != "move":
            before = _swapped_before(scene, op)
            if before is None and pair is not None and computed:
                return pair if _reads_as_it_lies(scene, op) else None
            if before is None:
                return first
            value, computed = before, True
            continue
        if not scene.is_settled(scene.candidate, value):
            break
        first, value = pair, op.inputs[0]
    return None if computed else first


def _reads_as_it_lies(scene: Scene, op: Op) -> bool:
    """Whether axes lie alike in all that an operation reads, so that it exchanges them itself.

    As a difference of all pairs, b - a for a - b: it is the other one's transpose. Of a product the
    axes are those of its factors, and where it is read says more.
    """
    if op.word in PRODUCTS or op.role == "move":
        return False
    pairs, tape = scene.found.pairs, scene.candidate.tape
    read = [one for one in op.inputs if tape.is_live(one)]
    return bool(read) and all(one in pairs and pairs[one].order.stable for one in read)


def _swapped_before(scene: Scene, op: Op) -> int | None:
    """What an operation reads whose axes lie otherwise, or which is flattened and has none."""
    pairs = scene.found.pairs
    live = [one for one in op.inputs if scene.candidate.tape.is_live(one)]
    known = [pairs[one] for one in live if one in pairs]
    swapped = [pair.candidate for pair in known if not pair.order.stable]
    if swapped:
        return swapped[0]
    return live[0] if len(live) == 1 and not known else None
