"""Layers that read one value, and the one layer that they are in another model."""

from __future__ import annotations

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
X = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)


class TorchSeparate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.mean, self.log_std = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 2)

    def forward(self, x: Any) -> Any:
        h = torch.relu(self.body(x))
        return self.mean(h), self.log_std(h).exp()


class TorchStacked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.out = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        mean, log_std = self.out(torch.relu(self.body(x))).chunk(2, -1)
        return mean, log_std.exp()


class KerasStacked(keras.Model):
    """Its halves are in the other order."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.out = keras.layers.Dense(8, "relu"), keras.layers.Dense(4)

    def call(self, x: Any) -> Any:
        log_std, mean = keras.ops.split(self.out(self.body(x)), 2, axis=-1)
        return mean, keras.ops.exp(log_std)


class TensorFlowSeparate(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        draw = np.random.default_rng(1)
        shapes = {"w": (4, 8), "b": (8,), "u": (8, 2), "c": (2,), "v": (8, 2), "d": (2,)}
        for name, shape in shapes.items():
            setattr(self, name, tf.Variable(draw.normal(size=shape).astype(np.float32)))

    def __call__(self, x: Any) -> Any:
        h = tf.nn.relu(x @ self.w + self.b)
        return h @ self.u + self.c, tf.exp(h @ self.v + self.d)


class ChainerStacked(chainer.Chain):
    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.body, self.out = L.Linear(4, 8), L.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        mean, log_std = F.split_axis(self.out(F.relu(self.body(x))), 2, 1)
        return mean, F.exp(log_std)


SEPARATE, STACKED = (
    (TorchSeparate, TensorFlowSeparate),
    (TorchStacked, KerasStacked, ChainerStacked),
)


@pytest.mark.parametrize("stacked", STACKED)
@pytest.mark.parametrize("separate", SEPARATE)
@pytest.mark.parametrize("there", [True, False], ids=["stack", "split"])
def test_heads(separate: Any, stacked: Any, there: bool) -> None:
    source, target = (separate(), stacked()) if there else (stacked(), separate())
    result = parity.transfer(source, target, X)
    assert result.verdict == "parity", str(result)
    assert result.table.left == ((), ())
    assert parity.compare(source, target, inputs=X + 1).verdict == "parity"


class Attention(nn.Module):
    """In no layer of its own: its projections are layers like any other."""

    def __init__(self, joined: bool) -> None:
        super().__init__()
        self.into = nn.Linear(4, 6)
        if joined:
            self.qkv = nn.Linear(6, 18)
        else:
            self.q, self.k, self.v = (nn.Linear(6, 6) for _ in "qkv")
        self.joined = joined

    def forward(self, x: Any) -> Any:
        x = torch.tanh(self.into(x))
        q, k, v = self.qkv(x).chunk(3, -1) if self.joined else (self.q(x), self.k(x), self.v(x))
        return torch.softmax(q @ k.mT / 6**0.5, -1) @ v


def test_queries_keys_and_values() -> None:
    x = np.random.default_rng(0).normal(size=(3, 5, 4)).astype(np.float32)
    for joined in (True, False):
        result = parity.transfer(Attention(joined), Attention(not joined), x)
        assert result.verdict == "parity" and result.table.left == ((), ()), str(result)


def test_a_layer_of_more_units_is_no_stack() -> None:
    class Wider(TorchStacked):
        def __init__(self) -> None:
            super().__init__()
            self.out = nn.Linear(8, 6)

        def forward(self, x: Any) -> Any:
            both = self.out(torch.relu(self.body(x)))
            return both[:, :2], both[:, 2:4].exp()

    result = parity.transfer(TorchSeparate(), Wider(), X)
    assert result.verdict == "diverged" and not result.written
    assert result.table.left[1] == ("out.weight", "out.bias")


def test_another_split_is_no_stack() -> None:
    """As many units in total, but each piece goes elsewhere: what they do shows where."""

    class Interleaved(TorchStacked):
        def forward(self, x: Any) -> Any:
            both = self.out(torch.relu(self.body(x))).reshape(-1, 2, 2)
            return both[..., 0], both[..., 1].exp()

    source, target = TorchSeparate(), Interleaved()
    result = parity.transfer(source, target, X)
    assert result.verdict == "parity" and not result.pairing.stacked
    assert any(pair.role == "by effect" for pair in result.pairing.pairs)
