"""The layers of a file of weights, by the ends of its tensors' names, or by their shapes.

A file has no operations. How its kernels are laid out is known of the framework that wrote it:
Keras and TensorFlow have channels last, all others channels first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from parity.errors import FileError
from parity.tape import Array
from parity.weights.files import FORMATS, WeightFile
from parity.weights.operands import over_space
from parity.weights.tensors import Tensor

_ROLES = {
    **dict.fromkeys(("W", "weight", "kernel", "depthwise_kernel"), "kernel"),
    **dict.fromkeys(("b", "bias"), "bias"),
    **dict.fromkeys(("avg_mean", "moving_mean", "running_mean"), "running mean"),
    **dict.fromkeys(("avg_var", "moving_variance", "running_var"), "running variance"),
    "embeddings": "embedding",
}
_COUNTERS = ("N", "num_batches_tracked")
_IN_NORMS = {"kernel": "gamma", "bias": "beta"}
_NORMS = {"gamma", "beta", "running mean", "running variance"}
# What Keras's numbered variables are in a layer without any of two axes or more.
_NUMBERED = {
    1: ("gamma",),
    2: ("gamma", "beta"),
    4: ("gamma", "beta", "running mean", "running variance"),
}


@dataclass
class FileLayer:
    """Tensors of a file whose names differ at the end only.

    Attributes:
        name: what they share, without the separator.
        roles: of each role the tensor's number.
    """

    name: str
    roles: dict[str, int] = field(default_factory=dict)

    def roles_at(self, kind: str) -> dict[str, int]:
        """The roles at a step of the target: a table of rows is named as any other weight."""
        if kind == "embedding" and set(self.roles) == {"kernel"}:
            return {"embedding": self.roles["kernel"]}
        return self.roles


def tensors_of(file: WeightFile) -> list[Tensor]:
    """A file's tensors; they are read when they are asked for, and never written to."""

    def refuse(array: Array) -> None:
        raise FileError(f"{file.path} is a source: it is not written to.")

    labels = file.labels
    return [
        Tensor(
            (labels[name],),
            entry.shape,
            entry.dtype,
            "parameter",
            True,
            lambda name=name: file[name],  # type: ignore[misc]
            refuse,
        )
        for name, entry in file.entries.items()
    ]


def has_channels_last(file: WeightFile) -> bool:
    """Whether kernels lie as Keras writes them; in other formats their names show it."""
    ends = {re.split(r"[/.]", label.split(":")[0])[-1] for label in file.labels.values()}
    return FORMATS[file.format].channels_last or "kernel" in ends


def layers_of(tensors: Sequence[Tensor]) -> dict[str, FileLayer]:
    """Layers by name, in the natural order of the names."""
    own: dict[str, dict[str, int]] = defaultdict(dict)
    for number, tensor in enumerate(tensors):
        layer, _, end = tensor.name.split(":")[0].replace("/", ".").rpartition(".")
        if end not in _COUNTERS:
            own[layer][end] = number
    return {name: FileLayer(name, _roles(own[name], tensors)) for name in sorted(own, key=_natural)}


def _roles(ends: dict[str, int], tensors: Sequence[Tensor]) -> dict[str, int]:
    if all(end.isdigit() for end in ends):
        return _numbered([ends[end] for end in sorted(ends, key=int)], tensors)
    found = {_ROLES.get(end, end): number for end, number in ends.items()}
    weight = found.get("kernel")
    if _NORMS & set(found) or weight is not None and len(tensors[weight].shape) == 1:
        return {_IN_NORMS.get(role, role): number for role, number in found.items()}
    return found


def _numbered(numbers: Sequence[int], tensors: Sequence[Tensor]) -> dict[str, int]:
    """The roles of variables that have numbers for names, as Keras writes them without a config."""
    if any(len(tensors[number].shape) > 1 for number in numbers):
        return dict(zip(("kernel", "bias"), numbers, strict=False)) if len(numbers) < 3 else {}
    return dict(zip(_NUMBERED.get(len(numbers), ()), numbers, strict=False))


def _natural(name: str) -> list[tuple[int, str]]:
    return [
        (int(part), "") if part.isdigit() else (-1, part)
        for part in re.split(r"(\d+)", name)
        if part
    ]


def canonical(own: Array, role: str, kind: str, last: bool) -> Iterator[Array]:
    """A tensor in the common arrangement (see operands.py), in each way that a file may mean it."""
    if role == "embedding":
        yield own
    elif role != "kernel":
        yield own.reshape(-1)
    elif kind == "dense":
        if own.ndim == 2:
            yield own.T if last else own
    elif own.ndim > 2:
        space = range(own.ndim - 2) if last else range(2, own.ndim)
        first, second = (own.ndim - 1, own.ndim - 2) if last else (0, 1)
        whole = own.transpose(first, second, *space)
        yield over_space(whole)
        # depthwise: (multiple, channels) in Chainer, (channels, multiple) in Keras
        split = whole.transpose(1, 0, *range(2, own.ndim))
        yield over_space(split.reshape(split.shape[0] * split.shape[1], 1, *split.shape[2:]))


def window(shape: tuple[int, ...], last: bool) -> tuple[int, ...]:
    """The sizes of a convolution's kernel along its images."""
    return shape[:-2] if last else shape[2:]
