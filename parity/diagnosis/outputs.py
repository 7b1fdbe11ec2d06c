"""The verdict on each output by itself: of several heads one may part while the others agree."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from parity.diagnosis.region import OutputPair, ancestors
from parity.matching.fingerprint import SAME
from parity.matching.match import Match
from parity.numerics.difference import residual
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
    if verdict == "diverged" and "diverged" not in found.values() and not apart:
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
    if is_constant(found, pair):
        return residual(found.reference.array(pair.reference), theirs) <= 4 * U32
    return found.reference.distance(pair.reference, theirs) <= SAME


def is_constant(found: Match, pair: OutputPair) -> bool:
    """Whether no input reaches an output: a constant, that may have been rounded to float32."""
    producers = (
        found.reference.tape.producer(pair.reference),
        found.side.tape.producer(pair.candidate),
    )
    return all(producer is None or producer.static for producer in producers)


def in_reference_layout(found: Match, pair: OutputPair, candidate: Array) -> Array | None:
    """A candidate's output laid out as the reference's; None where its shape is another.

    The other layout of images is the one other shape that is no difference, and only where the
    models were given images in two layouts, or both outputs come of an operation on images.
    """
    shape = found.reference.array(pair.reference).shape
    if candidate.shape == shape:
        return candidate
    if candidate.ndim != len(shape) or candidate.ndim < 4:
        return None
    for moved in (np.moveaxis(candidate, 1, -1), np.moveaxis(candidate, -1, 1)):
        if moved.shape == shape and (_of_image_operations(found, pair) or _of_images(found, pair)):
            return moved
    return None


# Parts of the names of operations whose operands have channels; of those that sum products.
_IMAGES = ("conv", "pool", "upsample", "resize", "batchnorm", "batch_norm")
_PRODUCTS = ("matmul", "mm", "einsum")


def _of_image_operations(found: Match, pair: OutputPair) -> bool:
    """Whether both outputs come of operations on images of their own number of axes."""

    def is_one(tape: Tape, value: int, out: int) -> bool:
        op, rank = tape.producer(value), len(tape.values[out].shape)
        named = op is not None and any(part in op.kind.lower() for part in _IMAGES)
        return named and len(tape.values[value].shape) == rank

    sides = (found.reference.tape, pair.reference), (found.side.tape, pair.candidate)
    return all(
        any(is_one(tape, one, out) for one in _of_images_too(tape, out)) for tape, out in sides
    )


def _of_images(found: Match, pair: OutputPair) -> bool:
    """Whether the outputs come of images that were given to the models in two layouts."""
    tapes = found.reference.tape, found.side.tape
    given = [
        one
        for value in tapes[1].inputs.values()
        if (one := found.pairs.get(value)) is not None and not one.order.identity
    ]
    reached = _of_images_too(tapes[0], pair.reference), _of_images_too(tapes[1], pair.candidate)
    return any(one.reference in reached[0] and one.candidate in reached[1] for one in given)


def _of_images_too(tape: Tape, value: int) -> set[int]:
    """The values before one that are images if it is: up to a flattening, or an attention."""
    batch = tape.values[value].shape[0]
    seen, stack = {value}, [value]
    while stack:
        op = tape.producer(stack.pop())
        if op is None or any(part in op.kind.lower() for part in _IMAGES):
            continue
        live = [one for one in op.inputs if tape.is_live(one)]
        if len(live) > 1 and any(part in op.kind.lower() for part in _PRODUCTS):
            continue
        for source in live:
            shape = tape.values[source].shape
            flat = len(shape) < 3 and (not shape or shape[0] == batch)
            if source not in seen and not flat:
                seen.add(source)
                stack.append(source)
    return seen


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
