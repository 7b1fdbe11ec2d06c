"""Where two models differ on other samples by more than rounding does there, output by output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.outputs import in_reference_layout
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replay_check import Outputs, PlainRun, recorded_outputs
from parity.matching.match import Match
from parity.numerics.difference import by_column
from parity.numerics.limits import U32
from parity.numerics.slices import beyond, by_slice, largest_of, unlike
from parity.tape import Array

Gap = list[Array]  # of an output: as a whole, and slice by slice along each axis


@dataclass(frozen=True)
class Apart:
    """An output in which two models differ on other samples.

    Attributes:
        gap: by how much.
        over: in which slices that is more than rounding.
        finite: for each model whether all numbers of its output are finite there.
    """

    pair: OutputPair
    names: tuple[str, str]
    gap: Gap
    over: list[Array]
    finite: tuple[bool, bool]


def names_of(matched: Match, pairs: Sequence[OutputPair]) -> tuple[list[str], list[str]]:
    """The names of outputs in the reference, and in the candidate."""
    tapes = matched.reference.tape, matched.side.tape
    reference, candidate = ({value: name for name, value in tape.outputs.items()} for tape in tapes)
    return [reference[pair.reference] for pair in pairs], [
        candidate[pair.candidate] for pair in pairs
    ]


def gaps(
    matched: Match, pairs: Sequence[OutputPair], reference: Outputs, candidate: Outputs
) -> dict[str, Gap]:
    """By how much outputs of two runs differ, by name."""
    found = {}
    for pair, name, other in zip(pairs, *names_of(matched, pairs), strict=True):
        if name not in reference or other not in candidate:
            found[pair.name] = unlike(())
        else:
            laid_out = lay(matched, pair, candidate[other], reference[name].shape)
            found[pair.name] = _gap(reference[name], laid_out)
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
    for pair, name, other in zip(pairs, *names_of(matched, pairs), strict=True):
        if name not in reference or other not in candidate:
            return float("inf")
        laid_out = lay(matched, pair, candidate[other], reference[name].shape)
        if laid_out.shape != reference[name].shape:
            return float("inf")
        found.append(by_column(reference[name], laid_out))
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


def _gap(a: Array, b: Array) -> Gap:
    return by_slice(a, b) if a.shape == b.shape else unlike(a.shape)


def apart_elsewhere(
    matched: Match,
    pairs: Sequence[OutputPair],
    plain: tuple[PlainRun, PlainRun],
    at: int,
    usual: Mapping[str, Gap],
) -> list[Apart]:
    """The outputs that differ on samples in another order by more than rounding does there."""
    runs = [elsewhere(one, at) for one in plain]
    found = []
    here = gaps(matched, pairs, *runs)
    for pair, *names in zip(pairs, *names_of(matched, pairs), strict=True):
        gap = here[pair.name]
        over = beyond(
            [part / limits.TIMES_ELSEWHERE for part in gap], [usual[pair.name], [np.array([U32])]]
        )
        finite = [
            name not in run or bool(np.isfinite(run[name]).all())
            for run, name in zip(runs, names, strict=True)
        ]
        found.append(Apart(pair, (names[0], names[1]), gap, over, (finite[0], finite[1])))
    for limit in _of_rounding(matched, plain, at):
        found = [one for one in found if any(part.any() for part in one.over)]
        if not found:
            break
        found = [_left(one, limit(one)) for one in found]
    return [one for one in found if any(part.any() for part in one.over)]


def _left(one: Apart, limit: Gap) -> Apart:
    """The same, of which a limit excuses some slices."""
    over = beyond([part / limits.TIMES_ELSEWHERE for part in one.gap], [limit])
    both = [a & b for a, b in zip(one.over, over, strict=True)]
    return Apart(one.pair, one.names, one.gap, both, one.finite)


def _of_rounding(
    matched: Match, plain: tuple[PlainRun, PlainRun], at: int
) -> Iterator[Callable[[Apart], Gap]]:
    """What rounding does to an output there, in either model, as far as it is needed."""
    # half of the samples may leave a matrix singular, or an element between two others
    for seed in range(limits.NUDGES):
        for side in (0, 1):
            yield partial(_moved, matched, plain[side], side, at, seed)
    # a kernel may round otherwise by where a sample lies: what saturates may be rounding alone
    for side in (0, 1):
        yield partial(_rounded, matched, side, _both_precisions(plain[side], at))
    # of a slice with few numbers one nudge may move none, by chance
    for seed in range(limits.NUDGES, limits.MORE_NUDGES):
        for side in (0, 1):
            yield partial(_moved, matched, plain[side], side, at, seed)


def _moved(matched: Match, plain: PlainRun, side: int, at: int, seed: int, one: Apart) -> Gap:
    """By how much a model's output moves where its inputs move by a rounding."""
    return _within(matched, one, side, elsewhere(plain, at), elsewhere(plain, at, seed))


def _both_precisions(plain: PlainRun, at: int) -> tuple[Outputs, Outputs] | None:
    """A model's outputs there in float64, and as they were recorded."""
    if plain.recorded is None:
        return None
    tape = plain.recorded(at)
    return tape.outputs_of("float64", {}), recorded_outputs(tape)


def _rounded(matched: Match, side: int, runs: tuple[Outputs, Outputs] | None, one: Apart) -> Gap:
    """By how much a model's output is rounded there: what float64 gives instead.

    Of a list that is as long as rounding has it float64 may give another, which shows nothing.
    """
    name = one.names[side]
    if runs is None or name not in runs[0] or runs[0][name].shape != runs[1][name].shape:
        return [np.zeros(1)]
    return _within(matched, one, side, *runs)


def _within(matched: Match, one: Apart, side: int, before: Outputs, after: Outputs) -> Gap:
    """The difference between two runs of one model, laid out as the difference of both is."""
    name = one.names[side]
    if name not in before or name not in after or before[name].shape != after[name].shape:
        return unlike(())
    shape = tuple(len(part) for part in one.gap[1:])
    pair = [
        lay(matched, one.pair, run[name], shape) if side else run[name] for run in (before, after)
    ]
    return by_slice(*pair)


def is_by_sample(
    matched: Match, apart: Sequence[Apart], plain: tuple[PlainRun, PlainRun], side: int, at: int
) -> bool:
    """Whether a model computes each sample by itself: then it takes them in any order.

    What changes nearly as much as the outputs differ is no model that does.
    """
    run = plain[side]
    order, here, there = run.orders[at], run.run(), elsewhere(run, at)
    if run.axis != 0:
        return False
    for one in apart:
        name = one.names[side]
        if here[name].ndim == 0 or len(here[name]) != run.count:
            return False
        changed = _within(matched, one, side, {name: here[name][order]}, there)
        if not changed[0][0] <= limits.BY_POSITION:
            return False
        for over, gap, part in zip(one.over, one.gap, changed, strict=False):
            alike = part if part.shape == over.shape else np.broadcast_to(part.max(), over.shape)
            if not (
                alike[over]
                <= np.minimum(limits.BY_POSITION, limits.EXPLAINED_BY_POSITION * gap[over])
            ).all():
                return False
    return True


def elsewhere(plain: PlainRun, at: int, seed: int | None = None) -> Outputs:
    """A model's outputs on the samples in one of the orders, nudged by a seed."""
    assert plain.elsewhere is not None
    return plain.elsewhere(at, seed)
