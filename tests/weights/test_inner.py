"""What a loop multiplies by beside its cell, and attention whose weights are dropped out."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import torch
from keras import layers, ops
from torch import nn

import parity


def values(*shape: int) -> np.ndarray:
    return np.random.default_rng(list(shape)).normal(size=shape).astype(np.float32)


class TorchDecoder(nn.Module):
    """At each step it attends to a memory by what its cell holds."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps, self.query = steps, nn.Linear(4, 5)
        self.score, self.cell = nn.Linear(5, 1, bias=False), nn.LSTMCell(6, 4)

    def forward(self, keys: Any, memory: Any, h: Any, c: Any) -> Any:
        for _ in range(self.steps):
            scores = self.score(torch.tanh(keys + self.query(h).unsqueeze(1))).squeeze(-1)
            weights = torch.softmax(scores, -1)
            h, c = self.cell(torch.bmm(weights.unsqueeze(1), memory).squeeze(1), (h, c))
        return h


class KerasDecoder(keras.Model):
    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps, self.query = steps, layers.Dense(5)
        self.score, self.cell = layers.Dense(1, use_bias=False), layers.LSTMCell(4)

    def call(self, keys: Any, memory: Any, h: Any, c: Any) -> Any:
        for _ in range(self.steps):
            scores = self.score(ops.tanh(keys + self.query(h)[:, None]))[..., 0]
            _, (h, c) = self.cell(ops.einsum("bs,bsd->bd", ops.softmax(scores), memory), [h, c])
        return h


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_an_attention_in_a_loop(steps: int) -> None:
    given = (values(6, 7, 5), values(6, 7, 6), values(6, 4), values(6, 4))
    source, target = TorchDecoder(steps), KerasDecoder(steps)
    result = parity.transfer(source, target, given)
    assert result.verdict == "parity", str(result)
    assert result.table.left == ((), ())


class TorchAttention(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(12, 3, batch_first=True, dropout=dropout)
        for parameter in self.parameters():
            nn.init.normal_(parameter)

    def forward(self, x: Any, y: Any) -> Any:
        return self.attention(x, y, y, need_weights=False)[0]


class KerasAttention(keras.Model):
    """With a dropout Keras multiplies keys by queries, and else queries by keys."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.attention = layers.MultiHeadAttention(3, 4, dropout=dropout)

    def call(self, x: Any, y: Any) -> Any:
        return self.attention(x, y)


@pytest.mark.parametrize("keys", [5, 7], ids=["as many keys", "more keys"])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_queries_are_distinguished_from_keys(dropout: float, keys: int) -> None:
    torch.manual_seed(0)
    source, target = TorchAttention(dropout), KerasAttention(dropout)
    given = (values(4, 5, 12), values(4, keys, 12))
    result = parity.transfer(source, target, given)
    assert result.verdict == "parity", str(result)
    assert parity.transfer(target, TorchAttention(dropout), given).verdict == "parity"


class TorchRefiner(nn.Module):
    """A network that refines its own result, as a diffusion does: its layers stay layers."""

    def __init__(self) -> None:
        super().__init__()
        self.condition, self.into = nn.Linear(6, 8), nn.Conv1d(4, 8, 3, padding=1)
        self.norm, self.out = nn.GroupNorm(2, 8), nn.Conv1d(8, 4, 1)
        nn.init.normal_(self.norm.weight)

    def forward(self, x: Any, given: Any) -> Any:
        scale = self.condition(given)[:, :, None]
        for _ in range(3):
            hidden = torch.relu(self.norm(self.into(x.transpose(1, 2)))) * (1 + scale)
            x = x - 0.3 * self.out(hidden).transpose(1, 2)
        return x


class KerasRefiner(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.condition, self.into = layers.Dense(8), layers.Conv1D(8, 3, padding="same")
        self.norm, self.out = layers.GroupNormalization(2, epsilon=1e-5), layers.Dense(4)

    def call(self, x: Any, given: Any) -> Any:
        scale = self.condition(given)[:, None]
        for _ in range(3):
            x = x - 0.3 * self.out(ops.relu(self.norm(self.into(x))) * (1 + scale))
        return x


def test_a_network_in_a_loop() -> None:
    torch.manual_seed(0)
    source, target = TorchRefiner(), KerasRefiner()
    result = parity.transfer(source, target, (values(3, 5, 4), values(3, 6)))
    assert result.verdict == "parity" and result.table.left == ((), ()), str(result)
    assert {row.role for row in result.table.rows} == {"kernel", "bias", "gamma", "beta"}
