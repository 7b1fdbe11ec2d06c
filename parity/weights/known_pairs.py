"""How much of a pairing can be kept where it does not lead to agreement.

What is not kept is set to one constant in both models, so that it does not matter which of it
belongs together. Both then agree if all that is kept is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from parity.diagnosis.output_pairs import pair_outputs
from parity.tape import Array
from parity.weights.effect_trials import Point
from parity.weights.operands import Part
from parity.weights.pairing import Pair, Pairing, Side
from parity.weights.writing import write

_SAME = 1e-6  # of an effect: far more than float64 loses, far less than a wrong order
_LOST = 1e-12  # of outputs, in float64
_FAR, _NEAR = 50, 4  # times what the two are apart


@dataclass
class Start:
    """Two models that agree, and what of them is still to be paired.

    Attributes:
        kept: the pairs that are as they were written.
        points: of the source and of the target.
        free: numbers of the tensors that hold the constant, in the order in which they are read.
        constant: what they hold.
    """

    kept: list[Pair]
    points: tuple[Point, Point]
    free: tuple[list[int], list[int]]
    constant: float

    @cached_property
    def apart(self) -> float:
        """How far the two are apart, as constants are that one of them has in float32."""
        one, other = (point.outputs() for point in self.points)
        return float(np.linalg.norm(one - other)) + _LOST * float(np.linalg.norm(one))

    def shows(self, effect: Array) -> bool:
        """Whether outputs are moved by more than the two are apart."""
        return bool(np.linalg.norm(effect) > _FAR * self.apart)

    def agrees(self, one: Array, other: Array) -> bool:
        """Whether outputs of both are moved alike."""
        size = np.linalg.norm(one)
        return bool(np.linalg.norm(one - other) <= _SAME * size + _NEAR * self.apart)

    def take(self, source: Sequence[int], target: Sequence[int]) -> None:
        """Counts some tensors as paired."""
        for free, taken in zip(self.free, (source, target), strict=True):
            free[:] = [number for number in free if number not in taken]


class Known:
    """A pairing that was written, and both models' contents with it."""

    def __init__(self, source: Side, target: Side, found: Pairing) -> None:
        self._sides = source, target
        own = _contents(target)
        write(source, target, found)
        try:
            self._contents = _contents(source), _contents(target)
        finally:
            for number, array in own.items():
                target.tensors[number].write(array)
        self._pairs = sorted(found.pairs, key=lambda pair: _first_use(target, pair.target_names))
        pairs, _ = pair_outputs(source.tape, target.tape)
        floating = [one for one in pairs if source.tape.values[one.reference].dtype[0] in "fb"]
        self._outputs = [[p.reference for p in floating], [p.candidate for p in floating]]

    def start(self, constant: float) -> Start | None:
        """As many pairs as both agree with, in their order from the front and from the back.

        None where they do not agree with none of them, or nothing is left to be paired.
        """
        pairs = self._pairs
        # what was set to what does nothing may have a partner after all
        real = [pair for pair in pairs if pair.source is not None]
        for kept in [pairs] if len(real) == len(pairs) else [pairs, real]:
            found = self._with(kept, constant)
            if found is not None:
                return found
        if self._with([], constant) is None:
            return None
        ahead = _most(len(real), lambda n: self._with(real[:n], constant) is not None)
        front, rest = real[:ahead], real[ahead:]

        def from_the_back(count: int) -> list[Pair]:
            return [*front, *rest[len(rest) - count :]]

        behind = _most(len(rest), lambda n: self._with(from_the_back(n), constant) is not None)
        return self._with(from_the_back(behind), constant)

    def _with(self, kept: Sequence[Pair], constant: float) -> Start | None:
        """Both models with some pairs as written and all else constant; None if they differ."""
        pairs, free = self._free(kept)
        if not all(free):
            return None
        points = []
        for side, own, numbers, outputs in zip(
            self._sides, self._contents, free, self._outputs, strict=True
        ):
            constants = {number: np.full_like(own[number], constant) for number in numbers}
            points.append(Point(side, {**own, **constants}, outputs))
        if not all(point.in_float64 for point in points) or not points[1].lay_out_as(points[0]):
            return None
        return Start(pairs, (points[0], points[1]), (free[0], free[1]), constant)

    def _free(self, kept: Sequence[Pair]) -> tuple[list[Pair], list[list[int]]]:
        """The weights that are not wholly in kept pairs, and the pairs that have no part of them."""
        pairs = list(kept)
        while True:
            parts = (
                [pair.source for pair in pairs if pair.source is not None],
                [pair.target for pair in pairs],
            )
            free = [_not_whole(side, own) for side, own in zip(self._sides, parts, strict=True)]
            names = [
                {side.tensors[number].name for number in numbers}
                for side, numbers in zip(self._sides, free, strict=True)
            ]
            left = [
                pair
                for pair in pairs
                if names[0].isdisjoint(pair.source_names)
                and names[1].isdisjoint(pair.target_names)
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


def _contents(side: Side) -> dict[int, Array]:
    """What every tensor that operations read holds: float64 where it holds weights."""
    return {
        number: np.array(
            side.tensors[number].read(), np.float64 if side.tensors[number].is_floating else None
        )
        for number in sorted(set(side.leaves.values()))
    }


def _first_use(side: Side, names: Sequence[str]) -> int:
    """The first operation that reads one of some tensors."""
    numbers = {side.numbers[name] for name in names}
    reading = [side.tape.consumers[v] for v, number in side.leaves.items() if number in numbers]
    return min((ops[0] for ops in reading if ops), default=-1)


def _not_whole(side: Side, parts: Sequence[Part]) -> list[int]:
    """The weights that outputs depend on and that some parts do not make up, as they are read."""
    covered: Counter[int] = Counter()
    for part in parts:
        if part.strided is not None:
            covered[part.strided.number] += side.tensors[part.strided.number].size
            continue
        for _, own in part.find() or ():
            for number in side.tensors_in(own):
                start, end = side.starts[number : number + 2]
                covered[number] += int(np.count_nonzero((own >= start) & (own < end)))
    used = dict.fromkeys(
        side.leaves[value.id]
        for value in sorted(side.tape.values, key=lambda one: min(side.tape.consumers[one.id], default=0))
        if value.id in side.leaves and side.tape.graph.is_used(value.id)
    )
    return [
        number
        for number in used
        if side.tensors[number].is_floating
        and side.tensors[number].kind == "parameter"
        and covered[number] < side.tensors[number].size
    ]
