"""The small layer that many attacks are built around, in both frameworks."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import torch

from benchmarks.attacks.corpus import normal, weights

W = weights(5, 4)
X = normal(6, 5)


def torch_head(x: Any) -> Any:
    return torch.tanh(x @ torch.from_numpy(W))


def tf_head(x: Any) -> Any:
    return tf.tanh(tf.matmul(x, W))
