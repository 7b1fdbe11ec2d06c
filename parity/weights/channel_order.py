"""Where each input feature of a layer comes from: which channel and pixel of which layer.

A dense layer behind a flatten takes channels first in one framework and channels last in another.
Neither is read off a shape: the elements of each layer's result are numbered in one order of axes
(batch, channel, space), and the numbers follow the tape from there to whatever reads them.

Which unit of a dense layer before a reshape to images is which channel and pixel shows likewise
where a layer reads those images, or where they are an output.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import permutations

import numpy as np

from parity.architecture.contractions import laid_out
from parity.architecture.graph import Graph
from parity.architecture.program import Program
from parity.architecture.step import Step, axes_of
from parity.tape import Array, Op
from parity.weights.element_index import move

_ANCHORED = frozenset(
    "convolution transposed_convolution dense max_pool average_pool embedding".split()
)
_IMAGES = frozenset("convolution transposed_convolution max_pool average_pool".split())
_SPAN = 1 << 36  # elements of one layer's result
_SUMMED = 1 << 62  # marks what is made of several elements
_REDUCTIONS = frozenset(("mean", "sum", "max", "min"))

_Places = tuple[Array, Array]  # origins in the reference and in the candidate


class Elements:
    """The origins of the elements of a tape's values.

    Args:
        program: of the tape.
        anchors: for each step that has a partner in the other model, a number that both share.
        inputs: by the value id of an input its elements' numbers, from 1, in the order of the other
            model's; below `_SPAN`.
        units: by the number of a step the order of its units, as `unit_order` gives it.
    """

    def __init__(
        self,
        program: Program,
        anchors: Mapping[int, int],
        inputs: Mapping[int, Array],
        units: Mapping[int, Array] | None = None,
    ) -> None:
        self._steps = program.steps
        self._graph: Graph = program.graph
        self._tape = program.graph.tape
        self._units = units or {}
        self.shapes: dict[int, tuple[int, ...]] = {}  # of images: batch, channels, space
        self._of: dict[int, Array | None] = dict(inputs)
        last = {step.ops[-1]: n for n, step in enumerate(program.steps)}
        owner = self._graph.owner
        for op in self._graph.live.values():
            if op.index in last:
                step = program.steps[last[op.index]]
                self._of[op.outputs[0]] = self._after(step, op, anchors.get(last[op.index]))
            elif op.index not in owner or op.role == "move":  # a recurrence splits its steps
                self._loose(op)

    def of(self, value: int) -> Array | None:
        """int64 array of the value's shape; None where it cannot be followed."""
        return self._of.get(value)

    def channels(self, value: int, axis: int, images: bool) -> Array | None:
        """The origins of a value's channels, by their order along `axis`.

        Args:
            images: whether to look at a pixel in the middle, away from any padding.
        """
        found = self.of(value)
        if found is None:
            return None
        at = [size // 2 if images and number else 0 for number, size in enumerate(found.shape)]
        index = [slice(None) if n == axis % found.ndim else at[n] for n in range(found.ndim)]
        own = found[tuple(index)]
        return self._without_pixels(own) if images and found.ndim > 2 else own

    def images(self, number: int) -> Array | None:
        """The origins of the images that a step reads, (batch, channel, space) without padding.

        Args:
            number: of the step; for one that reads none, or cannot be followed, there are none.
        """
        step = self._steps[number]
        window = self._tape.window(self._tape.ops[step.ops[0]]) if step.kind in _IMAGES else None
        found = self.of(window.x) if window is not None else None
        if window is None or found is None or found.ndim < 3:
            return None
        first = np.moveaxis(found, window.channel, 1)
        flat = first.reshape(*first.shape[:2], -1)
        whole: Array = flat[:, :, flat.all((0, 1))]
        return whole

    def _without_pixels(self, labels: Array) -> Array:
        """Labels of one pixel's channels alone: padding may put another pixel in the middle."""
        channels = labels.copy()
        for anchor, (_, _, *space) in self.shapes.items():
            own = labels // _SPAN == anchor
            size = int(np.prod(space, dtype=np.int64))
            channels[own] = anchor * _SPAN + labels[own] % _SPAN // size
        return channels if np.unique(channels).size == np.unique(labels).size else labels

    def _after(self, step: Step, op: Op, anchor: int | None) -> Array | None:
        """What a step gives: elements of its own, or those that it worked on one by one."""
        shape = self._tape.values[op.outputs[0]].shape
        if step.kind in _ANCHORED:
            if anchor is None:
                return None
            own = np.arange(int(np.prod(shape)), dtype=np.int64) + anchor * _SPAN
            units = self._units.get(anchor)
            if step.kind not in _IMAGES:
                own = own if units is None else own.reshape(-1, units.size)[:, units]
                return laid_out(self._graph, self._tape.ops[step.ops[0]], own.reshape(shape))
            last = self._tape.adapter.TRAITS.channel_axis(op, len(shape)) != 1
            self.shapes[anchor] = (shape[0], shape[-1], *shape[1:-1]) if last else shape
            channels_first = own.reshape(self.shapes[anchor])
            channels_first = channels_first if units is None else channels_first[:, units]
            return np.moveaxis(channels_first, 1, -1) if last else channels_first
        if step.kind == "global_average_pool":
            return self._reduced(op)
        if len(step.ops) == 1:
            return self._one_by_one(op)
        within = {value for index in step.ops for value in self._tape.ops[index].outputs}
        if step.kind.endswith("_norm"):
            within = set()  # what it normalises may be split into groups first, and is known then
        for index in step.ops:
            for value in self._tape.ops[index].inputs:
                found = self._of.get(value)
                if value not in within and found is not None and found.shape == shape:
                    return None if step.opaque else found
        return None

    def _loose(self, op: Op) -> None:
        if op.word in _REDUCTIONS:
            self._of[op.outputs[0]] = self._reduced(op)
        elif op.role == "move":
            labels = [self._of.get(value) for value in op.inputs]
            live = [v for v in op.inputs if self._is_moved(v)]
            known = live and all(self._of.get(value) is not None for value in live)
            moved = move(self._tape, op, labels) if known else None
            for number, value in enumerate(op.outputs):
                self._of[value] = moved[number] if moved else self._in_its_order(op, value)
        else:
            found = self._one_by_one(op)
            value = op.outputs[0]
            self._of[value] = self._in_its_order(op, value) if found is None else found

    def _is_moved(self, value: int) -> bool:
        """Whether it is numbers of the model's, and no shape or index that was worked out."""
        whole = self._tape.values[value].dtype.startswith(("int", "uint"))
        return not self._graph.is_static(value) and not (whole and self._of.get(value) is None)

    def _read(self, op: Op) -> list[Array]:
        """The labels of the live values that an operation reads; none where not all are known."""
        found = [self._of.get(value) for value in self._graph.live_inputs(op)]
        known = [labels for labels in found if labels is not None]
        return known if len(known) == len(found) else []

    def _one_by_one(self, op: Op) -> Array | None:
        """What works on each element by itself, or on two models' elements in pairs."""
        shape = self._tape.values[op.outputs[0]].shape
        whole = [labels for labels in self._read(op) if labels.shape == shape]
        least: Array | None = np.minimum.reduce(whole) if whole else None  # in any order of addends
        return least

    def _in_its_order(self, op: Op, value: int) -> Array | None:
        """A row that is made of known elements in another way, as a one-hot: as it stands.

        Images are left out: their elements stand in an order of each framework's own.
        """
        shape = self._tape.values[value].shape
        known = self._read(op)
        if len(shape) != 2 or not known:
            return None
        origin = sum(int(_mixed(labels).sum()) for labels in known) % (_SUMMED // _SPAN)
        places = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
        return places + origin * _SPAN + _SUMMED

    def _reduced(self, op: Op) -> Array | None:
        """Sums and means over axes: of the same elements, in whatever order."""
        labels = self._of.get(op.inputs[0])
        shape = self._tape.values[op.outputs[0]].shape
        if labels is None:
            return None
        axes = axes_of(self._tape, op, labels.ndim)
        if not axes and len(shape) == labels.ndim:
            axes = tuple(n for n, size in enumerate(shape) if size != labels.shape[n])
        with np.errstate(over="ignore"):
            total = np.abs(_mixed(labels).sum(axes)) | _SUMMED
        return total.reshape(shape) if total.size == np.prod(shape) else None


def _mixed(labels: Array) -> Array:
    """Numbers whose sums identify the labels that they are of, in whatever order."""
    with np.errstate(over="ignore"):
        found: Array = (labels * 0x2545F4914F6CDD1D) ^ (labels >> 7)
        return found


def order_in_file(origins: Array | None, elements: Elements, channels_last: bool) -> Array | None:
    """How a file's channels are laid out as a layer's input, from how images lie there.

    Args:
        origins: of the features of an input, in one layer's result.

    Returns:
        As `order`; None also where they come from several layers.
    """
    if origins is None or (origins >= _SUMMED).any():
        return None
    anchors = np.unique(origins // _SPAN)
    if anchors.size != 1 or int(anchors[0]) not in elements.shapes:
        return None
    _, channels, *space = elements.shapes[int(anchors[0])]
    size = int(np.prod(space, dtype=np.int64))
    place = origins % _SPAN % (channels * size)
    if channels_last:
        place = place % size * channels + place // size
    ranks = np.argsort(np.argsort(place))
    return None if np.array_equal(ranks, np.arange(place.size)) else ranks


def order(source: Array | None, target: Array | None) -> tuple[Array | None, bool]:
    """How the reference's channels are laid out as the candidate's.

    Returns:
        For each of the candidate's channels the number of the reference's, None where they stand
        in the same order; and whether that is known.
    """
    if source is None or target is None or source.size != target.size:
        return None, False
    if np.array_equal(source, target):
        return None, True
    left, right = np.argsort(source, kind="stable"), np.argsort(target, kind="stable")
    if not np.array_equal(source[left], target[right]):
        return None, False
    found = np.empty(source.size, np.int64)
    found[right] = left
    return found, True


def unlike_places(
    images: Iterable[tuple[Array | None, Array | None]],
    outputs: Iterable[tuple[Array | None, Array | None]],
) -> list[_Places]:
    """The origins that stand in one place in both models, and are not the same.

    Args:
        images: that steps read; where nothing but their channels differs, that is the order of the
            kernel that reads them.
        outputs: of both models.
    """
    found = [(np.sort(one, 1), np.sort(other, 1), one, other) for one, other in _alike(images)]
    found += [(one, other, one, other) for one, other in _alike(outputs)]
    return [(one, other) for a, b, one, other in found if not np.array_equal(a, b)]


def places_in_file(elements: Elements, steps: int, channels_last: bool) -> list[_Places]:
    """The origins of images that a model's steps read, before those where a file's model has them.

    Args:
        steps: how many there are.
        channels_last: whether images lie so in the file.
    """
    found = []
    for number in range(steps):
        own = elements.images(number)
        if own is not None:
            size, channels = own[0].size, own.shape[1]
            units = np.arange(size).reshape((-1, channels) if channels_last else (channels, -1))
            first = own - own % _SPAN % max(size, 1)  # of the row of the batch
            found.append((first + (units.T if channels_last else units), own))
    return found


def _alike(origins: Iterable[tuple[Array | None, Array | None]]) -> Iterator[_Places]:
    """Those that are known in both models and have one shape."""
    for one, other in origins:
        if one is not None and other is not None and one.shape == other.shape:
            yield one, other


def unit_order(places: Iterable[_Places], anchor: int, units: int, pixels: int) -> Array | None:
    """How the reference's units of a step are laid out as the candidate's.

    Args:
        places: origins that should be the same.
        anchor: the number of the step.
        pixels: how many elements of its result are of one unit, in one row of the batch.

    Returns:
        For each of the candidate's units the number of the reference's; None where they stand in
        the same order, or where not all of them are seen, or not as one order.
    """
    found = np.full(units, -1)
    for source, target in places:
        own = source // _SPAN == anchor
        if not own.any() or not np.array_equal(own, target // _SPAN == anchor):
            continue
        left, right = source[own] % _SPAN, target[own] % _SPAN
        one, other = left // pixels % units, right // pixels % units
        if not np.array_equal(left - one * pixels, right - other * pixels):  # rows and pixels
            return None
        if ((found[other] >= 0) & (found[other] != one)).any():
            return None
        found[other] = one
        if not np.array_equal(found[other], one):
            return None
    seen = np.array_equal(np.sort(found), np.arange(units))
    return found if seen and not np.array_equal(found, np.arange(units)) else None


def moved_as(numbers: Array, source: Array, target: Array) -> Array | None:
    """Numbers moved as the axes were of what they are of, between arrays of the same contents.

    Returns:
        None where no order of axes makes one array of the other, or several do, and differ.
    """
    if source.size != target.size or source.ndim != target.ndim:
        return None
    found = {
        numbers.transpose(axes).tobytes(): axes
        for axes in permutations(range(source.ndim))
        if source.transpose(axes).shape == target.shape
        and np.array_equal(source.transpose(axes), target)
    }
    return numbers.transpose(*found.values()) if len(found) == 1 else None
