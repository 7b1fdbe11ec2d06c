"""What kind of difference a mismatch is: a divergence, or one of those that are none.

rounding            shrinks with the precision: ill-conditioned operations, no other formula
constant-precision  one float32 rounding of a constant or parameter explains it
low-precision       the same, of a parameter in float16 or bfloat16
parameter-differs   no more than that, but of a parameter that is another and no rounding
null-distribution   without float64: no larger than what moving inputs by one rounding leaves
no-float64          nor does that tell: it could not be measured, or leaves what a fault would
other-length        of a list that is longer or shorter in float64 than as it ran
host-read           small, and behind numbers that the host computed, which have no float64
unpaired-random     random draws that have no counterpart
one-draws           the same, where the other model draws nothing at all
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.case import case_of
from parity.diagnosis.differing_parameters import other_parameters
from parity.diagnosis.divergent_draws import (
    not_sure,
    of_draws,
    one_law,
    other_distributions,
    same_distribution,
)
from parity.diagnosis.region import Mismatch, OutputPair, Region
from parity.diagnosis.stress_inputs import amplified
from parity.errors import ReplayError
from parity.matching.match import Match
from parity.numerics.accounting import lost_of_ones
from parity.numerics.difference import residual
from parity.numerics.limits import RANK_DRAWS, UNITS
from parity.numerics.null_distribution import null_test
from parity.numerics.precision_scaling import is_rounding, working_residual
from parity.tape import Array, Op, Tape


@dataclass(frozen=True)
class MismatchKind:
    """The kind of a mismatch, and what is to be said of it besides.

    Attributes:
        name: `"divergence"`, or one of the kinds above.
        detail: a sentence for the report, or "".
        elsewhere: whether it is a divergence on other inputs than those that were given.
    """

    name: str
    detail: str = ""
    elsewhere: bool = False


_LOST = "float32 loses where 1 is added to small numbers, and no float64 tells"


def classify(
    repaired: Match, mismatch: Mismatch, outputs: Sequence[OutputPair] = ()
) -> MismatchKind:
    """The kind of a mismatch.

    Args:
        repaired: the match in which every mismatch is repaired, so that all that enters its
            operations is the reference's.
    """
    if any(mismatch.random):
        told = of_draws(repaired, mismatch)
        if told is not None:
            return MismatchKind(*told)
    kind = _deterministic(repaired, mismatch, outputs)
    if kind.name == "divergence":
        law = one_law(repaired, mismatch)
        if law:
            return MismatchKind("random", law)
        unpaired = same_distribution(repaired, mismatch) or not_sure(repaired, mismatch, outputs)
        if unpaired:
            return MismatchKind("unpaired-random", unpaired)
    if kind == MismatchKind("divergence"):
        return MismatchKind("divergence", other_distributions(repaired, mismatch))
    return kind


def _deterministic(
    repaired: Match, mismatch: Mismatch, outputs: Sequence[OutputPair]
) -> MismatchKind:
    """The kind where the draws are paired, if there are any: they are values like others then."""
    if mismatch.values is None:
        return MismatchKind("divergence")
    if _fell_back(repaired, mismatch):
        return _without_float64(repaired, mismatch)
    ops = [(side.tape, op) for side in (mismatch.reference, mismatch.candidate) for op in side.ops]
    baked = any(tape.is_baked(op) for tape, op in ops)
    rounded = any(op.index in tape.rounded_ops for tape, op in ops)
    if baked and mismatch.explained < mismatch.residual <= limits.BY_THE_HOST:
        return MismatchKind("host-read")
    if mismatch.residual <= mismatch.explained:
        # numbers that the host made stay as they were, and say nothing on other inputs
        detail = "" if baked or rounded else amplified(repaired, mismatch, outputs)
        if detail:
            return MismatchKind("divergence", detail, elsewhere=True)
        other = other_parameters(repaired, mismatch)
        if other:
            return MismatchKind("parameter-differs", other)
        return MismatchKind("low-precision" if _low(mismatch) else "constant-precision")
    if _is_of_another_length(repaired, mismatch):
        return MismatchKind("other-length")
    working = _in_working_precision(repaired, mismatch)
    if is_rounding(mismatch.residual, working):
        return MismatchKind("rounding", f"in the working precision it is {working:.1e} of its size")
    return MismatchKind("divergence")


def _fell_back(repaired: Match, mismatch: Mismatch) -> bool:
    return any(_has_fallback(repaired, mismatch, side) for side in (0, 1))


def _has_fallback(repaired: Match, mismatch: Mismatch, side: int) -> bool:
    run = (repaired.reference.run, repaired.side.run)[side]
    region = (mismatch.reference, mismatch.candidate)[side]
    return any(op in run.fallbacks for op in region.ops)


def _is_another(tape: Tape, op: Op) -> bool:
    """Whether a kernel was seen to be another function in float64 than the one that ran."""
    return tape.kernels.get(op.index) is False


def _without_float64(repaired: Match, mismatch: Mismatch) -> MismatchKind:
    """Judged against what rounding does to these operations, if that can be measured."""
    case = case_of(repaired, mismatch, same_inputs=True)
    if case is None:
        return MismatchKind("no-float64")
    tape = repaired.reference.tape

    def ours(arrays: dict[int, Array]) -> Array:
        return case.ends(*case.replays(arrays, None))[0]

    def theirs(arrays: dict[int, Array]) -> Array:
        return case.ends(*case.replays(arrays, None))[1]

    def recorded_array(value: int) -> Array:
        return tape.adapter.to_numpy(tape.recorded[value])

    recorded = {value: recorded_array(value) for value in case.roots}
    weights = {leaf: recorded_array(leaf) for leaf in mismatch.reference.leaves()}
    random = np.random.default_rng(0)
    inputs = [recorded]
    for _ in range(limits.INDEPENDENT_INPUTS - 1):
        inputs.append({value: _others(array, random) for value, array in recorded.items()})
    wide = [side for side in (0, 1) if not _has_fallback(repaired, mismatch, side)]

    def own(arrays: dict[int, Array]) -> float:
        """The rounding of the side that has float64."""
        ran = case.ends(*case.replays(arrays, None))
        exact = case.ends(*case.replays({v: a.astype(np.float64) for v, a in arrays.items()}))
        return max((residual(exact[side], ran[side]) for side in wide), default=0.0)

    try:
        likelihood = null_test(ours, theirs, inputs, weights, own)
    except ReplayError:  # other inputs are outside what an operation takes
        return MismatchKind("no-float64")
    least = (1 / (RANK_DRAWS + 1)) ** limits.INDEPENDENT_INPUTS
    rate = f"false-alarm rate {least:.2g} for each such operation"
    if likelihood <= least:
        if all(_is_lost_of_ones(ours(arrays), theirs(arrays)) for arrays in inputs):
            return MismatchKind(
                "no-float64", f"as they ran no element differs by more than {_LOST}"
            )
        return MismatchKind("divergence", f"no float64 here: larger than rounding leaves ({rate})")
    apart = residual(ours(recorded), theirs(recorded))
    if apart > limits.WITHOUT_FLOAT64:
        return MismatchKind(
            "no-float64",
            f"as they ran they differ by {apart:.1e} of their size; rounding leaves as much "
            "here, and without float64 it cannot be distinguished from a fault",
        )
    if any(
        _is_another(side.tape, op)
        for side in (mismatch.reference, mismatch.candidate)
        for op in side.ops
    ):
        return MismatchKind(
            "no-float64"
        )  # it may lose single elements, which count for nothing here
    return MismatchKind(
        "null-distribution", f"no float64 here: no larger than rounding leaves ({rate})"
    )


def _is_lost_of_ones(reference: Array, candidate: Array) -> bool:
    """Whether arrays differ by no more than float32 loses of small numbers that 1 is added to.

    A script may do that where nothing looks.
    """
    if reference.shape != candidate.shape or reference.dtype.kind != "f":
        return False
    gap = np.abs(reference.astype(np.float64) - candidate)
    return bool((gap <= lost_of_ones(reference) * np.maximum(1, np.abs(reference))).all())


def _others(array: Array, random: np.random.Generator) -> Array:
    """Numbers of the same mean and spread; integers, which may be indices, in another order."""
    if array.dtype.kind != "f":
        return random.permutation(array.ravel()).reshape(array.shape)
    return random.normal(array.mean(), array.std() or 1.0, array.shape).astype(array.dtype)


def _low(mismatch: Mismatch) -> bool:
    return any(
        region.tape.values[leaf].dtype in UNITS and region.tape.values[leaf].dtype != "float32"
        for region in (mismatch.reference, mismatch.candidate)
        for leaf in region.leaves()
    )


def _is_of_another_length(repaired: Match, mismatch: Mismatch) -> bool:
    """Whether rounding decides how many numbers there are, as of those above a limit."""
    assert mismatch.values is not None
    reference = repaired.reference.array(mismatch.values[0]).size, repaired.reference.tape
    candidate = repaired.side.array(mismatch.values[1]).size, repaired.side.tape
    return any(
        size != tape.values[value].size
        for (size, tape), value in zip((reference, candidate), mismatch.values, strict=True)
    )


def _in_working_precision(repaired: Match, mismatch: Mismatch) -> float:
    """What the candidate's operations leave when they get the reference's recorded bits."""
    assert mismatch.values is not None and mismatch.order is not None
    tape, value = repaired.reference.tape, mismatch.values[0]
    recorded = tape.adapter.to_numpy(tape.recorded[value])
    exact = repaired.reference.array(value)
    return working_residual(
        (mismatch.order.apply(recorded), mismatch.order.apply(exact)),
        mismatch.candidate.tape,
        recorded_inputs(repaired, mismatch.candidate),
        mismatch.candidate.ops,
        mismatch.values[1],
    )


def recorded_inputs(repaired: Match, region: Region) -> Mapping[int, Array]:
    """What enters a region of the candidate, as the reference recorded it."""
    tape = repaired.reference.tape
    found = {}
    for value in region.boundary():
        pair = repaired.pairs.get(value)
        if pair is not None:
            recorded = tape.adapter.to_numpy(tape.recorded[pair.reference])
            if pair.order.takes(recorded):
                found[value] = pair.order.apply(recorded)
    return found
