"""The verdict on each output by itself: of several heads one may differ while the others agree."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.image_axes import are_images
from parity.diagnosis.region import OutputPair
from parity.matching.axis_order import Order, without_ones
from parity.matching.limits import SAME
from parity.matching.match import Match
from parity.numerics.difference import residual
from parity.numerics.limits import U32
from parity.tape import Array, Replay


def output_verdicts(
    matched: Match,
    outputs: Sequence[OutputPair],
    verdict: str,
    ends: Mapping[int, str],
    differing: Collection[str],
) -> dict[str, str]:
    """`"parity"`, `"diverged"` or `"unverified"` of each output, by name.

    Args:
        matched: the models as they are.
        verdict: of the comparison. What is not known of an output is as unverified as that.
        ends: the candidate's values that end a mismatch, with its kind.
        differing: names of outputs that differ in shape, or in where they are NaN or infinite.
    """
    if verdict == "parity":
        return {pair.name: "parity" for pair in outputs}
    found = {}
    # in the match what is nearly the reference's is the reference's: a difference may end there
    own = matched.side.tape.replay("float64", matched.given) if verdict == "diverged" else None
    for pair in outputs:
        kinds = _kinds(matched, pair.candidate, ends)
        if pair.name in differing:
            found[pair.name] = "diverged"
        elif own is not None and "divergence" in kinds:
            seen = _gap(matched, pair, own) > limits.SEEN_IN_OUTPUTS
            found[pair.name] = "diverged" if seen else "parity"
        elif _gap(matched, pair, matched.side.run) <= SAME:
            known = verdict == "diverged" or matched.reference.informative(pair.reference)
            found[pair.name] = "parity" if known else "unverified"
        elif verdict == "unverified":
            found[pair.name] = "unverified"
        else:
            found[pair.name] = "parity" if kinds else "diverged"
    if verdict == "diverged" and "diverged" not in found.values() and not differing:
        # in half precision alone, or an output is missing: what is equal bit by bit is not meant
        for pair in outputs:
            if not _equal_as_ran(matched, pair):
                found[pair.name] = "diverged"
    return found


def output_matches(found: Match, pair: OutputPair) -> bool:
    """Whether a candidate's output is the reference's, element by element."""
    candidate = in_reference_layout(found, pair, found.side.array(pair.candidate))
    if candidate is None:
        return False
    if is_constant(found, pair):
        return residual(found.reference.array(pair.reference), candidate) <= 4 * U32
    return found.reference.distance(pair.reference, candidate) <= SAME


def is_constant(found: Match, pair: OutputPair) -> bool:
    """Whether no input reaches an output: a constant, that may have been rounded to float32."""
    makers = [tape.producer(value) for tape, value in zip(found.tapes, pair.values, strict=True)]
    return all(maker is None or maker.static for maker in makers)


def in_reference_layout(
    found: Match, pair: OutputPair, candidate: Array, shape: tuple[int, ...] | None = None
) -> Array | None:
    """A candidate's output laid out as the reference's; None where its shape is another.

    The other layout of images is the one other shape that is no difference, and only where the
    models were given images in two layouts, or both outputs come of an operation on images.

    Args:
        shape: the reference's, where it is not that of the recorded samples.
    """
    if shape is None:
        shape = found.reference.array(pair.reference).shape
    if candidate.shape == shape:
        return in_layout_of_a_cube(found, pair, candidate)
    if candidate.ndim != len(shape) or candidate.ndim < 4:
        return None
    for way in _WAYS if candidate.ndim == 4 else (*_WAYS, *_WAYS_OF_FILMS):
        moved = np.moveaxis(candidate, *way)
        if moved.shape == shape and are_images(found, pair):
            return moved
    return None


_WAYS = (1, -1), (-1, 1)
_WAYS_OF_FILMS = (2, -1), (-1, 2)  # whose frames come before the channels


def laid_out(
    found: Match, pair: OutputPair, reference: Mapping[str, Array], candidate: Mapping[str, Array]
) -> tuple[Array, Array] | None:
    """An output of two runs in the reference's layout; None where one has none of that shape."""
    if pair.name not in reference or pair.candidate_name not in candidate:
        return None
    a, b = reference[pair.name], in_reference_layout(found, pair, candidate[pair.candidate_name])
    return None if b is None or a.shape != b.shape else (a, b)


def in_layout_of_a_cube(found: Match, pair: OutputPair, candidate: Array) -> Array:
    """Images laid out as the reference's, where these have as many channels as rows and columns.

    What was matched shows there how the axes lie.
    """
    known = found.pairs.get(pair.candidate)
    if known is None or known.order.identity or known.reference != pair.reference:
        return candidate
    shape = found.reference.array(pair.reference).shape
    ways = [way for way in _WAYS if _moves(known.order, way, shape)]
    return np.moveaxis(candidate, *ways[0]) if ways and are_images(found, pair) else candidate


def _moves(order: Order, way: tuple[int, int], shape: tuple[int, ...]) -> bool:
    """Whether an order of axes is that of moving a candidate's channels back."""
    if len(shape) < 4 or not order.takes(np.empty(shape, bool)):
        return False
    places = np.arange(math.prod(shape)).reshape(shape)
    there = order.apply(places)
    return there.shape == shape and np.array_equal(np.moveaxis(there, *way), places)


def _gap(matched: Match, pair: OutputPair, run: Replay) -> float:
    """How far an output of a run of the candidate is from the reference's, relative."""
    candidate = run.array(pair.candidate)
    if matched.reference.array(pair.reference).shape != candidate.shape:
        return math.inf
    return matched.reference.distance(pair.reference, candidate)


def _kinds(matched: Match, value: int, ends: Mapping[int, str]) -> set[str]:
    """Kinds of the mismatches that an output is made behind."""
    tape = matched.side.tape
    behind = {one for index in tape.graph.ancestors([value]) for one in tape.ops[index].outputs}
    return {kind for end, kind in ends.items() if end in behind}


def _equal_as_ran(matched: Match, pair: OutputPair) -> bool:
    reference, candidate = matched.recorded(pair.values)
    floats = reference.dtype.kind == candidate.dtype.kind == "f"
    return np.array_equal(reference, candidate, equal_nan=floats)


# --- outputs of two shapes -----------------------------------------------------------------------


def shape_reason(name: str, models: Sequence[str], outputs: Sequence[Array]) -> str:
    """That an output has two shapes; and if one is the other, summed or averaged, over which axes.

    Args:
        name: of the output.
        models: their names.
        outputs: the output of each in float64.
    """
    shapes = [one.shape for one in outputs]
    reason = f"output {name!r} has shape {shapes[0]} in {models[0]} and {shapes[1]} in {models[1]}"
    flat = [one.ravel() for one in outputs]
    if without_ones(shapes[0]) == without_ones(shapes[1]) and _same_values(*flat):
        return f"{reason}: the same values, but for axes of length 1"
    for large, small in ((1, 0), (0, 1)):
        how = _reduced(outputs[large], outputs[small])
        if how is not None:
            kind, axes = how
            words = ["the batch (axis 0)" if axis == 0 else f"axis {axis}" for axis in axes]
            over = f"over {' and '.join(words)}"
            if kind == "same":
                return f"{reason}: {models[large]} repeats it {over}, {models[small]} does not"
            return f"{reason}: {models[small]} has the {kind} {over}, {models[large]} does not"
    return reason


def _reduced(large: Array, small: Array) -> tuple[str, tuple[int, ...]] | None:
    """The reduction, or "same", and the axes by which the one comes of the other."""
    count = large.ndim - small.ndim
    if count < 1 or large.ndim > limits.REDUCED_AXES or large.dtype.kind not in "fiu":
        return None
    for axes in itertools.combinations(range(large.ndim), count):
        if _same_values(np.broadcast_to(large.min(axes, keepdims=True), large.shape), large):
            kept = large.min(axes)  # one number throughout is no mean
            if kept.shape == small.shape and _same_values(kept, small):
                return "same", axes
        for kind, reduce in (("sum", np.sum), ("mean", np.mean)):
            with np.errstate(all="ignore"):
                found = np.asarray(reduce(large, axis=axes))
            if found.shape == small.shape and _same_values(found, small):
                return kind, axes
    return None


def _same_values(a: Array, b: Array) -> bool:
    return residual(a.astype(np.float64), b.astype(np.float64)) <= limits.ROUNDED_CONSTANTS
