"""What the causes of orders ask about a case: what lies around it, and what its axes are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator

import numpy as np

from parity.diagnosis.case import Case, axes_along
from parity.diagnosis.causes._limits import (
    OPS_BEFORE_A_REGION,
    OPS_TO_A_CONVOLUTION,
    TABLES_OF_ANGLES,
)
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.view import RegionView
from parity.errors import ReplayError
from parity.numerics.limits import ALIKE
from parity.operations import CONVOLUTIONS, POOLS, PRODUCTS, RESIZES
from parity.tape import Array, Op, Replay, Tape, Value

_ATTENDING = PRODUCTS - {"dense"} | {"attention"}
_IMAGES = CONVOLUTIONS | POOLS | RESIZES
SHUFFLES = {"depth_to_space", "space_to_depth"}
_EXCHANGED = ([1, 3, 2], [2, 1, 3], [3, 2, 1])  # places of the axes behind the first


def maps_elementwise(case: Case) -> bool:
    """Whether both sides make values of one shape of one value of that shape."""
    first = case.first
    return len(first.inputs) == 1 and (
        first.x.shape == first.reference.shape == first.candidate.shape
    )


def moves_only(case: Case) -> bool:
    """Whether neither side computes anything."""
    return not case.reference.computing and not case.candidate.computing


def flattened(case: Case) -> bool:
    """Whether what is read is a batch of rows that were images or sequences."""
    ends = (case.reference.value.shape, case.candidate.value.shape)
    if len(ends[1]) == 2 and len(ends[0]) > 2 or len(ends[0]) == 2 and len(ends[1]) > 2:
        return True
    tape, given = case.reference.tape, case.first.given
    read = {value for op in case.reference.ops for value in (*op.inputs, *op.outputs)}
    return any(
        (root := tape.before_moves(value)) in given
        and given[root].ndim > 2
        and len(tape.values[value].shape) == 2
        and tape.values[value].shape[0] == given[root].shape[0]
        for value in read | {*case.partners.values()}
    )


def reshapes_images(case: Case) -> bool:
    """Whether moves in a case or just after it trade channels for places."""
    shapes: list[tuple[int, ...]] = []
    for view in (case.reference, case.candidate):
        if all(op.role == "move" for op in view.ops):
            shapes.extend(x.shape for x in case.first.given.values())
        shapes.extend(view.tape.values[value].shape for value in moved_on(view))
    return trades_channels(shapes)


def trades_channels(shapes: Iterable[tuple[int, ...]]) -> bool:
    """Whether images among the shapes of one value hold as many numbers in other lengths."""
    images = [shape for shape in shapes if len(shape) == 4 and 1 not in shape[1:]]
    return (
        len({math.prod(shape) for shape in images})
        == 1
        < len({tuple(sorted(shape)) for shape in images})
    )


def moved_on(view: RegionView) -> list[int]:
    """The end of a region, and what mere moves make of all of it: nothing is cut or padded."""
    values, size = view.tape.values, view.value.size

    def moves(op: Op) -> bool:
        return op.role == "move" and len(op.inputs) == 1 and values[op.outputs[0]].size == size

    reading = view.tape.graph.readers_onward([view.end], moves)
    return [view.end, *(value for op in reading if moves(op) for value in op.outputs)]


def attends(case: Case, readers: int = 4, before: bool = False) -> bool:
    """Whether values are multiplied with values in a case or just after it, as attention does.

    Args:
        before: whether just before it counts as well.
    """
    for side in sides(case):
        view = side.view
        ops = (*view.ops, *(view.readers(readers) if readers else ()))
        for op in (*ops, *(makers(side) if before else ())):
            if op.word not in _ATTENDING:
                continue
            if sum(map(view.tape.is_live, op.inputs)) > 1:
                return True
    return False


def is_image(case: Case, shape: tuple[int, ...]) -> bool:
    """Whether a value is a batch of images: convolutions or pools are its neighbours."""
    return len(shape) >= 4 and near_images(case)


def near_images(case: Case) -> bool:
    """Whether convolutions or pools are near a case."""
    return any(op.word in _IMAGES for side in sides(case) for op in around(side))


def around(side: CaseSide) -> list[Op]:
    """The operations in, just after and just before a region."""
    return [*side.view.ops, *side.view.readers(3), *makers(side)]


def makers(side: CaseSide) -> list[Op]:
    """The live operations just before a region, the nearest first."""
    stack = list(side.entering)
    found: list[Op] = []
    while stack and len(found) < OPS_BEFORE_A_REGION:
        op = side.view.tape.producer(stack.pop(0))
        if op is not None and not op.static:
            found.append(op)
            stack.extend(op.inputs)
    return found


def role_of_axis(case: Case, value: int, axis: int) -> str:
    """What the convolution behind it takes an axis for: "channels", "places", or "" for neither."""
    tape, run = case.reference.tape, case.repaired.reference.run
    stack = [(value, axis % max(1, len(tape.values[value].shape)))]
    seen: set[int] = set()
    while stack and len(seen) < OPS_TO_A_CONVOLUTION:
        at, axis = stack.pop(0)
        shape = tape.values[at].shape
        for op in (tape.ops[index] for index in tape.consumers[at]):
            if op.index in seen or not op.outputs:
                continue
            seen.add(op.index)
            made = op.outputs[0]
            if op.word in CONVOLUTIONS:
                window = tape.window(op)
                if window is None or window.x != at:
                    continue  # as its kernel
                return "channels" if axis == window.channel else "places"
            if op.role == "move" and len(shape) > 1:
                found = _followed(tape, op, at, axis, run)
                if found is not None:
                    stack.append((made, found))
            elif tape.values[made].shape == shape:
                stack.append((made, axis))
    return ""


def _followed(tape: Tape, op: Op, value: int, axis: int, run: Replay) -> int | None:
    """Where a move puts an axis; None where it is one no more."""

    def move(array: Array) -> Array:
        return tape.replay("float64", {value: array}, run, only={op.index}).array(op.outputs[0])

    try:
        found = axes_along(move, tape.values[value].shape, axis)
    except ReplayError:
        return None
    return found[0] if len(found) == 1 else None


def exchanges_places(case: Case) -> bool:
    """Whether an operation of either side exchanges rows and columns of images.

    Channels that are put last, or first, keep the order of the other three axes around.
    """
    for side in sides(case):
        tape = side.view.tape
        for op in tape.ops:
            if op.role != "move" or not op.outputs or op.index not in tape.used:
                if op.word == "einsum" and not op.static:
                    return True
                continue
            if op.word not in ("transpose", "rotate"):
                continue
            rank = len(tape.values[op.inputs[0]].shape)
            if rank == 4 and op.static:
                continue  # of a kernel
            places = [_followed(tape, op, op.inputs[0], i, side.model.run) for i in range(rank)]
            if rank > 4 or (rank == 4 and places[1:] in _EXCHANGED) or places == [0, 2, 1]:
                return True
    return False


def channel_axis(view: RegionView, rank: int) -> int:
    """The axis of channels of images that a region reads or gives."""
    ops = view.ops or view.tape.ops
    return view.tape.adapter.TRAITS.channel_axis(ops[-1], rank) if ops else 1


def spatial_axes(view: RegionView, rank: int) -> tuple[int, ...]:
    """The axes that are places of such images."""
    return tuple(axis for axis in range(1, rank) if axis != channel_axis(view, rank))


def permutations(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Permutations of axes that leave a shape as it is, but the one that leaves all in place."""
    axes = tuple(range(len(shape)))
    if len(shape) <= 5:
        for order in itertools.permutations(axes):
            if order != axes and tuple(shape[axis] for axis in order) == shape:
                yield order


def axes_exchanged(index: Array) -> set[int]:
    """The axes that an index of places permutes whole; all of them if it does more than that."""
    places = np.arange(index.size).reshape(index.shape)
    for axes in permutations(index.shape):
        if np.array_equal(places.transpose(axes), index):
            return {axis for i, axis in enumerate(axes) if axis != i}
    return set(range(index.ndim))


def splits_heads(
    case: Case, shape: tuple[int, ...], exchanged: set[int], tape: Tape, value: int
) -> bool:
    """Whether two axes that change places before attention were one, which moves split in two."""
    lengths = [shape[axis] for axis in exchanged]
    if len(shape) != 4 or len(lengths) != 2 or not attends(case):
        return False
    return math.prod(lengths) in tape.values[tape.before_moves(value)].shape


def has_angles(case: Case) -> bool:
    """Whether a model has cosines with their sines, as rotary positions are of."""
    for tape in (case.reference.tape, case.candidate.tape):
        if any(op.word in ("sin", "cos") for op in tape.ops):
            return True
        held = [tape.recorded_array(one.id) for one in tape.values if _may_be_cosines(one)]
        for a, b in itertools.combinations(held, 2):
            if a.shape == b.shape and np.allclose(a * a + b * b, 1, atol=ALIKE):
                return True
    return False


def _may_be_cosines(value: Value) -> bool:
    floating = value.op < 0 and value.kind != "input" and value.dtype.startswith("float")
    return floating and 1 < value.size <= TABLES_OF_ANGLES
