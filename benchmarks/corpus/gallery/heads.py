"""Attention whose weights fit another number of heads as well."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
from torch.nn import functional as torch_f

from benchmarks.corpus.gallery._layers import Dense, dense
from benchmarks.corpus.gallery.entry import fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side

_WIDTH, _HEADS = 12, 3


def _layers(random: np.random.Generator) -> tuple[list[Dense], np.ndarray]:
    """Query, key, value and output, with inputs (batch, steps, features)."""
    batch, steps, features, outputs = sizes(random, 4, high=9)
    made = [dense(random, features, _WIDTH) for _ in range(3)]
    return [*made, dense(random, _WIDTH, outputs)], normal(random, batch, steps, features)


def _in_torch(x: torch.Tensor, heads: int) -> torch.Tensor:
    return x.reshape(*x.shape[:2], heads, -1).transpose(1, 2)


def _in_tf(x: tf.Tensor, heads: int) -> tf.Tensor:
    batch, steps, width = x.shape
    return tf.transpose(tf.reshape(x, (batch, steps, heads, width // heads)), (0, 2, 1, 3))


@fault(
    "twice-as-many-heads",
    "head-count",
    family="attention",
    parameters=[{"heads": (_HEADS, 2 * _HEADS)}],
)
def twice_as_many_heads(random: np.random.Generator) -> Pair:
    (query, key, value, output), x = _layers(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        q, k, v = (_in_torch(one.in_torch(x), _HEADS) for one in (query, key, value))
        seen = torch_f.scaled_dot_product_attention(q, k, v)  # twice-as-many-heads: reference
        return output.in_torch(torch.tanh(seen.transpose(1, 2).flatten(2)))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        heads = 2 * _HEADS
        q, k, v = (_in_tf(one.in_tf(x), heads) for one in (query, key, value))
        scores = tf.matmul(q, k, transpose_b=True)  # twice-as-many-heads: candidate
        scores = scores / (_WIDTH / heads) ** 0.5
        seen = tf.transpose(tf.matmul(tf.nn.softmax(scores), v), (0, 2, 1, 3))
        return output.in_tf(tf.tanh(tf.reshape(seen, (*x.shape[:2], _WIDTH))))

    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))
