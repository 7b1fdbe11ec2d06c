"""Convolutions, pools and paddings of Chainer as `parity.windows` has them: channels are axis 1."""

from __future__ import annotations

from parity.frameworks.channels_first import channel_axis as channel_axis
from parity.frameworks.channels_first import convolution
from parity.tape import Op, Tape
from parity.windows import Geometry, Padding, Sizes, Window, numbers


def window(op: Op, tape: Tape) -> Window | None:
    """See `Traits.window`."""
    if op.word in ("convolution", "transposed_convolution"):
        return convolution(op, tape, op.word == "transposed_convolution", _geometry)
    if op.word in ("max_pool", "average_pool", "columns"):
        return _pool(op, tape)
    return None


def _pool(op: Op, tape: Tape) -> Window | None:
    x, y = (tape.values[v].shape for v in (op.inputs[0], op.outputs[0]))
    axes = tuple(range(2, len(x)))
    names = ("ksize",) if "ksize" in op.attributes else ("kh", "kw")
    kernel = numbers(op.attributes, names, axes, len(x))
    geometry = _geometry(op, kernel, axes, x, y) if kernel else None
    if geometry is None:
        return None
    return Window(op.inputs[0], axes, 1, geometry)


def _geometry(op: Op, kernel: Sizes, axes: Sizes, x: Sizes, y: Sizes) -> Geometry | None:
    ones = (1,) * len(axes)

    def read(name: str, by_axis: tuple[str, str], default: Sizes) -> Sizes:
        names = (name,) if name in op.attributes else by_axis
        return numbers(op.attributes, names, axes, len(x)) or default

    stride = read("stride", ("sy", "sx"), kernel)
    dilation = read("dilate", ("dy", "dx"), ones)
    before = read("pad", ("ph", "pw"), (0,) * len(axes))
    if not len(kernel) == len(stride) == len(dilation) == len(before) == len(axes):
        return None
    size, steps = (tuple(shape[a] for a in axes) for shape in (x, y))
    return Geometry(kernel, stride, dilation, size, steps, before)


def padding(op: Op, tape: Tape) -> Padding | None:
    """See `Traits.padding`."""
    given, rank = op.attributes, len(tape.values[op.inputs[0]].shape)
    pads = given.get("pad_width")
    if op.word != "pad" or not isinstance(pads, (tuple, list)) or len(pads) != rank:
        return None
    mode = str(given.get("mode", "constant"))
    zeros = "zeros" if given.get("value", 0) == 0 else ""
    return Padding(tuple((int(a), int(b)) for a, b in pads), zeros if mode == "constant" else mode)
