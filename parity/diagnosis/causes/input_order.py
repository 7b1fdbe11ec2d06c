"""The inputs are split in another order: heads, halves, rows and columns, channels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._arrange import AxisOrder
from parity.diagnosis.causes._context import (
    attends,
    channel_axis,
    exchanges_places,
    moves_only,
    near_images,
    spatial_axes,
)
from parity.diagnosis.causes._limits import SPLITS_TRIED
from parity.diagnosis.causes._weights import changes, kernel_layout, same, with_leaves
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import LeafView, RegionView
from parity.tape import Array

Reorder = Callable[[Array], Array]


@cause("head-split-order", "weight-not-transposed", "rope-pairing", "spatial-swap", "channel-order")
@first_fitting
def entering_arranged(case: Case) -> Iterator[Explanation]:
    """The inputs are split in another order: heads, halves, rows and columns, channels.

    Looks like: attention scores of the right shape and size that have nothing in common with the
        reference's.
    Proof: the reference's operations on their inputs with the last axis (or the places) in the
        other order give the candidate's value.
    """
    if not case.reference.computing:
        return
    given = case.first.given
    floating = [root for root in given if given[root].dtype.kind == "f" and given[root].ndim > 1]
    if not floating:
        return
    groups = [tuple(floating)] + [(root,) for root in floating if len(floating) > 1]
    for roots in groups:
        for kind, text, reorder in _reorders(case, [given[root] for root in roots]):
            yield Explanation(kind, text, partial(_reordered, case, roots, reorder), cost=1.0)


def _reorders(case: Case, arrays: list[Array]) -> Iterator[tuple[str, str, Reorder]]:
    """Orders in which the inputs may have been read instead."""
    widths = {array.shape[-1] for array in arrays}
    x = arrays[0]
    if len(widths) == 1 and (attends(case) or x.ndim > 2):
        whole = widths.pop()
        for rows, columns in _tables(case, whole):
            kind, text = "head-split-order", _split(case, whole, rows, columns)
            if rows == columns and x.ndim == 2:  # each sample's, as a transform that is predicted
                kind = "weight-not-transposed"
                text = f"the matrix of {(rows, rows)} that each sample has is applied transposed"
            elif rows == columns:
                text = f"the last axis is split as {(rows, rows)}, with rows and columns exchanged"
            yield kind, text, _by_columns(rows, columns)
        for width, half in _halves(case, whole):
            text = f"halves of {width} are taken for every other entry"
            yield "rope-pairing", text, _by_columns(half, 2)
            yield "rope-pairing", text, _by_columns(2, half)
    if len(arrays) > 1 or x.ndim < 4 or not near_images(case):
        return
    for first, second in itertools.combinations(spatial_axes(case.reference, x.ndim), 2):
        if x.shape[first] == x.shape[second]:
            kernels = exchanged_kernels(case)
            if kernels:  # the same, but for the layout of what comes out
                text = kernels_in_words(kernels)
            elif exchanges_places(case):
                text = f"axes {first} and {second} of {x.shape} are exchanged"
            else:
                continue
            yield "spatial-swap", text, partial(np.swapaxes, axis1=first, axis2=second)
    if changes(case):
        return  # the channels of a weight
    axis = channel_axis(case.reference, x.ndim)
    backwards = AxisOrder(axis, tuple(reversed(range(x.shape[axis]))))
    yield "channel-order", f"axis {axis} of {x.shape} runs backwards", backwards


def kernels_in_words(kernels: Mapping[int, str]) -> str:
    return f"height and width of {', '.join(kernels.values())} are exchanged"


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
@first_fitting
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
        leaf.id: leaf.array.swapaxes(*kernel_layout(case.reference, leaf.id)[2:])
        for leaf in case.reference.leaves
        if leaf.id in kernels
    }
    predict = with_leaves(case, leaves)
    places = spatial_axes(case.reference, 4)
    for one in (predict, lambda trial: predict(trial).swapaxes(*places)):
        yield Explanation("spatial-swap", kernels_in_words(kernels), one, cost=-0.5)


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


def _reordered(case: Case, roots: tuple[int, ...], reorder: Reorder, trial: Trial) -> Array:
    return case.run_reference(
        {**trial.given, **{root: reorder(trial.given[root]) for root in roots}}
    )


@cause("rope-pairing")
def halves_for_neighbours(case: Case) -> Iterator[Explanation]:
    """Rotary positions pair the first half with the second where the reference pairs neighbours.

    Looks like: queries and keys whose norms agree while their values do not.
    Proof: on one side every other entry of the last axis is taken, on the other every entry of one
        half, from the same values.
    """
    roots = list(case.first.given)
    if len(roots) != 1 or not moves_only(case):
        return
    (root,) = roots
    x = case.first.given[root]
    taken = case.probe({root: np.arange(x.size, dtype=np.float64).reshape(x.shape)})
    reference, candidate = (one.astype(np.int64) for one in (taken.reference, taken.candidate))
    steps = _step(reference, x.size), _step(candidate, x.size)
    if set(steps) != {1, 2} or reference.shape[-1] != candidate.shape[-1]:
        return
    names = {1: "a half", 2: "every other entry"}
    yield Explanation(
        "rope-pairing",
        f"{names[steps[1]]} of the last axis of {2 * reference.shape[-1]} is taken; "
        f"the reference takes {names[steps[0]]}",
        lambda trial: trial.given[root].ravel()[candidate],
        lambda trial: trial.given[root].ravel()[reference],
        {"step": steps},
    )


def _step(index: Array, size: int) -> int:
    """The step in which each row takes the entries of half an axis; 0 where it does not."""
    if index.ndim < 2 or index.shape[-1] < 2 or index.size * 2 != size:
        return 0
    rows = index.reshape(-1, index.shape[-1])
    step = int(rows[0, 1] - rows[0, 0])
    starts = rows[0, 0] + 2 * rows.shape[1] * np.arange(len(rows))
    wanted = starts[:, None] + step * np.arange(rows.shape[1])
    return step if np.array_equal(rows, wanted) else 0
