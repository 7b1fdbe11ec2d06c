"""What holds on the user's inputs and near them, but not on all generated ones, is no proof."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

import parity

draw = np.random.default_rng(83)
IMAGES = draw.standard_normal((3, 4, 5, 6)).astype("f")
KERNEL = draw.standard_normal((4, 4, 3, 3)).astype("f") / 3


def scaled(x: tf.Tensor) -> tf.Tensor:
    """Each channel between 0 and 1."""
    kernel = KERNEL.transpose(2, 3, 1, 0)
    h = tf.nn.relu(tf.nn.conv2d(tf.transpose(x, (0, 2, 3, 1)), kernel, 1, "SAME"))
    low, high = (of(h, (1, 2), keepdims=True) for of in (tf.reduce_min, tf.reduce_max))
    return tf.reduce_mean((h - low) / (high - low + 1e-5), (1, 2))


def all_scaled(x: torch.Tensor) -> torch.Tensor:
    """All channels together between 0 and 1."""
    h = torch.relu(torch.conv2d(x, torch.from_numpy(KERNEL), padding=1))
    low, high = h.amin((1, 2, 3), keepdim=True), h.amax((1, 2, 3), keepdim=True)
    return ((h - low) / (high - low + 1e-5)).mean((2, 3))


def compared() -> parity.Report:
    return parity.compare(
        parity.wrap(scaled, framework="tensorflow"),
        parity.wrap(all_scaled, framework="torch"),
        inputs=IMAGES,
    )


def test_it_is_reported_as_not_proved():
    (found,) = compared().divergences
    assert found.cause is not None and found.cause.kind == "reduction-axis"
    assert not found.cause.confirmed and "near them" in found.cause.unproved
