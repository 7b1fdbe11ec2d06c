"""Whether the axes of two outputs are an image's: then channels first or last is no difference."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from parity.diagnosis.region import OutputPair
from parity.errors import ParityError
from parity.matching.match import Match
from parity.operations import CONVOLUTIONS, POOLS, RESIZES
from parity.tape import Array, Op, Replay, Tape
from parity.walk_once import Once

# Parts of the names of operations whose operands have channels; of those that sum products.
_OF_IMAGES = CONVOLUTIONS | POOLS | RESIZES | {"batch_norm"}
_PRODUCTS = ("matmul", "dense", "add_matmul", "einsum")

Steps = tuple[tuple[Op, int, int], ...]  # operations up to an output: what they read and give


def are_images(found: Match, pair: OutputPair) -> bool:
    """Whether outputs come of images that were given in two layouts, or of operations on images.

    Their axes have to be those of the image: a list of all places is none, nor is one of the
    several fields that channels stand for.
    """
    return _of_image_operations(found, pair) or _of_images(found, pair)


def _of_image_operations(found: Match, pair: OutputPair) -> bool:
    """Whether both outputs come of operations on images of their own number of axes."""

    def is_one(tape: Tape, value: int, out: int, steps: Steps) -> bool:
        op, rank = tape.producer(value), len(tape.values[out].shape)
        named = op is not None and op.word in _OF_IMAGES
        alike = named and len(tape.values[value].shape) == rank
        return alike and _keeps_axes(tape, value, steps)

    sides = (found.reference.tape, pair.reference), (found.side.tape, pair.candidate)
    return all(
        any(is_one(tape, one, out, steps) for one, steps in _of_images_too(tape, out).items())
        for tape, out in sides
    )


def _of_images(found: Match, pair: OutputPair) -> bool:
    """Whether the outputs come of images that were given to the models in two layouts."""
    tapes = found.reference.tape, found.side.tape
    given = [
        one
        for value in tapes[1].inputs.values()
        if (one := found.pairs.get(value)) is not None
        # of one channel the numbers lie alike in both layouts
        and (not one.order.identity or _shape(tapes[0], one.reference) != _shape(tapes[1], value))
    ]
    reached = _of_images_too(tapes[0], pair.reference), _of_images_too(tapes[1], pair.candidate)
    return any(
        one.reference in reached[0]
        and one.candidate in reached[1]
        and _keeps_axes(tapes[0], one.reference, reached[0][one.reference])
        and _keeps_axes(tapes[1], one.candidate, reached[1][one.candidate])
        for one in given
    )


def _shape(tape: Tape, value: int) -> tuple[int, ...]:
    return tape.values[value].shape


def _of_images_too(tape: Tape, value: int) -> dict[int, Steps]:
    """The values before one that are images if it is: up to a flattening, or an attention.

    With each the operations from there to that one.
    """
    batch = tape.values[value].shape[0]
    seen: dict[int, Steps] = {value: ()}
    todo = Once([value])
    for end in todo:
        op = tape.producer(end)
        if op is None or op.word in _OF_IMAGES:
            continue
        live = [one for one in op.inputs if tape.is_live(one)]
        if len(live) > 1 and op.word in _PRODUCTS:
            continue
        for source in live:
            shape = tape.values[source].shape
            flat = len(shape) < 3 and (not shape or shape[0] == batch)
            if source not in seen and not flat:
                seen[source] = ((op, source, end), *seen[end])
                todo.add([source])
    return seen


def _keeps_axes(tape: Tape, image: int, steps: Steps) -> bool:
    """Whether rows and columns of an image are still axes by themselves, its channels another one.

    True where that is not known, as behind sums.
    """
    shape = tape.values[image].shape
    places = np.arange(math.prod(shape), dtype=np.float64).reshape(shape)
    for op, source, end in steps:
        moved = _moved(tape, op, source, end, places)
        if moved is None:
            return True
        places = moved
    sources = _axes_of(places, shape)
    if len(sources) != len(shape):
        return True
    last = len(shape) - 1
    return any(_is_layout(sources, first, last) for first in (1, last))


def _is_layout(sources: Sequence[frozenset[int]], channels: int, last: int) -> bool:
    """Whether axes are an image's in either layout, if its channels lie on a given axis.

    Args:
        sources: of each axis of the output those of the image that go along it.
    """
    spatial = {axis for axis in range(1, last + 1) if axis != channels}
    for place in (1, last):
        others = [sources[axis] & spatial for axis in range(1, last + 1) if axis != place]
        apart = all(len(one) <= 1 for one in others)
        found = [axis for one in others for axis in one]
        if apart and len(set(found)) == len(found):
            own = channels in sources[place] or not sources[place]
            # one that holds nothing of the image but channels is a field of theirs
            fields = any(sources[a] == {channels} for a in range(1, last + 1) if a != place)
            if own and not fields:
                return True
    return False


def _moved(tape: Tape, op: Op, source: int, end: int, places: Array) -> Array | None:
    """What lies where behind an operation; None where it does more than to move or to compute."""
    shape = tape.values[end].shape
    if op.role != "move":
        return places if places.shape == shape else None
    if math.prod(shape) != places.size or len(op.outputs) != 1:
        return None
    recorded = Replay(tape, None, tape.recorded)
    given = {one: recorded.array(one) for one in op.inputs} | {source: places}
    try:
        run = tape.replay("float64", given, Replay(tape, "float64", {}), only=(op.index,))
    except ParityError:
        return None
    found: Array = run.array(end)
    return found if found.shape == shape else None


def _axes_of(places: Array, shape: Sequence[int]) -> list[frozenset[int]]:
    """Of each axis of an array of places the axes of the image that go along it."""
    found = []
    for axis in range(places.ndim):
        line = np.moveaxis(places, axis, 0).reshape(places.shape[axis], -1)[:, 0]
        along = np.unravel_index(line.astype(np.int64), tuple(shape))
        found.append(frozenset(i for i, one in enumerate(along) if (one != one[0]).any()))
    return found
