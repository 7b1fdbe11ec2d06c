"""Convolutions and pools: kernels, strides and how far the windows reach over the edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from parity.architecture.graph import Graph
from parity.architecture.step import Read, first, plain, text
from parity.tape import Op
from parity.walk_once import Once

Sizes = tuple[int, ...]

_SAME_NUMBERS = frozenset(
    "permute transpose view reshape clone contiguous squeeze unsqueeze expanddims identity cast "
    "tocopy unsafeview stopgradient astype flatten t".split()
)


@dataclass(frozen=True)
class Windows:
    """How a convolution or pool goes over its input, by spatial axis.

    For a transposed convolution: of the convolution whose transpose it is.

    Attributes:
        size, steps: lengths of what is read and of what is given.
        before: how far the first window reaches over the edge; () where that is unknown.
        named: `same`, "" where the padding was given in numbers.
    """

    kernel: Sizes
    stride: Sizes
    dilation: Sizes
    size: Sizes
    steps: Sizes
    before: Sizes = ()
    named: str = ""

    @property
    def totals(self) -> Sizes:
        """How far the windows reach over both edges together; less than none: they stop short."""
        sizes = zip(self.kernel, self.stride, self.dilation, self.size, self.steps, strict=True)
        return tuple((n - 1) * stride + d * (k - 1) + 1 - size for k, stride, d, size, n in sizes)

    @property
    def after(self) -> Sizes:
        """How far the last window reaches over the far edge."""
        return tuple(t - b for t, b in zip(self.totals, self.before, strict=True))

    def without_singles(self) -> Windows:
        """Leaves out axes of length 1: TensorFlow has one in every convolution over sequences."""
        last = len(self.kernel) - 1
        axes = [a for a in range(last + 1) if (self.kernel[a], self.size[a]) != (1, 1)] or [last]
        changed: dict[str, Any] = {
            field.name: tuple(value[a] for a in axes)
            for field in fields(self)
            if field.name != "named" and (value := getattr(self, field.name))
        }
        return replace(self, **changed)

    def pads_unlike(self, other: Windows) -> bool:
        """Whether the padding of another is a different one."""
        if all(
            getattr(self, name) == getattr(other, name)
            for name in ("size", "kernel", "stride", "dilation")
        ):
            return (self.before, self.after) != (other.before, other.after)
        # of other windows: what is worked out from them differs for their sake
        return not self.named and not other.named and self.before != other.before

    def padding_beside(self, other: Windows) -> str:
        """The padding in words: both sides only where that is needed to tell it from another."""
        if self.before != other.before and not self.named:
            return text(self.before)
        sides = tuple(
            f"{a} and {b}" if b >= 0 else f"{a} and {-b} left out"
            for a, b in zip(self.before, self.after, strict=True)
        )
        return f"{self.named} ({text(sides)})" if self.named else text(sides)


def convolution(graph: Graph, op: Op, kind: str) -> Read | None:
    word, values = plain(op), graph.tape.values
    transposed = kind == "transposed_convolution" or bool(op.attributes.get("transposed"))
    backwards = word.endswith(("backpropinput", "backpropinputv2"))
    x, weight = op.inputs[::-1][:2] if backwards else op.inputs[:2]
    entering, leaving, shape = (values[v].shape for v in (x, op.outputs[0], weight))
    if graph.is_static(x) or len(shape) < 3 or len(entering) != len(shape):
        return None
    if graph.tape.framework == "tensorflow":
        kernel, inner = shape[:-2], shape[-1 if transposed else -2]
    else:
        kernel, inner = shape[2:], shape[0 if transposed else 1]
    spatial = _spatial(graph, op, len(shape))
    (channel,) = set(range(1, len(shape))) - set(spatial)
    groups = op.attributes.get("groups")
    if groups is None:
        groups = entering[channel] // (1 if word.startswith("depthwise") else inner)
    mode = "zeros"
    if transposed:
        windows = _windows(op, kernel, leaving, entering, spatial)
    else:
        windows = _windows(op, kernel, entering, leaving, spatial)
        windows, mode = _with_padding_before(graph, op, x, spatial, windows)
    windows = windows.without_singles()
    found: dict[str, Any] = {
        "filters": leaving[channel],
        "kernel": windows.kernel,
        "stride": windows.stride,
        "dilation": windows.dilation,
        "groups": int(groups),
    }
    if mode:
        found["padding mode"] = mode
    if windows.before:
        found["padding"] = windows
    if _cut_afterwards(graph, op):
        del found["stride"]
        found.pop("padding", None)
    return "transposed_convolution" if transposed else "convolution", found


def pool(graph: Graph, op: Op, kind: str) -> Read | None:
    given, framework = op.attributes, graph.tape.framework
    x, y = (graph.tape.values[v].shape for v in (op.inputs[0], op.outputs[0]))
    kernel = first(given, "kernel_size", "ksize")
    if kernel is None and "kh" in given:
        kernel = (given["kh"], given["kw"])
    if not kernel:
        return None
    spatial = tuple(range(len(x) - len(kernel), len(x)))
    if framework == "tensorflow":
        if len(kernel) != len(x):
            return None
        spatial = _spatial(graph, op, len(x))
        kernel = [kernel[a] for a in spatial]
    windows = _windows(op, tuple(kernel), x, y, spatial)
    if kind == "average_pool" and windows.kernel == windows.size and set(windows.steps) == {1}:
        return "global_average_pool", {}
    # zeros that were put there before are not the edge that a pool adds itself
    own = _with_padding_before(graph, op, op.inputs[0], spatial, windows)[0] == windows
    windows = windows.without_singles()
    found: dict[str, Any] = {"kernel": windows.kernel, "stride": windows.stride}
    if windows.before and own:
        found["padding"] = windows
        edges = any(n > 0 for n in (*windows.before, *windows.after))
        if kind == "average_pool" and edges and framework != "chainer":
            counted = bool(given.get("count_include_pad", True))
            found["edges counted"] = counted and framework == "torch"
    return kind, found


def _spatial(graph: Graph, op: Op, rank: int) -> Sizes:
    untold = "NHWC" if graph.tape.framework == "tensorflow" else "NCHW"
    first_channels = str(op.attributes.get("data_format", untold)).startswith("NC")
    return tuple(range(2, rank)) if first_channels else tuple(range(1, rank - 1))


def _windows(op: Op, kernel: Sizes, x: Sizes, y: Sizes, spatial: Sizes) -> Windows:
    """The windows as an operation's attributes have them, in whatever words.

    Args:
        x, y: shapes of what is read and of what is given.
    """
    given, count = op.attributes, len(spatial)

    def numbers(names: Sequence[str], short: Sequence[str], default: Any) -> Sizes:
        told = first(given, *names) or tuple(given[name] for name in short if name in given)
        told = told or default
        if isinstance(told, int):
            return (told,) * count
        if len(told) == len(x):
            return tuple(told[a] for a in spatial)
        return tuple(told) * count if len(told) == 1 else tuple(told)

    stride = numbers(("stride", "strides"), ("sy", "sx"), kernel)
    dilation = numbers(("dilation", "dilations", "dilate"), ("dy", "dx"), 1)
    size, steps = tuple(x[a] for a in spatial), tuple(y[a] for a in spatial)
    windows = Windows(kernel, stride, dilation, size, steps)
    if not len(stride) == len(dilation) == len(kernel) == count:
        return windows
    padding, explicit = given.get("padding"), given.get("explicit_paddings") or ()
    if padding == "SAME":
        before = tuple(max(total, 0) // 2 for total in windows.totals)
        return replace(windows, named="same", before=before)
    if padding == "VALID":
        before = (0,) * count
    elif isinstance(padding, str):
        before = tuple(explicit[2 * a] for a in spatial) if len(explicit) == 2 * len(x) else ()
    else:
        before = numbers(("padding", "pad"), ("ph", "pw"), 0)
    return replace(windows, before=before if len(before) == count else ())


def _with_padding_before(
    graph: Graph, op: Op, x: int, spatial: Sizes, windows: Windows
) -> tuple[Windows, str]:
    """Adds padding by operations of its own to the windows'.

    Args:
        x: the value that `op` reads.

    Returns:
        The windows, and what the edges are filled with, "" where it cannot be known.
    """
    tape, values = graph.tape, graph.tape.values
    rank = len(values[x].shape)
    before = tape.producer(x)
    spread = _spread(graph, x)
    if spread is not None:
        before = spread
        windows = _dilated(graph, before, op, spatial, windows)
        if not windows.before:
            return windows, ""
        x = before.inputs[0]
        before = tape.producer(x)
    unknown, filled = (replace(windows, before=()), ""), "zeros"
    while before is not None and before.role == "move":
        if not before.inputs:
            return unknown
        source = values[before.inputs[0]]
        edges = _edges(before, rank)
        if edges is not None and windows.before:
            if len(source.shape) != rank or any(
                edges[a] != (0, 0) for a in range(rank) if a not in spatial
            ):
                return unknown
            own = zip(windows.before, spatial, strict=True)
            windows = replace(
                windows,
                before=tuple(more + edges[a][0] for more, a in own),
                size=tuple(source.shape[a] for a in spatial),
            )
            filled = _filling(before)
        elif plain(before) not in _SAME_NUMBERS or source.size != values[x].size:
            return unknown
        x = source.id
        before = tape.producer(x)
    return windows, filled


def _spread(graph: Graph, x: int) -> Op | None:
    """What puts into the batch what lies between; sequences get an axis of length 1 after it."""
    before = graph.tape.producer(x)
    while before is not None and plain(before) == "expanddims":
        before = graph.tape.producer(before.inputs[0])
    return before if before is not None and plain(before) == "spacetobatchnd" else None


def _dilated(graph: Graph, before: Op, op: Op, spatial: Sizes, windows: Windows) -> Windows:
    """TensorFlow's way to dilate: what lies between is put into the batch, and taken out again."""
    tape = graph.tape
    given, todo = list[int](), Once(op.outputs[:1])
    for one in (tape.ops[index] for value in todo for index in tape.consumers[value]):
        if plain(one) == "batchtospacend":
            given.append(one.outputs[0])
        elif plain(one) == "squeeze":
            todo.add(one.outputs)
    blocks, pads = before.attributes.get("block_shape"), before.attributes.get("paddings")
    if blocks and given and len(blocks) < len(spatial):  # of a sequence, as images of one row
        dilation = (*windows.dilation[: -len(blocks)], *blocks)
        return replace(windows, dilation=dilation, before=())
    if not (windows.before and blocks and pads and given) or len(blocks) != len(spatial):
        return replace(windows, before=())
    return replace(
        windows,
        dilation=tuple(blocks),
        before=tuple(pair[0] for pair in pads),
        size=tuple(tape.values[before.inputs[0]].shape[a] for a in spatial),
        steps=tuple(tape.values[given[0]].shape[a] for a in spatial),
    )


def _cut_afterwards(graph: Graph, op: Op) -> bool:
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


def _edges(op: Op, rank: int) -> list[tuple[int, int]] | None:
    """How much a padding adds before and after each axis; None where it is none, or not told."""
    word, given = plain(op), op.attributes
    if word in ("pad", "padv2", "mirrorpad"):
        pads = first(given, "paddings", "pad_width")
        if isinstance(pads, (tuple, list)) and len(pads) == rank:
            return [tuple(pair) for pair in pads]
    elif word == "constantpadnd" or word.startswith(("reflectionpad", "replicationpad")):
        flat = first(given, "pad", "padding")
        if isinstance(flat, list) and len(flat) % 2 == 0 and len(flat) <= 2 * rank:
            last = list(zip(flat[::2], flat[1::2], strict=True))[::-1]
            return [(0, 0)] * (rank - len(last)) + last
    return None


def _filling(op: Op) -> str:
    """What a padding puts at the edges."""
    word, given = plain(op), op.attributes
    if word.startswith("reflection") or word == "mirrorpad":
        return "symmetric" if given.get("mode") == "SYMMETRIC" else "reflect"
    if word.startswith("replication"):
        return "replicate"
    if word == "padv2":
        return ""
    if word == "pad" and given.get("mode", "constant") != "constant":
        return str(given["mode"])
    return "zeros" if given.get("value", 0) == 0 else ""
