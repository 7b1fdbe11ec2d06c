"""Weights that are data, as the queries that a decoder learns: layers read them as an input."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import torch
from keras import layers, ops

import parity
from tests.weights import transfer_models as nets

nn = torch.nn
WORDS = np.random.default_rng(1).normal(size=(4, 7, 6)).astype("float32")
QUERIES = 3


class TorchDecoder(nn.Module):
    """Learned queries that attend to themselves, go through a layer, and attend to the input."""

    def __init__(self) -> None:
        super().__init__()
        self.queries = nn.Parameter(torch.randn(1, QUERIES, 6))
        self.itself = nn.ModuleList(nn.Linear(6, 6) for _ in range(4))
        self.words = nn.ModuleList(nn.Linear(6, 6) for _ in range(4))
        self.norms = nn.ModuleList(nn.LayerNorm(6, eps=1e-3) for _ in range(2))
        self.hidden, self.out = nn.Linear(6, 6), nn.Linear(6, 6)

    def attention(self, projections, x, y):
        q, k, v = (one(of) for one, of in zip(projections, (x, y, y), strict=False))
        q, k, v = (one.view(*one.shape[:2], 2, 3).transpose(1, 2) for one in (q, k, v))
        weights = torch.softmax(q @ k.transpose(2, 3) / 3**0.5, dim=-1)
        return projections[3]((weights @ v).transpose(1, 2).reshape(*x.shape[:2], 6))

    def forward(self, x):
        h = self.queries.expand(len(x), -1, -1)
        h = self.norms[0](h + self.attention(self.itself, h, h))
        h = h + torch.tanh(self.hidden(h))
        h = self.norms[1](h + self.attention(self.words, h, x))
        return self.out(h)


class KerasDecoder(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.queries = self.add_weight(
            shape=(1, QUERIES, 6), initializer="random_normal", name="queries"
        )
        self.out = layers.Dense(6)
        self.norms = [layers.LayerNormalization(epsilon=1e-3) for _ in range(2)]
        self.hidden = layers.Dense(6, activation="tanh")
        self.words, self.itself = (layers.MultiHeadAttention(2, 3) for _ in range(2))

    def call(self, x):
        h = ops.tile(self.queries, (ops.shape(x)[0], 1, 1))
        h = self.norms[0](h + self.itself(h, h))
        h = h + self.hidden(h)
        h = self.norms[1](h + self.words(h, x))
        return self.out(h)


MAKERS = {"torch": TorchDecoder, "keras": KerasDecoder}


@pytest.mark.parametrize("turned", [False, True])
def test_layers_that_read_learned_queries(turned):
    names = ("keras", "torch") if turned else ("torch", "keras")
    source, target, inputs = nets.both(MAKERS, *names, WORDS)
    result = parity.transfer(source, target, inputs=inputs)
    assert result.verdict == "parity", str(result)
    assert result.table.left == ((), ())
    assert "by effect" not in {row.role for row in result.table.rows}


class Members(nn.Module):
    """A kernel that is repeated for each example, which an input is multiplied by: no data."""

    def __init__(self, repeated: bool = True) -> None:
        super().__init__()
        self.kernel = nn.Parameter(torch.randn(6, 5))
        self.bias = nn.Parameter(torch.randn(5))
        self.repeated = repeated

    def forward(self, x):
        kernel = self.kernel.expand(len(x), -1, -1) if self.repeated else self.kernel
        return torch.matmul(x, kernel) + self.bias


def test_a_kernel_that_is_repeated_stays_a_kernel():
    source, target = Members(), Members(repeated=False)
    result = parity.transfer(source, target, inputs=WORDS)
    assert result.verdict == "parity", str(result)
    assert torch.equal(source.kernel, target.kernel)


class Low(nn.Module):
    """A kernel of low rank, in another order of its factors' axes."""

    def __init__(self, turned: bool) -> None:
        super().__init__()
        self.turned = turned
        self.left = nn.Parameter(torch.randn((2, 6) if turned else (6, 2)))
        self.right = nn.Parameter(torch.randn((5, 2) if turned else (2, 5)))

    def forward(self, x):
        left, right = (one.T if self.turned else one for one in (self.left, self.right))
        return x @ (left @ right)


def test_a_kernel_of_low_rank_stays_a_kernel():
    source, target = Low(False), Low(True)
    result = parity.transfer(source, target, inputs=WORDS)
    assert result.verdict == "parity", str(result)


class Seeds(nn.Module):
    """Learned seeds through two layers, to which the input is added."""

    def __init__(self) -> None:
        super().__init__()
        self.seeds = nn.Parameter(torch.randn(1, QUERIES, 6))
        self.wide, self.narrow, self.out = nn.Linear(6, 8), nn.Linear(8, 5), nn.Linear(5, 2)

    def forward(self, x):
        h = self.narrow(torch.tanh(self.wide(self.seeds.expand(len(x), -1, -1))))
        return self.out(torch.tanh(h + x[:, None]))


def test_layers_of_a_file_that_read_them(tmp_path):
    source, target = Seeds(), Seeds()
    torch.save(source.state_dict(), tmp_path / "model.pt")
    rows = np.random.default_rng(2).normal(size=(4, 5)).astype("float32")
    result = parity.transfer(tmp_path / "model.pt", target, inputs=rows)
    assert result.table.left == (("seeds",), ("seeds",))
    assert torch.equal(source.wide.weight, target.wide.weight)
    assert torch.equal(source.narrow.weight, target.narrow.weight)
