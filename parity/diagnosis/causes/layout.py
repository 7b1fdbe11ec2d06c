"""Values in another order: of axes, of channels, of pixels, of parts, of heads; given or read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from parity.diagnosis.case import Case, index_along
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._arrange import (
    Arrangement,
    AxisOrder,
    alike,
    arrangement,
    holds_two_numbers,
    same_bag_at_a_glance,
)
from parity.diagnosis.causes._context import (
    SHUFFLES,
    around,
    attends,
    axes_exchanged,
    exchanges_places,
    flattened,
    has_angles,
    is_image,
    moves_only,
    near_images,
    reshapes_images,
    role_of_axis,
    spatial_axes,
    splits_heads,
)
from parity.diagnosis.causes._limits import CHANNELS_COST, PARTS_JOINED
from parity.diagnosis.causes._sides import sides
from parity.diagnosis.causes._substitution import with_value
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.causes.input_order import exchanged_kernels, kernels_in_words
from parity.diagnosis.view import RegionView
from parity.matching.axis_order import Order
from parity.operations import CONVOLUTIONS, PADS, SOFTMAXES, SUBTRACTIONS

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
    named = None if order is None else _named(case, order)
    if order is None or named is None:
        return
    kind, text = named
    yield Explanation(
        kind,
        text,
        lambda trial: order(trial.reference),
        unproved=_may_be_no_order(case),
        cost=CHANNELS_COST if kind in ("channel-order", "axis-order") else 0.0,
    )


def _may_be_no_order(case: Case) -> str:
    """Why an order is not proved: an index gives it as well, or a softmax, which moves its axis."""
    if not moves_only(case) and holds_two_numbers(case.first.reference):
        return "it holds but two numbers: another index gives what another order gives"
    end = case.candidate.tape.producer(case.candidate.end)
    for op in case.candidate.readers(1):
        if end is not None and end.role == "move" and op.word in SOFTMAXES:
            if op.site.source == end.site.source:
                return f"{op.kind} on the same line moves its axis there: it may be over another"
    return ""


def _order(case: Case) -> Arrangement | AxisOrder | None:
    """How the reference's value is to be arranged to be the candidate's."""
    a, b, given = case.first.reference, case.first.candidate, case.first.given
    if a.shape != b.shape or not a.size or not np.isfinite(a).all():
        return None
    if not same_bag_at_a_glance(a, b) or not alike(np.sort(b, axis=None), np.sort(a, axis=None)):
        return None
    tape = case.reference.tape
    read = (tape.before_moves(value) for value in (*case.entering, *case.partners.values()))
    # what either side reads, each by itself, even where one is computed from another
    starts = dict.fromkeys(read)
    arrays = case.reference_values(given, starts)
    for one in (dict(zip(starts, arrays, strict=True)), given):
        random = np.random.default_rng(0)  # positive values, no two alike
        trial = case.probe(
            {
                root: random.uniform(0.5, 1.5, x.shape) if x.dtype.kind == "f" else x
                for root, x in one.items()
            }
        )
        found = arrangement(trial.reference, trial.candidate)
        if found is not None:
            return found
    return None


def _named(case: Case, order: Arrangement | AxisOrder) -> tuple[str, str] | None:
    """An order's name by what it is done to."""
    words = {op.word for view in (case.reference, case.candidate) for op in view.ops}
    if words & SHUFFLES or reshapes_images(case):
        return "pixel-shuffle-order", f"pixels and channels are split in another order: {order}"
    if isinstance(order, AxisOrder):
        return _axis_order_named(case, order, words)
    if words & SUBTRACTIONS and not words & {"reshape", "transpose"}:
        return None  # of all pairs a difference taken the other way round is the transpose
    shape = case.first.reference.shape
    if order.flipped:  # no split of an axis and no transposition reverses one
        same = order.fine == shape and order.axes == tuple(range(len(shape)))
        return ("axis-order", f"axes {order.flipped} are in reverse order") if same else None
    if is_image(case, shape) and _axes_exchanged(order, shape) <= _places(case):
        return _swap_named(case, order)
    if _exchanges_heads(case, order):
        return "head-split-order", f"heads and their features are split otherwise: {order}"
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
    of_pairs = order.interleaves is not None and 2 in order.interleaves and len(shape) > 2
    if of_pairs and order.axis == len(shape) - 1 and attends(case) and has_angles(case):
        return "rope-pairing", f"pairs of neighbours for pairs across halves: {order}"
    role = role_of_axis(case, case.reference.end, order.axis)
    is_place = is_image(case, shape) and order.axis in _places(case)
    if role == "places" or (is_place and not role):
        if words & PADS:
            return None  # moved by the zeros on the other side
        return "axis-order", f"of the image, {order.sentence}"
    features = order.split
    if features is not None and len(shape) <= 3:
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
        return "spatial-swap", kernels_in_words(kernels)
    if exchanges_places(case):
        return "spatial-swap", f"height and width are exchanged: {order}"
    return None


def _split_named(case: Case, order: Arrangement) -> tuple[str, str] | None:
    """Of axes that are split or joined, as into heads."""
    shape = case.first.reference.shape
    exchanged = _axes_exchanged(order, shape)
    largest = max((x.ndim for x in case.first.given.values()), default=0)
    if moves_only(case) and largest < len(shape):
        if len(shape) == 3 and exchanged == {1, 2} and attends(case, 1):
            return "weight-not-transposed", f"a matrix of {shape[1:]} for each sample is transposed"
        return "head-split-order", f"{_split_axis(case)} split otherwise: {order}"
    square = len({shape[axis] for axis in exchanged}) == 1
    if square and len(shape) - 1 in exchanged and len(exchanged) < len(shape):
        return None  # two whole axes: what is transposed is no split of heads
    # the last axis is split: into heads, with their features
    if attends(case) and order.axes[-1] != len(order.axes) - 1 and order.fine[-1] != shape[-1]:
        return "head-split-order", f"heads and their features are split otherwise: {order}"
    if attends(case, before=True) or largest > len(shape):
        return "head-split-order", f"axes are split or joined in another order: {order}"
    return None


def _exchanges_heads(case: Case, order: Arrangement) -> bool:
    """Whether two axes of what attention reads change places that were one, split in two."""
    ends = [(view.tape, view.end) for view in (case.reference, case.candidate)]
    exchanged = _axes_exchanged(order, case.first.reference.shape)
    return any(splits_heads(case, case.first.reference.shape, exchanged, *end) for end in ends)


def _places(case: Case) -> set[int]:
    return set(spatial_axes(case.reference, len(case.first.reference.shape)))


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
    """The axes that may be channels; what a convolution reads has them where its framework has."""
    last = len(shape) - 1
    if last < 2 or not near_images(case):
        return {last}
    if any(op.word in CONVOLUTIONS for op in case.reference.readers()):
        return {1, last} - _places(case)
    return {1, last} if last > 2 or _is_sequence(case) else {last}


def _is_sequence(case: Case) -> bool:
    """Whether convolutions over one axis are near: what else has three axes are tokens."""
    values = case.reference.tape.values
    return any(
        op.word in CONVOLUTIONS and len(values[op.outputs[0]].shape) == 3
        for op in around(sides(case)[0])
    )


def _axes_exchanged(order: Arrangement, shape: tuple[int, ...]) -> set[int]:
    """The axes of a shape that an order permutes whole; all of them if it does more than that."""
    return axes_exchanged(order(np.arange(int(np.prod(shape))).reshape(shape)))


# --- values that a region reads -------------------------------------------------------------------


@cause("flatten-order", "head-split-order")
@first_fitting
def moved_otherwise(case: Case) -> Iterator[Explanation]:
    """What a region computes with is reshaped or transposed otherwise before.

    Looks like: tokens that hold values of several channels, where they should hold one place's.
    Proof: the reference's operations on their inputs, moved as the candidate moves it, give the
        candidate's value.
    """
    given, shapes = case.first.given, case.candidate.tape.values
    for value in _moved(case.reference):
        root = case.reference.tape.before_moves(value)
        if root not in given or given[root].size < 2:
            continue
        shape = given[root].shape
        places = {**given, root: np.arange(given[root].size, dtype=np.float64).reshape(shape)}
        (own,) = case.reference_values(places, [value])
        flat = own.ndim < len(shape)
        for other in _moved(case.candidate):
            if shapes[other].shape != own.shape:
                continue
            order = arrangement(own, *case.candidate_values(places, [other]))
            if order is None or (isinstance(order, AxisOrder) and not flat):
                continue  # no axis is split
            yield Explanation(
                "flatten-order" if flat else "head-split-order",
                f"{shape} is made {own.shape} in another order: {order}",
                with_value(case, value, order),
            )


def _moved(view: RegionView) -> list[int]:
    """What mere moves in a region make for its computing operations."""
    made = {value for op in view.ops if op.role == "move" for value in op.outputs}
    read = dict.fromkeys(value for op in view.computing for value in op.inputs)
    return [value for value in read if value in made]


@cause("flatten-order", "head-split-order")
@first_fitting
def read_as_it_lies(case: Case) -> Iterator[Explanation]:
    """An input lies in another order on the candidate's side, and is read as if it did not.

    Looks like: a dense layer after a flatten whose result has nothing in common with the
        reference's, from equal weights and equal images.
    Proof: the reference's operations on its own input, laid out as the candidate's, give the
        candidate's value.
    """
    tape = case.reference.tape
    for value, entering in itertools.product(case.candidate_entering, case.entering):
        pair, shape = case.repaired.pairs.get(value), tape.values[entering].shape
        if pair is None or pair.order.identity or len(pair.order.fine) == len(shape):
            continue  # transposed, and not flattened
        if shape != case.candidate.tape.values[value].shape:
            continue
        if tape.before_moves(entering) != tape.before_moves(pair.reference):
            continue  # another value altogether
        rows = tape.values[pair.reference].shape
        letters = _letters(pair.order, True), _letters(pair.order, False)
        yield Explanation(
            "flatten-order" if len(shape) == 2 else "head-split-order",
            f"{rows} is flattened in another order than the weights expect: {letters[1]}",
            with_value(case, entering, pair.order.apply, pair.reference),
            parameters={"order": letters},
        )


@cause("axis-order", enclosures=True)
@first_fitting
def read_transposed(case: Case) -> Iterator[Explanation]:
    """A value is read with two axes of one length exchanged, as scores of keys by queries.

    Looks like: attention whose query and key are exchanged: every score is there, in the place of
        another, and the softmax is over the other axis.
    Proof: the reference's operations on what they read, with those axes exchanged, give the
        candidate's value.
    """
    for value, partner in case.partners.items():
        order = case.inputs.pairs[value].order
        if order.stable or partner not in case.entering:
            continue
        straight = tuple(range(len(order.axes)))
        yield Explanation(
            "axis-order",
            f"axes {straight} of what is read lie as {order.axes}",
            with_value(case, partner, order.apply),
            parameters={"order": (straight, order.axes)},
            cost=1,  # where something is flattened, that says more
        )


def _letters(order: Order, straight: bool) -> str:
    """The axes as they lie in the reference, or in the candidate in the same letters."""
    rank = len(order.fine)
    places, inner = "DHW"[5 - rank :], tuple(range(1, rank - 1))
    names = "abcdefghij"[:rank]
    if not 3 <= rank <= 5:
        pass  # no images
    elif order.axes == (0, rank - 1, *inner):
        names = f"N{places}C"
    elif order.axes == (0, *(axis + 1 for axis in inner), 1):
        names = f"NC{places}"
    return names if straight else "".join(names[axis] for axis in order.axes)
