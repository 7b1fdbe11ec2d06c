"""Where two models differ on other samples by more than rounding does there, output by output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.outputs import in_reference_layout
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replay_check import Outputs, PlainRun, PlainRuns, recorded_outputs
from parity.matching.match import Match
from parity.numerics.difference import by_column
from parity.numerics.limits import U32
from parity.numerics.slices import beyond, by_slice, largest_of, unlike
from parity.tape import Array, Tape

Gap = list[Array]  # of an output: as a whole, and slice by slice along each axis


@dataclass(frozen=True)
class OutputGap:
    """By how much two models differ in an output on other samples.

    Attributes:
        gap: by how much.
        over: in which slices that is more than rounding.
        finite: for each model whether its output is finite throughout.
    """

    pair: OutputPair
    gap: Gap
    over: list[Array]
    finite: tuple[bool, bool]

    @property
    def differs(self) -> bool:
        return any(part.any() for part in self.over)

    def beyond(self, limit: Gap) -> OutputGap:
        """The same, of which a limit excuses some slices."""
        over = beyond([part / limits.TIMES_ELSEWHERE for part in self.gap], [limit])
        return replace(self, over=[a & b for a, b in zip(self.over, over, strict=True)])


def gaps(
    matched: Match, pairs: Sequence[OutputPair], reference: Outputs, candidate: Outputs
) -> dict[str, Gap]:
    """By how much outputs of two runs differ, by name."""
    found = {}
    for pair in pairs:
        if pair.name in reference and pair.candidate_name in candidate:
            a, b = _both(matched, pair, reference, candidate)
            found[pair.name] = by_slice(a, b) if a.shape == b.shape else unlike(a.shape)
        else:
            found[pair.name] = unlike(())
    return found


def differ(
    matched: Match,
    pairs: Sequence[OutputPair],
    reference: Outputs,
    candidate: Outputs,
    limit: float,
) -> bool:
    return not difference(matched, pairs, reference, candidate) <= limit


def difference(
    matched: Match, pairs: Sequence[OutputPair], reference: Outputs, candidate: Outputs
) -> float:
    """The largest relative difference of outputs of two runs; inf where they cannot be compared."""
    found = [0.0]
    for pair in pairs:
        if pair.name not in reference or pair.candidate_name not in candidate:
            return float("inf")
        a, b = _both(matched, pair, reference, candidate)
        if a.shape != b.shape:
            return float("inf")
        found.append(by_column(a, b))
    return max(found)


def usual_gaps(
    matched: Match, pairs: Sequence[OutputPair], runs: Sequence[Outputs], count: int
) -> dict[str, Gap]:
    """By how much outputs differ on the given inputs: of samples the largest, in any order."""
    return {
        name: [largest_of([part])[0] if len(part) == count else part for part in gap]
        for name, gap in gaps(matched, pairs, runs[0], runs[1]).items()
    }


def lay(matched: Match, pair: OutputPair, array: Array, shape: tuple[int, ...]) -> Array:
    """A candidate's output as the reference's of a shape lies, if it can be laid out so."""
    laid_out = in_reference_layout(matched, pair, array, shape)  # it may depend on the samples
    return array if laid_out is None else laid_out


def _both(
    matched: Match, pair: OutputPair, reference: Outputs, candidate: Outputs
) -> tuple[Array, Array]:
    array = reference[pair.name]
    return array, lay(matched, pair, candidate[pair.candidate_name], array.shape)


def differing_elsewhere(
    matched: Match,
    pairs: Sequence[OutputPair],
    plain: PlainRuns,
    at: int,
    usual: Mapping[str, Gap],
) -> list[OutputGap]:
    """The outputs that differ on samples in another order by more than rounding does there."""
    runs = [one.elsewhere(at) for one in plain]
    found = []
    here = gaps(matched, pairs, *runs)
    for pair in pairs:
        gap = here[pair.name]
        over = beyond(
            [part / limits.TIMES_ELSEWHERE for part in gap], [usual[pair.name], [np.array([U32])]]
        )
        finite = [
            name not in run or bool(np.isfinite(run[name]).all())
            for run, name in zip(runs, pair.names, strict=True)
        ]
        found.append(OutputGap(pair, gap, over, (finite[0], finite[1])))
    found = [one for one in found if one.differs]
    for limit in _of_rounding(matched, plain, at):
        if not found:
            break
        found = [one for one in (one.beyond(limit(one)) for one in found) if one.differs]
    return found


def _of_rounding(matched: Match, plain: PlainRuns, at: int) -> Iterator[Callable[[OutputGap], Gap]]:
    """What rounding does to an output there, in either model, as far as it is needed."""
    # half of the samples may leave a matrix singular, or an element between two others
    for seed in range(limits.NUDGES):
        for side in (0, 1):
            yield partial(_moved, matched, plain[side], side, at, seed)
    # a kernel may round otherwise by where a sample lies: what saturates may be rounding alone
    for side in (0, 1):
        tape = plain[side].recorded(at)
        yield partial(_rounded, matched, side, tape, tape.outputs_of("float64", {}))
    # of a slice with few numbers one nudge may move none, by chance
    for seed in range(limits.NUDGES, limits.MORE_NUDGES):
        for side in (0, 1):
            yield partial(_moved, matched, plain[side], side, at, seed)


def _moved(matched: Match, plain: PlainRun, side: int, at: int, seed: int, one: OutputGap) -> Gap:
    """By how much a model's output moves where its inputs move by a rounding."""
    return _within(matched, one, side, plain.elsewhere(at), plain.elsewhere(at, seed))


def _rounded(matched: Match, side: int, tape: Tape, exact: Outputs, one: OutputGap) -> Gap:
    """By how much float64 gives another output; a list of another length there shows nothing."""
    name, ran = one.pair.names[side], recorded_outputs(tape)
    if name not in exact or exact[name].shape != ran[name].shape:
        return [np.zeros(1)]
    return _within(matched, one, side, exact, ran)


def _within(matched: Match, one: OutputGap, side: int, before: Outputs, after: Outputs) -> Gap:
    """The difference between two runs of one model, laid out as the difference of both is."""
    name = one.pair.names[side]
    if name not in before or name not in after or before[name].shape != after[name].shape:
        return unlike(())
    shape = tuple(len(part) for part in one.gap[1:])
    pair = [
        lay(matched, one.pair, run[name], shape) if side else run[name] for run in (before, after)
    ]
    return by_slice(*pair)


def is_by_sample(
    matched: Match, gaps: Sequence[OutputGap], plain: Sequence[PlainRun], side: int, at: int
) -> bool:
    """Whether a model computes each sample by itself: then it takes them in any order.

    What changes nearly as much as the outputs differ is no model that does.
    """
    run = plain[side]
    order, here, there = run.orders[at], run.run(), run.elsewhere(at)
    if run.axis != 0:
        return False
    for one in gaps:
        name = one.pair.names[side]
        if here[name].ndim == 0 or len(here[name]) != run.count:
            return False
        changed = _within(matched, one, side, {name: here[name][order]}, there)
        if not changed[0][0] <= limits.BY_POSITION:
            return False
        for over, gap, part in zip(one.over, one.gap, changed, strict=False):
            alike = part if part.shape == over.shape else np.broadcast_to(part.max(), over.shape)
            allowed = np.minimum(limits.BY_POSITION, limits.EXPLAINED_BY_POSITION * gap[over])
            if not (alike[over] <= allowed).all():
                return False
    return True
