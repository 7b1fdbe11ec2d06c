"""Weights that no step pairs, paired by what they do to the outputs.

Steps pair weights where both programs are written in a way that is known. What is left over is set
to one same constant throughout in both models, so that whichever belong together, the two must give
the same outputs. From there a tensor is moved as a whole: two that are one move the outputs alike,
and one that is several moves them as those do together. How the elements lie is found by numbers
that are all different: in the right arrangement both models agree again. All of it runs in
float64, on the outputs alone, so nothing depends on how either model is written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, combinations, islice
from typing import Any

import numpy as np

from parity.tape import Array
from parity.weights.arrangements import layouts
from parity.weights.effect_trials import (
    OutOfRuns,
    Point,
    Runs,
    can_be_filled,
    looked_through_once,
)
from parity.weights.known_pairs import Effect, Filling, Known, Start
from parity.weights.operands import Part
from parity.weights.pairing import Pair, Pairing, Side, finish
from parity.weights.standalone_parameters import terms
from parity.weights.units import Unit, names_of, shape_of, size_of

ROLE = "by effect"
# one leaves the outputs neither saturated nor infinite; a period may not fit, as of joined biases
_FILLINGS = [Filling(constant, period) for period in (8, 1) for constant in (0.1, 0.4, 0.02)]
_STEP = 1.25  # times what it holds, to which a tensor is moved
_DRAWN = 0.05, 0.25  # positive, as a variance has to be
_NEAR = 1.0, 1.5  # times what it holds
_TOGETHER = 4  # tensors of one model that are one of the other's
_GROUPS = 300  # of those that are looked at for one tensor
_COMBINED = 20000  # combinations whose sizes are added up
_TRIALS = 600  # arrangements that are run
_RUNS = 4e5  # operations, some ten seconds
_ADDED = 0.5  # of an effect: how far those that make it up may add up to something else


def with_effects(source: Side, target: Side, ways: Iterator[Pairing]) -> Iterator[Pairing]:
    """Some pairings; then the one that leaves least, with the rest of it paired by effect.

    Those who take them stop where both models agree.
    """
    tried = []
    for way in ways:
        yield way
        tried.append(way)
    if not all(can_be_filled(side) for side in (source, target)):
        return
    first = min(tried, key=lambda way: len(way.left[0]) + len(way.left[1]))
    members = Runs(_RUNS)  # of their own, so that nothing else is left out for them
    with suppress(OutOfRuns):
        known = Known(source, target, first, Runs(_RUNS))
        for start in (one for filling in _FILLINGS for one in known.starts(filling)):
            found = None
            with suppress(OutOfRuns):
                slices = start.with_slices(members)
                found = slices and _Search(source, target, slices, first).found()
            found = found or _Search(source, target, start, first).found()
            if found is not None:
                yield found


_Group = tuple[tuple[Unit, ...], tuple[Unit, ...]]  # of the source's tensors, of the target's
_Effects = tuple[dict[Unit, Effect], dict[Unit, Effect]]
_Found = tuple[Unit, Array]  # of the target, and the addresses of what goes there


class _Search:
    """Pairs what is free of two models that agree."""

    def __init__(self, source: Side, target: Side, start: Start, first: Pairing) -> None:
        self._sides = source, target
        self._start = start
        self._first = first
        self._trials = 0
        self._lays: dict[Any, int] = {}  # by the shapes: which arrangement it was
        self._moved: _Effects = {}, {}  # effects as they were at the begin of a pass
        self._alike: list[tuple[Unit, Unit]] = []

    def found(self) -> Pairing | None:
        """What `run` finds."""
        with looked_through_once(self._start.points):
            return self.run()

    def run(self) -> Pairing | None:
        """The pairing; None where a tensor that has an effect finds no partner."""
        start, target, pairs = self._start, self._sides[1], list[_Found]()
        while start.free[1]:
            new = self._pass()
            if not new:
                break
            pairs += new
        silent = self._silent()
        if start.free[1]:
            return None
        way = Pairing([*start.kept, *self._whole([*pairs, *silent])], self._first.steps)
        finish(*self._sides, way)
        for own, how in (
            (pairs, "paired by what they do to the outputs"),
            (silent, "nothing that they hold changes the outputs; paired by size and order"),
        ):
            names = names_of(target, (unit for unit, _ in own))
            way.notes += [f"{names}: {how}"] if own else []
        way.notes += [
            f"{names_of(target, both)}: as far as the outputs show, each may be the other; taken "
            "in their order, settled by running both"
            for both in self._alike
        ]
        return way

    def _pass(self) -> list[_Found]:
        """Pairs what is known by its effect as all else is now."""
        found: list[_Found] = []
        free = self._start.free
        effects = self._moved = self._effects()
        for left, right in [*self._ones(*effects), *_several(self._sides, self._start, effects)]:
            if {*left} <= {*free[0]} and {*right} <= {*free[1]}:
                if max(len(left), len(right)) == 1 or self._move_alike(left, right):
                    found += self._arranged(left, right)
        return found

    def _ones(self, source: dict[Unit, Effect], target: dict[Unit, Effect]) -> Iterator[_Group]:
        """One of each that have one effect."""
        for right, wanted in target.items():
            for left, own in source.items():
                if self._start.agrees(own, wanted):
                    yield (left,), (right,)

    def _effects(self) -> _Effects:
        """How far the outputs of both are moved by a step of each tensor that is free.

        Those that do not move them are left out.
        """
        found = []
        for point, free in zip(self._start.points, self._start.free, strict=True):
            moved = {n: self._effect(point, [n]) for n in free}
            found.append({n: own for n, own in moved.items() if self._start.shows(own)})
        return found[0], found[1]

    def _move_alike(self, left: Sequence[Unit], right: Sequence[Unit]) -> bool:
        one, other = self._start.points
        return self._start.agrees(self._effect(one, left), self._effect(other, right))

    def _effect(self, point: Point, units: Sequence[Unit]) -> Effect:
        """How far the outputs are moved by a step of some tensors together."""
        changed = {unit: _STEP * unit.of(point.contents[unit.number]) for unit in units}
        return point.effect(changed)

    def _arranged(self, left: Sequence[Unit], right: Sequence[Unit]) -> list[_Found]:
        """Pairs some tensors of the source with some of the target that they make up, if they do.

        Both then hold numbers that are all different, in the arrangement in which they agree.
        """
        source, target = self._sides
        one, other = self._start.points
        shapes = [shape_of(source, n) for n in left], [shape_of(target, n) for n in right]
        for drawn in self._drawn(left):
            changed = dict(zip(left, drawn, strict=True))
            wanted = one.effect(changed)
            if self._start.shows(wanted):  # else any arrangement agrees
                break
        else:
            return []
        key = (*shapes[0], *shapes[1])
        usual = self._lays.get(key, 0)  # as others of these shapes lie
        first = islice(enumerate(layouts(*shapes)), usual, usual + 1)
        others = (one for one in enumerate(layouts(*shapes)) if one[0] != usual)
        for place, lay in chain(first, others):
            if self._trials >= _TRIALS:
                break
            self._trials += 1
            new = dict(zip(right, lay(drawn), strict=True))
            if self._start.agrees(wanted, other.effect(new)):
                self._note_alike(right, lay(drawn), wanted)
                one.settle(changed)
                other.settle(new)
                self._start.take(left, right)
                self._lays[key] = place
                addresses = lay([n.of(source.own(n.number)) for n in left])
                return list(zip(right, addresses, strict=True))
        return []

    def _drawn(self, units: Sequence[Unit]) -> Iterator[list[Array]]:
        """Numbers that are all different: anywhere, and near what is held, where it has effects."""
        source, point = self._sides[0], self._start.points[0]
        draw = np.random.default_rng(self._trials)  # others for each
        yield [draw.uniform(*_DRAWN, shape_of(source, unit)) for unit in units]
        held = [unit.of(point.contents[unit.number]) for unit in units]
        yield [own * draw.uniform(*_NEAR, own.shape) for own in held]

    def _note_alike(self, right: Sequence[Unit], drawn: Sequence[Array], wanted: Effect) -> None:
        """Notes another tensor of the target that might as well be this one."""
        moved, shape = self._moved[1], drawn[0].shape
        rivals = (
            unit
            for unit in self._start.free[1]
            if len(right) == 1 and unit not in right and shape_of(self._sides[1], unit) == shape
            if unit in moved and right[0] in moved
            if self._start.agrees(moved[right[0]], moved[unit])
        )
        for rival in rivals:
            if self._start.agrees(wanted, self._start.points[1].effect({rival: drawn[0]})):
                self._alike.append((right[0], rival))
                return

    def _silent(self) -> list[_Found]:
        """Pairs those without an effect that are as many on both sides, in their order."""
        source, target = self._sides
        effects = self._effects()
        sizes: list[dict[int, list[Unit]]] = []
        for side, free, moved in zip(self._sides, self._start.free, effects, strict=True):
            sizes.append(defaultdict(list))
            for unit in free:
                if unit not in moved:
                    sizes[-1][size_of(side, unit)].append(unit)
        found = []
        for size, right in sizes[1].items():
            left = sizes[0][size]
            for a, b in zip(left, right, strict=False) if len(left) == len(right) else ():
                shapes = shape_of(source, a), shape_of(target, b)
                # as others of these shapes, which have an effect, lie
                place = self._lays.get(shapes, 0)
                lay = next(islice(layouts([shapes[0]], [shapes[1]]), place, None), None)
                if lay is not None:
                    self._start.take([a], [b])
                    found.append((b, lay([a.of(source.own(a.number))])[0]))
        return found

    def _whole(self, found: Sequence[_Found]) -> list[Pair]:
        """The pairs, each of a whole tensor of the target."""
        source, target = self._sides
        addresses: dict[int, Array] = {}
        for unit, own in found:
            addresses.setdefault(unit.number, np.empty_like(target.own(unit.number)))
            unit.of(addresses[unit.number])[...] = own
        return [
            Pair(
                ROLE,
                Part(-1, ROLE, terms(own)),
                Part(-1, ROLE, terms(target.own(number))),
                tuple(source.tensors[n].name for n in source.tensors_in(own)),
                (target.tensors[number].name,),
            )
            for number, own in addresses.items()
        ]


def _several(sides: tuple[Side, Side], start: Start, effects: _Effects) -> Iterator[_Group]:
    """One whose effect is about that of several of the other model together.

    One of several may have none, as a bias of keys that a softmax does not show.
    """
    for whole, parts in ((1, 0), (0, 1)):
        sizes = {unit: size_of(sides[parts], unit) for unit in start.free[parts]}
        for unit, wanted in effects[whole].items():
            size = size_of(sides[whole], unit)
            for group in islice(_sums(sizes, size), _GROUPS):
                shown = [effects[parts][n] for n in group if n in effects[parts]]
                together = [sum(one) for one in zip(*shown, strict=True)]
                if shown and start.agrees(wanted, together, _ADDED):
                    yield (group, (unit,)) if whole else ((unit,), group)


def _sums(sizes: dict[Unit, int], whole: int) -> Iterator[tuple[Unit, ...]]:
    """The groups of tensors whose elements are as many as another's."""
    places = {unit: place for place, unit in enumerate(sizes)}
    fitting = [unit for unit, size in sizes.items() if size < whole]
    for count in range(2, _TOGETHER + 1):
        groups = [
            group
            for group in islice(combinations(fitting, count), _COMBINED)
            if sum(sizes[n] for n in group) == whole
        ]
        # what is read together stands together
        yield from sorted(groups, key=lambda group: places[group[-1]] - places[group[0]])
