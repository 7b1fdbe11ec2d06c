"""Whether two models whose draws cannot be paired give outputs of one distribution, as far as seen.

Each runs on many fresh samples of its own. A difference that is found is a divergence; that none is
found proves nothing, and is stated with what would have been found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from parity.diagnosis.redraw import can_be_had, fresh_samples, work_of
from parity.diagnosis.region import OutputPair
from parity.draws.draw import generator
from parity.errors import ReplayError
from parity.matching.match import Match
from parity.tape import Array, Replay

_RUNS = 2000  # of each model
_FEWEST = 200
_LOOKS = 4  # after 1/8, 1/4, 1/2 and all of the runs: what differs by much needs few
_WORK = 40_000  # operations in all runs
_ELEMENTS = 128  # of an output that are looked at, and sums of all as many again
_ERROR_RATE = 1e-6  # of a comparison of models that are one
_NEXT_TO_NOTHING = 2.0**-10  # of the largest


@dataclass(frozen=True)
class Distributed:
    """The largest Kolmogorov-Smirnov distance, and the smallest that would have been found."""

    distance: float
    seen: float
    runs: int

    @property
    def differ(self) -> bool:
        return self.distance > self.seen

    def __str__(self) -> str:
        if self.differ:
            return (
                f"over {self.runs} runs of both on fresh samples the outputs are distributed "
                f"differently: the largest Kolmogorov-Smirnov distance is {self.distance:.2f}, "
                f"chance leaves {self.seen:.2f} (error rate {_ERROR_RATE:g})"
            )
        return (
            f"{self.runs} runs of both on fresh samples show no difference; a distance of "
            f"{2 * self.seen:.2f} between the outputs' distributions would have been seen"
        )


def distributed(matched: Match, outputs: Sequence[OutputPair]) -> Distributed | None:
    """Compares the outputs' distributions; None where no fresh samples can be had, or too few."""
    drawing = matched.drawing
    units = [*drawing.reference, *drawing.candidate.values()]
    if not all(can_be_had(unit.draw) for unit in units) or not outputs:
        return None
    runs = min(_RUNS, _WORK // max(work_of(matched), 1))
    if runs < _FEWEST:
        return None
    sides = (
        (matched.reference.tape, matched.reference.run, drawing.reference, 0),
        (
            matched.side.tape,
            matched.side.tape.replay("float64", matched.given),
            list(drawing.candidate.values()),
            1,
        ),
    )
    ends = [[pair.reference for pair in outputs], [pair.candidate for pair in outputs]]
    rows: tuple[list[Array], list[Array]] = ([], [])
    for look in reversed(range(_LOOKS)):
        so_far = runs >> look
        for (tape, base, drawn, side), values in zip(sides, ends, strict=True):
            for turn in range(len(rows[side]), so_far):
                samples = fresh_samples(tape, drawn, generator(turn, side, 11))
                try:
                    rows[side].append(_features(tape.replay("float64", samples, base), values))
                except ReplayError:
                    return None
        found = _compared(*map(np.array, rows))
        if found is None or found.differ:
            return found
    return found


def _compared(reference: Array, candidate: Array) -> Distributed | None:
    """Held against each other feature by feature; one row a run."""
    if reference.shape != candidate.shape or not reference.size:
        return None
    distance = max(map(_distance, reference.T, candidate.T))
    runs, features = reference.shape
    rate = _ERROR_RATE / (features * _LOOKS)
    return Distributed(distance, math.sqrt(-math.log(rate / 2) / runs), runs)


def _features(run: Replay, ends: Sequence[int]) -> Array:
    """Elements of the outputs, and what all of them come to.

    Sums with fixed signs show what depends on others, the norm and the ends a scale in small parts.
    """
    found = []
    for value in ends:
        flat = np.nan_to_num(run.array(value).astype(np.float64).ravel())
        picks = np.linspace(0, flat.size - 1, min(flat.size, _ELEMENTS)).astype(int)
        of_all = np.array([flat @ flat, flat.min(), flat.max()]) if flat.size else flat
        found += [flat[picks], _signs(flat.size) @ flat, of_all]
    return np.concatenate(found)


@lru_cache(8)
def _signs(size: int) -> Array:
    signs: Array = generator(size, 3).choice([-1.0, 1.0], (min(size, 16), size))
    signs[0] = 1.0
    return signs


def _distance(a: Array, b: Array) -> float:
    """The Kolmogorov-Smirnov distance; numbers alike but for rounding are one.

    It does not see by how much distributions differ: where no quantile does by more than next to
    nothing, as at the end of an iteration from a random start, no difference is said to be seen.
    """
    scale = max(np.abs(a).max(), np.abs(b).max()) or 1.0
    a, b = np.sort(np.round(a / scale, 9)), np.sort(np.round(b / scale, 9))
    if a.size == b.size and np.abs(a - b).max() <= _NEXT_TO_NOTHING:
        return 0.0
    places = np.concatenate([a, b])
    below = [np.searchsorted(one, places, "right") / one.size for one in (a, b)]
    return float(np.abs(below[0] - below[1]).max())
