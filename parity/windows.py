"""How convolutions, pools and paddings go over their input, in one convention for all frameworks.

An adapter reads its own attributes into these (`Traits.window`, `Traits.padding`); what compares
two models, transfers weights or looks for causes reads no stride, padding or layout itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from parity.arrays import Array

Sizes = tuple[int, ...]  # one for each axis of space


@dataclass(frozen=True)
class Geometry:
    """Where windows lie along the axes of space.

    For a transposed convolution: of the convolution whose transpose it is.

    Attributes:
        size, steps: lengths of the input and of the output.
        before: how far the first window reaches over the edge; () where that is unknown.
        same: whether the padding follows from the sizes (TensorFlow's SAME).
    """

    kernel: Sizes
    stride: Sizes
    dilation: Sizes
    size: Sizes
    steps: Sizes
    before: Sizes = ()
    same: bool = False

    @property
    def span(self) -> Sizes:
        """How many places a window reaches over."""
        return tuple(d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilation, strict=True))

    @property
    def totals(self) -> Sizes:
        """How far the windows reach over both edges together; below 0 where they stop short."""
        sizes = zip(self.span, self.stride, self.size, self.steps, strict=True)
        return tuple((n - 1) * stride + span - size for span, stride, size, n in sizes)

    @property
    def after(self) -> Sizes:
        """How far the last window reaches over the far edge; () where that is unknown."""
        return tuple(t - b for t, b in zip(self.totals, self.before, strict=False))

    def along(self, axes: Sequence[int]) -> Geometry:
        """The same along some of the axes."""
        changed: dict[str, Any] = {
            field.name: tuple(value[a] for a in axes)
            for field in fields(self)
            if field.name != "same" and (value := getattr(self, field.name))
        }
        return replace(self, **changed)


@dataclass(frozen=True)
class Window:
    """A convolution or a pool, or the columns that a convolution by a product is made of.

    Attributes:
        x, weight, bias: value ids of the input, the kernel and the bias; None for none.
        axes: of space, in the input and in the output.
        channel: the axis of channels.
        layout: the kernel's axes in the order (out, in / groups, *space); of a transposed
            convolution (in, out / groups, *space), of a depthwise one (in, multiple, *space).
        depthwise: whether the kernel has axes of channels and their multiples.
        counts_edges: of an average pool, whether padding counts in the mean; None where no pool of
            the framework says so.
    """

    x: int
    axes: Sizes
    channel: int
    geometry: Geometry
    weight: int | None = None
    bias: int | None = None
    layout: Sizes = ()
    groups: int = 1
    transposed: bool = False
    depthwise: bool = False
    counts_edges: bool | None = None

    @property
    def channels_last(self) -> bool:
        return self.channel > max(self.axes)

    def arranged(self, kernel: Array) -> Array:
        """A kernel as (out, in / groups, *space), or transposed (in, out / groups, *space)."""
        kernel = kernel.transpose(self.layout)
        return kernel.reshape(-1, 1, *kernel.shape[2:]) if self.depthwise else kernel

    @property
    def letters(self) -> str:
        """The order of the kernel's axes of channels and of space: `OI*`, or `*IO`."""
        names = "IO" if self.transposed or self.depthwise else "OI"
        channels = names if self.layout[0] < self.layout[1] else names[::-1]
        return f"*{channels}" if min(self.layout[2:]) < min(self.layout[:2]) else f"{channels}*"


@dataclass(frozen=True)
class Padding:
    """What an operation puts around its input.

    Attributes:
        pads: before and after, for each axis of the input.
        mode: `zeros`, `reflect`, `symmetric`, `replicate` or a framework's own; "" where what is
            put there is not known.
    """

    pads: tuple[tuple[int, int], ...]
    mode: str


def numbers(given: Mapping[str, Any], names: Sequence[str], axes: Sizes, rank: int) -> Sizes | None:
    """An attribute as a number for each axis of space; None where there is none.

    Args:
        names: of the attribute; or of several, one for each axis.
        rank: of the input: the attribute may have a number for each of its axes.
    """
    own = [given[name] for name in names if name in given]
    found = own[0] if len(own) == 1 else tuple(own)
    if isinstance(found, int):
        return (found,) * len(axes)
    if not isinstance(found, (list, tuple)) or not found:
        return None
    if len(found) == rank:
        return tuple(int(found[a]) for a in axes)
    return tuple(int(n) for n in found) * (len(axes) if len(found) == 1 else 1)
