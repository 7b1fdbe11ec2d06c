"""Reads convolutions and pools into `parity.windows`, by a framework's names of attributes."""

from __future__ import annotations

from dataclasses import dataclass

from parity.operation import Op
from parity.tape import Tape
from parity.windows import Geometry, Sizes, Window, numbers


@dataclass(frozen=True)
class WindowNames:
    """A framework's attributes that state where windows lie: one for all axes, or one for each.

    Attributes:
        before: how far the first window reaches over the edge; () where something else states it.
    """

    kernel: tuple[str, ...]
    stride: tuple[str, ...]
    dilation: tuple[str, ...]
    before: tuple[str, ...] = ()

    def geometry(self, op: Op, kernel: Sizes, axes: Sizes, x: Sizes, y: Sizes) -> Geometry | None:
        """Where windows lie, by the shapes of input and output; None where that is not stated."""
        given, rank = op.attributes, len(x)
        stride = numbers(given, self.stride, axes, rank) or kernel
        dilation = numbers(given, self.dilation, axes, rank) or (1,) * len(axes)
        before: Sizes = (0,) * len(axes)
        if any(name in given for name in self.before):  # a word is worked out by an unseen kernel
            before = numbers(given, self.before, axes, rank) or ()
        if not len(kernel) == len(stride) == len(dilation) == len(axes):
            return None
        size = tuple(x[a] for a in axes)
        if max(axes, default=0) < len(y):
            steps = tuple(y[a] for a in axes)
        else:  # columns: windows stand in a row
            sizes = zip(size, before, dilation, kernel, stride, strict=True)
            steps = tuple((n + 2 * b - d * (k - 1) - 1) // s + 1 for n, b, d, k, s in sizes)
        return Geometry(kernel, stride, dilation, size, steps, before)

    def convolution(self, op: Op, tape: Tape, transposed: bool) -> Window | None:
        """One whose channels are axis 1, and whose kernel is (out, in / groups, *space)."""
        x, y, weight = (tape.values[v].shape for v in (op.inputs[0], op.outputs[0], op.inputs[1]))
        axes, shapes = tuple(range(2, len(weight))), (y, x) if transposed else (x, y)
        known = len(x) == len(weight)
        geometry = self.geometry(op, weight[2:], axes, *shapes) if known else None
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

    def pool(
        self, op: Op, tape: Tape, axes: Sizes, channel: int, counts_edges: bool | None = None
    ) -> Window | None:
        """A pool, or what gives the columns of a convolution."""
        x, y = (tape.values[v].shape for v in (op.inputs[0], op.outputs[0]))
        kernel = numbers(op.attributes, self.kernel, axes, len(x))
        geometry = self.geometry(op, kernel, axes, x, y) if kernel else None
        if geometry is None:
            return None
        return Window(op.inputs[0], axes, channel, geometry, counts_edges=counts_edges)
