"""What kind of difference a mismatch is: a divergence, or one of those that are none.

rounding            shrinks with the precision: ill-conditioned operations, no other formula
constant-precision  one float32 rounding of a constant or parameter explains it
low-precision       the same, of a parameter in float16 or bfloat16
parameter-differs   no more than that, but of a parameter that is another and no rounding
null-distribution   without float64: no larger than what moving inputs by one rounding leaves
no-float64          nor does that show it: it could not be measured, or leaves what a fault would
other-length        of a list that is longer or shorter in float64 than as it ran
host-read           small, and behind values that the host computed, which have no float64
unpaired-random     random draws that have no counterpart
one-draws           the same, where the other model draws nothing at all
"""

from __future__ import annotations

from collections.abc import Sequence
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
from parity.diagnosis.region import Mismatch, OutputPair
from parity.diagnosis.stress_inputs import amplified
from parity.errors import ReplayError
from parity.matching.match import Match
from parity.numerics.accounting import lost_of_ones
from parity.numerics.difference import residual
from parity.numerics.limits import RANK_DRAWS, UNITS
from parity.numerics.null_distribution import null_test
from parity.numerics.precision_scaling import is_rounding, working_residual
from parity.tape import Array


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


_LOST = "float32 loses where 1 is added to small values, and no float64 shows it"


def classify(repaired: Match, mismatch: Mismatch, outputs: Sequence[OutputPair]) -> MismatchKind:
    """The kind of a mismatch.

    Args:
        repaired: the match in which every mismatch is repaired, so that all that enters its
            operations is the reference's.
    """
    if any(mismatch.random):
        kind_of_draws = of_draws(repaired, mismatch)
        if kind_of_draws is not None:
            return MismatchKind(*kind_of_draws)
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
    if any(_have_fallbacks(repaired, mismatch)):
        return _without_float64(repaired, mismatch)
    ops = [(region.tape, op) for region in mismatch.regions for op in region.ops]
    baked = any(tape.is_baked(op) for tape, op in ops)
    rounded = any(op.index in tape.rounded_ops for tape, op in ops)
    if baked and mismatch.explained < mismatch.residual <= limits.BY_THE_HOST:
        return MismatchKind("host-read")
    if mismatch.residual <= mismatch.explained:
        # what the host made stays as it was, and says nothing on other inputs
        case = None if baked or rounded else case_of(repaired, mismatch, same_inputs=True)
        detail = "" if case is None else amplified(case, outputs)
        if detail:
            return MismatchKind("divergence", detail, elsewhere=True)
        other = other_parameters(repaired, mismatch, case)
        if other:
            return MismatchKind("parameter-differs", other)
        return MismatchKind("low-precision" if _reads_narrow(mismatch) else "constant-precision")
    if _is_of_another_length(repaired, mismatch):
        return MismatchKind("other-length")
    working = _in_working_precision(repaired, mismatch)
    if is_rounding(mismatch.residual, working):
        return MismatchKind("rounding", f"in the working precision it is {working:.1e} of its size")
    if _cancels(repaired, mismatch):
        return MismatchKind("rounding", "it is a sum of what cancels, and zero but for rounding")
    return MismatchKind("divergence")


def _cancels(repaired: Match, mismatch: Mismatch) -> bool:
    """Whether both models sum what cancels in float64, as the gradient of a bias behind a softmax.

    That of a shift that nothing depends on is zero: what is left is rounding in any precision.
    """
    assert mismatch.values is not None
    for side, value in zip((repaired.reference, repaired.side), mismatch.values, strict=True):
        op = side.tape.producer(side.tape.before_moves(value))
        if op is None or op.word not in ("sum", "mean"):
            return False
        terms, found = np.abs(side.array(op.inputs[0])), np.abs(side.array(value))
        whole = terms.sum(dtype=np.float64) / max(found.size, 1)
        if not found.size or not found.max() <= limits.FLOAT64_CANCELLED * whole:
            return False
    return True


def _have_fallbacks(repaired: Match, mismatch: Mismatch) -> list[bool]:
    """Of either region, whether some operation of it has no float64."""
    sides = zip((repaired.reference.run, repaired.side.run), mismatch.regions, strict=True)
    return [any(op in run.fallbacks for op in region.ops) for run, region in sides]


def _without_float64(repaired: Match, mismatch: Mismatch) -> MismatchKind:
    """Judged against what rounding does to these operations, if that can be measured."""
    case = case_of(repaired, mismatch, same_inputs=True)
    if case is None:
        return MismatchKind("no-float64")
    tape = repaired.reference.tape

    def reference(arrays: dict[int, Array]) -> Array:
        return case.ends(*case.replays(arrays, None))[0]

    def candidate(arrays: dict[int, Array]) -> Array:
        return case.ends(*case.replays(arrays, None))[1]

    recorded = {value: tape.recorded_array(value) for value in case.roots}
    weights = {leaf: tape.recorded_array(leaf) for leaf in mismatch.reference.leaves()}
    random = np.random.default_rng(0)
    inputs = [recorded]
    for _ in range(limits.INDEPENDENT_INPUTS - 1):
        inputs.append({value: _others(array, random) for value, array in recorded.items()})
    wide = [side for side in (0, 1) if not _have_fallbacks(repaired, mismatch)[side]]

    def own(arrays: dict[int, Array]) -> float:
        """The rounding of the side that has float64."""
        ran = case.ends(*case.replays(arrays, None))
        exact = case.ends(*case.replays({v: a.astype(np.float64) for v, a in arrays.items()}))
        return max((residual(exact[side], ran[side]) for side in wide), default=0.0)

    try:
        likelihood = null_test(reference, candidate, inputs, weights, own)
    except ReplayError:  # other inputs are outside what an operation takes
        return MismatchKind("no-float64")
    least = (1 / (RANK_DRAWS + 1)) ** limits.INDEPENDENT_INPUTS
    rate = f"false-alarm rate {least:.2g} for each such operation"
    if likelihood <= least:
        if all(_is_lost_of_ones(reference(arrays), candidate(arrays)) for arrays in inputs):
            return MismatchKind(
                "no-float64", f"as they ran no element differs by more than {_LOST}"
            )
        return MismatchKind("divergence", f"no float64 here: larger than rounding leaves ({rate})")
    gap = residual(reference(recorded), candidate(recorded))
    if gap > limits.WITHOUT_FLOAT64:
        return MismatchKind(
            "no-float64",
            f"as they ran they differ by {gap:.1e} of their size; rounding leaves as much "
            "here, and without float64 it cannot be distinguished from a fault",
        )
    ops = [(region.tape, op) for region in mismatch.regions for op in region.ops]
    if any(tape.kernels.get(op.index) is False for tape, op in ops):
        # another function in float64: it may lose single elements, which count for nothing here
        return MismatchKind("no-float64")
    return MismatchKind(
        "null-distribution", f"no float64 here: no larger than rounding leaves ({rate})"
    )


def _is_lost_of_ones(reference: Array, candidate: Array) -> bool:
    """Whether arrays differ by no more than float32 loses where 1 is added to small values."""
    if reference.shape != candidate.shape or reference.dtype.kind != "f":
        return False
    gap = np.abs(reference.astype(np.float64) - candidate)
    return bool((gap <= lost_of_ones(reference) * np.maximum(1, np.abs(reference))).all())


def _others(array: Array, random: np.random.Generator) -> Array:
    """Values of the same mean and spread; integers, which may be indices, in another order."""
    if array.dtype.kind != "f":
        return random.permutation(array.ravel()).reshape(array.shape)
    return random.normal(array.mean(), array.std() or 1.0, array.shape).astype(array.dtype)


def _reads_narrow(mismatch: Mismatch) -> bool:
    leaves = (region.tape.values[leaf] for region in mismatch.regions for leaf in region.leaves())
    return any(leaf.dtype in UNITS and leaf.dtype != "float32" for leaf in leaves)


def _is_of_another_length(repaired: Match, mismatch: Mismatch) -> bool:
    """Whether rounding decides how many values there are, as of those above a limit."""
    assert mismatch.values is not None
    sides = zip((repaired.reference, repaired.side), mismatch.values, strict=True)
    return any(side.array(value).size != side.tape.values[value].size for side, value in sides)


def _in_working_precision(repaired: Match, mismatch: Mismatch) -> float:
    """What the candidate's operations leave when they get the reference's recorded bits."""
    assert mismatch.values is not None and mismatch.order is not None
    tape, (value, end), region = repaired.reference.tape, mismatch.values, mismatch.candidate
    inputs = {}
    for one in region.boundary():
        pair = repaired.pairs.get(one)
        if pair is not None:
            recorded = tape.recorded_array(pair.reference)
            if pair.order.takes(recorded):
                inputs[one] = pair.order.apply(recorded)
    arrays = tape.recorded_array(value), repaired.reference.array(value)
    ran, exact = map(mismatch.order.apply, arrays)
    return working_residual((ran, exact), region.tape, inputs, region.ops, end)
