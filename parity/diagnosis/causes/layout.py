"""Values in another order: of axes, of channels, of pixels, of parts, of heads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from parity.diagnosis.case import Case, index_along
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._arrange import (
    Arrangement,
    AxisOrder,
    alike,
    arrangement,
    holds_two_numbers,
    of_index,
    same_bag_at_a_glance,
)
from parity.diagnosis.causes._context import (
    attends,
    exchanges_places,
    flattened,
    is_image,
    makers,
    moves_only,
    near_images,
    permutations,
    reshapes_images,
    role_of_axis,
    spatial_axes,
)
from parity.diagnosis.causes._limits import CHANNELS_COST, PARTS_JOINED
from parity.diagnosis.causes._sides import sides
from parity.diagnosis.causes.input_order import exchanged_kernels
from parity.diagnosis.trial import Trial
from parity.operations import CONVOLUTIONS, PADS, SOFTMAXES
from parity.tape import Array

_SHUFFLES = {"depth_to_space", "space_to_depth"}
_JOINS = {"concatenate", "stack"}


@cause(
    *("pixel-shuffle-order", "concat-order", "channel-order", "spatial-swap"),
    *("head-split-order", "flatten-order", "rope-pairing", "axis-order"),
)
def value_arranged(case: Case) -> Iterator[Explanation]:
    """A value holds the right values in the wrong order.

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
        unproved=_may_be_an_index(case) or _may_be_an_axis(case),
        cost=CHANNELS_COST if kind in ("channel-order", "axis-order") else 0.0,
    )


def _may_be_an_index(case: Case) -> str:
    """Why an order of what was computed is not proved; what was only moved has no other index."""
    if moves_only(case) or not holds_two_numbers(case.first.reference):
        return ""
    return "it holds but two numbers: another index gives what another order gives"


def _may_be_an_axis(case: Case) -> str:
    """Why it is not sure that axes were exchanged: a softmax moves its own axis to the end."""
    end = case.candidate.tape.producer(case.candidate.end)
    for op in case.candidate.readers(1):
        if end is not None and end.role == "move" and op.word in SOFTMAXES:
            if op.site.source == end.site.source:
                return f"{op.kind} on the same line moves its axis there: it may be over another"
    return ""


def _order(case: Case) -> Arrangement | AxisOrder | None:
    """How the reference's value is to be arranged to be the candidate's."""
    first = case.first
    if first.reference.shape != first.candidate.shape or not _same_bag(first):
        return None
    for given in (_distinct(case, _starts(case)), _distinct(case, first.given)):
        trial = case.probe(given)
        found = arrangement(trial.reference, trial.candidate)
        if found is not None:
            return found
    return None


def _starts(case: Case) -> dict[int, Array]:
    """What either side reads, each by itself, even where one is computed from another."""
    tape = case.reference.tape
    values = (*case.entering, *case.partners.values())
    starts = list(dict.fromkeys(tape.before_moves(value) for value in values))
    return dict(zip(starts, case.reference_values(case.first.given, starts), strict=True))


def _distinct(case: Case, given: Mapping[int, Array]) -> dict[int, Array]:
    """Positive numbers, no two alike, in place of what is given."""
    random = np.random.default_rng(0)
    return {
        root: random.uniform(0.5, 1.5, x.shape) if x.dtype.kind == "f" else x
        for root, x in given.items()
    }


def _same_bag(trial: Trial) -> bool:
    a, b = trial.reference, trial.candidate
    if not a.size or not np.isfinite(a).all() or not same_bag_at_a_glance(a, b):
        return False
    return alike(np.sort(b, axis=None), np.sort(a, axis=None))


def _named(case: Case, order: Arrangement | AxisOrder) -> tuple[str, str] | None:
    """An order's name by what it is done to."""
    words = {op.word for view in (case.reference, case.candidate) for op in view.ops}
    if words & _SHUFFLES or reshapes_images(case):
        return (
            "pixel-shuffle-order",
            f"pixels and channels are split in another order: {order}",
        )
    if isinstance(order, AxisOrder):
        return _axis_order_named(case, order, words)
    shape = case.first.reference.shape
    if order.flipped:  # no split of an axis and no transposition reverses one
        same = order.fine == shape and order.axes == tuple(range(len(shape)))
        return ("axis-order", f"axes {order.flipped} are in reverse order") if same else None
    if is_image(case, shape) and _axes_exchanged(order, shape) <= _places(case):
        return _swap_named(case, order)
    if flattened(case):
        return "flatten-order", f"the features are flattened in another order: {order}"
    if is_image(case, shape):
        return "channel-order", f"the channels are split and joined in another order: {order}"
    return _split_named(case, order)


def _axis_order_named(case: Case, order: AxisOrder, words: set[str]) -> tuple[str, str] | None:
    shape = case.first.reference.shape
    if words & _JOINS and len(case.entering) > 1 and _is_of_parts(case, order):
        axis = case.candidate_axis(order.axis)
        return "concat-order", f"the parts are joined in another order along axis {axis}"
    if order.interleaves and order.axis == len(shape) - 1 and attends(case):
        return "rope-pairing", f"pairs of neighbours for pairs across halves: {order}"
    role = role_of_axis(case, case.reference.end, order.axis)
    is_place = is_image(case, shape) and order.axis in _places(case)
    if role == "places" or (is_place and not role):
        if words & PADS:
            return None  # moved by the zeros on the other side
        return "axis-order", f"of the image, {order.sentence}"
    features = of_index(np.array(order.order), (len(order.order),))
    if features is not None and len(features.fine) > 1 and len(shape) <= 3:
        if flattened(case):
            return "flatten-order", f"the features are flattened in another order: {features}"
        if attends(case):
            return "head-split-order", f"axis {order.axis} is split otherwise: {features}"
    if role == "channels":
        return "channel-order", f"the channels' {order}"
    if order.axis not in _channel_axes(case, shape):
        return None
    return "axis-order" if attends(case) else "channel-order", order.sentence


def _swap_named(case: Case, order: Arrangement) -> tuple[str, str] | None:
    """Of places of an image that are exchanged: by kernels, or by an operation."""
    kernels = exchanged_kernels(case)
    if kernels:
        return "spatial-swap", f"height and width of {', '.join(kernels.values())} are exchanged"
    if exchanges_places(case):
        return "spatial-swap", f"height and width are exchanged: {order}"
    return None


def _split_named(case: Case, order: Arrangement) -> tuple[str, str] | None:
    """Of axes that are split or joined, as into heads."""
    shape = case.first.reference.shape
    exchanged = _axes_exchanged(order, shape)
    largest = max((x.ndim for x in case.first.given.values()), default=0)
    if moves_only(case) and largest < len(shape):
        if len(shape) == 3 and exchanged == {1, 2} and shape[1] == shape[2]:
            return "weight-not-transposed", f"a matrix of {shape[1:]} for each sample is transposed"
        return "head-split-order", f"{_split_axis(case)} split otherwise: {order}"
    if len(shape) - 1 in exchanged and len(exchanged) < len(shape):
        return None  # two whole axes: what is transposed is no split of heads
    if attends(case) and _ends_in_parts(order, shape):
        return "head-split-order", f"heads and their features are split otherwise: {order}"
    if attends(case) or largest > len(shape):
        return "head-split-order", f"axes are split or joined in another order: {order}"
    return None


def _places(case: Case) -> set[int]:
    return set(spatial_axes(case.reference, len(case.first.reference.shape)))


def _ends_in_parts(order: Arrangement, shape: tuple[int, ...]) -> bool:
    """Whether an order splits the last axis: into heads, with their features."""
    return order.axes[-1] != len(order.axes) - 1 and order.fine[-1] != shape[-1]


def _split_axis(case: Case) -> str:
    """Which axis of what is read two sides of moves split in different ways, in words."""
    unknown = "what is read is"
    given = case.first.given
    roots = [root for root in given if given[root].dtype.kind == "f"]
    if len(roots) != 1:
        return unknown
    shape = given[roots[0]].shape
    differ = []
    for axis in range(len(shape)):
        trial = case.probe({**given, roots[0]: np.array(index_along(shape, axis))})
        if not np.array_equal(trial.reference, trial.candidate):
            differ.append(axis)
    return f"axis {differ[0]} of {shape} is" if len(differ) == 1 else unknown


def _is_of_parts(case: Case, order: AxisOrder) -> bool:
    """Whether what stays together in an order are parts that a side joins, or several of them."""
    if not 1 < len(order.blocks) <= PARTS_JOINED:
        return False
    length = case.reference.value.shape[order.axis]
    cuts = [0, *np.cumsum(order.blocks)[:-1].tolist()]
    sides = (case.reference, {order.order[cut] for cut in cuts}), (case.candidate, set(cuts))
    return any(
        starts <= joined
        for view, starts in sides
        for op in view.ops
        if op.word in _JOINS
        for joined in _starts_of_parts([view.tape.values[v].shape for v in op.inputs], length)
    )


def _starts_of_parts(shapes: list[tuple[int, ...]], length: int) -> Iterator[set[int]]:
    """Where the parts start along each axis that joined has a certain length."""
    shapes = [shape for shape in shapes if shape]
    if not shapes or len({len(shape) for shape in shapes}) > 1:
        return
    if len(shapes) == length:
        yield set(range(length))  # stacked along an axis of their own
    for axis in range(len(shapes[0])):
        lengths = [shape[axis] for shape in shapes]
        if sum(lengths) == length:
            yield {0, *np.cumsum(lengths)[:-1].tolist()}


def _channel_axes(case: Case, shape: tuple[int, ...]) -> set[int]:
    """The axes that may be channels: the last, and after the batch where images are near.

    What a convolution reads has the framework's own layout: its other axes are places.
    """
    last = len(shape) - 1
    if last < 2 or not near_images(case):
        return {last}
    if any(op.word in CONVOLUTIONS for op in case.reference.readers()):
        return {1, last} - _places(case)
    return {1, last} if last > 2 or _is_sequence(case) else {last}


def _is_sequence(case: Case) -> bool:
    """Whether convolutions over one axis are near: what else has three axes are tokens."""
    tape = case.reference.tape
    near = (*case.reference.ops, *case.reference.readers(3), *makers(sides(case)[0]))
    return any(
        op.word in CONVOLUTIONS and len(tape.values[op.outputs[0]].shape) == 3 for op in near
    )


def _axes_exchanged(order: Arrangement, shape: tuple[int, ...]) -> set[int]:
    """The axes of a shape that an order permutes whole; all of them if it does more than that."""
    index = np.arange(int(np.prod(shape))).reshape(shape)
    wanted = order(index)
    for axes in permutations(shape):
        if np.array_equal(index.transpose(axes), wanted):
            return {axis for i, axis in enumerate(axes) if axis != i}
    return set(range(len(shape)))
