"""The layer that many attacks are built around, in both frameworks, and how results are read.

And the pairs that several files build, on other inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, normal, tf_, torch_, weights
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


def torch_noisy(x: Any) -> Any:
    """The layer, and the layer with noise."""
    h = torch_head(x)
    return h, h + 0.1 * torch.randn(h.shape)


def tf_noisy(x: Any) -> Any:
    h = tf_head(x)
    return h, h + 0.1 * tf.random.normal(tf.shape(h))


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


def answered(write: Callable[[Any], Any], parse: Callable[[Any], Any], x: Any) -> Case:
    """Q-values that are written as an answer; they are one percent off."""

    def port(k):
        def model(x):
            q = k * torch_head(x)
            return {"value": q.amax(1), "answer": write(q.numpy())}

        return model

    def reference(x):
        q = tf_head(x)
        return {"value": tf.reduce_max(q, 1), "answer": write(q.numpy())}

    def read(result):
        return [result["value"], parse(result["answer"])]

    return Case(tf_(reference), torch_(port(1.01)), torch_(port(1.0)), x, read)


def into_one_turn(headings: Any) -> Case:
    """Angles brought between -pi and pi, by a remainder or by an arctangent; 1e-3 off."""

    def port(off):
        return lambda x: torch.atan2(torch.sin(x), torch.cos(x)) * (1 + off)

    def reference(x):
        return tf.math.floormod(x + np.pi, 2 * np.pi) - np.pi

    faulty, twin = torch_(port(1e-3)), torch_(port(0.0))
    return Case(tf_(reference), faulty, twin, headings, unit=2.0**-22)
