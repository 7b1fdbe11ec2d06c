"""The layer that many attacks are built around, in both frameworks, and how results are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import normal, weights
from parity.frameworks.chainer_numpy import import_chainer

chainer = import_chainer()
F = chainer.functions

W = weights(5, 4)
X = normal(6, 5)
MORE = normal(20_000, 5, seed=9)  # for what is read of many samples
OF_ACTIONS = weights(5, 3)


def torch_head(x: Any) -> Any:
    return torch.tanh(x @ torch.from_numpy(W))


def tf_head(x: Any) -> Any:
    return tf.tanh(tf.matmul(x, W))


def torch_q(x: Any) -> Any:
    """Q-values of three actions."""
    return torch.tanh(x @ torch.from_numpy(OF_ACTIONS))


def tf_q(x: Any) -> Any:
    return tf.tanh(tf.matmul(x, OF_ACTIONS))


def as_array(one: Any) -> Any:
    """A result of any framework as NumPy's."""
    return np.asarray(one.detach() if hasattr(one, "detach") else getattr(one, "array", one))


def size_of_noise(result: Any) -> Any:
    """Of a head with noise: how large the noise is."""
    h, a = map(as_array, result[:2])
    return [np.std(a - h, keepdims=True)]
