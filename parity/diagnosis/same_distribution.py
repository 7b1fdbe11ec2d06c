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
from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from parity.budget import Spent
from parity.diagnosis import limits
from parity.diagnosis.fresh_samples import by_kernel, can_be_had, fresh_samples
from parity.diagnosis.region import OutputPair
from parity.draws.draw import generator
from parity.draws.units import Origins, Unit
from parity.errors import ReplayError
from parity.frameworks import load
from parity.matching.match import Match
from parity.tape import Array, Replay, Tape


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
            f"differently: {found} (error rate {limits.LAW_ERROR_RATE:g})"
        )


def distributed(matched: Match, outputs: Sequence[OutputPair]) -> Distributed | None:
    """Compares the outputs' distributions; None where no fresh samples can be had, or too few.

    Runs are made once for two models, on whatever samples they were matched.
    """
    laws, key = matched.drawing.laws, tuple(outputs)
    if key not in laws:
        laws[key] = _distributed(matched, outputs)
    found: Distributed | None = laws[key]
    return found


def _distributed(matched: Match, outputs: Sequence[OutputPair]) -> Distributed | None:
    drawing = matched.drawing
    if not outputs:
        return None
    ends = [[pair.reference for pair in outputs], [pair.candidate for pair in outputs]]
    tapes = matched.tapes
    needed = [tape.graph.ancestors(values) for tape, values in zip(tapes, ends, strict=True)]
    costs = list(map(_costs, tapes, drawing.origins, needed))
    work, values = (sum(one) for one in zip(*costs, strict=True))
    runs = min(
        limits.LAW_RUNS,
        limits.LAW_OPERATIONS // max(work, 1),
        max(limits.LAW_VALUES // max(values, 1), limits.LAW_LEAST_RUNS),
    )
    if runs < limits.LAW_LEAST_RUNS:
        return None
    bases = matched.reference.run, tapes[1].replay("float64", matched.given)
    drawn = drawing.reference, list(drawing.candidate.values())
    rows: tuple[list[Array], list[Array]] = ([], [])
    found: Distributed | None = None
    looks = [runs]
    while looks[0] > 2 * limits.LAW_FIRST_RUNS:
        looks.insert(0, looks[0] // 2)
    for so_far in looks:
        try:
            for side in (0, 1):
                turns = range(len(rows[side]), so_far)
                if rows[side] and not drawn[side]:  # one that draws nothing gives the same
                    rows[side].extend(rows[side][:1] * len(turns))
                    continue
                for samples in _fresh(tapes[side], drawn[side], turns, drawing.origins[side], side):
                    run = tapes[side].replay("float64", samples, bases[side], only=needed[side])
                    rows[side].append(_features(run, ends[side]))
        except ReplayError:
            return None
        except Spent:
            if found is None:
                raise
            return found  # of fewer runs, which it states
        if min(map(len, rows)) < so_far:
            return None
        if len({len(row) for row in (*rows[0], *rows[1])}) > 1:
            return None  # draws decide how many there are
        found = _compared(np.array(rows[0]), np.array(rows[1]), len(looks))
        if found is None or found.differ:
            return found
    return found


def _fresh(
    tape: Tape, units: Sequence[Unit], turns: range, origins: Origins, side: int
) -> Iterator[dict[int, Array]]:
    """Fresh samples for all draws of a tape, turn by turn; none where some cannot be had."""
    unknown = [unit for unit in units if not can_be_had(unit.draw)]
    # the two models' streams are not to be one, and the user's is to stay where it is
    state = load(tape.framework).other_random_state(limits.LAW_STREAM + 2 * turns.start + side)
    with state if unknown else nullcontext():
        if not all(_gives_samples(tape, unit, origins) for unit in unknown):
            return
        for turn in turns:
            samples = fresh_samples(tape, units, generator(turn, side, 11))
            for unit in unknown:
                drawn = by_kernel(tape, unit)
                if drawn is None:
                    return
                samples[unit.value] = drawn
            yield samples


def _gives_samples(tape: Tape, unit: Unit, origins: Origins) -> bool:
    """Whether a kernel draws anew for parameters that hang on no other draw, and not by a seed."""
    op = tape.producer(unit.value)
    if op is None or not origins.noise.isdisjoint(op.inputs):
        return False
    drawn = (by_kernel(tape, unit) for _ in range(limits.LAW_EQUAL_SAMPLES))
    return len({one.tobytes() for one in drawn if one is not None}) > 1


def _costs(tape: Tape, origins: Origins, needed: Collection[int]) -> tuple[int, int]:
    """How many of the operations that are needed depend on draws, and what they make of these."""
    noise, ops = origins.noise, [tape.ops[index] for index in needed]
    made = (tape.values[one].size for op in ops for one in op.outputs if one in noise)
    return sum(not noise.isdisjoint(op.inputs) for op in ops), sum(made)


def _compared(reference: Array, candidate: Array, looks: int) -> Distributed | None:
    """Held against each other feature by feature; one row a run."""
    if reference.shape != candidate.shape or not reference.size:
        return None
    distance = max(map(_distance, reference.T, candidate.T))
    runs, features = reference.shape
    of_each = limits.LAW_ERROR_RATE / 2 / (features * looks)
    together, count = _together(reference, candidate)
    of_products = limits.LAW_ERROR_RATE / 2 / (max(count, 1) * looks)
    return Distributed(
        distance,
        math.sqrt(-math.log(of_each / 2) / runs),
        together,
        math.sqrt(2 * math.log(2 / of_products)),
        runs,
    )


def _together(reference: Array, candidate: Array) -> tuple[float, int]:
    """By how much mean products of features differ, over what signs at random leave of them.

    And their spread altogether: many samples, each by itself, show a little that each has more.

    Returns:
        The largest of all, and of how many it is.
    """
    both = np.stack([reference, candidate])
    largest = np.abs(both).max((0, 1))
    # the same for both, so that to exchange the two runs of a pair changes signs alone
    both = both - both.mean((0, 1))
    scale = np.sqrt(np.square(both).mean((0, 1)))
    varies = scale > limits.LAW_NEGLIGIBLE * largest  # else its spread may be rounding
    both = both[:, :, varies] / scale[varies]
    if not both.size or not np.isfinite(both).all():
        return 0.0, 0
    all_spread = np.square(both).mean(2)
    picks = np.linspace(0, both.shape[2] - 1, min(both.shape[2], limits.LAW_PRODUCTS)).astype(int)
    a, b = both[:, :, picks]
    gaps = np.abs(a.T @ a - b.T @ b) / len(a)
    squares = (a * a).T @ (a * a) + (b * b).T @ (b * b) - 2 * (a * b).T @ (a * b)
    gaps = np.append(gaps, abs(np.subtract(*all_spread).mean()))
    squares = np.append(squares, np.square(np.subtract(*all_spread)).sum())
    shows = (gaps > limits.LAW_NEGLIGIBLE) & (squares > 0)
    found = gaps[shows] * len(a) / np.sqrt(squares[shows])
    return float(found.max(initial=0.0)), gaps.size


def _features(run: Replay, ends: Sequence[int]) -> Array:
    """Some elements of the outputs, and of all sums with fixed signs, the norm and the ends."""
    found = []
    for value in ends:
        flat = run.array(value).astype(np.float64).ravel()
        if not flat.size:
            continue
        square = flat @ flat
        if not math.isfinite(square):
            flat = np.nan_to_num(flat)
            square = flat @ flat
        extremes = np.array([flat.min(), flat.max()])
        # one may be next to nothing among the others, and then of whatever rounding leaves
        extremes[np.abs(extremes) < limits.LAW_NEGLIGIBLE * math.sqrt(square / flat.size)] = 0.0
        found += [flat[_picks(flat.size)], _signs(flat.size) @ flat, [square], extremes]
    return np.concatenate([*found, np.zeros(0)])


@lru_cache(8)
def _picks(size: int) -> Array:
    return np.linspace(0, size - 1, min(size, limits.LAW_ELEMENTS)).astype(int)


@lru_cache(8)
def _signs(size: int) -> Array:
    signs: Array = generator(size, 3).choice([-1.0, 1.0], (min(size, 16), size))
    signs[0] = 1.0
    return signs


def _distance(a: Array, b: Array) -> float:
    """The Kolmogorov-Smirnov distance of samples that count as one where they are nearly alike.

    What differs by next to nothing, as at the end of an iteration from a random start, is moved
    over: sup F(x) - G(x + s), either way round, which is never more than the distance itself.
    """
    sizes = np.abs(np.concatenate([a, b]))
    slack = max(
        limits.LAW_NEGLIGIBLE * np.quantile(sizes, limits.LAW_LARGE_QUANTILE),
        limits.LAW_ROUNDING * sizes.max(),
    )
    a, b = np.sort(a), np.sort(b)
    return max(_exceeds(a, b, slack), _exceeds(b, a, slack))


def _exceeds(a: Array, b: Array, slack: float) -> float:
    """By how much a larger share of `a` lies below some number than of `b` below that and more."""
    shares = (
        np.searchsorted(a, a, "right") / a.size,
        np.searchsorted(b, a + slack, "right") / b.size,
    )
    return float(np.subtract(*shares).max())
