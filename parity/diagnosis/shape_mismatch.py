"""Outputs of two shapes: is the one the other, reduced or laid out otherwise? Told in words."""

from __future__ import annotations

import itertools

import numpy as np

from parity.diagnosis import limits
from parity.numerics.difference import residual
from parity.tape import Array


def shape_reason(name: str, reference: str, ours: Array, candidate: str, theirs: Array) -> str:
    """That an output has two shapes; and if one is the other, summed or averaged, over which axes.

    Args:
        name: of the output.
        reference, candidate: names of the models.
        ours, theirs: the output in float64.
    """
    told = (
        f"output {name!r} has shape {ours.shape} in {reference} and {theirs.shape} in {candidate}"
    )
    if squeezed(ours.shape) == squeezed(theirs.shape) and _same(ours.ravel(), theirs.ravel()):
        return f"{told}: the same numbers, but for axes of length 1"
    for large, small, longer, shorter in (
        (theirs, ours, candidate, reference),
        (ours, theirs, reference, candidate),
    ):
        how = _reduced(large, small)
        if how is not None:
            kind, axes = how
            if kind == "same":
                return f"{told}: {longer} repeats it over {_told(axes)}, {shorter} does not"
            return f"{told}: {shorter} has the {kind} over {_told(axes)}, {longer} does not"
    return told


def squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without its axes of length 1."""
    return tuple(length for length in shape if length != 1)


def _reduced(large: Array, small: Array) -> tuple[str, tuple[int, ...]] | None:
    """The reduction, or "same", and the axes by which the one comes of the other."""
    count = large.ndim - small.ndim
    if count < 1 or large.ndim > limits.REDUCED_AXES or large.dtype.kind not in "fiu":
        return None
    for axes in itertools.combinations(range(large.ndim), count):
        if _same(np.broadcast_to(large.min(axes, keepdims=True), large.shape), large):
            kept = large.min(axes)  # one number throughout is no mean
            if kept.shape == small.shape and _same(kept, small):
                return "same", axes
        for kind, reduce in (("sum", np.sum), ("mean", np.mean)):
            with np.errstate(all="ignore"):
                found = np.asarray(reduce(large, axis=axes))
            if found.shape == small.shape and _same(found, small):
                return kind, axes
    return None


def _same(a: Array, b: Array) -> bool:
    return (
        residual(np.asarray(a, np.float64), np.asarray(b, np.float64)) <= limits.ROUNDED_CONSTANTS
    )


def _told(axes: tuple[int, ...]) -> str:
    words = ["the batch (axis 0)" if axis == 0 else f"axis {axis}" for axis in axes]
    return " and ".join(words)
