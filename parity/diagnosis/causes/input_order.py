"""The inputs are split in another order: heads, halves, rows and columns, channels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._context import (
    Reorder,
    attends,
    channel_axis,
    exchanges_places,
    near_images,
    spatial_axes,
)
from parity.diagnosis.causes._limits import SPLITS_TRIED
from parity.diagnosis.causes._weights import changes, gives, kernel_layout, same
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import LeafView, RegionView
from parity.tape import Array


@cause("head-split-order", "weight-not-transposed", "rope-pairing", "spatial-swap", "channel-order")
def entering_arranged(case: Case) -> Iterator[Explanation]:
    """The inputs are split in another order: heads, halves, rows and columns, channels.

    Looks like: attention scores of the right shape and size that have nothing in common with the
        reference's.
    Proof: the reference's operations on their inputs with the last axis (or the places) in the
        other order give the candidate's value.
    """
    if all(op.role == "move" for op in case.reference.ops):
        return
    given = case.first.given
    floating = [root for root in given if given[root].dtype.kind == "f" and given[root].ndim > 1]
    if not floating:
        return
    groups = [tuple(floating)] + [(root,) for root in floating if len(floating) > 1]
    for roots in groups:
        for kind, text, reorder in _reorders(case, [given[root] for root in roots]):
            predict = _reordered(case, roots, reorder)
            if gives(case, predict):
                yield Explanation(kind, text, predict, cost=1.0)
                return


def _reorders(case: Case, arrays: list[Array]) -> Iterator[tuple[str, str, Reorder]]:
    """Orders in which the inputs may have been read instead."""
    widths = {array.shape[-1] for array in arrays}
    if len(widths) == 1 and (attends(case) or arrays[0].ndim > 2):
        for rows, columns in _tables(case, widths.pop()):
            kind = "head-split-order"
            text = _split(case, arrays[0].shape[-1], rows, columns)
            if rows == columns:
                text = f"the last axis is split as {(rows, rows)}, with rows and columns exchanged"
                if arrays[0].ndim == 2:  # for each sample one, as a transform that is predicted
                    kind = "weight-not-transposed"
                    text = (
                        f"the matrix of {(rows, rows)} that each sample has is applied transposed"
                    )
            yield kind, text, _by_columns(rows, columns)
        for width, half in _halves(case, arrays[0].shape[-1]):
            text = f"halves of {width} are taken for every other entry"
            yield "rope-pairing", text, _by_columns(half, 2)
            yield "rope-pairing", text, _by_columns(2, half)
    if len(arrays) > 1 or arrays[0].ndim < 4 or not near_images(case):
        return
    x = arrays[0]
    for first, second in itertools.combinations(spatial_axes(case.reference, x.ndim), 2):
        if x.shape[first] == x.shape[second]:
            kernels = exchanged_kernels(case)
            if kernels:  # the same, but for the layout of what comes out
                text = f"height and width of {', '.join(kernels.values())} are exchanged"
            elif exchanges_places(case):
                text = f"axes {first} and {second} of {x.shape} are exchanged"
            else:
                continue
            yield "spatial-swap", text, _exchange(first, second)
    if changes(case):
        return  # the channels of a weight
    channels = channel_axis(case.reference, x.ndim)
    yield "channel-order", f"axis {channels} of {x.shape} runs backwards", _backwards(channels)


def exchanged_kernels(case: Case) -> dict[int, str]:
    """The reference's kernels whose rows and columns the candidate's own exchange, and names."""
    found = {}
    reference, candidate = _kernels(case.reference), _kernels(case.candidate)
    for (leaf, kernel), (other, there) in itertools.product(reference, candidate):
        exchanged = np.ascontiguousarray(there.swapaxes(2, 3))
        if not same(kernel, there) and same(kernel, exchanged):
            found[leaf.id] = leaf.name or other.name or f"constant of {leaf.array.shape}"
    return found


def _kernels(view: RegionView) -> list[tuple[LeafView, Array]]:
    """A region's kernels over images, with their places last and the longer other axis first."""
    found = []
    for leaf in view.leaves:
        layout = kernel_layout(view, leaf.id)
        if len(layout) == 4:
            array = leaf.array.transpose(layout)
            array = array if array.shape[0] >= array.shape[1] else array.swapaxes(0, 1)
            found.append((leaf, np.ascontiguousarray(array)))
    return found


@cause("spatial-swap")
def kernels_exchanged(case: Case) -> Iterator[Explanation]:
    """The candidate's own kernels hold rows and columns exchanged.

    Looks like: an image that comes out with rows and columns exchanged, as the kernels before and
        behind it are.
    Proof: the reference's operations with their kernels' rows and columns exchanged give the
        candidate's value, or what it is with its own rows and columns exchanged.
    """
    kernels = exchanged_kernels(case)
    if not kernels or len(case.reference.value.shape) != 4:
        return
    leaves = {
        leaf.id: np.ascontiguousarray(
            leaf.array.swapaxes(*kernel_layout(case.reference, leaf.id)[2:])
        )
        for leaf in case.reference.leaves
        if leaf.id in kernels
    }
    for laid in (None, spatial_axes(case.reference, 4)):
        predict = partial(_with_kernels, case, leaves, laid)
        if gives(case, predict):
            text = f"height and width of {', '.join(kernels.values())} are exchanged"
            yield Explanation("spatial-swap", text, predict, cost=-0.5)
            return


def _with_kernels(
    case: Case, leaves: dict[int, Array], laid: tuple[int, ...] | None, trial: Trial
) -> Array:
    found = case.run_reference(trial.given, leaves)
    return found if laid is None else np.ascontiguousarray(found.swapaxes(*laid))


def _split(case: Case, width: int, rows: int, columns: int) -> str:
    """How the last axis is split on both sides, as far as their values show it."""
    reference, candidate = _parts(case.reference, width), _parts(case.candidate, width)
    if (rows, columns) in reference and (columns, rows) in candidate:
        return f"the last axis is split as {(columns, rows)}, not as {(rows, columns)}"
    if reference and not candidate:
        first = _first(reference, rows, columns)
        return f"the last axis, which the reference regroups as {first}, is not regrouped"
    if candidate and not reference:
        first = _first(candidate, columns, rows)
        return f"the last axis is regrouped as {first}, which the reference does not do"
    return f"the last axis is read as {(columns, rows)}, column by column"


def _first(parts: list[tuple[int, int]], rows: int, columns: int) -> tuple[int, int]:
    """Of a table and its transpose the one that is made first."""
    either = (rows, columns), (columns, rows)
    return next((one for one in parts if one in either), either[0])


def _parts(view: RegionView, width: int) -> list[tuple[int, int]]:
    """The tables in which a region's values show a width split, in the order of the flow."""
    found = []
    for value in dict.fromkeys(v for op in view.ops for v in (*op.inputs, *op.outputs)):
        shape = view.tape.values[value].shape
        for start in range(len(shape)):
            for end in range(start + 2, len(shape) + 1):
                if math.prod(shape[start:end]) == width:
                    for cut in range(start + 1, end):
                        found.append((math.prod(shape[start:cut]), math.prod(shape[cut:end])))
    return [pair for pair in found if min(pair) > 1]


def _tables(case: Case, width: int) -> Iterator[tuple[int, int]]:
    """(heads, features) that a width may be split in: those that a value's shape shows first."""
    shown = {
        n
        for op in case.reference.ops
        for v in op.outputs
        for n in case.reference.tape.values[v].shape
    }
    fitting = [n for n in range(2, width) if width % n == 0]
    for rows in sorted(fitting, key=lambda n: (n not in shown, n))[:SPLITS_TRIED]:
        yield rows, width // rows


def _halves(case: Case, width: int) -> Iterator[tuple[int, int]]:
    """(width, its half) of parts of the last axis that the region's values show."""
    tape = case.reference.tape
    shown = {
        tape.values[v].shape[-1]
        for op in case.reference.ops
        for v in op.outputs
        if tape.values[v].shape
    }
    for part in sorted(shown, reverse=True):
        if part > 4 and part % 2 == 0 and width % part == 0 and part < width:
            yield part, part // 2


def _by_columns(rows: int, columns: int) -> Reorder:
    """The last axis, or each part of it of that length, as a table, read column by column."""

    def reorder(array: Array) -> Array:
        table = array.reshape(*array.shape[:-1], -1, columns, rows)
        return np.ascontiguousarray(table.swapaxes(-1, -2)).reshape(array.shape)

    return reorder


def _exchange(first: int, second: int) -> Reorder:
    return lambda array: np.ascontiguousarray(array.swapaxes(first, second))


def _backwards(axis: int) -> Reorder:
    return lambda array: np.ascontiguousarray(np.flip(array, axis))


def _reordered(case: Case, roots: tuple[int, ...], reorder: Reorder) -> Predict:
    return lambda trial: case.run_reference(
        {**trial.given, **{root: reorder(trial.given[root]) for root in roots}}
    )


@cause("rope-pairing")
def halves_for_neighbours(case: Case) -> Iterator[Explanation]:
    """Rotary positions pair the first half with the second where the reference pairs neighbours.

    Looks like: queries and keys whose norms agree while their numbers do not.
    Proof: on one side every other entry of the last axis is taken, on the other every entry of one
        half, from the same values.
    """
    roots = list(case.first.given)
    if len(roots) != 1 or any(
        op.role != "move" for view in (case.reference, case.candidate) for op in view.ops
    ):
        return
    x = case.first.given[roots[0]]
    taken = case.probe({roots[0]: np.arange(x.size, dtype=np.float64).reshape(x.shape)})
    reference, candidate = (_taken(one, x.size) for one in (taken.reference, taken.candidate))
    if reference is None or candidate is None or reference == candidate:
        return
    (start, step, width), (start_now, step_now, width_now) = reference, candidate
    if {step, step_now} != {1, 2} or width != width_now:
        return
    names = {1: "a half", 2: "every other entry"}
    yield Explanation(
        "rope-pairing",
        f"{names[step_now]} of the last axis of {width} is taken; "
        f"the reference takes {names[step]}",
        _every(roots[0], start_now, step_now, width),
        _every(roots[0], start, step, width),
        {"step": (step, step_now)},
    )


def _taken(index: Array, size: int) -> tuple[int, int, int] | None:
    """(start, step, width) if each row takes every `step`th entry, half of `width`."""
    if index.ndim < 2 or index.shape[-1] < 2 or index.size * 2 != size:
        return None
    count = index.shape[-1]
    rows = index.reshape(-1, count).astype(np.int64)
    width = 2 * count
    start, step = int(rows[0, 0]) % width, int(rows[0, 1] - rows[0, 0])
    wanted = width * np.arange(len(rows))[:, None] + start + step * np.arange(count)
    return (start, step, width) if np.array_equal(rows, wanted) else None


def _every(root: int, start: int, step: int, width: int) -> Predict:
    def predict(trial: Trial) -> Array:
        rows = trial.given[root].reshape(-1, width)
        taken = rows[:, start : start + step * (width // 2) : step]
        return taken.reshape(trial.reference.shape)

    return predict
