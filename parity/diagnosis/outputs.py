"""The verdict on each output by itself: of several heads one may part while the others agree."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from parity.diagnosis.region import OutputPair, ancestors
from parity.matching.fingerprint import SAME
from parity.matching.match import Match
from parity.numerics.rounding import U32
from parity.tape import Array, Tape


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
    if verdict == "diverged" and "diverged" not in found.values():
        # in half precision alone, or an output is missing: what is equal bit by bit is not meant
        for pair in outputs:
            if not _equal_as_ran(matched, pair):
                found[pair.name] = "diverged"
    return found


def output_matches(found: Match, pair: OutputPair) -> bool:
    """Whether a candidate's output is the reference's, element by element."""
    theirs = in_reference_layout(found, pair, found.side.array(pair.candidate))
    if theirs is None:
        return False
    # an output that no input reaches is a constant, and may have been rounded to float32
    constant = all(
        producer is None or producer.static
        for producer in (
            found.reference.tape.producer(pair.reference),
            found.side.tape.producer(pair.candidate),
        )
    )
    return found.reference.distance(pair.reference, theirs) <= (4 * U32 if constant else SAME)


def in_reference_layout(found: Match, pair: OutputPair, candidate: Array) -> Array | None:
    """A candidate's output laid out as the reference's; None where its shape is another.

    The other layout of images is the one other shape that is no difference, and only where the
    operations say that it is one: both outputs are channels of a convolution or a pooling, or of
    images that the models were given.
    """
    shape = found.reference.array(pair.reference).shape
    if candidate.shape == shape:
        return candidate
    sides = (found.reference.tape, pair.reference), (found.side.tape, pair.candidate)
    if candidate.ndim == len(shape) and all(_is_image(*side) for side in sides):
        for moved in (np.moveaxis(candidate, 1, -1), np.moveaxis(candidate, -1, 1)):
            if moved.shape == shape:
                return moved
    return None


# Parts of the names of operations whose operands have channels.
_IMAGES = ("conv", "pool", "upsample", "resize", "batchnorm", "batch_norm", "batchnormalization")


def _is_image(tape: Tape, value: int) -> bool:
    """Whether a value is what an operation on images gives, or an image, element by element."""
    stack, seen = [value], set()
    while stack:
        at = stack.pop()
        op = tape.producer(at)
        rank = len(tape.values[at].shape)
        if rank < 3:
            continue
        if op is None:
            if tape.values[at].kind == "input" and rank > 3:
                return True
            continue
        if any(part in op.kind.lower() for part in _IMAGES):
            return True
        for source in op.inputs:
            before = tape.values[source].shape
            moved = (
                op.role == "move" and rank > 3 and sorted(before) == sorted(tape.values[at].shape)
            )
            if source not in seen and (moved or before == tape.values[at].shape):
                seen.add(source)
                stack.append(source)
    return False


def _same(matched: Match, pair: OutputPair) -> bool:
    theirs = matched.side.run.array(pair.candidate)
    if matched.reference.array(pair.reference).shape != theirs.shape:
        return False
    return matched.reference.distance(pair.reference, theirs) <= SAME


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
