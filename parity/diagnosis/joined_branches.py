"""Branches that differ each for itself, before one operation joins them.

One helper that is called for query and key, or for each kernel size, differs in each of its calls.
With one of them repaired nothing reconverges; with all of them what joins them gives the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from parity.diagnosis.region import Scene, SideWalk
from parity.errors import ReplayError
from parity.matching.axis_order import Order
from parity.matching.match import rematch
from parity.tape import Array, Op

Orders = Callable[[int, int], list[Order]]


class Branch(NamedTuple):
    """Two values that are joined to others at one place, and how the axes of one lie in the other.

    Attributes:
        array: the reference's value as it lies in the candidate.
    """

    reference: int
    candidate: int
    order: Order
    array: Array


def branches(scene: Scene, ends: tuple[int, int], orders: Orders) -> list[Branch]:
    """The branches that differ behind two values, of which none is made of what another is.

    Args:
        ends: the values up to which the models differ.
        orders: axis orders in which one value fits in the place of another.
    """
    walks = scene.reference, scene.candidate
    joins = [_joining(walk, end) for walk, end in zip(walks, ends, strict=True)]
    if joins[0] is None or joins[1] is None or joins[0].word != joins[1].word:
        return []
    values = [list(_differing(scene, *one)) for one in zip(walks, joins, strict=True)]
    if len(values[0]) != len(values[1]) or len(values[0]) < 2:
        return []
    if not _apart(walks[0], values[0]) or not _apart(walks[1], values[1]):
        return []
    found = []
    for b in values[1]:
        roots = walks[1].roots[b]
        alike = [a for a in values[0] if not roots.isdisjoint(walks[0].roots[a])]
        fitting = [(a, order) for a in alike for order in orders(a, b)]
        if not fitting:
            return []
        a, order = fitting[0]
        found.append(Branch(a, b, order, order.apply(scene.found.reference.array(a))))
    if len({one.reference for one in found}) < len(found):
        return []
    return found if _joined_alike(scene, ends, {one.candidate: one.array for one in found}) else []


def _joining(walk: SideWalk, end: int) -> Op | None:
    """The operation with several inputs that a value comes from, but for moves."""
    return walk.tape.producer(walk.tape.before_moves(end))


def _differing(scene: Scene, walk: SideWalk, join: Op | None) -> Iterator[int]:
    """What an operation reads that has no partner, before it was moved."""
    assert join is not None
    for value in dict.fromkeys(join.inputs):
        before = walk.tape.before_moves(value)
        known = before if before in walk.roots else value
        if known in walk.roots and not scene.is_settled(walk, known):
            yield known


def _apart(walk: SideWalk, values: list[int]) -> bool:
    """Whether values are made of different ones each: a norm's parts are made of one."""
    roots = [walk.roots[value] for value in values]
    return all(roots) and len(frozenset[object]().union(*roots)) == sum(map(len, roots))


def _joined_alike(scene: Scene, ends: tuple[int, int], given: dict[int, Array]) -> bool:
    last = scene.candidate.tape.values[ends[1]].op
    try:
        fresh = rematch(scene.found, given, lambda match, op: op.index < last)
    except ReplayError:  # as lengths that must be sorted
        return False
    pair, before = fresh.pairs.get(ends[1]), scene.reference.tape.before_moves
    return pair is not None and pair.same and before(pair.reference) == before(ends[0])
