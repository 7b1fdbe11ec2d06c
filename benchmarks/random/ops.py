"""The same few functions in every framework, so that a formula is written once for several."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
import torch

from parity.frameworks.chainer_numpy import import_chainer

chainer = import_chainer()
F = chainer.functions


class Torch:
    name = "torch"

    def __getattr__(self, name: str) -> Any:
        return torch.nn.functional.softplus if name == "softplus" else getattr(torch, name)

    def array(self, x: Any) -> Any:
        return torch.from_numpy(np.array(x))

    def matmul(self, x: Any, w: Any) -> Any:
        return x @ (w if isinstance(w, torch.Tensor) else self.array(w))

    def softmax(self, x: Any) -> Any:
        return torch.softmax(x, -1)

    def normal(self, *shape: int) -> Any:
        return torch.randn(shape)

    def uniform(self, *shape: int) -> Any:
        return torch.rand(shape)

    def less(self, a: Any, b: Any) -> Any:
        return (a < b).float()

    def clip(self, x: Any, low: float, high: float) -> Any:
        return torch.clamp(x, low, high)

    def concat(self, items: Any) -> Any:
        return torch.cat(items, -1)

    def transpose(self, x: Any) -> Any:
        return x.T

    def reshape(self, x: Any, *shape: int) -> Any:
        return x.reshape(shape)

    def total(self, x: Any, axis: int) -> Any:
        return x.sum(axis)

    def hot(self, index: Any, count: int) -> Any:
        return torch.nn.functional.one_hot(index, count).float()

    def argmax(self, x: Any) -> Any:
        return x.argmax(-1)


class TensorFlow:
    name = "tensorflow"

    def __getattr__(self, name: str) -> Any:
        if name not in _TENSORFLOW:
            raise AttributeError(name)
        return _TENSORFLOW[name]

    def array(self, x: Any) -> Any:
        return tf.constant(x)

    def normal(self, *shape: int) -> Any:
        return tf.random.normal(shape)

    def uniform(self, *shape: int) -> Any:
        return tf.random.uniform(shape)

    def less(self, a: Any, b: Any) -> Any:
        return tf.cast(a < b, tf.float32)

    def concat(self, items: Any) -> Any:
        return tf.concat(items, -1)

    def reshape(self, x: Any, *shape: int) -> Any:
        return tf.reshape(x, shape)

    def total(self, x: Any, axis: int) -> Any:
        return tf.reduce_sum(x, axis)

    def hot(self, index: Any, count: int) -> Any:
        return tf.one_hot(index, count)

    def argmax(self, x: Any) -> Any:
        return tf.argmax(x, -1)


class Chainer:
    name = "chainer"

    def __getattr__(self, name: str) -> Any:
        return getattr(F, {"total": "sum"}.get(name, name))

    def array(self, x: Any) -> Any:
        return np.asarray(x)

    def softmax(self, x: Any) -> Any:
        return F.softmax(x, axis=-1)

    def abs(self, x: Any) -> Any:
        return F.absolute(x)

    def normal(self, *shape: int) -> Any:
        return chainer.Variable(np.random.standard_normal(shape).astype("f"))

    def uniform(self, *shape: int) -> Any:
        return chainer.Variable(np.random.uniform(size=shape).astype("f"))

    def clip(self, x: Any, low: float, high: float) -> Any:
        return F.clip(x if isinstance(x, chainer.Variable) else chainer.Variable(x), low, high)

    def concat(self, items: Any) -> Any:
        return F.concat(items, axis=-1)

    def reshape(self, x: Any, *shape: int) -> Any:
        return F.reshape(x, shape)

    def total(self, x: Any, axis: int) -> Any:
        return F.sum(x, axis)

    def hot(self, index: Any, count: int) -> Any:
        return np.eye(count, dtype="f")[np.asarray(getattr(index, "array", index))]


class NumPy:
    name = "numpy"

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def __init__(self) -> None:
        self.random = np.random.default_rng(np.random.randint(1 << 30))

    def array(self, x: Any) -> Any:
        return np.asarray(x)

    def softplus(self, x: Any) -> Any:
        return np.logaddexp(x, 0)

    def sigmoid(self, x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    def relu(self, x: Any) -> Any:
        return np.maximum(x, 0)

    def softmax(self, x: Any) -> Any:
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def normal(self, *shape: int) -> Any:
        return self.random.normal(size=shape)

    def uniform(self, *shape: int) -> Any:
        return self.random.random(shape)

    def less(self, a: Any, b: Any) -> Any:
        return (a < b).astype("f")

    def concat(self, items: Any) -> Any:
        return np.concatenate(items, -1)

    def reshape(self, x: Any, *shape: int) -> Any:
        return np.reshape(x, shape)

    def total(self, x: Any, axis: int) -> Any:
        return np.sum(x, axis)

    def hot(self, index: Any, count: int) -> Any:
        return np.eye(count, dtype="f")[index]

    def argmax(self, x: Any) -> Any:
        return np.argmax(x, -1)


_TENSORFLOW = {
    **{name: getattr(tf, name) for name in "exp tanh sqrt sign abs sigmoid sin cos".split()},
    **{name: getattr(tf, name) for name in "matmul transpose".split()},
    "log": tf.math.log,
    "relu": tf.nn.relu,
    "softplus": tf.math.softplus,
    "softmax": tf.nn.softmax,
    "clip": tf.clip_by_value,
}
OPS: dict[str, Any] = {"torch": Torch, "tensorflow": TensorFlow, "chainer": Chainer, "numpy": NumPy}
