"""The primitives in NumPy: exactly, with rounding at random, or as a port would have them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

Tensor = Any

_ERF = np.vectorize(math.erf, otypes=[np.float64])


class NumPy:
    """NumPy in one precision; `noise` moves every result by a rounding of float32 at random."""

    name = "numpy"
    fused: dict[str, Callable[..., Tensor]] = {}

    def __init__(self, dtype: str | None = "float64", noise: Any = None) -> None:
        self._dtype, self._noise = dtype, noise

    def const(self, array: Any) -> Tensor:
        return self._moved(array.astype(self._dtype) if array.dtype.kind == "f" else array)

    def _moved(self, x: Tensor) -> Tensor:
        if self._noise is None or x.dtype.kind != "f":
            return x
        return x * (1 + 2.0**-24 * self._noise.uniform(-1, 1, x.shape))

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        return self._moved(a + b)

    def sub(self, a: Tensor, b: Tensor) -> Tensor:
        return self._moved(a - b)

    def mul(self, a: Tensor, b: Tensor) -> Tensor:
        return self._moved(a * b)

    def div(self, a: Tensor, b: Tensor) -> Tensor:
        return self._moved(a / b)

    def exp(self, x: Tensor) -> Tensor:
        return self._moved(np.exp(x))

    def log(self, x: Tensor) -> Tensor:
        return self._moved(np.log(x))

    def sqrt(self, x: Tensor) -> Tensor:
        return self._moved(np.sqrt(x))

    def tanh(self, x: Tensor) -> Tensor:
        return self._moved(np.tanh(x))

    def sin(self, x: Tensor) -> Tensor:
        return self._moved(np.sin(x))

    def erf(self, x: Tensor) -> Tensor:
        return self._moved(_ERF(x).astype(x.dtype))

    def sigmoid(self, x: Tensor) -> Tensor:
        return self._moved(1 / (1 + np.exp(-x)))

    def abs(self, x: Tensor) -> Tensor:
        return np.abs(x)

    def maximum(self, a: Tensor, b: Tensor) -> Tensor:
        return np.maximum(a, b)

    def minimum(self, a: Tensor, b: Tensor) -> Tensor:
        return np.minimum(a, b)

    def where_above(self, x: Tensor, bound: float, a: Tensor, b: Tensor) -> Tensor:
        return np.where(x > bound, a, b)

    def where(self, mask: Any, a: Tensor, fill: float) -> Tensor:
        return np.where(mask, a, a.dtype.type(fill))

    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        return self._moved(np.matmul(a, b))

    def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        return x.transpose(axes)

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        return x.reshape(shape)

    def sum(self, x: Tensor, axis: int) -> Tensor:
        return self._moved(x.sum(axis, keepdims=True))

    def mean(self, x: Tensor, axis: int) -> Tensor:
        return self._moved(x.mean(axis, keepdims=True))

    def max(self, x: Tensor, axis: int) -> Tensor:
        return x.max(axis, keepdims=True)

    def min(self, x: Tensor, axis: int) -> Tensor:
        return x.min(axis, keepdims=True)

    def cumsum(self, x: Tensor, axis: int) -> Tensor:
        return self._moved(np.cumsum(x, axis))

    def concat(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        return np.concatenate(parts, axis)

    def cut(self, x: Tensor, axis: int, start: int, stop: int) -> Tensor:
        return x[slices(x, axis, start, stop)]

    def take(self, x: Tensor, index: Any, axis: int) -> Tensor:
        return np.take(x, index, axis)

    def flip(self, x: Tensor, axis: int) -> Tensor:
        return np.flip(x, axis)

    def pad(self, x: Tensor, axis: int, before: int, after: int, value: float) -> Tensor:
        return np.pad(x, widths(x, axis, before, after), constant_values=value)

    def lookup(self, table: Tensor, index: Tensor) -> Tensor:
        return table[index]

    def rounded(self, x: Tensor, kind: str) -> Tensor:
        if kind == "float16":
            return x.astype(np.float16).astype(x.dtype)
        single = np.array(x, np.float32)
        return torch.from_numpy(single).bfloat16().float().numpy().astype(x.dtype)


def slices(x: Tensor, axis: int, start: int, stop: int) -> tuple[slice, ...]:
    return tuple(slice(start, stop) if a == axis else slice(None) for a in range(len(x.shape)))


def widths(x: Tensor, axis: int, before: int, after: int) -> list[tuple[int, int]]:
    return [(before, after) if a == axis else (0, 0) for a in range(len(x.shape))]


class PlainNumPy(NumPy):
    """A NumPy port in the precision of what it gets; its constants follow."""

    def __init__(self) -> None:
        super().__init__(None)

    def const(self, array: Any) -> Tensor:
        return array
