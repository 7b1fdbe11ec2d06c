"""Attention of a layer and attention that is written out are one, in every framework."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
from torch import nn

import parity
from parity.frameworks.chainer_numpy import import_chainer

chainer = import_chainer()
F, L = chainer.functions, chainer.links
WIDTH, HEADS, ROWS, STEPS = 12, 3, 4, 5
X = np.random.default_rng(0).normal(size=(ROWS, STEPS, WIDTH)).astype(np.float32)
PARTS = WIDTH // HEADS


class TorchBlock(nn.Module):
    """With a norm before it and a skip beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3)
        self.made()
        torch.manual_seed(0)
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.4)

    def made(self) -> None:
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)

    def attends(self, x: Any) -> Any:
        return self.attention(x, x, x, need_weights=False)[0]

    def forward(self, x: Any) -> Any:
        return self.out(x + self.attends(self.norm(x)))


class TorchSeparate(TorchBlock):
    def made(self) -> None:
        self.q, self.k, self.v, self.p = (nn.Linear(WIDTH, WIDTH) for _ in "qkvp")

    def attends(self, x: Any) -> Any:
        heads = lambda y: y.view(ROWS, STEPS, HEADS, PARTS).transpose(1, 2)  # noqa: E731
        scores = heads(self.q(x)) @ heads(self.k(x)).transpose(-1, -2) / PARTS**0.5
        allowed = torch.ones(STEPS, STEPS).tril().bool()
        weights = torch.softmax(scores.masked_fill(~allowed, -1e9), -1)
        return self.p((weights @ heads(self.v(x))).transpose(1, 2).reshape(ROWS, STEPS, WIDTH))


class TorchFused(TorchBlock):
    def made(self) -> None:
        self.qkv, self.p = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def attends(self, x: Any) -> Any:
        heads = [
            one.view(ROWS, STEPS, HEADS, PARTS).transpose(1, 2) for one in self.qkv(x).chunk(3, -1)
        ]
        found = nn.functional.scaled_dot_product_attention(*heads)
        return self.p(found.transpose(1, 2).reshape(ROWS, STEPS, WIDTH))


class KerasBlock(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.norm = keras.layers.LayerNormalization(epsilon=1e-5)
        self.attention = keras.layers.MultiHeadAttention(HEADS, PARTS)
        self.out = keras.layers.Dense(3)

    def call(self, x: Any) -> Any:
        y = self.norm(x)
        return self.out(x + self.attention(y, y))


class TensorFlowBlock(tf.Module):
    def __init__(self, causal: bool = False) -> None:
        super().__init__()
        draw = np.random.default_rng(1)
        made = lambda *shape: tf.Variable(draw.normal(size=shape).astype("f") * 0.4)  # noqa: E731
        self.kernels, self.biases = (
            [made(WIDTH, WIDTH) for _ in range(4)],
            [made(WIDTH) for _ in range(4)],
        )
        self.gamma, self.beta, self.kernel, self.bias = (
            made(WIDTH),
            made(WIDTH),
            made(WIDTH, 3),
            made(3),
        )
        self.causal = causal

    def __call__(self, x: Any) -> Any:
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        y = (x - mean) * tf.math.rsqrt(variance + 1e-5) * self.gamma + self.beta
        q, k, v = (
            tf.transpose(tf.reshape(y @ kernel + bias, (ROWS, STEPS, HEADS, PARTS)), (0, 2, 1, 3))
            for kernel, bias in zip(self.kernels[:3], self.biases[:3], strict=True)
        )
        scores = tf.matmul(q, k, transpose_b=True) * PARTS**-0.5
        if self.causal:
            scores += (1.0 - tf.linalg.band_part(tf.ones((STEPS, STEPS)), -1, 0)) * -1e9
        found = tf.reshape(tf.transpose(tf.nn.softmax(scores) @ v, (0, 2, 1, 3)), x.shape)
        return (x + found @ self.kernels[3] + self.biases[3]) @ self.kernel + self.bias


class ChainerBlock(chainer.Chain):
    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.norm, self.out = L.LayerNormalization(WIDTH, eps=1e-5), L.Linear(WIDTH, 3)
            self.q, self.k, self.v, self.p = (L.Linear(WIDTH, WIDTH) for _ in "qkvp")

    def forward(self, x: Any) -> Any:
        rows = self.norm(F.reshape(x, (-1, WIDTH)))
        q, k, v = (
            F.transpose(F.reshape(one(rows), (ROWS, STEPS, HEADS, PARTS)), (0, 2, 1, 3))
            for one in (self.q, self.k, self.v)
        )
        weights = F.softmax(F.matmul(q, k, transb=True) / PARTS**0.5, axis=3)
        found = F.reshape(F.transpose(F.matmul(weights, v), (0, 2, 1, 3)), (-1, WIDTH))
        added = F.reshape(x, (-1, WIDTH)) + self.p(found)
        return F.reshape(self.out(added), (ROWS, STEPS, 3))


CASES: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "torch, chainer": (TorchBlock, ChainerBlock),
    "chainer, torch": (ChainerBlock, TorchBlock),
    "torch, tensorflow": (TorchBlock, TensorFlowBlock),
    "tensorflow, keras": (TensorFlowBlock, KerasBlock),
    "keras, torch fused": (KerasBlock, TorchFused),
    "torch fused, torch": (TorchFused, TorchBlock),
    "torch fused, chainer": (TorchFused, ChainerBlock),
    "masked": (TorchSeparate, lambda: TensorFlowBlock(causal=True)),
}


@pytest.mark.parametrize("case", CASES)
def test_all_weights_move(case: str) -> None:
    source, target = (make() for make in CASES[case])
    if isinstance(source, keras.Model):
        source(X)
        for n, variable in enumerate(source.variables):
            draw = np.random.default_rng(n).normal(scale=0.4, size=variable.shape)
            variable.assign(draw)
    result = parity.transfer(source, target, X)
    assert result.verdict == "parity", str(result)
    assert result.table.left == ((), ())
    roles = {row.role for row in result.table.rows}
    assert {"query kernel", "key kernel", "value kernel", "output kernel"} <= roles


def test_another_mask_is_a_divergence() -> None:
    result = parity.transfer(TorchSeparate(), TensorFlowBlock(), X)
    assert result.verdict == "diverged" and not result.written
