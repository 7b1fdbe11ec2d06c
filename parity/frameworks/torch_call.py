"""What it takes to run an operation of torch's again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class Ref:
    """Stands for the n-th input of an operation in its recorded arguments.

    It is given as a Python number where the host had read it with `.item()`, and quantised like
    the tensor that was there where its kernel takes no other.
    """

    index: int
    as_number: bool = False
    like: torch.Tensor | None = None

    def of(self, arguments: Sequence[Any]) -> Any:
        """What is given where it stands."""
        found = arguments[self.index]
        if self.like is not None and not found.is_quantized:
            return torch.empty_like(self.like).copy_(found)
        return found.item() if self.as_number else found


@dataclass(frozen=True, slots=True)
class Call:
    """An ATen operator and its arguments, with a `Ref` for each tensor."""

    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    written: tuple[int | str, ...]  # positions or names of the arguments that are written to
    kept: tuple[int, ...]  # positions of the results that are tensors of their own
    single: bool = False  # whether it compares float32 with a number, which it rounds to that
    state: bytes = b""  # of the generator that it drew by


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """A tensor read again after another tensor over the same memory was written."""

    read: tuple[Any, ...]
    written: tuple[Any, ...]

    def __call__(self, old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        reach = [
            1 + offset + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
            for shape, strides, offset in (self.read, self.written)
        ]
        memory = old.new_empty(max(reach))
        memory.as_strided(*self.read).copy_(old)
        memory.as_strided(*self.written).copy_(new)
        return memory.as_strided(*self.read).clone()


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
