"""The closing check on models that draw: both run again on fresh samples, the same for both.

Few samples hide much: that two thresholds gave one mask, or that two sets of logits gave one
action, does not make them one. What is compared exactly on its way needs no more; for a decision
that is made of noise, the share of samples on which models may differ unseen is stated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.fresh_samples import as_drawn, by_kernels, can_be_had, fresh_samples, is_real
from parity.diagnosis.outputs import output_matches
from parity.diagnosis.region import OutputPair
from parity.draws.draw import generator
from parity.draws.families import FAMILIES, fresh
from parity.draws.pairing import Drawing, alike, samples, stays_one
from parity.draws.units import Unit
from parity.errors import ReplayError
from parity.matching.match import Indexed, Match, match
from parity.numerics.difference import by_column
from parity.numerics.slices import largest
from parity.tape import Array, Op, Replay


@dataclass(frozen=True)
class Redrawn:
    """What came of it.

    Attributes:
        apart: the match on the first samples on which the outputs differ, or None.
        decisions: how many were compared that nothing else shows to be the same.
        needed: whether there are such.
        unknown: draws that have no counterpart, and of which no fresh samples can be had.
        refused: whether the models take no fresh samples, as where draws decide a shape.
    """

    apart: Match | None
    decisions: int
    needed: bool
    unknown: tuple[Unit, ...]
    refused: bool = False

    @property
    def weak(self) -> bool:
        return self.needed and self.decisions < limits.REDRAWN_DECISIONS // 4


def redraw(found: Match, outputs: Sequence[OutputPair]) -> Redrawn | None:
    """Runs both models on fresh samples; None if neither draws.

    Args:
        found: the match as the models are.
    """
    drawing = found.drawing
    if not drawing.reference and not drawing.candidate:
        return None
    unknown = [unit for unit in (*drawing.unpaired, *drawing.free) if not can_be_had(unit.draw)]
    decided = _decided(found)
    trial = _RedrawTrial(found, outputs, _turns(found, decided))
    at = trial.first_apart(drawing)
    if at is None:
        refused = trial.refused >= limits.REFUSED_REDRAWS
        return Redrawn(None, decided * trial.turns, decided > 0, tuple(unknown), refused)
    for turn in range(at, min(at + limits.REPAIRING_REDRAWS, trial.turns + 1)):
        # few samples may pair draws wrongly: others pair them otherwise
        other = trial.paired_on(drawing, turn)
        if other is not None and trial.first_apart(other) is None:
            return Redrawn(None, decided * trial.turns, decided > 0, tuple(unknown))
    while at is not None:
        apart = trial.matched_on(drawing, at)
        agree = all(output_matches(apart, pair) for pair in outputs)
        if not agree or trial.are_far_apart(drawing, at):
            return Redrawn(apart, decided * at, decided > 0, tuple(unknown))
        at = trial.first_apart(drawing, after=at)  # here only rounding was amplified
    return Redrawn(None, decided * trial.turns, decided > 0, tuple(unknown))


@dataclass
class _RedrawTrial:
    """Both models on fresh samples, turn by turn."""

    found: Match
    outputs: Sequence[OutputPair]
    turns: int

    def __post_init__(self) -> None:
        self.refused = 0
        self.base = self.found.side.tape.replay("float64", self.found.given)
        run = self.found.reference.run
        self.sizes = {pair.name: _sizes(run.array(pair.reference)) for pair in self.outputs}
        # more than constants leave on the recorded samples
        self.limits = {
            name: [
                np.maximum(limits.REDRAW_APART, limits.REDRAW_AMPLIFIED * part) for part in parts
            ]
            for name, parts in self._gaps(run, self.base)
        }

    def first_apart(self, drawing: Drawing, after: int = 0) -> int | None:
        """The first turn in which the outputs differ; None if they agree in all."""
        for turn in range(after + 1, self.turns + 1):
            try:
                reference, candidate = self.runs(drawing, turn)
            except ReplayError:  # fresh samples outside what an operation takes
                self.refused += 1
                if self.refused >= limits.REFUSED_REDRAWS:
                    return None
                continue
            if self.are_apart(reference, candidate) or not self._are_of_one_law(
                drawing, reference, candidate
            ):
                return turn
        return None

    def runs(self, drawing: Drawing, turn: int) -> tuple[Replay, Replay]:
        return _runs(self._on(drawing, turn), self.base, turn)

    def are_apart(self, reference: Replay, candidate: Replay) -> bool:
        """Whether the outputs differ by more than constants leave, in any slice."""
        return any(
            not (part <= _of_shape(limit, part)).all()
            for name, parts in self._gaps(reference, candidate)
            for part, limit in zip(parts, self.limits.get(name, ()), strict=False)
        )

    def are_far_apart(self, drawing: Drawing, turn: int) -> bool:
        """Whether they differ in a turn by more than rounding is ever amplified to."""
        return any(
            not part.max()
            <= limits.REDRAW_NO_ROUNDING * max(limit.max() for limit in self.limits[name])
            for name, parts in self._gaps(*self.runs(drawing, turn))
            if name in self.limits
            for part in parts
        )

    def _gaps(self, reference: Replay, candidate: Replay) -> Iterator[tuple[str, list[Array]]]:
        """By how much outputs differ, as a whole and in each slice of some numbers.

        A slice counts by what it is on the recorded samples, too: others may leave next to nothing.
        """
        for pair in self.outputs:
            a, b = reference.array(pair.reference), candidate.array(pair.candidate)
            if a.shape == b.shape:
                found = [np.array([by_column(a, b)])]
                for (gap, size), usual in zip(largest(a, b), self.sizes[pair.name], strict=False):
                    if a.size >= limits.REDRAW_POOL * len(size):
                        least = np.maximum(_of_shape(usual, size), np.finfo(float).tiny)
                        found.append(gap / np.maximum(size, least))
                yield pair.name, found

    def _are_of_one_law(self, drawing: Drawing, reference: Replay, candidate: Replay) -> bool:
        """Whether what kernels draw by, as a rate that is drawn itself, is the same in a turn."""
        return all(
            stays_one(drawing.candidate[value], choice, reference, candidate)
            for value, choice in drawing.chosen.items()
        )

    def paired_on(self, drawing: Drawing, turn: int) -> Drawing | None:
        """The draws as they are paired on the samples of a turn, if the outputs agree then."""
        try:
            side = self._side(drawing, turn)
            found = match(side, self.found.side.tape)
        except ReplayError:
            return None
        agree = all(output_matches(found, pair) for pair in self.outputs)
        return found.drawing if agree else None

    def matched_on(self, drawing: Drawing, turn: int) -> Match:
        side = self._side(drawing, turn)
        _, theirs = self.runs(drawing, turn)
        samples = {unit.value: theirs.array(unit.value) for unit in drawing.unpaired}
        here = replace(drawing, turn=turn, fresh=samples)
        return match(side, self.found.side.tape, drawing=here)

    def _side(self, drawing: Drawing, turn: int) -> Indexed:
        reference, _ = self.runs(drawing, turn)
        return Indexed(self.found.reference.tape, reference)

    def _on(self, drawing: Drawing, turn: int) -> Match:
        return replace(self.found, drawing=replace(drawing, turn=turn))


def _turns(found: Match, decided: int) -> int:
    sizes = [size for side in _made_of_noise(found) for size in side]
    numbers = sum(sizes)
    if numbers > limits.LARGE_REDRAW:
        return 2
    most = min(
        limits.MOST_REDRAWS,
        limits.REDRAWN_OPERATIONS // max(work_of(found), 1),
        limits.REDRAWN_VALUES // max(numbers, 1),
    )
    drawing = found.drawing
    drawn = [unit.size for unit in (*drawing.reference, *drawing.candidate.values())]
    # what many draws make together, as the length of a vector, may have ends of its own; a single
    # number of all of them, as a loss, is counted where it decides
    together = [size for size in sizes if size > 1]
    # what cuts off the ends of a distribution shows in few samples of it
    least = (
        decided or limits.REDRAWN_DECISIONS,
        min(drawn),
        min(together, default=limits.REDRAWN_DECISIONS),
    )
    wanted = max(math.ceil(limits.REDRAWN_DECISIONS / one) for one in least)
    return min(max(2, most), max(limits.REDRAWS, wanted))


def _made_of_noise(found: Match) -> Iterator[list[int]]:
    """For each model how many numbers there are of each value that draws lead to."""
    tapes = found.tapes
    for tape, origins in zip(tapes, found.drawing.origins, strict=True):
        made = [value for value in tape.values if value.op >= 0 and value.id in origins.noise]
        yield [value.size for value in made]


def work_of(found: Match) -> int:
    """How many operations of both models run again on other samples."""
    tapes = found.tapes
    return sum(
        not origins.noise.isdisjoint(op.inputs)
        for tape, origins in zip(tapes, found.drawing.origins, strict=True)
        for op in tape.ops
    )


def _decided(found: Match) -> int:
    """How many numbers are decided by noise, and not shown to be so by what decides them.

    A decision makes integers or booleans of real numbers, or whole ones, as a floor does; a
    discrete draw is one by itself.
    """
    drawing, tape = found.drawing, found.side.tape
    noise = drawing.origins[1].noise
    count = _unseen(found)
    for op in tape.ops:
        if op.index not in tape.used or op.role == "move" or not op.outputs:
            continue
        made = tape.values[op.outputs[0]]
        if op.role == "random":
            count += made.size * _differs(drawing, op.outputs[0])
        elif made.id in noise and (not is_real(made.dtype) or _rounds(op)):
            real = [one for one in op.inputs if is_real(tape.values[one].dtype)]
            settled = all(one in found.pairs and found.pairs[one].same for one in real)
            constants = any(isinstance(one, float) for one in op.attributes.values())
            if real and (_rounds(op) or not (settled and len(real) > 1 and not constants)):
                count += made.size
    return count


def _rounds(op: Op) -> bool:
    """Whether an operation makes whole numbers of real ones."""
    return op.word in ("floor", "ceil", "round", "truncate", "sign", "heaviside")


def _unseen(found: Match) -> int:
    """How many numbers are drawn for operations without an inside, which may decide anything."""
    for tape, units in (
        (found.reference.tape, found.drawing.reference),
        (found.side.tape, list(found.drawing.candidate.values())),
    ):
        if tape.framework == "numpy" and units:
            return min(unit.size for unit in units)
    return 0


def _differs(drawing: Drawing, value: int) -> bool:
    """Whether a discrete draw stands for one of another distribution."""
    unit, choice = drawing.candidate.get(value), drawing.chosen.get(value)
    if unit is None or unit.draw is None or unit.draw.name not in FAMILIES:
        return False
    if not FAMILIES[unit.draw.name].discrete:
        return False
    return choice is None or not alike(unit.draw, choice.reference.draw)


def _runs(found: Match, base: Replay, turn: int) -> tuple[Replay, Replay]:
    """Both models on fresh samples."""
    drawing = found.drawing
    random = generator(turn, 7)
    reference, candidate = found.tapes
    far = turn % limits.FAR_REDRAW == 0
    ours = fresh_samples(reference, drawing.reference, random, far)
    ours |= by_kernels(found, turn, random if far else None)
    run = reference.replay("float64", ours, found.reference.run)
    theirs: dict[int, Array] = {}
    for value, unit in drawing.candidate.items():
        choice = drawing.chosen.get(value)
        if choice is not None:
            theirs[value] = samples(found, unit, choice, run)
        elif unit.draw is not None and can_be_had(unit.draw):
            theirs[value] = as_drawn(candidate, unit, fresh(unit.draw, unit.shape, random, far))
    return run, candidate.replay("float64", theirs, base)


def _sizes(array: Array) -> list[Array]:
    """Along each axis the largest number in each slice."""
    return [size for _, size in largest(array, array)]


def _of_shape(slices: Array, other: Array) -> Array:
    """Numbers by slice; where there are others, as of a list of another length, the largest."""
    return slices if slices.shape == other.shape else slices.max(keepdims=True, initial=0.0)
