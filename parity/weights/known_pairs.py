"""How much of a pairing can be kept where it does not lead to agreement.

What is not kept holds the same in both models whichever of it belongs together. Both then agree if
what is kept is right.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from parity.diagnosis.output_pairs import pair_outputs
from parity.tape import Array
from parity.weights.effect_trials import Point, Runs, follows, unseen
from parity.weights.operands import Part
from parity.weights.pairing import Pair, Pairing, Side
from parity.weights.twins import Twins, twins_of
from parity.weights.units import Unit, shape_of, size_of, sliced, whole
from parity.weights.writing import write

_SAME = 1e-6  # of an effect: far more than float64 loses, far less than a wrong order
_FAR, _NEAR = 50, 4  # times what the two are apart

Effect = list[Array]  # on each output


@dataclass(frozen=True)
class Filling:
    """What stands in tensors of which it is not known which belong together.

    Attributes:
        constant: in all of several axes: in whatever order it lies it is the same.
        period: of what has one axis the elements differ, and repeat after so many; 1 for a constant
            there too. Normalised over equal features, all would be nothing.
    """

    constant: float
    period: int

    def of(self, shape: tuple[int, ...]) -> Array:
        count = math.prod(shape)
        if max(shape, default=1) < count:
            return np.full(shape, self.constant)
        return self.constant * (1 + np.arange(count) % self.period / self.period).reshape(shape)


@dataclass
class Start:
    """Two models that agree, and what of them is still to be paired.

    Attributes:
        kept: the pairs that are as they were written.
        points: of the source and of the target.
        free: the tensors that are filled, in the order in which they are read.
        filling: what they hold.
        twins: of each model the vectors that are zero, as only their sum with another counts.
    """

    kept: list[Pair]
    points: tuple[Point, Point]
    free: tuple[list[Unit], list[Unit]]
    filling: Filling
    twins: tuple[Twins, Twins]

    @cached_property
    def apart(self) -> list[float]:
        """How far the two are apart in each output, as float32 constants of one of them make it."""
        one, other = (point.outputs() for point in self.points)
        norms = [
            (np.linalg.norm(a - b), np.linalg.norm(a)) for a, b in zip(one, other, strict=True)
        ]
        lost = max(point.lost for point in self.points)
        return [float(gap + lost * size) for gap, size in norms]

    def with_slices(self, runs: Runs) -> Start | None:
        """The same with members of ensembles for each of their tensors, where there are any.

        Args:
            runs: what it may run.
        """
        free = sliced((self.points[0].side, self.points[1].side), self.free)
        if free is None:
            return None
        points = self.points[0].copy(runs), self.points[1].copy(runs)
        return Start(self.kept, points, free, self.filling, self.twins)

    def shows(self, effect: Effect) -> bool:
        """Whether an output is moved by more than the two are apart."""
        both = zip(effect, self.apart, strict=True)
        return any(np.linalg.norm(one) > _FAR * apart for one, apart in both)

    def agrees(self, one: Effect, other: Effect, allowed: float = _SAME) -> bool:
        """Whether all outputs are moved alike.

        Args:
            allowed: how far they may be apart, of the effect.
        """
        return all(
            np.linalg.norm(a - b) <= allowed * np.linalg.norm(a) + _NEAR * apart
            for a, b, apart in zip(one, other, self.apart, strict=True)
        )

    def take(self, source: Sequence[Unit], target: Sequence[Unit]) -> None:
        """Counts some tensors as paired."""
        for free, taken in zip(self.free, (source, target), strict=True):
            free[:] = [unit for unit in free if unit not in taken]


class Known:
    """A pairing that was written, and both models' contents with it."""

    def __init__(
        self, source: Side, target: Side, found: Pairing, runs: Runs, with_twins: bool = True
    ) -> None:
        self._runs = runs
        self._with_twins = with_twins
        self.has_twins = False
        self._sides = source, target
        self._unseen = unseen(source), unseen(target)
        own = _contents(target, self._unseen[1])
        write(source, target, found)
        try:
            self._contents = tuple(map(_contents, self._sides, self._unseen))
        finally:
            for number, array in own.items():
                target.tensors[number].write(array)
        self._itself = [
            bool(numbers) or not follows(side, held)
            for side, numbers, held in zip(self._sides, self._unseen, self._contents, strict=True)
        ]
        self._pairs = sorted(found.pairs, key=lambda pair: _first_use(target, pair.target_names))
        self._real = [pair for pair in self._pairs if pair.source is not None]
        pairs, _ = pair_outputs(source.tape, target.tape)
        floating = [one for one in pairs if source.tape.values[one.reference].dtype[0] in "fb"]
        self._outputs = [[p.reference for p in floating], [p.candidate for p in floating]]

    def whole(self, filling: Filling) -> Iterator[Start]:
        """All pairs, where both agree with them."""
        pairs = self._pairs
        # what was set to what does nothing may have a partner after all
        for kept in [pairs] if len(self._real) == len(pairs) else [pairs, self._real]:
            found = self._with(kept, filling)
            if found is not None:
                yield found

    def partly(self, filling: Filling) -> Iterator[Start]:
        """As many pairs as both agree with, in their order from the front and from the back; none.

        What is wrong may not show as long as all that reads it is constant.
        """
        real = self._real
        nothing = self._with([], filling)
        if nothing is None:
            return
        ahead = _most(len(real), lambda n: self._with(real[:n], filling) is not None)
        front, rest = real[:ahead], real[ahead:]

        def from_the_back(count: int) -> list[Pair]:
            return [*front, *rest[len(rest) - count :]]

        behind = _most(len(rest), lambda n: self._with(from_the_back(n), filling) is not None)
        if 0 < ahead + behind < len(real):
            found = self._with(from_the_back(behind), filling)
            if found is not None:
                yield found
        yield nothing

    def _with(self, kept: Sequence[Pair], filling: Filling) -> Start | None:
        """Both models with some pairs as written and all else filled; None if they differ.

        What may be an ensemble is filled member by member, as the other model's members are.
        """
        pairs, numbers = self._free(kept)
        if not all(numbers):
            return None
        twins = self._twins(numbers)
        units = [
            [Unit(n) for n in own if n not in one.values()]
            for own, one in zip(numbers, twins, strict=True)
        ]
        free = units[0], units[1]
        for taken in (sliced(self._sides, free), free):
            points = self._filled(taken, filling, twins) if taken is not None else None
            if points is not None:
                return Start(pairs, points, free, filling, twins)
        return None

    def _twins(self, free: Sequence[Sequence[int]]) -> tuple[Twins, Twins]:
        """What of each model's free vectors is one with another, where the other model has one."""
        if not self._with_twins:
            return {}, {}
        sizes = [
            Counter(size_of(side, Unit(n)) for n in own if len(side.tensors[n].shape) == 1)
            for side, own in zip(self._sides, free, strict=True)
        ]
        found = [
            twins_of(point, own, other)
            for point, own, other in zip(self._as_held, free, reversed(sizes), strict=True)
        ]
        self.has_twins |= any(found)
        return found[0], found[1]

    @cached_property
    def _as_held(self) -> list[Point]:
        """Both models with what they hold: the target with all that was paired."""
        every = zip(self._sides, self._contents, self._outputs, self._itself, strict=True)
        return [
            Point(side, held, outputs, self._runs, itself) for side, held, outputs, itself in every
        ]

    def _filled(
        self, units: tuple[list[Unit], list[Unit]], filling: Filling, twins: tuple[Twins, Twins]
    ) -> tuple[Point, Point] | None:
        points = []
        for side, held, own, one, outputs, itself in zip(
            self._sides, self._contents, units, twins, self._outputs, self._itself, strict=True
        ):
            filled = whole(held, {unit: filling.of(shape_of(side, unit)) for unit in own})
            zeros = {n: np.zeros_like(held[n]) for n in one.values()}
            points.append(Point(side, {**held, **filled, **zeros}, outputs, self._runs, itself))
        if not all(point.can_be_used for point in points) or not points[1].lay_out_as(points[0]):
            return None
        return points[0], points[1]

    def _free(self, kept: Sequence[Pair]) -> tuple[list[Pair], list[list[int]]]:
        """The pairs that have no part of what is not wholly in them, and what that is."""
        pairs = list(kept)
        while True:
            parts = (
                [pair.source for pair in pairs if pair.source is not None],
                [pair.target for pair in pairs],
            )
            both = zip(self._sides, parts, self._unseen, strict=True)
            free = [_not_whole(side, own, numbers) for side, own, numbers in both]
            free = _without_own_buffers(self._sides, free)
            names = [
                {side.tensors[number].name for number in numbers}
                for side, numbers in zip(self._sides, free, strict=True)
            ]
            left = [
                pair
                for pair in pairs
                if names[0].isdisjoint(pair.source_names) and names[1].isdisjoint(pair.target_names)
            ]
            if len(left) == len(pairs):
                return pairs, free
            pairs = left


def _most(count: int, holds: Callable[[int], bool]) -> int:
    """The largest number up to `count` for which something holds that holds for 0."""
    low, high = 0, count + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _contents(side: Side, unseen: Sequence[int]) -> dict[int, Array]:
    """What every tensor that is read holds: float64 where it holds weights."""
    return {
        number: np.array(
            side.tensors[number].read(), np.float64 if side.tensors[number].is_floating else None
        )
        for number in sorted({*side.leaves.values(), *unseen})
    }


def _first_use(side: Side, names: Sequence[str]) -> int:
    """The first operation that reads one of some tensors."""
    numbers = {side.numbers[name] for name in names}
    reading = [side.tape.consumers[v] for v, number in side.leaves.items() if number in numbers]
    return min((ops[0] for ops in reading if ops), default=-1)


def _not_whole(side: Side, parts: Sequence[Part], unseen: Sequence[int]) -> list[int]:
    """The weights that outputs depend on and that some parts do not make up, as they are read.

    Args:
        unseen: those that no operation reads, which come last.
    """
    covered: Counter[int] = Counter()
    for part in parts:
        if part.strided is not None:
            covered[part.strided.number] += side.tensors[part.strided.number].size
            continue
        for _, own in part.find() or ():
            for number in side.tensors_in(own):
                start, end = side.starts[number : number + 2]
                covered[number] += int(np.count_nonzero((own >= start) & (own < end)))
    tape = side.tape
    leaves = sorted(side.leaves, key=lambda value: tape.consumers[value][:1])
    used = dict.fromkeys(side.leaves[value] for value in leaves if tape.graph.is_used(value))
    return [
        number
        for number in dict.fromkeys((*used, *unseen))
        if side.tensors[number].is_floating and covered[number] < side.tensors[number].size
    ]


def _without_own_buffers(sides: tuple[Side, Side], free: list[list[int]]) -> list[list[int]]:
    """What is free but for buffers of which the other model has not as many of their size.

    A table that one model keeps the other computes.
    """
    buffers = [
        Counter(side.tensors[n].size for n in own if side.tensors[n].kind == "buffer")
        for side, own in zip(sides, free, strict=True)
    ]
    return [
        [
            n
            for n in own
            if side.tensors[n].kind != "buffer"
            or buffers[0][side.tensors[n].size] == buffers[1][side.tensors[n].size]
        ]
        for side, own in zip(sides, free, strict=True)
    ]
