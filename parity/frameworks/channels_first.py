"""Convolutions whose channels are axis 1 and whose kernels are (out, in / groups, *space)."""

from __future__ import annotations

from collections.abc import Callable

from parity.operation import Op
from parity.tape import Tape
from parity.windows import Geometry, Sizes, Window

# of an operation, its kernel's sizes, the axes of space, and the shapes of input and output
ReadGeometry = Callable[[Op, Sizes, Sizes, Sizes, Sizes], Geometry | None]


def channel_axis(op: Op, rank: int) -> int:
    """See `Traits.channel_axis`."""
    return 1


def convolution(op: Op, tape: Tape, transposed: bool, read: ReadGeometry) -> Window | None:
    """A convolution of an input, a kernel and perhaps a bias."""
    x, y, weight = (tape.values[v].shape for v in (op.inputs[0], op.outputs[0], op.inputs[1]))
    axes, shapes = tuple(range(2, len(weight))), (y, x) if transposed else (x, y)
    geometry = read(op, weight[2:], axes, *shapes) if len(x) == len(weight) else None
    if geometry is None:
        return None
    return Window(
        op.inputs[0],
        axes,
        1,
        geometry,
        weight=op.inputs[1],
        bias=op.inputs[2] if len(op.inputs) > 2 else None,
        layout=tuple(range(len(weight))),
        groups=int(op.attributes.get("groups", 1)),
        transposed=transposed,
    )
