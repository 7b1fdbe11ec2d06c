"""Rotary positions with other parameters."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.corpus.gallery._layers import dense
from benchmarks.corpus.gallery.entry import fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side

_DEPTH = 8


def _waves(steps: int, width: int, base: float) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and sines, (steps, width), each pair of neighbours with one angle."""
    angles = np.arange(steps)[:, None] * base ** (-np.arange(0, width, 2) / width)
    angles = np.repeat(angles, 2, axis=1)
    return np.cos(angles).astype("f"), np.sin(angles).astype("f")


def _in_torch(x: torch.Tensor, waves: tuple[np.ndarray, np.ndarray]) -> torch.Tensor:
    cos, sin = map(torch.from_numpy, waves)
    some = x[..., : cos.shape[1]]  # rotary-of-half-the-head: reference
    parts = -some[..., 1::2], some[..., ::2]  # rotary-of-half-the-head: reference
    halves = torch.stack(parts, -1).flatten(-2)
    turned = some * cos + halves * sin  # rotary-of-half-the-head: reference
    return torch.cat((turned, x[..., cos.shape[1] :]), -1)


def _in_tf(x: tf.Tensor, waves: tuple[np.ndarray, np.ndarray]) -> tf.Tensor:
    cos, sin = waves
    some = x[..., : cos.shape[1]]  # rotary-of-half-the-head: candidate
    parts = -some[..., 1::2], some[..., ::2]  # rotary-of-half-the-head: candidate
    halves = tf.reshape(tf.stack(parts, -1), some.shape)
    turned = some * cos + halves * sin  # rotary-of-half-the-head: candidate
    return tf.concat((turned, x[..., cos.shape[1] :]), -1)


@fault(
    "rotary-of-half-the-head",
    "rotary-parameters",
    family="attention",
    parameters=[{"width": (_DEPTH // 2, _DEPTH)}],
)
def rotary_of_half_the_head(random: np.random.Generator) -> Pair:
    """Half of a head's features are turned, or all of them."""
    batch, steps, features = sizes(random, 3, high=7)
    query, key, value = (dense(random, features, _DEPTH) for _ in range(3))
    output = dense(random, _DEPTH, 3)
    waves = [_waves(steps, width, 10000.0) for width in (_DEPTH // 2, _DEPTH)]

    def reference(x: torch.Tensor) -> torch.Tensor:
        q, k = (_in_torch(one.in_torch(x), waves[0]) for one in (query, key))
        shares = torch.softmax(q @ k.mT / _DEPTH**0.5, -1)
        return output.in_torch(torch.tanh(shares @ value.in_torch(x)))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        q, k = (_in_tf(one.in_tf(x), waves[1]) for one in (query, key))
        shares = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / _DEPTH**0.5)
        return output.in_tf(tf.tanh(tf.matmul(shares, value.in_tf(x))))

    x = normal(random, batch, steps, features)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))
