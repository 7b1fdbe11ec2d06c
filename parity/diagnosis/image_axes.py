"""Whether the axes of two outputs are an image's: then channels first or last is no difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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
    sides = [
        (tape, end, _of_images_too(tape, end))
        for tape, end in zip(found.tapes, pair.values, strict=True)
    ]
    if all(
        any(
            _is_of_images(tape, value, end) and _keeps_axes(tape, value, steps)
            for value, steps in reached.items()
        )
        for tape, end, reached in sides
    ):
        return True
    return any(
        all(
            image in reached and _keeps_axes(tape, image, reached[image])
            for image, (tape, _, reached) in zip(images, sides, strict=True)
        )
        for images in _in_two_layouts(found)
    )


def _is_of_images(tape: Tape, value: int, end: int) -> bool:
    """Whether an operation on images gives a value, of as many axes as the output has."""
    op = tape.producer(value)
    same_rank = len(tape.values[value].shape) == len(tape.values[end].shape)
    return same_rank and op is not None and op.word in _OF_IMAGES


def _in_two_layouts(found: Match) -> Iterator[tuple[int, int]]:
    """The inputs that were given to the models in two layouts."""
    reference, candidate = (tape.values for tape in found.tapes)
    for value in found.side.tape.given.values():
        pair = found.pairs.get(value)
        if pair is not None:
            # of one channel the values lie alike in both layouts
            same_shape = reference[pair.reference].shape == candidate[value].shape
            if not (pair.order.identity and same_shape):
                yield pair.reference, value


def _of_images_too(tape: Tape, value: int) -> dict[int, Steps]:
    """Values before one that are images if it is, up to a flattening; each with the way there."""
    batch = tape.values[value].shape[0]
    seen: dict[int, Steps] = {value: ()}
    todo = Once([value])
    for end in todo:
        op = tape.producer(end)
        if op is None or op.word in _OF_IMAGES:
            continue
        for source in filter(tape.is_live, op.inputs):
            shape = tape.values[source].shape
            flat = len(shape) < 3 and (not shape or shape[0] == batch)
            if source not in seen and not flat:
                seen[source] = ((op, source, end), *seen[end])
                todo.add([source])
    return seen


def _keeps_axes(tape: Tape, image: int, steps: Steps) -> bool:
    """Whether an image's rows, columns and channels are still axes by themselves, or may be.

    A product has to keep them, or to sum over the channels of an operation on images alone.
    """
    shape, maker = tape.values[image].shape, tape.producer(image)
    last, before = len(shape) - 1, list(np.indices(shape, dtype=np.float64))
    channels = {1, last}
    places: Sequence[Array] | None = before
    for op, source, end in steps:
        product = op.word in _PRODUCTS and sum(map(tape.is_live, op.inputs)) > 1
        if places is not None:
            places = (_summed if product else _moved)(tape, op, source, end, places)
        if product:
            if places is None:
                return False
            lost = {i for i, pair in enumerate(zip(before, places, strict=True)) if _is_lost(*pair)}
            if lost:
                if maker is None or maker.word not in _OF_IMAGES:
                    return False
                channels = {tape.adapter.TRAITS.channel_axis(maker, len(shape))}
                if lost != channels:
                    return False
    if places is None:
        return True
    sources = _axes_of(places)
    if len(sources) != len(shape):
        return True
    return any(_is_layout(sources, one, last) for one in channels)


def _is_lost(before: Array, after: Array) -> bool:
    """Whether what changed along an axis no longer does: it was summed over."""
    return bool(np.ptp(before) > 0 and np.ptp(after) == 0)


def _is_layout(sources: Sequence[frozenset[int]], channels: int, last: int) -> bool:
    """Whether axes, each given by the image's axes along it, are an image's in either layout."""
    spatial = {axis for axis in range(1, last + 1) if axis != channels}
    for place in (1, last):
        others = [sources[axis] & spatial for axis in range(1, last + 1) if axis != place]
        found = [axis for one in others for axis in one]
        if all(len(one) <= 1 for one in others) and len(set(found)) == len(found):
            own = channels in sources[place] or not sources[place]
            # one that holds nothing of the image but channels is a field of theirs
            fields = any(sources[a] == {channels} for a in range(1, last + 1) if a != place)
            if own and not fields:
                return True
    return False


def _moved(
    tape: Tape, op: Op, source: int, end: int, places: Sequence[Array]
) -> Sequence[Array] | None:
    """What lies where behind an operation; None where it does more than to move or to compute."""
    shape = tape.values[end].shape
    if op.role != "move":
        return places if places[0].shape == shape else None
    live = [one for one in op.inputs if tape.is_live(one)]
    if any(tape.values[one].shape != places[0].shape for one in live):
        return None
    rest = {one: tape.recorded_array(one) for one in op.inputs}
    # what is joined with it lies as it does
    return _results(tape, op, end, [rest | dict.fromkeys(live, one) for one in places])


def _summed(
    tape: Tape, op: Op, source: int, end: int, places: Sequence[Array]
) -> Sequence[Array] | None:
    """What lies where behind a product with ones, on average over what it sums over."""
    ones = {one: np.ones(tape.values[one].shape) for one in op.inputs}
    results = _results(tape, op, end, [ones, *({**ones, source: one} for one in places)])
    if results is None:
        return None
    count, *found = results
    return [one / count for one in found]


def _results(
    tape: Tape, op: Op, end: int, given: Sequence[Mapping[int, Array]]
) -> list[Array] | None:
    """What an operation makes of each of several arguments; None where it refuses one."""
    found = []
    for arguments in given:
        try:
            run = tape.replay("float64", arguments, Replay(tape, "float64", {}), only=(op.index,))
        except ParityError:
            return None
        found.append(run.array(end))
    return found if all(one.shape == tape.values[end].shape for one in found) else None


def _axes_of(places: Sequence[Array]) -> list[frozenset[int]]:
    """Of each axis of what is moved the axes of the image that go along it."""
    found = []
    for axis in range(places[0].ndim):
        lines = [np.moveaxis(one, axis, 0).reshape(one.shape[axis], -1)[:, 0] for one in places]
        found.append(frozenset(i for i, line in enumerate(lines) if (line != line[0]).any()))
    return found
