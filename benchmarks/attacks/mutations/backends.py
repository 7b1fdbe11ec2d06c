"""A few primitives in each framework, by which the vocabulary's operations are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as torch_functional

from benchmarks.attacks.mutations.in_numpy import Tensor, slices, widths
from parity.frameworks.chainer_numpy import import_chainer

chainer = import_chainer()
F = chainer.functions


class Compiled:
    """What the frameworks' backends share: constants are made once, and may be parameters."""

    def __init__(self, parameters: bool) -> None:
        self.parameters = parameters
        self.held: dict[int, tuple[Any, Tensor]] = {}

    def const(self, array: Any) -> Tensor:
        found = self.held.get(id(array))
        if found is None:
            found = self.held[id(array)] = (array, self._make(array))
        return found[1]

    def _make(self, array: Any) -> Tensor:
        raise NotImplementedError

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        return a + b

    def sub(self, a: Tensor, b: Tensor) -> Tensor:
        return a - b

    def mul(self, a: Tensor, b: Tensor) -> Tensor:
        return a * b

    def div(self, a: Tensor, b: Tensor) -> Tensor:
        return a / b


class Torch(Compiled):
    name = "torch"
    exp, log, sqrt, tanh, sin, erf = (
        staticmethod(one)
        for one in (torch.exp, torch.log, torch.sqrt, torch.tanh, torch.sin, torch.erf)
    )
    sigmoid, abs, matmul = (staticmethod(one) for one in (torch.sigmoid, torch.abs, torch.matmul))

    def _make(self, array: Any) -> Tensor:
        tensor = torch.from_numpy(np.array(array))
        if self.parameters and tensor.is_floating_point() and tensor.ndim:
            return torch.nn.Parameter(tensor)
        return tensor

    def maximum(self, a: Tensor, b: Any) -> Tensor:
        return torch.maximum(a, b) if isinstance(b, torch.Tensor) else torch.clamp(a, min=b)

    def minimum(self, a: Tensor, b: Any) -> Tensor:
        return torch.minimum(a, b) if isinstance(b, torch.Tensor) else torch.clamp(a, max=b)

    def where_above(self, x: Tensor, bound: float, a: Tensor, b: Tensor) -> Tensor:
        return torch.where(x > bound, a, b)

    def where(self, mask: Any, a: Tensor, fill: float) -> Tensor:
        return a.masked_fill(~torch.from_numpy(mask), fill)

    def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        return x.permute(*axes)

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        return x.reshape(*shape)

    def sum(self, x: Tensor, axis: int) -> Tensor:
        return x.sum(axis, keepdim=True)

    def mean(self, x: Tensor, axis: int) -> Tensor:
        return x.mean(axis, keepdim=True)

    def max(self, x: Tensor, axis: int) -> Tensor:
        return x.amax(axis, keepdim=True)

    def min(self, x: Tensor, axis: int) -> Tensor:
        return x.amin(axis, keepdim=True)

    def cumsum(self, x: Tensor, axis: int) -> Tensor:
        return torch.cumsum(x, axis)

    def concat(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        return torch.cat(list(parts), axis)

    def cut(self, x: Tensor, axis: int, start: int, stop: int) -> Tensor:
        return x[slices(x, axis, start, stop)]

    def take(self, x: Tensor, index: Any, axis: int) -> Tensor:
        return torch.index_select(x, axis, torch.from_numpy(np.array(index)))

    def flip(self, x: Tensor, axis: int) -> Tensor:
        return torch.flip(x, (axis,))

    def pad(self, x: Tensor, axis: int, before: int, after: int, value: float) -> Tensor:
        each = [0, 0] * (x.ndim - 1 - axis) + [before, after]
        return torch_functional.pad(x, each, value=value)

    def lookup(self, table: Tensor, index: Tensor) -> Tensor:
        return torch_functional.embedding(index, table)

    def rounded(self, x: Tensor, kind: str) -> Tensor:
        return x.to(getattr(torch, kind)).float()

    fused: dict[str, Callable[..., Tensor]] = {
        "softmax": lambda x, axis: torch.softmax(x, axis),
        "log_softmax": lambda x, axis: torch.log_softmax(x, axis),
        "logsumexp": lambda x, axis: torch.logsumexp(x, axis, keepdim=True),
        "relu": torch.relu,
        "leaky": lambda x, slope: torch_functional.leaky_relu(x, slope),
        "elu": lambda x, alpha: torch_functional.elu(x, alpha),
        "gelu": torch_functional.gelu,
        "gelu_tanh": lambda x: torch_functional.gelu(x, approximate="tanh"),
        "silu": torch_functional.silu,
        "softplus": torch_functional.softplus,
        "square": torch.square,
        "clip": lambda x, low, high: torch.clamp(x, low, high),
        "linear": lambda x, w, b: torch_functional.linear(x, w.T, b),
        "layer_norm": lambda x, g, b, eps: torch_functional.layer_norm(x, x.shape[-1:], g, b, eps),
        "variance": lambda x, axis, ddof: torch.var(x, axis, correction=ddof, keepdim=True),
        "conv1d": lambda x, w: torch_functional.conv1d(
            x.transpose(1, 2), w.permute(2, 1, 0)
        ).transpose(1, 2),
        "rsqrt": torch.rsqrt,
        "roll": lambda x, shift, axis: torch.roll(x, shift, axis),
    }


class TensorFlow(Compiled):
    name = "tensorflow"
    exp, log, sqrt, tanh, sin, erf = (
        staticmethod(one) for one in (tf.exp, tf.math.log, tf.sqrt, tf.tanh, tf.sin, tf.math.erf)
    )
    sigmoid, abs, matmul = (staticmethod(one) for one in (tf.sigmoid, tf.abs, tf.matmul))
    maximum, minimum, transpose, reshape = (
        staticmethod(one) for one in (tf.maximum, tf.minimum, tf.transpose, tf.reshape)
    )

    def _make(self, array: Any) -> Tensor:
        if self.parameters and array.dtype.kind == "f" and array.ndim:
            return tf.Variable(array)
        return tf.constant(array)

    def where_above(self, x: Tensor, bound: float, a: Tensor, b: Tensor) -> Tensor:
        return tf.where(x > bound, a, b)

    def where(self, mask: Any, a: Tensor, fill: float) -> Tensor:
        return tf.where(mask, a, fill)

    def sum(self, x: Tensor, axis: int) -> Tensor:
        return tf.reduce_sum(x, axis, keepdims=True)

    def mean(self, x: Tensor, axis: int) -> Tensor:
        return tf.reduce_mean(x, axis, keepdims=True)

    def max(self, x: Tensor, axis: int) -> Tensor:
        return tf.reduce_max(x, axis, keepdims=True)

    def min(self, x: Tensor, axis: int) -> Tensor:
        return tf.reduce_min(x, axis, keepdims=True)

    def cumsum(self, x: Tensor, axis: int) -> Tensor:
        return tf.cumsum(x, axis)

    def concat(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        return tf.concat(list(parts), axis)

    def cut(self, x: Tensor, axis: int, start: int, stop: int) -> Tensor:
        return x[slices(x, axis, start, stop)]

    def take(self, x: Tensor, index: Any, axis: int) -> Tensor:
        return tf.gather(x, index, axis=axis)

    def flip(self, x: Tensor, axis: int) -> Tensor:
        return tf.reverse(x, [axis])

    def pad(self, x: Tensor, axis: int, before: int, after: int, value: float) -> Tensor:
        return tf.pad(x, widths(x, axis, before, after), constant_values=value)

    def lookup(self, table: Tensor, index: Tensor) -> Tensor:
        return tf.nn.embedding_lookup(table, index)

    def rounded(self, x: Tensor, kind: str) -> Tensor:
        return tf.cast(tf.cast(x, kind), tf.float32)

    fused: dict[str, Callable[..., Tensor]] = {
        "softmax": lambda x, axis: tf.nn.softmax(x, axis),
        "log_softmax": lambda x, axis: tf.nn.log_softmax(x, axis),
        "logsumexp": lambda x, axis: tf.reduce_logsumexp(x, axis, keepdims=True),
        "relu": tf.nn.relu,
        "leaky": lambda x, slope: tf.nn.leaky_relu(x, slope),
        "elu": lambda x, alpha: tf.where(x > 0, x, alpha * tf.math.expm1(x)),
        "gelu": lambda x: tf.nn.gelu(x, approximate=False),
        "gelu_tanh": lambda x: tf.nn.gelu(x, approximate=True),
        "silu": tf.nn.silu,
        "softplus": tf.math.softplus,
        "square": tf.square,
        "clip": tf.clip_by_value,
        "linear": lambda x, w, b: tf.tensordot(x, w, 1) + b,
        "conv1d": lambda x, w: tf.nn.conv1d(x, w, 1, "VALID"),
        "rsqrt": tf.math.rsqrt,
        "roll": lambda x, shift, axis: tf.roll(x, shift, axis),
    }


class Chainer(Compiled):
    name = "chainer"
    exp, log, sqrt, tanh, sin, erf = (
        staticmethod(one) for one in (F.exp, F.log, F.sqrt, F.tanh, F.sin, F.erf)
    )
    sigmoid, matmul, transpose, reshape = (
        staticmethod(one) for one in (F.sigmoid, F.matmul, F.transpose, F.reshape)
    )

    def _make(self, array: Any) -> Tensor:
        if self.parameters and array.dtype.kind == "f" and array.ndim:
            return chainer.Parameter(np.array(array))
        return np.array(array)

    def abs(self, x: Tensor) -> Tensor:
        return F.absolute(x)

    def maximum(self, a: Tensor, b: Any) -> Tensor:
        return F.maximum(a, b if hasattr(b, "shape") else np.full(a.shape, b, np.float32))

    def minimum(self, a: Tensor, b: Any) -> Tensor:
        return F.minimum(a, b if hasattr(b, "shape") else np.full(a.shape, b, np.float32))

    def where_above(self, x: Tensor, bound: float, a: Tensor, b: Tensor) -> Tensor:
        return F.where(x.array > np.float32(bound), a, b)

    def where(self, mask: Any, a: Tensor, fill: float) -> Tensor:
        whole = np.broadcast_to(mask, a.shape)
        return F.where(whole, a, np.full(a.shape, fill, np.float32))

    def sum(self, x: Tensor, axis: int) -> Tensor:
        return F.sum(x, axis, keepdims=True)

    def mean(self, x: Tensor, axis: int) -> Tensor:
        return F.mean(x, axis, keepdims=True)

    def max(self, x: Tensor, axis: int) -> Tensor:
        return F.max(x, axis, keepdims=True)

    def min(self, x: Tensor, axis: int) -> Tensor:
        return F.min(x, axis, keepdims=True)

    def cumsum(self, x: Tensor, axis: int) -> Tensor:
        return F.cumsum(x, axis)

    def concat(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        return F.concat(list(parts), axis)

    def cut(self, x: Tensor, axis: int, start: int, stop: int) -> Tensor:
        return x[slices(x, axis, start, stop)]

    def take(self, x: Tensor, index: Any, axis: int) -> Tensor:
        return x[tuple(np.array(index) if a == axis else slice(None) for a in range(x.ndim))]

    def flip(self, x: Tensor, axis: int) -> Tensor:
        return F.flip(x, axis)

    def pad(self, x: Tensor, axis: int, before: int, after: int, value: float) -> Tensor:
        each = widths(x, axis, before, after)
        return F.pad(x, each, "constant", constant_values=np.float32(value))

    def lookup(self, table: Tensor, index: Tensor) -> Tensor:
        return F.embed_id(index, table)

    def rounded(self, x: Tensor, kind: str) -> Tensor:
        return F.cast(F.cast(x, "float16"), "float32")  # it has no bfloat16

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        return F.add(*_alike(a, b))

    def sub(self, a: Tensor, b: Tensor) -> Tensor:
        a, b = _alike(a, b)
        return a - b

    def mul(self, a: Tensor, b: Tensor) -> Tensor:
        a, b = _alike(a, b)
        return a * b

    def div(self, a: Tensor, b: Tensor) -> Tensor:
        a, b = _alike(a, b)
        return a / b

    fused: dict[str, Callable[..., Tensor]] = {
        "softmax": lambda x, axis: F.softmax(x, axis=axis),
        "log_softmax": lambda x, axis: F.log_softmax(x, axis=axis),
        "relu": F.relu,
        "leaky": lambda x, slope: F.leaky_relu(x, slope),
        "elu": lambda x, alpha: F.elu(x, alpha),
        "softplus": F.softplus,
        "square": F.square,
        "clip": F.clip,
        "linear": lambda x, w, b: F.linear(x, F.transpose(w), b, n_batch_axes=len(x.shape) - 1),
        "rsqrt": F.rsqrt,
    }


def _alike(a: Tensor, b: Any) -> tuple[Tensor, Tensor]:
    """Chainer's operators want arrays of one shape; a number stays one."""
    if not hasattr(a, "shape") or not hasattr(b, "shape") or a.shape == b.shape:
        return a, b
    return tuple(F.broadcast(a, b))


BACKENDS = {one.name: one for one in (Torch, TensorFlow, Chainer)}
