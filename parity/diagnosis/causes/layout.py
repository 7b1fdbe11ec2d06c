"""Weights and values in another order: of axes, of channels, of pixels, of parts, of heads."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._arrange import (
    Arrangement,
    AxisOrder,
    arrangement,
    of_index,
    same_bag_at_a_glance,
)
from parity.diagnosis.causes._leaves import Change, changes, gives, same, with_changes
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView, plain_kind
from parity.matching.order import Order
from parity.tape import Array, Op

_SHUFFLES = {
    *("pixelshuffle", "pixelunshuffle", "depthtospace", "spacetodepth"),
    *("depth2space", "space2depth"),
}
_JOINS = {"cat", "concat", "concatv2", "concatenate", "stack", "pack", "hstack", "joinaxis"}
_PRODUCTS = ("matmul", "bmm", "einsum", "attention", "dot")
_IMAGES = ("conv", "pool", "resize", "upsample")
_LAST_FIRST = ("tensorflow", "keras")  # kernels are (*space, in, out), not (out, in, *space)
_CHANNELS_COST = 3.0  # blocks in another order may be gates, which say more
_FEW = 24

Reorder = Callable[[Array], Array]


# --- weights --------------------------------------------------------------------------------------


@cause(
    *("weight-not-transposed", "weight-reshaped", "kernel-flipped", "channel-order"),
    *("spatial-swap", "depthwise-layout", "flatten-order"),
)
def weight_arranged(case: Case) -> Iterator[Explanation]:
    """A weight holds the right numbers in the wrong order.

    Looks like: a value that has nothing in common with the reference's, from weights with the same
        numbers. A square weight that was not transposed raises no error, nor does one that was
        reshaped where it was to be transposed.
    Proof: the reference with its own weight transposed, reshaped, turned or reordered gives the
        candidate's value.
    """
    found = changes(case)
    told = [_weight_order(case, change) for change in found]
    if not found or any(one is None for one in told):
        return
    kinds = {one[0] for one in told if one}
    # a weight and its bias in another order of channels: the weight tells
    kind = next(iter(kinds)) if len(kinds) == 1 else "channel-order"
    if kinds - {kind}:
        return
    yield Explanation(
        kind,
        "; ".join(dict.fromkeys(one[1] for one in told if one)),
        with_changes(case, found),
        cost=_CHANNELS_COST if kind == "channel-order" else 0.0,
    )


def _weight_order(case: Case, change: Change) -> tuple[str, str] | None:
    """What was done to a weight, and in words."""
    ours, now = change.leaf.array, change.now
    space = _space(case, ours)
    for count in range(1, len(space) + 1):
        for axes in itertools.combinations(space, count):
            if same(np.flip(ours, axes), now):
                return "kernel-flipped", f"{change.name} is turned round along axes {axes}"
    permuted = next((p for p in _permutations(ours.shape) if same(ours.transpose(p), now)), None)
    if permuted is not None:
        moved = {axis for i, axis in enumerate(permuted) if axis != i}
        if moved <= set(space):
            return "spatial-swap", f"height and width of {change.name} are exchanged"
        kind = "depthwise-layout" if _depthwise(case) else "weight-not-transposed"
        return kind, f"{change.name} {ours.shape} has its axes in the order {permuted}"
    order = arrangement(ours, now)
    if order is None:
        return None
    if isinstance(order, AxisOrder):
        if order.axis in space:
            return "kernel-flipped", f"{change.name}: {order}"
        features = of_index(np.array(order.order), (len(order.order),))
        if features is not None and len(features.fine) > 1 and _flattened(case):
            return "flatten-order", f"{change.name}: features {features}"
        return "channel-order", f"{change.name}: {order}"
    kind = "depthwise-layout" if _depthwise(case) else "weight-reshaped"
    return kind, f"{change.name}: {order}"


def _permutations(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Permutations of axes that leave a shape as it is, but the one that leaves all in place."""
    axes = tuple(range(len(shape)))
    if len(shape) <= 5:
        for order in itertools.permutations(axes):
            if order != axes and tuple(shape[axis] for axis in order) == shape:
                yield order


def _space(case: Case, weight: Array) -> tuple[int, ...]:
    """The axes of a kernel that are places."""
    if weight.ndim < 3:
        return ()
    if case.reference.tape.framework in _LAST_FIRST:
        return tuple(range(weight.ndim - 2))
    return tuple(range(2, weight.ndim))


def _depthwise(case: Case) -> bool:
    """Whether a convolution works on each channel by itself."""
    for view in (case.reference, case.candidate):
        for op in view.computing:
            groups = op.attributes.get("groups", 1)
            if "depthwise" in plain_kind(op) or (isinstance(groups, int) and groups > 1):
                return True
    return False


# --- values ---------------------------------------------------------------------------------------


@cause(
    *("pixel-shuffle-order", "concat-order", "channel-order", "spatial-swap"),
    *("head-split-order", "flatten-order", "rope-pairing"),
)
def value_arranged(case: Case) -> Iterator[Explanation]:
    """A value holds the right numbers in the wrong order.

    Looks like: the same smallest, largest and mean number on both sides, in other places.
    Proof: the reference's value, split, transposed and merged in one way or with one axis in
        another order, is the candidate's on every input.
    """
    order = _order(case)
    if order is None:
        return
    named = _named(case, order)
    if named is None:
        return
    kind, text = named
    yield Explanation(
        kind,
        text,
        lambda trial: order(trial.reference),
        cost=_CHANNELS_COST if kind == "channel-order" else 0.0,
    )


def _order(case: Case) -> Arrangement | AxisOrder | None:
    """How the reference's value is to be arranged to be the candidate's."""
    first = case.first
    if first.reference.shape != first.candidate.shape or not _same_bag(first):
        return None
    for fed in (_distinct(case, _starts(case)), _distinct(case, first.fed)):
        trial = case.probe(fed)
        found = arrangement(trial.reference, trial.candidate)
        if found is not None:
            return found
    return None


def _starts(case: Case) -> dict[int, Array]:
    """What enters either side, each by itself, even where one is computed from another."""
    tape = case.reference.tape
    values = (*case.entering, *case.partners.values())
    starts = list(dict.fromkeys(tape.before_moves(value) for value in values))
    return dict(zip(starts, case.reference_values(case.first.fed, starts), strict=True))


def _distinct(case: Case, fed: Mapping[int, Array]) -> dict[int, Array]:
    """Positive numbers, no two alike, in place of what is fed."""
    random = np.random.default_rng(0)
    return {
        root: random.uniform(0.5, 1.5, x.shape) if x.dtype.kind == "f" else x
        for root, x in fed.items()
    }


def _same_bag(trial: Trial) -> bool:
    a, b = trial.reference, trial.candidate
    if not a.size or not np.isfinite(a).all() or not same_bag_at_a_glance(a, b):
        return False
    bound = 1e-6 * float(np.abs(a).max())
    return bool(np.allclose(np.sort(a, axis=None), np.sort(b, axis=None), 0, bound))


def _named(case: Case, order: Arrangement | AxisOrder) -> tuple[str, str] | None:
    """An order's name by what it is done to."""
    shape = case.first.reference.shape
    kinds = {plain_kind(op) for view in (case.reference, case.candidate) for op in view.ops}
    if kinds & _SHUFFLES or _reshapes_images(case):
        return (
            "pixel-shuffle-order",
            f"pixels and channels are taken apart in another order: {order}",
        )
    if isinstance(order, AxisOrder):
        if kinds & _JOINS and 1 < len(order.blocks) <= 8 and len(case.entering) > 1:
            axis = case.candidate_axis(order.axis)
            return "concat-order", f"the parts are joined in another order along axis {axis}"
        if order.interleaves and _is_last(order.axis, shape) and _attends(case):
            return "rope-pairing", f"pairs of neighbours for pairs across halves: {order}"
        if _is_image(case, shape) and order.axis in _spatial(case):
            return "spatial-swap", f"the image's {order}"
        features = of_index(np.array(order.order), (len(order.order),))
        if features is not None and len(features.fine) > 1 and len(shape) <= 3:
            if _flattened(case):
                return "flatten-order", f"the features are flattened in another order: {features}"
            if _attends(case):
                return "head-split-order", f"the heads' features: {features}"
        if order.axis not in _channel_axes(case, shape):
            return None
        return "channel-order", f"the channels' {order}"
    exchanged = _axes_exchanged(order, shape)
    if _is_image(case, shape):
        if exchanged <= set(_spatial(case)):
            return "spatial-swap", f"height and width are exchanged: {order}"
        if _flattened(case):
            return "flatten-order", f"the features are flattened in another order: {order}"
        return "channel-order", f"the channels are split and joined in another order: {order}"
    if _flattened(case):
        return "flatten-order", f"the features are flattened in another order: {order}"
    moves_only = not case.reference.computing and not case.candidate.computing
    if moves_only and all(x.ndim < len(shape) for x in case.first.fed.values()):
        return "head-split-order", f"the last axis is taken apart otherwise: {order}"
    if len(shape) - 1 in exchanged and len(exchanged) < len(shape):
        return None  # two whole axes: what is transposed is no split of heads
    if _attends(case) or max((x.ndim for x in case.first.fed.values()), default=0) > len(shape):
        return "head-split-order", f"heads and their features are taken apart otherwise: {order}"
    return None


def _channel_axes(case: Case, shape: tuple[int, ...]) -> set[int]:
    """The axes that may be channels: the last, and after the batch where images are near."""
    near = any(any(word in kind for word in _IMAGES) for kind in _neighbours(case))
    return {1, len(shape) - 1} if near and len(shape) > 2 else {len(shape) - 1}


def _is_last(axis: int, shape: tuple[int, ...]) -> bool:
    return axis == len(shape) - 1


def _axes_exchanged(order: Arrangement, shape: tuple[int, ...]) -> set[int]:
    """The axes of a shape that an order permutes whole; all of them if it does more than that."""
    index = np.arange(int(np.prod(shape))).reshape(shape)
    wanted = order(index)
    for axes in _permutations(shape):
        if np.array_equal(index.transpose(axes), wanted):
            return {axis for i, axis in enumerate(axes) if axis != i}
    return set(range(len(shape)))


def _spatial(case: Case) -> tuple[int, ...]:
    rank = len(case.reference.value.shape)
    first = case.reference.tape.framework not in _LAST_FIRST
    return tuple(range(2, rank)) if first else tuple(range(1, rank - 1))


def _is_image(case: Case, shape: tuple[int, ...]) -> bool:
    """Whether a value is a batch of images: convolutions or pools are its neighbours."""
    return len(shape) >= 4 and any(
        any(word in kind for word in _IMAGES) for kind in _neighbours(case)
    )


def _neighbours(case: Case) -> set[str]:
    """Kinds of the operations in, just before and just after a case, on both sides."""
    found: set[str] = set()
    for view in (case.reference, case.candidate):
        found.update(plain_kind(op) for op in (*view.ops, *view.readers(3)))
        found.update(plain_kind(op) for op in _makers(case, view is case.candidate))
    return found


def _makers(case: Case, as_candidate: bool, steps: int = 6) -> list[Op]:
    """Operations just before a region."""
    view = case.candidate if as_candidate else case.reference
    stack = list(case.candidate_entering if as_candidate else case.entering)
    found: list[Op] = []
    while stack and len(found) < steps:
        op = view.tape.producer(stack.pop(0))
        if op is not None and not op.static:
            found.append(op)
            stack.extend(op.inputs)
    return found


def _attends(case: Case) -> bool:
    """Whether values are multiplied with values near a case, as attention does."""
    for view in (case.reference, case.candidate):
        for op in (*view.ops, *view.readers(4)):
            if not any(word in plain_kind(op) for word in _PRODUCTS):
                continue
            computed = [v for v in op.inputs if (p := view.tape.producer(v)) and not p.static]
            if len(computed) > 1:
                return True
    return False


def _flattened(case: Case) -> bool:
    """Whether what is read is a batch of rows that were images or sequences."""
    ends = (case.reference.value.shape, case.candidate.value.shape)
    if len(ends[1]) == 2 and len(ends[0]) > 2 or len(ends[0]) == 2 and len(ends[1]) > 2:
        return True
    return any(
        len(shape) == 2
        and case.first.fed[root].ndim > 2
        and shape[0] == case.first.fed[root].shape[0]
        for root in case.first.fed
        for shape in _shapes_of(case, root)
    )


def _shapes_of(case: Case, root: int) -> list[tuple[int, ...]]:
    """Shapes that mere moves give a value that enters."""
    tape = case.reference.tape
    read = {value for op in case.reference.ops for value in (*op.inputs, *op.outputs)}
    read.update(case.partners.values())
    return [tape.values[v].shape for v in read if tape.before_moves(v) == root]


def _reshapes_images(case: Case) -> bool:
    """Whether moves in a case or just after it trade channels for places."""
    shapes: list[tuple[int, ...]] = []
    for view in (case.reference, case.candidate):
        if all(op.role == "move" for op in view.ops):
            shapes.extend(x.shape for x in case.first.fed.values())
        shapes.extend(view.tape.values[value].shape for value in _moved_on(view))
    images = [shape for shape in shapes if len(shape) == 4]
    return (
        len({math.prod(shape) for shape in images})
        == 1
        < len({tuple(sorted(shape)) for shape in images})
    )


def _moved_on(view: RegionView) -> list[int]:
    """The end of a region, and what mere moves make of it."""
    found = [view.end]
    for op in view.tape.ops[view.value.op + 1 :]:
        if op.role == "move" and len(op.inputs) == 1 and op.inputs[0] in found:
            found.extend(op.outputs)
    return found


@cause("flatten-order", "head-split-order")
def moved_otherwise(case: Case) -> Iterator[Explanation]:
    """What a region computes with is reshaped or transposed otherwise before.

    Looks like: tokens that hold numbers of several channels, where they should hold one place's.
    Proof: the reference's operations on what enters, moved as the candidate moves it, give the
        candidate's value.
    """
    ours, theirs = _moved(case.reference), _moved(case.candidate)
    for value, root in ours.items():
        partner = case.reference.tape.before_moves(root)
        array = case.first.fed.get(partner)
        if array is None or array.size < 2:
            continue
        places = {partner: np.arange(array.size, dtype=np.float64).reshape(array.shape)}
        (mine,) = case.reference_values({**case.first.fed, **places}, [value])
        for other in theirs:
            if case.candidate.tape.values[other].shape != mine.shape:
                continue
            (index,) = case.candidate_values({**case.first.fed, **places}, [other])
            order = None if np.array_equal(mine, index) else arrangement(mine, index)
            flat = mine.ndim < array.ndim
            if order is None or (isinstance(order, AxisOrder) and not flat):
                continue  # no axis is taken apart
            predict = _in_order(case, value, order)
            if gives(case, predict):
                yield Explanation(
                    "flatten-order" if flat else "head-split-order",
                    f"{array.shape} is made {mine.shape} in another order: {order}",
                    predict,
                )
                return


def _moved(view: RegionView) -> dict[int, int]:
    """What mere moves in a region make for its computing operations, and of what."""
    made = {value for op in view.ops if op.role == "move" for value in op.outputs}
    read = dict.fromkeys(value for op in view.computing for value in op.inputs if value in made)
    return {value: view.tape.before_moves(value) for value in read}


def _in_order(case: Case, value: int, order: Reorder) -> Predict:
    def predict(trial: Trial) -> Array:
        (array,) = case.reference_values(trial.fed, [value])
        return case.run_reference(trial.fed, {value: order(array)})

    return predict


# --- values that enter ----------------------------------------------------------------------------


@cause("flatten-order", "head-split-order")
def read_as_it_lies(case: Case) -> Iterator[Explanation]:
    """What enters lies in another order on the candidate's side, and is read as if it did not.

    Looks like: a dense layer after a flatten whose result has nothing in common with the
        reference's, from equal weights and equal images.
    Proof: the reference's operations on its own input, laid out as the candidate's, give the
        candidate's value.
    """
    pairs = {
        value: case.repaired.pairs[value]
        for value in case.candidate_entering
        if value in case.repaired.pairs and not case.repaired.pairs[value].order.identity
    }
    for value, pair in pairs.items():
        theirs = case.candidate.tape.values[value].shape
        for entering in case.entering:
            tape = case.reference.tape
            ours = tape.values[entering].shape
            if tape.before_moves(entering) != tape.before_moves(pair.reference):
                continue  # another value altogether
            predict = _laid_as(case, pair.reference, pair.order, entering)
            if ours != theirs or not gives(case, predict):
                continue
            kind = "flatten-order" if len(ours) == 2 else "head-split-order"
            rows = case.reference.tape.values[pair.reference].shape
            yield Explanation(
                kind,
                f"{rows} is flattened in another order than the weights expect: {pair.order}",
                predict,
                parameters={"order": (_letters(pair.order, True), _letters(pair.order, False))},
            )
            return


def _laid_as(case: Case, partner: int, order: Order, entering: int) -> Predict:
    def predict(trial: Trial) -> Array:
        value = case.reference_values(trial.fed, [partner])[0]
        return case.run_reference({**trial.fed, entering: order.apply(value)})

    return predict


def _letters(order: Order, straight: bool) -> str:
    names = "NCHWDEFG"[: len(order.fine)]
    return names if straight else "".join(names[axis] for axis in order.axes)


@cause("head-split-order", "rope-pairing", "spatial-swap", "channel-order")
def entering_arranged(case: Case) -> Iterator[Explanation]:
    """What enters is taken apart in another order: heads, halves, rows and columns, channels.

    Looks like: attention scores of the right shape and size that have nothing in common with the
        reference's.
    Proof: the reference's operations on their inputs with the last axis (or the places) in the
        other order give the candidate's value.
    """
    if all(op.role == "move" for op in case.reference.ops):
        return
    fed = case.first.fed
    floating = [root for root in fed if fed[root].dtype.kind == "f" and fed[root].ndim > 1]
    if not floating:
        return
    groups = [tuple(floating)] + [(root,) for root in floating if len(floating) > 1]
    for roots in groups:
        for kind, text, reorder in _reorders(case, [fed[root] for root in roots]):
            predict = _reordered(case, roots, reorder)
            if gives(case, predict):
                yield Explanation(kind, text, predict, cost=1.0)
                return


def _reorders(case: Case, arrays: list[Array]) -> Iterator[tuple[str, str, Reorder]]:
    """Orders in which what enters may have been read instead."""
    widths = {array.shape[-1] for array in arrays}
    if len(widths) == 1 and (_attends(case) or arrays[0].ndim > 2):
        for rows, columns in _tables(case, widths.pop()):
            text = f"the last axis is split as {(columns, rows)}, not as {(rows, columns)}"
            yield "head-split-order", text, _by_columns(rows, columns)
        for width, half in _halves(case, arrays[0].shape[-1]):
            text = f"halves of {width} are taken for every other entry"
            yield "rope-pairing", text, _by_columns(half, 2)
            yield "rope-pairing", text, _by_columns(2, half)
    if len(arrays) > 1 or arrays[0].ndim < 4:
        return
    x = arrays[0]
    last = case.reference.tape.framework in _LAST_FIRST
    space = range(1, x.ndim - 1) if last else range(2, x.ndim)
    for first, second in itertools.combinations(space, 2):
        if x.shape[first] == x.shape[second]:
            axes = f"axes {first} and {second} of {x.shape}"
            yield "spatial-swap", f"{axes} are exchanged", _exchange(first, second)
    channels = x.ndim - 1 if last else 1
    yield "channel-order", f"axis {channels} of {x.shape} runs backwards", _backwards(channels)


def _tables(case: Case, width: int) -> Iterator[tuple[int, int]]:
    """(heads, features) that a width may be split in: those that a value's shape shows first."""
    shown = {
        n
        for op in case.reference.ops
        for v in op.outputs
        for n in case.reference.tape.values[v].shape
    }
    fitting = [n for n in range(2, width) if width % n == 0]
    for rows in sorted(fitting, key=lambda n: (n not in shown, n))[:_FEW]:
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
        {**trial.fed, **{root: reorder(trial.fed[root]) for root in roots}}
    )


@cause("rope-pairing")
def halves_for_neighbours(case: Case) -> Iterator[Explanation]:
    """Rotary positions pair the first half with the second where the reference pairs neighbours.

    Looks like: queries and keys whose norms agree while their numbers do not.
    Proof: on one side every other entry of the last axis is taken, on the other every entry of one
        half, from the same values.
    """
    roots = list(case.first.fed)
    if len(roots) != 1 or any(
        op.role != "move" for view in (case.reference, case.candidate) for op in view.ops
    ):
        return
    x = case.first.fed[roots[0]]
    taken = case.probe({roots[0]: np.arange(x.size, dtype=np.float64).reshape(x.shape)})
    ours, theirs = (_taken(one, x.size) for one in (taken.reference, taken.candidate))
    if ours is None or theirs is None or ours == theirs:
        return
    (start, step, width), (start_now, step_now, width_now) = ours, theirs
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
        rows = trial.fed[root].reshape(-1, width)
        taken = rows[:, start : start + step * (width // 2) : step]
        return taken.reshape(trial.reference.shape)

    return predict
