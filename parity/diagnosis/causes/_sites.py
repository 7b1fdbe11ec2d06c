"""Where a convolution or a pool is in a region, and what its operation says of its window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes._windows import Window
from parity.operations import PADS
from parity.tape import Array, Op

_KINDS = {
    "convolution": "conv",
    "depthwise_convolution": "conv",
    "columns": "conv",  # a convolution by a product with them
    "transposed_convolution": "transposed",
    "max_pool": "max",
    "average_pool": "mean",
}
_CROPS = {"slice", "batch_to_space", "copy"}


@dataclass(frozen=True)
class Site:
    """One side's convolution or pool.

    Attributes:
        last: whether channels come last.
        base: value id of its input before padding.
        at: value id of its result, after what is cut off it.
            Of a convolution by columns what gives them: its result is to be looked for.
        kernel: as `_windows` has it; None for a pool.
        bias: (out,), of an operation that adds one itself.
        window: kind, size, groups, and the rest as far as it is told.
    """

    as_candidate: bool
    op: Op
    last: bool
    base: int
    at: int
    kernel: Array | None
    bias: Array | None
    window: Window


def site_of(case: Case, as_candidate: bool) -> Site | None:
    """The first convolution or pool of a side's region, or its padding if there is none."""
    view = case.candidate if as_candidate else case.reference
    kinds = [(op, kind) for op in view.ops if (kind := _kind(op)) is not None]
    if not kinds:
        kinds = [(op, "pad") for op in view.ops if op.word in PADS]
    if not kinds:
        return None
    op, kind = kinds[0]
    side = case.repaired.side if as_candidate else case.repaired.reference
    tape = view.tape
    mine = view.tape.framework in ("tensorflow", "keras")
    layout = op.attributes.get("data_format", "NHWC" if mine else "NCHW")
    last = mine and str(layout).endswith("C")
    at, size = 1 if kind == "transposed" and mine else 0, None
    kernel = bias = None
    groups_ = 1
    if op.word == "columns":
        kernel = _kernel_of_columns(case, as_candidate, op, mine)
        size = None if kernel is None else kernel.shape[2:]
    elif kind in ("conv", "transposed"):
        weight = op.inputs[1 - at]
        producer = tape.producer(weight)
        if tape.values[weight].kind == "input" or (producer is not None and not producer.static):
            return None
        channels = tape.values[op.inputs[at]].shape[-1 if last else 1]
        kernel, groups_ = _kernel(side.array(weight), op, kind, mine, channels)
        size = kernel.shape[2:]
        if not mine and len(op.inputs) > 2:
            bias = side.array(op.inputs[2])
    elif kind == "pad":
        size = (1,) * (len(tape.values[op.inputs[0]].shape) - 2)
    else:
        size = _size(op, len(tape.values[op.inputs[0]].shape) - 2, last)
    if not size:
        return None
    rank = len(size)
    window = Window(
        kind,
        tuple(int(n) for n in size),
        ((0, 0),) * rank,
        _numbers(op, ("stride", "strides"), ("sy", "sx"), rank, last),
        _numbers(op, ("dilation", "dilations", "dilate"), ("dy", "dx"), rank, last),
        groups_,
    )
    inside = {one.index for one in view.ops}
    return Site(
        as_candidate,
        op,
        last,
        _before_padding(
            case, op.outputs[0] if kind == "pad" else op.inputs[at], inside, as_candidate
        ),
        _after_crops(case, op.outputs[0], inside, as_candidate),
        kernel,
        bias,
        window,
    )


def is_transposed(op: Op) -> bool:
    """Whether an operation is a transposed convolution."""
    return _kind(op) == "transposed"


def _kind(op: Op) -> str | None:
    kind = _KINDS.get(op.word)
    return "transposed" if kind == "conv" and op.attributes.get("transposed") else kind


def _kernel(
    weight: Array, op: Op, kind: str, space_first: bool, channels: int
) -> tuple[Array, int]:
    """A kernel with its channels first, and the number of groups."""
    weight = weight.astype(np.float64)
    if not space_first:
        return weight, int(op.attributes.get("groups", 1))
    turned = np.moveaxis(weight, (-2, -1), (0, 1))  # (in, out, *size), or (out, in) if transposed
    if kind == "transposed":
        return turned.swapaxes(0, 1), 1
    if op.word == "depthwise_convolution":
        return turned.reshape(-1, 1, *turned.shape[2:]), len(turned)
    return turned.swapaxes(0, 1), channels // len(turned)


def _kernel_of_columns(case: Case, as_candidate: bool, op: Op, space_first: bool) -> Array | None:
    """The kernel that fits columns: as long as they are, for as many channels as are read."""
    view = case.candidate if as_candidate else case.reference
    shape, columns = (view.tape.values[v].shape for v in (op.inputs[0], op.outputs[0]))
    for leaf in view.leaves:
        if leaf.array.ndim != len(shape) or leaf.array.dtype.kind != "f":
            continue
        kernel = np.moveaxis(leaf.array, (-1, -2), (0, 1)) if space_first else leaf.array
        channels = shape[-1 if space_first else 1]
        if kernel.shape[1] == channels and kernel[0].size in columns:
            return kernel.astype(np.float64)
    return None


def _size(op: Op, rank: int, last: bool) -> tuple[int, ...] | None:
    """A pool's window."""
    for name in ("kernel_size", "ksize"):
        if name in op.attributes:
            return _numbers(op, (name,), (), rank, last)
    if "kh" in op.attributes:
        return _numbers(op, (), ("kh", "kw"), rank, last)
    return None


def _numbers(
    op: Op, names: Sequence[str], single: Sequence[str], rank: int, last: bool
) -> tuple[int, ...]:
    """An attribute with one number for each axis of space; ones where there is none."""
    if single and all(name in op.attributes for name in single):
        return tuple(int(op.attributes[name]) for name in single)
    for name in names:
        found = op.attributes.get(name)
        if isinstance(found, int):
            return (found,) * rank
        if isinstance(found, list | tuple) and found:
            numbers = tuple(int(n) for n in found)
            if len(numbers) == rank + 2:
                return numbers[1:-1] if last else numbers[2:]
            return numbers if len(numbers) == rank else numbers[:1] * rank
    return (1,) * rank


def _before_padding(case: Case, value: int, inside: set[int], as_candidate: bool) -> int:
    tape = (case.candidate if as_candidate else case.reference).tape
    while True:
        op = tape.producer(value)
        if op is None or op.index not in inside:
            return value
        if op.word not in PADS | {"space_to_batch"}:
            return value
        value = op.inputs[0]


def _after_crops(case: Case, value: int, inside: set[int], as_candidate: bool) -> int:
    tape = (case.candidate if as_candidate else case.reference).tape
    while True:
        readers = [tape.ops[i] for i in tape.consumers[value]]
        if len(readers) != 1 or readers[0].index not in inside:
            return value
        op = readers[0]
        shapes = [tape.values[one].shape for one in (value, op.outputs[0])]
        if op.word not in _CROPS or len(shapes[0]) != len(shapes[1]):
            return value
        value = op.outputs[0]
