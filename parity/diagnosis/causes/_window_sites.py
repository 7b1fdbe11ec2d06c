"""Where a convolution or a pool is in a region, and what its operation says of its windows."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from parity.diagnosis.causes._context import channel_axis
from parity.diagnosis.causes._sides import CaseSide
from parity.diagnosis.causes._weights import columns_layout
from parity.diagnosis.causes._windows import Places, Slide
from parity.operations import PADS
from parity.tape import Array, Op
from parity.windows import Window

_KINDS = {
    "convolution": "conv",
    "depthwise_convolution": "conv",
    "columns": "conv",  # a convolution by a product with them
    "transposed_convolution": "transposed",
    "max_pool": "max",
    "average_pool": "mean",
}
KINDS = frozenset((*_KINDS.values(), "columns", "pad"))
_CROPS = {"slice", "batch_to_space", "copy"}


@dataclass(frozen=True)
class WindowSite:
    """One side's convolution or pool.

    Attributes:
        channels_last: whether channels come last in its input.
        base: value id of its input before padding.
        at: value id of its result, after what is cut off it.
            Of a convolution by columns what gives them: its result is to be looked for.
        kernel: as `_windows` has it; None for a pool.
        bias: (out,), of an operation that adds one itself.
        pads: whether its operation states one padding for both sides of an axis.
        slide: kind, size, groups, and the rest as far as it is stated.
        steps: how many windows there are along each axis; () of padding.
    """

    side: CaseSide
    op: Op
    channels_last: bool
    base: int
    at: int
    kernel: Array | None
    bias: Array | None
    pads: bool
    slide: Slide
    steps: Places = ()

    @property
    def is_hidden(self) -> bool:
        """Whether it is computed from columns, so that its result is to be looked for."""
        return self.op.word == "columns"


def site_of(side: CaseSide, kinds: Collection[str] = KINDS) -> WindowSite | None:
    """The first convolution or pool of a side's region, or its padding if there is none.

    Args:
        kinds: of slides, to which it is limited.
    """
    site = next(sites_of(side, kinds), None)
    if site is not None:
        return site
    if "pad" not in kinds:
        return None
    padding = next((op for op in side.view.ops if op.word in PADS), None)
    return None if padding is None else _of_padding(side, padding)


def sites_of(side: CaseSide, kinds: Collection[str]) -> Iterator[WindowSite]:
    """All convolutions and pools of some kinds in a side's region, in the order of the flow."""
    for op in side.view.ops:
        window = side.view.tape.window(op) if op.word in _KINDS else None
        site = None if window is None else _of_window(side, op, window)
        if site is not None and site.slide.kind in kinds:
            yield site


def _of_window(side: CaseSide, op: Op, window: Window) -> WindowSite | None:
    model, geometry = side.model, window.geometry
    kernel = bias = None
    size = geometry.kernel
    if window.weight is not None:
        if model.tape.is_live(window.weight):
            return None
        kernel = window.arranged(model.array(window.weight).astype(np.float64))
    elif op.word == "columns":
        kernel = _kernel_of_columns(side, op, window)
    if window.bias is not None:
        bias = model.array(window.bias)
    kind = "transposed" if window.transposed else _KINDS[op.word]
    if op.word == "columns" and kernel is None:
        kind = "columns"
    pads = ((0, 0),) * len(size)
    dilation = _spread(side, window) or geometry.dilation
    slide = Slide(kind, size, pads, geometry.stride, dilation, window.groups)
    base, at = _before_padding(side, window.x), _after_crops(side, op.outputs[0])
    stated = not geometry.same and any(n > 0 for n in geometry.before)
    last, steps = window.channels_last, geometry.steps
    return WindowSite(side, op, last, base, at, kernel, bias, stated, slide, steps)


def _spread(side: CaseSide, window: Window) -> Places:
    """TensorFlow's way to dilate: what lies between is put into the batch; () where none is."""
    tape, inside = side.view.tape, {op.index for op in side.view.ops}
    op = tape.producer(window.x)
    while op is not None and op.index in inside and op.word == "expand_dims":
        op = tape.producer(op.inputs[0])
    if op is None or op.index not in inside or op.word != "space_to_batch":
        return ()
    blocks = tape.setting(op, "block") or ()
    stated = window.geometry.dilation  # a sequence is spread as images of one row
    return (*stated[: len(stated) - len(blocks)], *blocks) if blocks else ()


def _of_padding(side: CaseSide, op: Op) -> WindowSite | None:
    end = op.outputs[0]
    rank = len(side.view.tape.values[end].shape)
    ones = (1,) * (rank - 2)
    if not ones:
        return None
    slide = Slide("pad", ones, ((0, 0),) * len(ones), ones, ones)
    last = channel_axis(side.view, rank) == rank - 1
    base, at = _before_padding(side, end), _after_crops(side, end)
    return WindowSite(side, op, last, base, at, None, None, False, slide)


def fills_of(side: CaseSide, site: WindowSite | None) -> tuple[list[float], list[float]]:
    """The numbers that a side's paddings may hold, which are in the corners of what they give.

    Returns:
        Those of paddings that lead to a site's result, and the others.
    """
    leading = frozenset() if site is None else side.view.tape.graph.ancestors([site.at])
    found: tuple[list[float], list[float]] = [], []
    for op in side.view.ops:
        if op.word in PADS:
            (array,) = side.values(side.case.first.given, op.outputs[:1])
            corners = [float(array.flat[at]) for at in _padded_ends(side, op) if array.size]
            found[op.index not in leading].extend(corners)
    return found


def _padded_ends(side: CaseSide, op: Op) -> list[int]:
    """Which of the first and the last number that a padding gives are its own: 0, -1."""
    padding = side.view.tape.padding(op)
    if padding is None:
        return [0, -1]
    before, after = ([pads[end] > 0 for pads in padding.pads] for end in (0, 1))
    return [0] * any(before) + [-1] * any(after)


def _kernel_of_columns(side: CaseSide, op: Op, window: Window) -> Array | None:
    """The kernel that fits columns: as long as they are, for as many channels as are read."""
    values = side.view.tape.values
    shape, columns = values[window.x].shape, values[op.outputs[0]].shape
    for leaf in side.view.leaves:
        if leaf.array.ndim != len(shape) or leaf.array.dtype.kind != "f":
            continue
        kernel = leaf.array.transpose(columns_layout(window, len(shape)))
        if kernel.shape[1] == shape[window.channel] and kernel[0].size in columns:
            return np.asarray(kernel, np.float64)
    return None


def _before_padding(side: CaseSide, value: int) -> int:
    tape, inside = side.view.tape, {op.index for op in side.view.ops}
    op = tape.producer(value)
    while op is not None and op.index in inside and op.word in PADS | {"space_to_batch"}:
        value = op.inputs[0]
        op = tape.producer(value)
    return value


def _after_crops(side: CaseSide, value: int) -> int:
    """What is left of a value that nothing else reads, after cuts and copies."""
    tape, inside = side.view.tape, {op.index for op in side.view.ops}
    while len(tape.consumers[value]) == 1:
        op = tape.ops[tape.consumers[value][0]]
        ranks = {len(tape.values[one].shape) for one in (value, op.outputs[0])}
        if op.index not in inside or op.word not in _CROPS or len(ranks) > 1:
            break
        value = op.outputs[0]
    return value
