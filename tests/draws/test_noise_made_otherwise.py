"""Noise that is made in another way of the same draws is no divergence where its law is one."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import parity

tf = pytest.importorskip("tensorflow")

W = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)


def verdict(function: str, scale: float = 1.0, batch: int = 16) -> str:
    """Box and Muller's normal numbers, by a cosine in torch, by another function in TensorFlow."""

    def reference(x: torch.Tensor) -> torch.Tensor:
        u, v = torch.rand(batch, 3), torch.rand(batch, 3)
        return x @ torch.from_numpy(W) + torch.sqrt(-2 * torch.log(1 - u)) * torch.cos(
            2 * math.pi * v
        )

    def candidate(x: tf.Tensor) -> tf.Tensor:
        u, v = tf.random.uniform((batch, 3)), tf.random.uniform((batch, 3))
        turn = getattr(tf, function)(2 * math.pi * v)
        return x @ W + scale * tf.sqrt(-2 * tf.math.log(1 - u)) * turn

    return parity.compare(
        parity.wrap(reference, framework="torch"),
        parity.wrap(candidate, framework="tensorflow"),
        inputs=np.random.default_rng(1).standard_normal((batch, 6)).astype(np.float32),
    ).verdict


@pytest.mark.parametrize("batch", [1, 16])
def test_a_sine_for_a_cosine_is_no_divergence(batch: int) -> None:
    assert verdict("cos", batch=batch) == "parity"
    assert verdict("sin", batch=batch) == "unverified"


@pytest.mark.parametrize("function", ["cos", "sin"])
def test_noise_of_another_scale_is_one(function: str) -> None:
    assert verdict(function, scale=1.3) == "diverged"
