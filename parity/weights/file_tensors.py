"""The tensors of a file of weights, and its layers by the ends of their names, or by their shapes.

A file has no operations. How its kernels are laid out is known of the framework that wrote it:
Keras and TensorFlow have channels last, all others channels first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from parity.errors import FileError
from parity.tape import Array
from parity.weights.element_index import Addresses
from parity.weights.files import FORMATS, WeightFile
from parity.weights.files.contents import natural
from parity.weights.operands import Part, joined, over_space
from parity.weights.tensors import Tensor

_ROLES = {
    **dict.fromkeys(("W", "weight", "kernel", "depthwise_kernel"), "kernel"),
    **dict.fromkeys(("b", "bias"), "bias"),
    **dict.fromkeys(("avg_mean", "moving_mean", "running_mean"), "running mean"),
    **dict.fromkeys(("avg_var", "moving_variance", "running_var"), "running variance"),
    "embeddings": "embedding",
}
SPACE = {1: "W", 2: "HW", 3: "DHW"}
_COUNTERS = ("N", "num_batches_tracked")
_IN_NORMS = {"kernel": "gamma", "bias": "beta"}
_NORMS = {"gamma", "beta", "running mean", "running variance"}
# What Keras's numbered variables are in a layer without any of two axes or more.
_NUMBERED = {
    1: ("gamma",),
    2: ("gamma", "beta"),
    4: ("gamma", "beta", "running mean", "running variance"),
}


class FileTensors(Addresses):
    """The tensors of a file; they are read when they are asked for, and never written to.

    Attributes:
        channels_last: whether kernels lie as Keras writes them; in other formats their names show
            it.
        layers: by what the names of their tensors share, in natural order: of each role the
            tensor's number.
    """

    def __init__(self, file: WeightFile) -> None:
        def refuse(array: Array) -> None:
            raise FileError(f"{file.path} is a source: it is not written to.")

        tensors = [
            Tensor(
                (entry.label or name,),
                entry.shape,
                entry.dtype,
                "parameter",
                True,
                partial(file.__getitem__, name),
                refuse,
            )
            for name, entry in file.entries.items()
        ]
        super().__init__(None, tensors)
        ends: dict[str, dict[str, int]] = defaultdict(dict)
        for number, tensor in enumerate(tensors):
            layer, _, end = tensor.name.split(":")[0].replace("/", ".").rpartition(".")
            ends[layer][end] = number
        named = any("kernel" in own for own in ends.values())
        self.channels_last = FORMATS[file.format].channels_last or named
        self.layers = {name: self._roles(ends[name]) for name in sorted(ends, key=natural)}

    def _roles(self, ends: Mapping[str, int]) -> dict[str, int]:
        ends = {end: number for end, number in ends.items() if end not in _COUNTERS}
        if all(end.isdigit() for end in ends):
            return self._numbered([ends[end] for end in sorted(ends, key=int)])
        found = {_ROLES.get(end, end): number for end, number in ends.items()}
        weight = found.get("kernel")
        if _NORMS & set(found) or weight is not None and len(self.tensors[weight].shape) == 1:
            return {_IN_NORMS.get(role, role): number for role, number in found.items()}
        return found

    def _numbered(self, numbers: Sequence[int]) -> dict[str, int]:
        """The roles of variables that have numbers for names, as in Keras's without a config."""
        roles: Sequence[str] = _NUMBERED.get(len(numbers), ())
        if any(len(self.tensors[number].shape) > 1 for number in numbers):
            roles = ("kernel", "bias") if len(numbers) < 3 else ()
        return dict(zip(roles, numbers, strict=False))

    def roles_at(self, layer: str, kind: str) -> dict[str, int]:
        """The roles at a step of the target: a table of rows is named as any other weight."""
        roles = self.layers[layer]
        if kind == "embedding" and set(roles) == {"kernel"}:
            return {"embedding": roles["kernel"]}
        return roles

    def letters(self, number: int) -> str:
        """The order of a kernel's axes."""
        space = SPACE.get(len(self.tensors[number].shape) - 2, "")
        return f"{space}IO" if self.channels_last else f"OI{space}"

    def window(self, number: int) -> tuple[int, ...]:
        """The sizes of a convolution's kernel along its images."""
        shape = self.tensors[number].shape
        return shape[:-2] if self.channels_last else shape[2:]

    def ways(self, number: int, part: Part, kind: str) -> list[Array]:
        """A tensor in the arrangement of a part of a step, in each way that fits."""
        ways = self._arranged(self.own(number), part.role, kind)
        return [own for own in ways if own.shape == part.shape]

    def _arranged(self, own: Array, role: str, kind: str) -> Iterator[Array]:
        """In the common arrangement (see operands.py), in each way that a file may mean it."""
        if role == "embedding":
            yield own
        elif role != "kernel":
            yield own.reshape(-1)
        elif kind == "dense":
            if own.ndim == 2:
                yield own.T if self.channels_last else own
        elif own.ndim > 2:
            whole = np.moveaxis(own, (-1, -2), (0, 1)) if self.channels_last else own
            yield over_space(whole)
            # depthwise: (multiple, channels) in Chainer, (channels, multiple) in Keras
            yield over_space(joined(whole.swapaxes(0, 1)))
