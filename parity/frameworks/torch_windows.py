"""Convolutions, pools and paddings of ATen as `parity.windows` has them: channels are axis 1."""

from __future__ import annotations

from parity.frameworks.channels_first import channel_axis as channel_axis
from parity.frameworks.channels_first import convolution
from parity.tape import Op, Tape
from parity.windows import Geometry, Padding, Sizes, Window, numbers

_MODES = {"pad": "zeros", "reflect_pad": "reflect", "replicate_pad": "replicate"}


def window(op: Op, tape: Tape) -> Window | None:
    """See `Traits.window`."""
    if op.word in ("convolution", "transposed_convolution"):
        return convolution(op, tape, bool(op.attributes.get("transposed")), _geometry)
    if op.word in ("max_pool", "average_pool", "columns"):
        return _pool(op, tape)
    return None


def _pool(op: Op, tape: Tape) -> Window | None:
    x, y = (tape.values[v].shape for v in (op.inputs[0], op.outputs[0]))
    kernel = tuple(op.attributes.get("kernel_size") or ())
    axes = tuple(range(len(x) - len(kernel), len(x)))
    geometry = _geometry(op, kernel, axes, x, y) if kernel else None
    counts = bool(op.attributes.get("count_include_pad", True))
    if geometry is None:
        return None
    return Window(op.inputs[0], axes, axes[0] - 1, geometry, counts_edges=counts)


def _geometry(op: Op, kernel: Sizes, axes: Sizes, x: Sizes, y: Sizes) -> Geometry | None:
    given, rank = op.attributes, len(x)
    stride = numbers(given, ("stride",), axes, rank) or kernel
    dilation = numbers(given, ("dilation",), axes, rank) or (1,) * len(axes)
    before = (0,) * len(axes)
    if "padding" in given:  # a word is worked out by a kernel that is not seen
        before = numbers(given, ("padding",), axes, rank) or ()
    size = tuple(x[a] for a in axes)
    if op.word == "columns":  # windows stand in a row
        sizes = zip(size, before, dilation, kernel, stride, strict=True)
        steps = tuple((n + 2 * b - d * (k - 1) - 1) // s + 1 for n, b, d, k, s in sizes)
    else:
        steps = tuple(y[a] for a in axes)
    if not len(kernel) == len(stride) == len(dilation) == len(axes):
        return None
    return Geometry(kernel, stride, dilation, size, steps, before)


def padding(op: Op, tape: Tape) -> Padding | None:
    """See `Traits.padding`."""
    flat, rank = op.attributes.get("pad", op.attributes.get("padding")), _rank(op, tape)
    if op.word not in _MODES or not isinstance(flat, list) or len(flat) % 2 or len(flat) > 2 * rank:
        return None
    last = list(zip(flat[::2], flat[1::2], strict=True))[::-1]
    known = op.attributes.get("value", 0) == 0
    return Padding(((0, 0),) * (rank - len(last)) + tuple(last), _MODES[op.word] if known else "")


def _rank(op: Op, tape: Tape) -> int:
    return len(tape.values[op.inputs[0]].shape)
