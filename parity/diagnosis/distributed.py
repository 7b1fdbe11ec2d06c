"""Whether two models whose draws cannot be paired give outputs of one distribution, as far as seen.

Each runs on many fresh samples of its own. A difference that is found is a divergence; that none is
found proves nothing, and is stated with what would have been found.

Two things are looked at: how each output is distributed by itself (the Kolmogorov-Smirnov
distance), and how outputs go together (means of products), which shows a factor of a covariance
that is transposed, or noise that is shared. Runs of the two models are counted off in pairs. If
their laws are one, each difference of a pair is as likely as its negative, whatever the law is:

    P(|sum of d| >= t * sqrt(sum of d**2)) <= 2 * exp(-t**2 / 2)

(Efron, "Student's t-test under symmetry conditions", 1969).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from parity.diagnosis.redraw import can_be_had, fresh_samples
from parity.diagnosis.region import OutputPair
from parity.draws.draw import generator
from parity.draws.units import Origins
from parity.errors import ReplayError
from parity.matching.match import Match
from parity.tape import Array, Replay, Tape

_RUNS = 16_000  # of each model
_FEWEST = 125  # of the first look; each has twice as many as that before: a large difference
_LEAST = 200  # needs few
_WORK = 400_000  # operations in all runs
_ELEMENTS = 128  # of an output that are looked at, and sums of all as many again
_TOGETHER = 64  # of which each is multiplied by each
_ERROR_RATE = 1e-6  # of a comparison of models that are one
_NEXT_TO_NOTHING = 2.0**-10  # of the largest


@dataclass(frozen=True)
class Distributed:
    """The largest difference in distribution, and the smallest that would have been found.

    Attributes:
        distance, seen: of one output, as a Kolmogorov-Smirnov distance.
        together, chance: of two outputs' mean product, in units of its spread from run to run.
    """

    distance: float
    seen: float
    together: float
    chance: float
    runs: int

    @property
    def differ(self) -> bool:
        return self.distance > self.seen or self.together > self.chance

    def __str__(self) -> str:
        if self.distance > self.seen:
            found = (
                f"the largest Kolmogorov-Smirnov distance is {self.distance:.2f}, chance leaves "
                f"{self.seen:.2f}"
            )
        elif self.differ:
            found = (
                f"products of two of them differ in the mean by {self.together:.1f} standard "
                f"errors, chance leaves {self.chance:.1f}"
            )
        else:
            return (
                f"{self.runs} runs of both on fresh samples show no difference; a distance of "
                f"{2 * self.seen:.2f} between the outputs' distributions would have been seen"
            )
        return (
            f"over {self.runs} runs of both on fresh samples the outputs are distributed "
            f"differently: {found} (error rate {_ERROR_RATE:g})"
        )


def distributed(matched: Match, outputs: Sequence[OutputPair]) -> Distributed | None:
    """Compares the outputs' distributions; None where no fresh samples can be had, or too few."""
    drawing = matched.drawing
    units = [*drawing.reference, *drawing.candidate.values()]
    if not all(can_be_had(unit.draw) for unit in units) or not outputs:
        return None
    ends = [[pair.reference for pair in outputs], [pair.candidate for pair in outputs]]
    tapes = matched.reference.tape, matched.side.tape
    needed = [_needed(tape, values) for tape, values in zip(tapes, ends, strict=True)]
    work = sum(map(_work, tapes, drawing.origins, needed))
    runs = min(_RUNS, _WORK // max(work, 1))
    if runs < _LEAST:
        return None
    bases = matched.reference.run, tapes[1].replay("float64", matched.given)
    drawn = drawing.reference, list(drawing.candidate.values())
    rows: tuple[list[Array], list[Array]] = ([], [])
    found: Distributed | None = None
    looks = [runs]
    while looks[0] > 2 * _FEWEST:
        looks.insert(0, looks[0] // 2)
    for so_far in looks:
        for side in (0, 1):
            for turn in range(len(rows[side]), so_far):
                samples = fresh_samples(tapes[side], drawn[side], generator(turn, side, 11))
                try:
                    run = tapes[side].replay("float64", samples, bases[side], only=needed[side])
                except ReplayError:
                    return None
                rows[side].append(_features(run, ends[side]))
        found = _compared(np.array(rows[0]), np.array(rows[1]), len(looks))
        if found is None or found.differ:
            return found
    return found


def _needed(tape: Tape, ends: Sequence[int]) -> frozenset[int]:
    """The operations that values are computed by."""
    found, wanted = set(), set(ends)
    for op in reversed(tape.ops):
        if not wanted.isdisjoint(op.outputs):
            found.add(op.index)
            wanted.update(op.inputs)
    return frozenset(found)


def _work(tape: Tape, origins: Origins, needed: Collection[int]) -> int:
    """How many of them depend on draws."""
    return sum(op.index in needed and not origins.noise.isdisjoint(op.inputs) for op in tape.ops)


def _compared(reference: Array, candidate: Array, looks: int) -> Distributed | None:
    """Held against each other feature by feature; one row a run."""
    if reference.shape != candidate.shape or not reference.size:
        return None
    distance = max(map(_distance, reference.T, candidate.T))
    runs, features = reference.shape
    of_each = _ERROR_RATE / 2 / (features * looks)
    together, count = _together(reference, candidate)
    of_products = _ERROR_RATE / 2 / (max(count, 1) * looks)
    return Distributed(
        distance,
        math.sqrt(-math.log(of_each / 2) / runs),
        together,
        math.sqrt(2 * math.log(2 / of_products)),
        runs,
    )


def _together(reference: Array, candidate: Array) -> tuple[float, int]:
    """How far mean products of features are apart, over what signs at random leave of them.

    And their spread altogether: many samples, each by itself, show a little that each has more.

    Returns:
        The largest of all, and of how many it is.
    """
    both = np.stack([reference, candidate])
    largest = np.abs(both).max((0, 1))
    # the same for both, so that to exchange the two runs of a pair changes signs alone
    both = both - both.mean((0, 1))
    scale = np.sqrt(np.square(both).mean((0, 1)))
    varies = scale > _NEXT_TO_NOTHING * largest  # else its spread may be rounding
    both = both[:, :, varies] / scale[varies]
    if not both.size or not np.isfinite(both).all():
        return 0.0, 0
    all_spread = np.square(both).mean(2)
    picks = np.linspace(0, both.shape[2] - 1, min(both.shape[2], _TOGETHER)).astype(int)
    a, b = both[:, :, picks]
    apart = np.abs(a.T @ a - b.T @ b) / len(a)
    gaps = (a * a).T @ (a * a) + (b * b).T @ (b * b) - 2 * (a * b).T @ (a * b)
    apart = np.append(apart, abs(np.subtract(*all_spread).mean()))
    gaps = np.append(gaps, np.square(np.subtract(*all_spread)).sum())
    shows = (apart > _NEXT_TO_NOTHING) & (gaps > 0)
    found = apart[shows] * len(a) / np.sqrt(gaps[shows])
    return float(found.max(initial=0.0)), apart.size


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
