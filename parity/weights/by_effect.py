"""Weights that no step pairs, paired by what they do to the outputs.

Steps pair weights where both programs are written in a way that is known. What is left over is set
to one same constant throughout in both models, so that whichever belong together, the two must give
the same outputs. From there a tensor is moved as a whole: two that are one move the outputs alike,
and one that is several moves them as those do together. How the elements lie is found by numbers
that are all different: in the right arrangement both models agree again. All of it runs in
float64, on the outputs alone, so nothing depends on how either model is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any

import numpy as np

from parity.tape import Array
from parity.weights.arrangements import layouts
from parity.weights.effect_groups import (
    Effects,
    Found,
    Group,
    in_order_of_members,
    in_their_order,
    of_one_size,
    several,
)
from parity.weights.effect_trials import (
    OutOfRuns,
    Point,
    Runs,
    can_be_filled,
    looked_through_once,
)
from parity.weights.known_pairs import Effect, Filling, Known, Start
from parity.weights.mapped import BY_ELIMINATION
from parity.weights.operands import Part
from parity.weights.pairing import Pair, Pairing, Side, finish
from parity.weights.twins import summed, with_the_others
from parity.weights.units import Unit, names_of, shape_of

ROLE = "by effect"
# one leaves the outputs neither saturated nor infinite; a period may not fit, as of joined biases
_FILLINGS = [Filling(constant, period) for constant in (0.1, 0.4, 0.02) for period in (8, 1)]
_STEPS = 1.25, 0.75  # times what it holds, to which a tensor is moved; a minimum shows but one
_DRAWN = 0.05, 0.25  # positive, as a variance has to be
_NEAR = 1.0, 1.5  # times what it holds
_SIGNED = 3  # draws of either sign
_TRIALS = 600  # arrangements that are run
_RUNS = 4e5  # operations, some ten seconds


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
    first = min(tried, key=_unknown)
    members = Runs(_RUNS)  # of their own, so that nothing else is left out for them
    for with_twins in (True, False):
        known = None
        with suppress(OutOfRuns):
            known = Known(source, target, first, Runs(_RUNS), with_twins)
            starts = (
                one
                for get in (known.whole, known.partly)
                for fill in _FILLINGS
                for one in get(fill)
            )
            for start in starts:
                found = None
                with suppress(OutOfRuns):
                    slices = start.with_slices(members)
                    found = slices and _Search(source, target, slices, first).found()
                found = found or _Search(source, target, start, first).found()
                if found is not None:
                    yield found
        if known is None or not known.has_twins:
            return


def _unknown(way: Pairing) -> tuple[int, int]:
    """How much of a pairing is guessed, and how much of both models it leaves.

    What is alone of its size is paired with its axes as they fit, and a square's fit in two ways. A
    wrong one does not show as long as all behind it is constant, so it would be kept.
    """
    guessed = sum(pair.role == BY_ELIMINATION for pair in way.pairs)
    return guessed, len(way.left[0]) + len(way.left[1])


class _Search:
    """Pairs what is free of two models that agree."""

    def __init__(self, source: Side, target: Side, start: Start, first: Pairing) -> None:
        self._sides = source, target
        self._start = start
        self._first = first
        self._trials = 0
        self._lays: dict[Any, int] = {}  # by the shapes: which arrangement it was
        self._moved: Effects = {}, {}  # effects as they were at the begin of a pass
        self._alike: list[tuple[Unit, Unit]] = []
        self._draws: dict[tuple[Unit, ...], tuple[list[Array], Effect | None]] = {}

    def found(self) -> Pairing | None:
        """What `run` finds."""
        with looked_through_once(self._start.points):
            return self.run()

    def run(self) -> Pairing | None:
        """The pairing; None where a tensor that has an effect finds no partner."""
        start, target, pairs = self._start, self._sides[1], list[Found]()
        while start.free[1]:
            new = self._next()
            if not new:
                break
            pairs += new
        silent = self._silent(pairs)
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
        for side, twins in zip(self._sides, start.twins, strict=True):
            way.notes += [
                f"{names_of(side, map(Unit, both))}: only their sum counts"
                for both in twins.items()
            ]
        way.notes += [
            f"{names_of(target, both)}: as far as the outputs show, each may be the other; taken "
            "in their order, settled by running both"
            for both in self._alike
        ]
        return way

    def _next(self) -> list[Found]:
        """Pairs what is known by its effect as all else is now.

        What several may be waits until nothing else is found: once others are known it may show.
        """
        effects = self._moved = self._effects()
        groups = [*self._ones(*effects), *several(self._sides, self._start, effects)]
        doubtful: list[Group] = []
        found = self._all_of(groups, doubtful) or self._by_draws(doubtful)
        if found or not doubtful:
            return found
        moved = [one for one in doubtful if one[0][0] in effects[0]]
        return self._all_of(moved or doubtful[:1])

    def _all_of(self, groups: Sequence[Group], doubtful: list[Group] | None = None) -> list[Found]:
        """Pairs those of some groups that have an arrangement.

        Args:
            doubtful: takes up what may be something else too; None to pair that as well.
        """
        found: list[Found] = []
        free = self._start.free
        for left, right in groups:
            if {*left} <= {*free[0]} and {*right} <= {*free[1]}:
                if max(len(left), len(right)) == 1 or self._move_alike(left, right):
                    found += self._arranged(left, right, doubtful)
        return found

    def _ones(self, source: dict[Unit, Effect], target: dict[Unit, Effect]) -> Iterator[Group]:
        """One of each that have one effect."""
        for right, wanted in target.items():
            for left, own in source.items():
                if self._start.agrees(own, wanted):
                    yield (left,), (right,)

    def _by_draws(self, doubtful: list[Group]) -> list[Found]:
        """Pairs one whose steps do not show: all alike, features are nothing behind a norm.

        Numbers that are all different do show, in the arrangement in which both agree. What is
        paired so lets others show, so it is one at a time.
        """
        both = zip(self._start.free, self._moved, strict=True)
        silent = [[unit for unit in free if unit not in moved] for free, moved in both]
        for left, right in of_one_size(self._sides, (silent[0], silent[1])):
            found = self._arranged(left, right, doubtful)
            if found:
                return found
        return []

    def _effects(self) -> Effects:
        """How far the outputs of both are moved by a step of each tensor that is free.

        Those that do not move them are left out.
        """
        found: list[dict[Unit, Effect]] = [{}, {}]
        for point, free, moved in zip(self._start.points, self._start.free, found, strict=True):
            for unit in free:
                effects = (self._effect(point, [unit], step) for step in _STEPS)
                shown = next((one for one in effects if self._start.shows(one)), None)
                if shown is not None:
                    moved[unit] = shown
        return found[0], found[1]

    def _move_alike(self, left: Sequence[Unit], right: Sequence[Unit]) -> bool:
        one, other = self._start.points
        return self._start.agrees(self._effect(one, left), self._effect(other, right))

    def _effect(self, point: Point, units: Sequence[Unit], step: float = _STEPS[0]) -> Effect:
        """How far the outputs are moved by a step of some tensors together."""
        changed = {unit: step * unit.of(point.contents[unit.number]) for unit in units}
        return point.effect(changed)

    def _arranged(
        self, left: Sequence[Unit], right: Sequence[Unit], doubtful: list[Group] | None = None
    ) -> list[Found]:
        """Pairs some tensors of the source with some of the target that they make up, if they do.

        Both then hold numbers that are all different, in the arrangement in which they agree.

        Args:
            doubtful: takes them up if they may be something else too; None to pair them then.
        """
        source, target = self._sides
        one, other = self._start.points
        shapes = [shape_of(source, n) for n in left], [shape_of(target, n) for n in right]
        drawn, wanted = self._shown(tuple(left))
        if wanted is None:
            return []
        changed = dict(zip(left, drawn, strict=True))
        key = (*shapes[0], *shapes[1])
        usual = self._lays.get(key, 0)  # as others of these shapes lie
        first = islice(enumerate(layouts(*shapes)), usual, usual + 1)
        # where no effect says that the two are one, there are too many to try each order of gates
        every = layouts(*shapes, gates=left[0] in self._moved[0])
        others = (one for one in enumerate(every) if one[0] != usual)
        for place, lay in chain(first, others):
            if self._trials >= _TRIALS:
                break
            self._trials += 1
            new = dict(zip(right, lay(drawn), strict=True))
            if self._start.agrees(wanted, other.effect(new)):
                rival = self._rival(right, lay(drawn), wanted)
                if rival is not None and doubtful is not None:
                    doubtful.append((tuple(left), tuple(right)))
                    break
                self._alike += [(right[0], rival)] if rival is not None else []
                one.settle(changed)
                other.settle(new)
                self._draws.clear()
                self._start.take(left, right)
                self._lays[key] = place
                addresses = lay([n.of(source.own(n.number)) for n in left])
                return list(zip(right, addresses, strict=True))
        return []

    def _shown(self, left: tuple[Unit, ...]) -> tuple[list[Array], Effect | None]:
        """Numbers that are all different and their effect; None where any arrangement agrees."""
        if left not in self._draws:
            self._draws[left] = [], None
            for drawn in self._drawn(left):
                effect = self._start.points[0].effect(dict(zip(left, drawn, strict=True)))
                if self._start.shows(effect):
                    self._draws[left] = drawn, effect
                    break
        return self._draws[left]

    def _drawn(self, units: Sequence[Unit]) -> Iterator[list[Array]]:
        """Numbers that are all different: anywhere, and near what is held, where it has effects."""
        source, point = self._sides[0], self._start.points[0]
        draw = np.random.default_rng(self._trials)  # others for each
        yield [draw.uniform(*_DRAWN, shape_of(source, unit)) for unit in units]
        held = [unit.of(point.contents[unit.number]) for unit in units]
        yield [own * draw.uniform(*_NEAR, own.shape) for own in held]
        for _ in range(_SIGNED):  # of a minimum the larger does not show
            yield [draw.uniform(-1, 1, own.shape) for own in held]

    def _rival(self, right: Sequence[Unit], drawn: Sequence[Array], wanted: Effect) -> Unit | None:
        """Another tensor of the target that might as well be this one."""
        moved, shape = self._moved[1], drawn[0].shape
        rivals = (
            unit
            for unit in self._start.free[1]
            if len(right) == 1 and unit not in right and shape_of(self._sides[1], unit) == shape
            if (unit in moved) == (right[0] in moved)
            if unit not in moved or self._start.agrees(moved[right[0]], moved[unit])
        )
        other = self._start.points[1]
        return next(
            (one for one in rivals if self._start.agrees(wanted, other.effect({one: drawn[0]}))),
            None,
        )

    def _silent(self, known: Sequence[Found]) -> list[Found]:
        """Pairs those without an effect that are as many on both sides, in their order."""
        effects = self._effects()
        both = zip(self._start.free, effects, strict=True)
        silent = [[unit for unit in free if unit not in moved] for free, moved in both]
        found = []
        members = in_order_of_members(self._sides, silent[1], known)
        for left, right in in_their_order(self._sides, (silent[0], members)):
            source, target = self._sides
            shapes = [shape_of(source, n) for n in left], [shape_of(target, n) for n in right]
            # as others of these shapes, which have an effect, lie; nothing else says how several do
            place = self._lays.get((*shapes[0], *shapes[1]), 0 if len(left) == len(right) else None)
            lay = None
            if place is not None:
                lay = next(islice(layouts(*shapes), place, None), None)
            if lay is not None:
                self._start.take(left, right)
                addresses = lay([unit.of(self._sides[0].own(unit.number)) for unit in left])
                found += list(zip(right, addresses, strict=True))
        return found

    def _whole(self, found: Sequence[Found]) -> list[Pair]:
        """The pairs, each of a whole tensor of the target."""
        source, target = self._sides
        addresses: dict[int, Array] = {}
        for unit, own in found:
            addresses.setdefault(unit.number, np.empty_like(target.own(unit.number)))
            unit.of(addresses[unit.number])[...] = own
        pairs = []
        for number, own in addresses.items():
            both = (source, own), (target, target.own(number))
            made = [
                with_the_others(side, one, twins)
                for (side, one), twins in zip(both, self._start.twins, strict=True)
            ]
            names = [
                tuple(side.tensors[n].name for one in every for n in side.tensors_in(one))
                for (side, _), every in zip(both, made, strict=True)
            ]
            left, right = (Part(-1, ROLE, summed(every)) for every in made)
            pairs.append(Pair(ROLE, left, right, names[0], names[1]))
        return pairs
