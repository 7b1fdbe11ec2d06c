"""A norm of a sum against the norm of one of its terms, where the norm is one operation or many."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
from torch.nn import functional as F

import parity
from parity.report.report import Report
from tests.rules.pairs import kinds

draw = np.random.default_rng(97)
WIDTH, HEADS, TOKENS, GROUPS = 12, 3, 7, 4


def weight(*shape: int) -> np.ndarray:
    return (draw.standard_normal(shape) / np.sqrt(shape[0])).astype("f")


X = draw.standard_normal((4, TOKENS, WIDTH)).astype("f")
QUERY, KEY, VALUE, OUT = (weight(WIDTH, WIDTH) for _ in range(4))
GAMMA, BETA = weight(WIDTH) + 1, weight(WIDTH)


def in_torch(x: torch.Tensor) -> torch.Tensor:
    """Two rounds of attention with the same weights, each normalised after the sum."""
    q, k, v, out, gamma, beta = map(torch.from_numpy, (QUERY, KEY, VALUE, OUT, GAMMA, BETA))

    def heads(one: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(one.unflatten(-1, (HEADS, -1)).transpose(1, 2), (WIDTH // HEADS,))

    for _ in range(2):
        scores = heads(x @ q) @ heads(x @ k).mT / 2
        mixed = (scores.softmax(-1) @ heads(x @ v)).transpose(1, 2).flatten(2)
        x = F.layer_norm(x + torch.relu(mixed @ out), (WIDTH,), gamma, beta)
    return x.amax(1)


def in_tf(x: tf.Tensor, first: bool = False) -> tf.Tensor:
    """The same by hand; `first` normalises what is added alone."""

    def norm(one: tf.Tensor) -> tf.Tensor:
        mean = tf.reduce_mean(one, -1, keepdims=True)
        apart = tf.math.squared_difference(one, mean)
        return (one - mean) * tf.math.rsqrt(tf.reduce_mean(apart, -1, keepdims=True) + 1e-5)

    def heads(one: tf.Tensor) -> tf.Tensor:
        split = tf.reshape(one, (-1, TOKENS, HEADS, WIDTH // HEADS))
        return norm(tf.transpose(split, (0, 2, 1, 3)))

    for _ in range(2):
        scores = tf.matmul(heads(x @ QUERY), heads(x @ KEY), transpose_b=True) / 2
        mixed = tf.transpose(tf.nn.softmax(scores) @ heads(x @ VALUE), (0, 2, 1, 3))
        more = tf.nn.relu(tf.reshape(mixed, (-1, TOKENS, WIDTH)) @ OUT)
        x = x + norm(more) * GAMMA + BETA if first else norm(x + more) * GAMMA + BETA
    return tf.reduce_max(x, 1)


def attended(first: bool = True) -> Report:
    return parity.compare(
        parity.wrap(in_torch, framework="torch"),
        parity.wrap(lambda x: in_tf(x, first), framework="tensorflow"),
        inputs=X,
    )


def test_a_fused_norm_ends_a_region_that_all_goes_through():
    assert attended(first=False).verdict == "parity"
    report = attended()
    assert kinds(report) == ["op-order"], str(report)
    assert report.divergences[0].times == 2


IMAGES = draw.standard_normal((3, 5, 6, 2)).astype("f")
TIMES = draw.standard_normal((3, 9)).astype("f")
KERNEL, TIME = weight(3, 3, 2, 8), weight(9, 8)
SCALE, OFFSET = weight(8) + 1, weight(8)


@pytest.mark.parametrize("first", [False, True])
def test_a_term_of_another_shape_is_added_after_the_norm(first):
    """As the embedding of a time, which is one number for each channel."""

    def reference(x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        kernel = torch.from_numpy(KERNEL).permute(3, 2, 0, 1)
        h = torch.conv2d(x.permute(0, 3, 1, 2), kernel, padding=1)
        h = h + (time @ torch.from_numpy(TIME))[:, :, None, None]
        scale, offset = torch.from_numpy(SCALE), torch.from_numpy(OFFSET)
        return F.silu(F.group_norm(h, GROUPS, scale, offset)).mean((2, 3))

    norm = keras.layers.GroupNormalization(GROUPS, epsilon=1e-5)
    norm.build((None, 5, 6, 8))
    norm.set_weights([SCALE, OFFSET])

    def candidate(x: tf.Tensor, time: tf.Tensor) -> tf.Tensor:
        h, t = tf.nn.conv2d(x, KERNEL, 1, "SAME"), (time @ TIME)[:, None, None]
        h = norm(h) + t if first else norm(h + t)
        return tf.reduce_mean(tf.nn.silu(h), (1, 2))

    report = parity.compare(
        parity.wrap(reference, framework="torch"),
        parity.wrap(candidate, framework="tensorflow"),
        inputs=(IMAGES, TIMES),
    )
    assert kinds(report) == ["op-order"] if first else report.verdict == "parity", str(report)
