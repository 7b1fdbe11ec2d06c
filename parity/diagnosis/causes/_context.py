"""What the causes of orders ask about a case: what lies around it, and what its axes are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.view import RegionView, plain_kind
from parity.errors import ReplayError
from parity.tape import Array, Op, Replay, Tape

_PRODUCTS = ("matmul", "bmm", "einsum", "attention", "dot")
_IMAGES = ("conv", "pool", "resize", "upsample")
_TRANSPOSES = ("transpose", "permute", "swapaxes", "movedim", "moveaxis", "rot90", "adjoint")
_EXCHANGED = ([1, 3, 2], [2, 1, 3], [3, 2, 1])  # places of the axes behind the first
_FOLLOWED = 24  # operations behind a value, until one says what its axes are
LAST_FIRST = ("tensorflow", "keras")  # kernels are (*space, in, out), not (out, in, *space)
CHANNELS_COST = 3.0  # blocks in another order may be gates, which say more

Reorder = Callable[[Array], Array]


def flattened(case: Case) -> bool:
    """Whether what is read is a batch of rows that were images or sequences."""
    ends = (case.reference.value.shape, case.candidate.value.shape)
    if len(ends[1]) == 2 and len(ends[0]) > 2 or len(ends[0]) == 2 and len(ends[1]) > 2:
        return True
    return any(
        len(shape) == 2
        and case.first.given[root].ndim > 2
        and shape[0] == case.first.given[root].shape[0]
        for root in case.first.given
        for shape in _shapes_of(case, root)
    )


def _shapes_of(case: Case, root: int) -> list[tuple[int, ...]]:
    """Shapes that mere moves give a value that enters."""
    tape = case.reference.tape
    read = {value for op in case.reference.ops for value in (*op.inputs, *op.outputs)}
    read.update(case.partners.values())
    return [tape.values[v].shape for v in read if tape.before_moves(v) == root]


def reshapes_images(case: Case) -> bool:
    """Whether moves in a case or just after it trade channels for places."""
    shapes: list[tuple[int, ...]] = []
    for view in (case.reference, case.candidate):
        if all(op.role == "move" for op in view.ops):
            shapes.extend(x.shape for x in case.first.given.values())
        shapes.extend(view.tape.values[value].shape for value in moved_on(view))
    images = [shape for shape in shapes if len(shape) == 4]
    return (
        len({math.prod(shape) for shape in images})
        == 1
        < len({tuple(sorted(shape)) for shape in images})
    )


def moved_on(view: RegionView) -> list[int]:
    """The end of a region, and what mere moves make of it."""
    found = [view.end]
    for op in view.tape.ops[view.value.op + 1 :]:
        if op.role == "move" and len(op.inputs) == 1 and op.inputs[0] in found:
            found.extend(op.outputs)
    return found


def attends(case: Case, readers: int = 4) -> bool:
    """Whether values are multiplied with values in a case or just after it, as attention does."""
    for view in (case.reference, case.candidate):
        for op in (*view.ops, *(view.readers(readers) if readers else ())):
            if not any(word in plain_kind(op) for word in _PRODUCTS):
                continue
            computed = [v for v in op.inputs if (p := view.tape.producer(v)) and not p.static]
            if len(computed) > 1:
                return True
    return False


def is_image(case: Case, shape: tuple[int, ...]) -> bool:
    """Whether a value is a batch of images: convolutions or pools are its neighbours."""
    return len(shape) >= 4 and near_images(case)


def near_images(case: Case) -> bool:
    """Whether convolutions or pools are near a case."""
    return any(any(word in kind for word in _IMAGES) for kind in neighbours(case))


def neighbours(case: Case) -> set[str]:
    """Kinds of the operations in, just before and just after a case, on both sides."""
    found: set[str] = set()
    for view in (case.reference, case.candidate):
        found.update(plain_kind(op) for op in (*view.ops, *view.readers(3)))
        found.update(plain_kind(op) for op in makers(case, view is case.candidate))
    return found


def makers(case: Case, as_candidate: bool, steps: int = 6) -> list[Op]:
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


def role_of_axis(case: Case, value: int, axis: int) -> str:
    """What the convolution that reads a value of the reference takes one of its axes for.

    Returns:
        "channels" or "places"; "" where none reads it, or what comes between makes other axes.
    """
    tape, run = case.reference.tape, case.repaired.reference.run
    stack = [(value, axis % max(1, len(tape.values[value].shape)))]
    seen: set[int] = set()
    while stack and len(seen) < _FOLLOWED:
        at, axis = stack.pop(0)
        shape = tape.values[at].shape
        for op in (tape.ops[index] for index in tape.consumers[at]):
            if op.index in seen or not op.outputs:
                continue
            seen.add(op.index)
            made, kind = op.outputs[0], plain_kind(op)
            if "conv" in kind and len(shape) > 2:
                if next((one for one in op.inputs if _is_live(tape, one)), at) != at:
                    continue  # as its kernel
                first = tape.framework not in LAST_FIRST
                if str(op.attributes.get("data_format", "")).startswith("NC"):
                    first = True
                return "channels" if axis == (1 if first else len(shape) - 1) else "places"
            if op.role == "move" and len(shape) > 1:
                found = _followed(tape, op, at, axis, run)
                if found is not None:
                    stack.append((made, found))
            elif tape.values[made].shape == shape:
                stack.append((made, axis))
    return ""


def _is_live(tape: Tape, value: int) -> bool:
    """Whether inputs reach a value."""
    op = tape.producer(value)
    return tape.values[value].kind == "input" if op is None else not op.static


def _followed(tape: Tape, op: Op, value: int, axis: int, run: Replay) -> int | None:
    """Where a move puts an axis; None where it is one no more."""
    shape = tape.values[value].shape
    steps: Array = np.arange(shape[axis], dtype=np.float64)
    steps = steps.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    fed = {value: np.broadcast_to(steps, shape)}
    try:
        moved = tape.replay("float64", fed, run, only={op.index}).array(op.outputs[0])
    except ReplayError:
        return None
    vary = [i for i in range(moved.ndim) if (np.diff(moved, axis=i) != 0).any()]
    return vary[0] if len(vary) == 1 else None


def exchanges_places(case: Case) -> bool:
    """Whether an operation of either side exchanges rows and columns of images.

    Channels that are put last, or first, keep the order of the other three axes around.
    """
    sides = case.repaired.reference, case.repaired.side
    for view, side in zip((case.reference, case.candidate), sides, strict=True):
        tape = view.tape
        for op in tape.ops:
            if op.role != "move" or not op.outputs or op.index not in tape.used:
                if "einsum" in plain_kind(op) and not op.static:
                    return True
                continue
            if not any(word in plain_kind(op) for word in _TRANSPOSES):
                continue
            rank = len(tape.values[op.inputs[0]].shape)
            if rank == 4 and op.static:
                continue  # of a kernel
            places = [_followed(tape, op, op.inputs[0], i, side.run) for i in range(rank)]
            if rank > 4 or (rank == 4 and places[1:] in _EXCHANGED) or places == [0, 2, 1]:
                return True
    return False


def spatial(case: Case) -> tuple[int, ...]:
    rank = len(case.reference.value.shape)
    first = case.reference.tape.framework not in LAST_FIRST
    return tuple(range(2, rank)) if first else tuple(range(1, rank - 1))


def permutations(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Permutations of axes that leave a shape as it is, but the one that leaves all in place."""
    axes = tuple(range(len(shape)))
    if len(shape) <= 5:
        for order in itertools.permutations(axes):
            if order != axes and tuple(shape[axis] for axis in order) == shape:
                yield order
