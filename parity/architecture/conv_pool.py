"""Convolutions and pools: kernels, strides and how far the windows reach over the edges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from parity.architecture.graph import Graph
from parity.architecture.step import Read, text
from parity.tape import Op
from parity.walk_once import Once
from parity.windows import Geometry, Window

_SAME_VALUES = frozenset(("transpose", "reshape", "copy", "squeeze", "expand_dims", "cast"))


def pads_unlike(one: Geometry, other: Geometry) -> bool:
    """Whether the padding of two steps is a different one."""
    sizes = ((own.size, own.kernel, own.stride, own.dilation) for own in (one, other))
    if len(set(sizes)) == 1:
        return (one.before, one.after) != (other.before, other.after)
    # of other windows: what is worked out from them differs for their sake
    return not one.same and not other.same and one.before != other.before


def padding_text(own: Geometry, other: Geometry) -> str:
    """A padding in words: both sides only where that is needed to set it apart from another."""
    if own.before != other.before and not own.same:
        return text(own.before)
    sides = tuple(
        f"{a} and {b}" if b >= 0 else f"{a} and {-b} left out"
        for a, b in zip(own.before, own.after, strict=True)
    )
    return f"same ({text(sides)})" if own.same else text(sides)


def _without_singles(windows: Geometry) -> Geometry:
    """Leaves out axes of length 1: TensorFlow has one in every convolution over sequences."""
    last = len(windows.kernel) - 1
    kept = [a for a in range(last + 1) if (windows.kernel[a], windows.size[a]) != (1, 1)]
    return windows.along(kept or [last])


def convolution(graph: Graph, op: Op) -> Read | None:
    window = graph.tape.window(op)
    if window is None or not window.axes or graph.is_static(window.x):
        return None
    windows, mode = window.geometry, "zeros"
    if not window.transposed:
        windows, mode = _with_padding_before(graph, op, window)
    windows = _without_singles(windows)
    found: dict[str, Any] = {
        "filters": graph.tape.values[op.outputs[0]].shape[window.channel],
        "kernel": windows.kernel,
        "stride": windows.stride,
        "dilation": windows.dilation,
        "groups": window.groups,
    }
    if mode:
        found["padding mode"] = mode
    if windows.before:
        found["padding"] = windows
    if _is_cut_afterwards(graph, op):
        del found["stride"]
        found.pop("padding", None)
    return "transposed_convolution" if window.transposed else "convolution", found


def pool(graph: Graph, op: Op) -> Read | None:
    window = graph.tape.window(op)
    if window is None:
        return None
    windows, average = window.geometry, op.word == "average_pool"
    if average and windows.kernel == windows.size and set(windows.steps) == {1}:
        return "global_average_pool", {}
    # zeros that were put there before are not the edge that a pool adds itself
    own = _with_padding_before(graph, op, window)[0] == windows
    windows = _without_singles(windows)
    found: dict[str, Any] = {"kernel": windows.kernel, "stride": windows.stride}
    if windows.before and own:
        found["padding"] = windows
        has_edges = any(n > 0 for n in (*windows.before, *windows.after))
        if average and has_edges and window.counts_edges is not None:
            found["edges counted"] = window.counts_edges
    return op.word, found


def _with_padding_before(graph: Graph, op: Op, window: Window) -> tuple[Geometry, str]:
    """Adds padding by operations of its own to the windows'.

    Returns:
        The windows, and what the edges are filled with, "" where it cannot be known.
    """
    tape, windows, x = graph.tape, window.geometry, window.x
    values, axes = tape.values, window.axes
    rank = len(values[x].shape)
    spread = _spread(graph, x)
    if spread is not None:
        windows = _dilated(graph, spread, op, window)
        if not windows.before:
            return windows, ""
        x = spread.inputs[0]
    filled, length = "zeros", values[x].size
    for before in graph.moves_before(x):
        source, x = values[before.inputs[0]], before.inputs[0]
        padding = tape.padding(before)
        if padding is not None and windows.before:
            pads, shape = padding.pads, source.shape
            others = any(pads[a] != (0, 0) for a in range(len(pads)) if a not in axes)
            if others or len(shape) != rank:
                return replace(windows, before=()), ""
            more = tuple(own + pads[a][0] for own, a in zip(windows.before, axes, strict=True))
            windows = replace(windows, before=more, size=tuple(shape[a] for a in axes))
            filled = padding.mode
        elif before.word not in _SAME_VALUES or source.size != length:
            return replace(windows, before=()), ""
        length = source.size
    maker = tape.producer(x)
    if maker is not None and maker.role == "move":  # of nothing: zeros that something is written to
        return replace(windows, before=()), ""
    return windows, filled


def _spread(graph: Graph, x: int) -> Op | None:
    """What puts into the batch what lies between; sequences get an axis of length 1 after it."""
    before = graph.tape.producer(x)
    while before is not None and before.word == "expand_dims":
        before = graph.tape.producer(before.inputs[0])
    return before if before is not None and before.word == "space_to_batch" else None


def _dilated(graph: Graph, before: Op, op: Op, window: Window) -> Geometry:
    """TensorFlow's way to dilate: what lies between is put into the batch, and taken out again."""
    tape, windows, axes = graph.tape, window.geometry, window.axes
    given, todo = list[int](), Once(op.outputs[:1])
    for one in (tape.ops[index] for value in todo for index in tape.consumers[value]):
        if one.word == "batch_to_space":
            given.append(one.outputs[0])
        elif one.word == "squeeze":
            todo.add(one.outputs)
    blocks, pads = (tape.setting(before, name) for name in ("block", "margins"))
    if blocks and given and len(blocks) < len(axes):  # of a sequence, as images of one row
        dilation = (*windows.dilation[: -len(blocks)], *blocks)
        return replace(windows, dilation=dilation, before=())
    if not (windows.before and blocks and pads and given) or len(blocks) != len(axes):
        return replace(windows, before=())
    return replace(
        windows,
        dilation=tuple(blocks),
        before=tuple(pair[0] for pair in pads),
        size=tuple(tape.values[before.inputs[0]].shape[a] for a in axes),
        steps=tuple(tape.values[given[0]].shape[a] for a in axes),
    )


def _is_cut_afterwards(graph: Graph, op: Op) -> bool:
    """Whether a part of the result is taken, which may stand for a stride or less padding."""
    tape, todo = graph.tape, Once(op.outputs[:1])
    for value in todo:
        for reader in (tape.ops[i] for i in tape.consumers[value] if i in graph.live):
            if reader.role != "move":
                continue
            if any(tape.values[v].size < tape.values[value].size for v in reader.outputs):
                return True
            todo.add(reader.outputs)
    return False
