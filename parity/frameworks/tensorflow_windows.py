"""Convolutions, pools and paddings of TensorFlow as `parity.windows` has them."""

from __future__ import annotations

from dataclasses import replace

from parity.tape import Op, Tape
from parity.windows import Geometry, Padding, Sizes, Window, numbers

_CONVOLUTIONS = ("convolution", "depthwise_convolution", "transposed_convolution")


def channel_axis(op: Op, rank: int) -> int:
    """See `Traits.channel_axis`."""
    return 1 if str(op.attributes.get("data_format", "NHWC")).startswith("NC") else rank - 1


def _space(op: Op, rank: int) -> Sizes:
    return tuple(axis for axis in range(1, rank) if axis != channel_axis(op, rank))


def window(op: Op, tape: Tape) -> Window | None:
    """See `Traits.window`."""
    if op.word in _CONVOLUTIONS:
        return _convolution(op, tape)
    if op.word in ("max_pool", "average_pool", "columns"):
        return _pool(op, tape)
    return None


def _convolution(op: Op, tape: Tape) -> Window | None:
    transposed, depthwise = (op.word.startswith(one) for one in ("transposed", "depthwise"))
    at, weight = op.inputs[::-1][:2] if transposed else op.inputs[:2]
    x, y, shape = (tape.values[v].shape for v in (at, op.outputs[0], weight))
    rank = len(shape)
    if len(x) != rank:
        return None
    axes, channel, shapes = (
        _space(op, rank),
        channel_axis(op, rank),
        (y, x) if transposed else (x, y),
    )
    geometry = _geometry(op, shape[:-2], axes, *shapes)
    inner = shape[-1] if transposed else 1 if depthwise else shape[-2]
    order = (rank - 2, rank - 1) if depthwise else (rank - 1, rank - 2)
    if geometry is None:
        return None
    return Window(
        at,
        axes,
        channel,
        geometry,
        weight=weight,
        layout=(*order, *range(rank - 2)),
        groups=x[channel] // inner,
        transposed=transposed,
        depthwise=depthwise,
    )


def _pool(op: Op, tape: Tape) -> Window | None:
    x, y = (tape.values[v].shape for v in (op.inputs[0], op.outputs[0]))
    names, axes = ("ksizes" if op.word == "columns" else "ksize",), _space(op, len(x))
    kernel = numbers(op.attributes, names, axes, len(x))
    geometry = _geometry(op, kernel, axes, x, y) if kernel else None
    channel = channel_axis(op, len(x))
    if geometry is None:
        return None
    return Window(op.inputs[0], axes, channel, geometry, counts_edges=False)


def _geometry(op: Op, kernel: Sizes, axes: Sizes, x: Sizes, y: Sizes) -> Geometry | None:
    given, rank, ones = op.attributes, len(x), (1,) * len(axes)
    dilations = "rates" if op.word == "columns" else "dilations"
    stride = numbers(given, ("strides",), axes, rank) or kernel
    dilation = numbers(given, (dilations,), axes, rank) or ones
    if not len(kernel) == len(stride) == len(dilation) == len(axes):
        return None
    size, steps = (tuple(shape[a] for a in axes) for shape in (x, y))
    found = Geometry(kernel, stride, dilation, size, steps)
    mode, explicit = given.get("padding"), given.get("explicit_paddings") or ()
    if mode == "SAME":
        return replace(found, same=True, before=tuple(max(n, 0) // 2 for n in found.totals))
    if mode == "VALID":
        return replace(found, before=(0,) * len(axes))
    known = len(explicit) == 2 * rank
    return replace(found, before=tuple(explicit[2 * a] for a in axes)) if known else found


def padding(op: Op, tape: Tape) -> Padding | None:
    """See `Traits.padding`."""
    given, rank = op.attributes, len(tape.values[op.inputs[0]].shape)
    pads = given.get("paddings")
    if op.word not in ("pad", "reflect_pad") or not isinstance(pads, (tuple, list)):
        return None
    if len(pads) != rank:
        return None
    mode = "zeros" if op.kind == "Pad" else ""  # PadV2 has it as an input
    if op.word == "reflect_pad":
        mode = "symmetric" if given.get("mode") == "SYMMETRIC" else "reflect"
    return Padding(tuple((int(a), int(b)) for a, b in pads), mode)
