"""The verdict on each output by itself: of several heads one may part while the others agree."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from parity.diagnosis.region import OutputPair, ancestors
from parity.matching.fingerprint import SAME
from parity.matching.match import Match
from parity.numerics.difference import residual
from parity.numerics.rounding import U32


def output_verdicts(
    matched: Match,
    outputs: Sequence[OutputPair],
    verdict: str,
    ends: Mapping[int, str],
    apart: Collection[str],
) -> dict[str, str]:
    """`"parity"`, `"diverged"` or `"unverified"` of each output, by name.

    Args:
        matched: the models as they are.
        verdict: of the comparison. What is not known of an output is as unverified as that.
        ends: the candidate's values that end a parting, with its kind.
        apart: names of outputs that differ in shape, or in where they are NaN or infinite.
    """
    if verdict == "parity":
        return {pair.name: "parity" for pair in outputs}
    found = {}
    for pair in outputs:
        if pair.name in apart:
            found[pair.name] = "diverged"
        elif _same(matched, pair):
            told = verdict == "diverged" or matched.reference.informative(pair.reference)
            found[pair.name] = "parity" if told else "unverified"
        elif verdict == "unverified":
            found[pair.name] = "unverified"
        else:
            kinds = _kinds(matched, pair.candidate, ends)
            found[pair.name] = "diverged" if "divergence" in kinds or not kinds else "parity"
    if verdict == "diverged" and "diverged" not in found.values() and not apart:
        # in half precision alone, or an output is missing: what is equal bit by bit is not meant
        for pair in outputs:
            if not _equal_as_ran(matched, pair):
                found[pair.name] = "diverged"
    return found


def output_matches(found: Match, pair: OutputPair) -> bool:
    """Whether a candidate's output is the reference's, element by element."""
    ours, theirs = found.reference.array(pair.reference), found.side.array(pair.candidate)
    if ours.shape == theirs.shape:
        # an output that no input reaches is a constant, and may have been rounded to float32
        constant = all(
            producer is None or producer.static
            for producer in (
                found.reference.tape.producer(pair.reference),
                found.side.tape.producer(pair.candidate),
            )
        )
        return residual(ours, theirs) <= (4 * U32 if constant else SAME)
    # the other layout of images, batch first, is the one other shape that is no difference
    if ours.ndim < 3:
        return False
    return any(
        moved.shape == theirs.shape and residual(moved, theirs) <= SAME
        for moved in (np.moveaxis(ours, 1, -1), np.moveaxis(ours, -1, 1))
    )


def _same(matched: Match, pair: OutputPair) -> bool:
    ours = matched.reference.array(pair.reference)
    theirs = matched.side.run.array(pair.candidate)
    return ours.shape == theirs.shape and residual(ours, theirs) <= SAME


def _kinds(matched: Match, value: int, ends: Mapping[int, str]) -> set[str]:
    """Kinds of the partings that an output is made behind."""
    tape = matched.side.tape
    behind = {one for index in ancestors(tape, [value]) for one in tape.ops[index].outputs}
    return {kind for end, kind in ends.items() if end in behind}


def _equal_as_ran(matched: Match, pair: OutputPair) -> bool:
    ours, theirs = (
        tape.adapter.to_numpy(tape.recorded[value])
        for tape, value in (
            (matched.reference.tape, pair.reference),
            (matched.side.tape, pair.candidate),
        )
    )
    floats = ours.dtype.kind == theirs.dtype.kind == "f"
    return np.array_equal(ours, theirs, equal_nan=floats)
