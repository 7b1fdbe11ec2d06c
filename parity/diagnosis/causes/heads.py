"""Attention over another number of heads."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import OPS_TO_A_PRODUCT
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._substitution import laid_like
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.errors import ReplayError
from parity.matching.axis_order import without_ones
from parity.operations import PRODUCTS, SOFTMAXES
from parity.tape import Array, Op, Tape


@dataclass(frozen=True)
class Attention:
    """What attends in a region: the operation that gives the scores, or all of it.

    Attributes:
        query, key, value: what its products take.
        depth: of a head, over which the scores are sums.
    """

    op: Op
    query: int
    key: int
    value: int
    depth: int


@cause("head-count")
@first_fitting
def head_count(case: Case) -> Iterator[Explanation]:
    """Attention splits its features into another number of heads.

    Looks like: weights that fit all the same, as a width is split either way; scores that are
        sums over more features, or fewer.
    Proof: one side's own attention on its query, key and value, split into heads of the other's
        size and scaled by that size, gives the other side's value.
    """
    both = sides(case)
    found = [_attention(side) for side in both]
    if found[0] is None or found[1] is None or found[0].depth == found[1].depth:
        return
    for side, own, other in zip(both, found, reversed(found), strict=True):
        assert own is not None and other is not None
        numbers = _other_scales(side, own.depth, other.depth)
        for axes in _ways_to_split(side.view.tape, own, other.depth):
            length = side.view.tape.values[own.query].shape[axes[0]]
            heads = length, length * own.depth // other.depth
            counts = heads[::-1] if side.is_candidate else heads
            depths = [one.depth for one in found if one is not None]
            yield side.changed(
                Explanation(
                    "head-count",
                    f"attention has {counts[1]} heads of {depths[1]} features; the reference's "
                    f"has {counts[0]} of {depths[0]}",
                    partial(_split_anew, side, own, other.depth, axes, numbers),
                    parameters={"heads": counts},
                    places=(found[0].op, found[1].op),
                )
            )


def _split_anew(
    side: CaseSide,
    own: Attention,
    depth: int,
    axes: tuple[int, int, int],
    numbers: dict[int, Array],
    trial: Trial,
) -> Array:
    """What a side gives with heads of another depth; `axes` of the heads, and of what they hold."""
    heads, features, of_keys = axes
    ids = own.query, own.key, own.value
    arrays = side.values(trial.given, ids)
    held = features, of_keys, features
    split = {
        value: _split(array, heads, at, depth)
        for value, array, at in zip(ids, arrays, held, strict=True)
    }
    (made,) = side.values(trial.given, (side.view.end,), {**numbers, **split})
    return _laid(side, made)


def _laid(side: CaseSide, made: Array) -> Array:
    """What a side gives in the reference's layout, where it may end with the heads side by side."""
    case, order = side.case, side.case.order
    if not side.is_candidate:
        return laid_like(case, made)
    if made.shape == side.view.value.shape or order is None or not order.split:
        return case.as_reference(made)
    lengths = without_ones(made.shape)
    if len(lengths) != len(order.axes):
        raise ReplayError("heads of another depth have other axes there")
    laid: Array = made.reshape(lengths).transpose(order.axes)
    return laid.reshape(case.reference.value.shape)


def _split(array: Array, heads: int, features: int, depth: int) -> Array:
    last = np.moveaxis(array, (heads, features), (-2, -1))
    split = last.reshape(*last.shape[:-2], -1, depth)
    return np.ascontiguousarray(np.moveaxis(split, (-2, -1), (heads, features)))


def _ways_to_split(tape: Tape, own: Attention, depth: int) -> Iterator[tuple[int, int, int]]:
    """The axes that may be the heads', and their features', of the keys too."""
    shape, keys = (tape.values[one].shape for one in (own.query, own.key))
    last = len(shape) - 1
    if len(keys) != len(shape) or len(tape.values[own.value].shape) != len(shape):
        return
    for heads, of_keys in itertools.product((1, 2, 0), (last, last - 1)):
        if heads >= last or heads == of_keys or keys[of_keys] != own.depth:
            continue
        if shape[heads] * own.depth % depth == 0 and keys[heads] == shape[heads]:
            yield heads, last, of_keys


def _other_scales(side: CaseSide, was: int, now: int) -> dict[int, Array]:
    """The numbers by which scores are scaled, as they are for heads of another depth."""
    tape, found = side.view.tape, {}
    for value in (value for op in side.view.ops for value in op.inputs):
        if tape.is_live(value) or tape.values[value].size != 1:
            continue
        array = side.model.run.array(value)
        for power in (0.5, -0.5):
            if array.dtype.kind == "f" and math.isclose(array.item(), was**power, rel_tol=1e-5):
                found[value] = np.full_like(array, now**power)
    return found


def _attention(side: CaseSide) -> Attention | None:
    """The first attention of a region: in one operation, or a softmax between two products."""
    tape, inside = side.view.tape, {op.index for op in side.view.ops}
    for op in side.view.ops:
        if op.word == "attention" and len(op.inputs) > 2:
            return _of(tape, op, op.inputs[2])
        if op.word in SOFTMAXES and not op.static:
            scores, value = _scores(tape, op), _mixed(tape, inside, op)
            if scores is not None and value is not None and scores.index in inside:
                return _of(tape, scores, value)
    return None


def _of(tape: Tape, op: Op, value: int) -> Attention | None:
    query, key = op.inputs[:2]
    shape = tape.values[query].shape
    return Attention(op, query, key, value, shape[-1]) if len(shape) > 2 else None


def _scores(tape: Tape, softmax: Op) -> Op | None:
    """The product of two computed values that a softmax sees, scaled and masked."""
    value = softmax.inputs[0]
    for _ in range(OPS_TO_A_PRODUCT):
        op = tape.producer(value)
        if op is None or op.static:
            return None
        live = [one for one in op.inputs if tape.is_live(one)]
        if op.word in PRODUCTS:
            return op if len(live) == 2 else None
        size = tape.values[value].size
        same = [one for one in live if tape.values[one].size == size]
        if len(same) != 1:
            return None
        value = same[0]
    return None


def _mixed(tape: Tape, inside: set[int], softmax: Op) -> int | None:
    """The values that the shares are multiplied by."""
    made = {*softmax.outputs}
    for op in (tape.ops[index] for index in sorted(inside) if index > softmax.index):
        if made.isdisjoint(op.inputs):
            continue
        others = [one for one in op.inputs if one not in made and tape.is_live(one)]
        if op.word in PRODUCTS:
            return others[0] if len(others) == 1 else None
        made.update(op.outputs)
    return None
