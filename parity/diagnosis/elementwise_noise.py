"""Noise that is substituted element by element: the samples alone distinguish two laws.

An element that rises or falls with one sample, and hangs on no other, has the law of another such
element only if they agree at the same probabilities or at opposite ones. That needs no pairing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.region import Mismatch, OutputPair
from parity.draws.draw import Draw, generator
from parity.draws.families import FAMILIES, known
from parity.draws.units import Origins, Unit
from parity.errors import ReplayError
from parity.matching.match import Match, Side
from parity.tape import Array, Op


def differ_by_element(repaired: Match, mismatch: Mismatch, outputs: Sequence[OutputPair]) -> bool:
    """Whether what differs is seen to have another law in some element, whatever is paired."""
    if mismatch.values is None or mismatch.order is None:
        return False
    drawing = repaired.drawing
    # what is no output may be the counterpart of something else, or lie in another order
    if mismatch.values not in [one.values for one in outputs]:
        if not mismatch.reconverges or not len(drawing.reference) == len(drawing.candidate) == 1:
            return False
        if repaired.reference.array(mismatch.values[0]).dtype.kind != "f":
            return False  # places: what is taken modulo may be one law whatever it was before
    regions = mismatch.reference.ops, mismatch.candidate.ops
    return _differ(repaired, mismatch.values, mismatch.order.apply, regions)


def output_differs_by_element(found: Match, pair: OutputPair) -> bool:
    """The same of an output, whatever it is computed by."""
    reference, candidate = found.tapes
    if reference.values[pair.reference].shape != candidate.values[pair.candidate].shape:
        return False
    return _differ(found, pair.values, lambda array: array, (reference.ops, candidate.ops))


def noise_differs_by_element(matched: Match, repaired: Match) -> bool:
    """The same of values that noise replaced, as the models are, if only it makes them differ.

    What is amiss may be a scale, which is no noise itself.
    """
    drawing = matched.drawing
    if not len(drawing.reference) == len(drawing.candidate) == 1:
        return False
    regions = matched.reference.tape.ops, matched.side.tape.ops
    reference, candidate = drawing.origins
    put_in = (
        (known.reference, value, known.order)
        for value, known in sorted(repaired.pairs.items())
        if known.same and candidate.mixed(value) and reference.mixed(known.reference)
    )
    return any(
        _differ(matched, (one, other), order.apply, regions)
        for one, other, order in islice(put_in, limits.NOISE_VALUES)
    )


def _differ(
    found: Match,
    ends: tuple[int, int],
    lay_out: Callable[[Array], Array],
    regions: tuple[Sequence[Op], Sequence[Op]],
) -> bool:
    drawing = found.drawing
    sides = (found.reference, found.side), (drawing.reference, drawing.candidate.values())
    responses = [
        _Response.of(*one) for one in zip(*sides, drawing.origins, regions, ends, strict=True)
    ]
    try:
        a, b = (None if one is None else one.rows() for one in responses)
    except ReplayError:
        return False
    if a is None or b is None:
        return False
    a = np.array([lay_out(row).ravel() for row in a])
    b = np.array([row.ravel() for row in b])
    if a.shape != b.shape or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return False
    limit = limits.NOISE_DIFFERS * np.maximum(np.abs(a).max(axis=0), np.abs(b).max(axis=0))
    gaps = (np.abs(a - one).max(axis=0) for one in (b, b[::-1]))
    return bool(np.all([gap > limit for gap in gaps], axis=0).any())


@dataclass(frozen=True)
class _Response:
    """What a region makes of the only draw that it reads."""

    side: Side
    unit: Unit
    draw: Draw
    ops: frozenset[int]
    end: int

    @classmethod
    def of(
        cls, side: Side, units: Iterable[Unit], origins: Origins, region: Sequence[Op], end: int
    ) -> _Response | None:
        """None where it reads several, or one that reaches it by the model's data too."""
        drawn = {unit.value: unit for unit in units}
        inside, ops = {op.index for op in region}, set()

        def of_noise(value: int, op: Op) -> bool:
            return value in origins.noise and op.role != "random"

        found = set()
        for value, op in side.tape.graph.backward([end], of_noise):
            if value in drawn:
                found.add(value)
            if op is None or not of_noise(value, op):
                continue
            if origins.mixed(value) and op.index not in inside:
                return None
            ops.add(op.index)
        draws = [drawn[value] for value in found]
        if len(draws) != 1 or draws[0].draw is None or not known(draws[0].draw):
            return None
        return cls(side, draws[0], draws[0].draw, frozenset(ops), end)

    def rows(self) -> Array | None:
        """A value at rising probabilities of its sample, if each element hangs on one alone."""
        places = np.linspace(
            limits.LEAST_PROBABILITY, 1 - limits.LEAST_PROBABILITY, limits.NOISE_PLACES
        )
        shape = self.unit.shape
        low, high = places[[3, -3]]
        taken = generator(limits.NOISE_PLACES).random(shape) < 0.5
        at_places = [self._at(np.full(shape, place)) for place in places]
        try:
            rows = np.array(at_places)
            expected = np.where(np.broadcast_to(taken, rows[0].shape), rows[3], rows[-3])
        except ValueError:  # of other shapes, as where draws decide how many there are
            return None
        of_others = np.abs(self._at(np.where(taken, low, high)) - expected)
        least = limits.NOISE_DIFFERS * np.abs(rows).max(axis=0)
        steps = np.diff(rows, axis=0)
        one_way = (steps >= -least).all(axis=0) | (steps <= least).all(axis=0)
        return rows if (of_others <= least).all() and one_way.all() else None

    def _at(self, p: Array) -> Array:
        sample = FAMILIES[self.draw.name].quantile((p, 1 - p), self.draw.parameters)
        dtype = self.side.tape.values[self.unit.value].dtype
        noise = sample.astype(np.float64 if dtype.startswith(("float", "bfloat")) else dtype)
        run = self.side.tape.replay(
            "float64", {self.unit.value: noise}, self.side.run, only=self.ops
        )
        return run.array(self.end).astype(np.float64)
