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
        differing: the match on the first samples on which the outputs differ, or None.
        decisions: how many were compared that nothing else shows to be the same.
        needed: whether there are such.
        unknown: draws that have no counterpart, and of which no fresh samples can be had.
        refused: whether the models take no fresh samples, as where draws decide a shape.
    """

    differing: Match | None
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
    decided = _decided(found)
    trial = _RedrawTrial(found, outputs, _turns(found, decided))
    draws = (*drawing.unpaired, *drawing.free)
    unknown = tuple(unit for unit in draws if not can_be_had(unit.draw))
    agreed = Redrawn(None, decided * trial.turns, decided > 0, unknown)
    at = trial.first_differing(drawing)
    if at is None:
        return replace(agreed, refused=trial.refused >= limits.REFUSED_REDRAWS)
    for turn in range(at, min(at + limits.REPAIRING_REDRAWS, trial.turns + 1)):
        # few samples may pair draws wrongly: others pair them otherwise
        other = trial.paired_on(drawing, turn)
        if other is not None and trial.first_differing(other) is None:
            return agreed
    while at is not None:
        differing = trial.matched_on(drawing, at)
        agree = all(output_matches(differing, pair) for pair in outputs)
        if not agree or trial.differ_by_far(drawing, at):
            return replace(agreed, differing=differing, decisions=decided * at)
        at = trial.first_differing(drawing, after=at)  # here only rounding was amplified
    return agreed


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
        arrays = {pair.name: run.array(pair.reference) for pair in self.outputs}
        self.sizes = {name: [size for _, size in largest(a, a)] for name, a in arrays.items()}
        # more than constants leave on the recorded samples
        self.limits = {
            name: [
                np.maximum(limits.REDRAW_APART, limits.REDRAW_AMPLIFIED * part) for part in parts
            ]
            for name, parts in self._gaps(run, self.base)
        }

    def first_differing(self, drawing: Drawing, after: int = 0) -> int | None:
        """The first turn in which the outputs differ; None if they agree in all."""
        for turn in range(after + 1, self.turns + 1):
            try:
                reference, candidate = self.runs(drawing, turn)
            except ReplayError:  # fresh samples outside what an operation takes
                self.refused += 1
                if self.refused >= limits.REFUSED_REDRAWS:
                    return None
                continue
            # what kernels draw by, as a rate that is drawn itself, is to be the same, too
            if self.differ(reference, candidate) or not all(
                stays_one(drawing.candidate[value], choice, reference, candidate)
                for value, choice in drawing.chosen.items()
            ):
                return turn
        return None

    def runs(self, drawing: Drawing, turn: int) -> tuple[Replay, Replay]:
        """Both models on fresh samples."""
        found = replace(self.found, drawing=replace(drawing, turn=turn))
        random = generator(turn, 7)
        reference, candidate = found.tapes
        far = turn % limits.FAR_REDRAW == 0
        given = fresh_samples(reference, drawing.reference, random, far)
        given |= by_kernels(found, turn, random if far else None)
        run = reference.replay("float64", given, found.reference.run)
        substituted: dict[int, Array] = {}
        for value, unit in drawing.candidate.items():
            choice = drawing.chosen.get(value)
            if choice is not None:
                substituted[value] = samples(found, unit, choice, run)
            elif unit.draw is not None and can_be_had(unit.draw):
                drawn = fresh(unit.draw, unit.shape, random, far)
                substituted[value] = as_drawn(candidate, unit, drawn)
        return run, candidate.replay("float64", substituted, self.base)

    def differ(self, reference: Replay, candidate: Replay) -> bool:
        """Whether the outputs differ by more than constants leave, in any slice."""
        return any(
            not (part <= _of_shape(limit, part)).all()
            for name, parts in self._gaps(reference, candidate)
            for part, limit in zip(parts, self.limits.get(name, ()), strict=False)
        )

    def differ_by_far(self, drawing: Drawing, turn: int) -> bool:
        """Whether they differ in a turn by more than rounding is ever amplified to."""
        return any(
            not part.max()
            <= limits.REDRAW_NO_ROUNDING * max(limit.max() for limit in self.limits[name])
            for name, parts in self._gaps(*self.runs(drawing, turn))
            if name in self.limits
            for part in parts
        )

    def _gaps(self, reference: Replay, candidate: Replay) -> Iterator[tuple[str, list[Array]]]:
        """By how much outputs differ, as a whole and in each slice of some values.

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

    def paired_on(self, drawing: Drawing, turn: int) -> Drawing | None:
        """The draws as they are paired on the samples of a turn, if the outputs agree then."""
        try:
            run, _ = self.runs(drawing, turn)
            found = match(Indexed(run.tape, run), self.found.side.tape)
        except ReplayError:
            return None
        agree = all(output_matches(found, pair) for pair in self.outputs)
        return found.drawing if agree else None

    def matched_on(self, drawing: Drawing, turn: int) -> Match:
        reference, candidate = self.runs(drawing, turn)
        samples = {unit.value: candidate.array(unit.value) for unit in drawing.unpaired}
        here = replace(drawing, turn=turn, fresh=samples)
        side = Indexed(reference.tape, reference)
        return match(side, self.found.side.tape, drawing=here)


def _turns(found: Match, decided: int) -> int:
    drawing = found.drawing
    sides = list(zip(found.tapes, drawing.origins, strict=True))
    sizes = [
        value.size
        for tape, origins in sides
        for value in tape.values
        if value.op >= 0 and value.id in origins.noise
    ]
    work = sum(
        not origins.noise.isdisjoint(op.inputs) for tape, origins in sides for op in tape.ops
    )
    if sum(sizes) > limits.LARGE_REDRAW:
        return 2
    most = min(
        limits.MOST_REDRAWS,
        limits.REDRAWN_OPERATIONS // max(work, 1),
        limits.REDRAWN_VALUES // max(sum(sizes), 1),
    )
    drawn = [unit.size for unit in (*drawing.reference, *drawing.candidate.values())]
    # what many draws make together, as the length of a vector, may have ends of its own; a single
    # one of all of them, as a loss, is counted where it decides
    together = [size for size in sizes if size > 1]
    # what cuts off the ends of a distribution shows in few samples of it
    least = (
        decided or limits.REDRAWN_DECISIONS,
        min(drawn),
        min(together, default=limits.REDRAWN_DECISIONS),
    )
    wanted = max(math.ceil(limits.REDRAWN_DECISIONS / one) for one in least)
    return min(max(2, most), max(limits.REDRAWS, wanted))


def _decided(found: Match) -> int:
    """How many integers, booleans and whole numbers noise decides, by what no pair shows."""
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
    """How many values are drawn for operations without an inside, which may decide anything."""
    drawn = found.drawing.reference, found.drawing.candidate.values()
    for tape, units in zip(found.tapes, drawn, strict=True):
        if tape.framework == "numpy" and units:
            return min(unit.size for unit in units)
    return 0


def _differs(drawing: Drawing, value: int) -> bool:
    """Whether a discrete draw stands for one of another distribution."""
    unit, choice = drawing.candidate.get(value), drawing.chosen.get(value)
    draw = unit.draw if unit is not None else None
    if draw is None or draw.name not in FAMILIES or not FAMILIES[draw.name].discrete:
        return False
    return choice is None or not alike(draw, choice.reference.draw)


def _of_shape(slices: Array, other: Array) -> Array:
    """Values by slice; where there are others, as of a list of another length, the largest."""
    return slices if slices.shape == other.shape else slices.max(keepdims=True, initial=0.0)
