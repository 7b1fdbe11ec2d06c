"""Outputs of two shapes: is the one the other, reduced or laid out otherwise? Said in words."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from parity.diagnosis import limits
from parity.matching.axis_order import without_ones
from parity.numerics.difference import residual
from parity.tape import Array


def shape_reason(name: str, models: Sequence[str], outputs: Sequence[Array]) -> str:
    """That an output has two shapes; and if one is the other, summed or averaged, over which axes.

    Args:
        name: of the output.
        models: their names.
        outputs: the output of each in float64.
    """
    shapes = [one.shape for one in outputs]
    reason = f"output {name!r} has shape {shapes[0]} in {models[0]} and {shapes[1]} in {models[1]}"
    if without_ones(shapes[0]) == without_ones(shapes[1]) and _same(*(o.ravel() for o in outputs)):
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
    return residual(a.astype(np.float64), b.astype(np.float64)) <= limits.SAME_SHAPES_APART
