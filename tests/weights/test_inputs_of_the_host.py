"""Weights behind what the host makes of its inputs, which no input of the tape reaches."""

from __future__ import annotations

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
import torch

import parity
from parity.weights import element_index

DEPTH, WIDTH = 12, 5
X, Y = np.random.default_rng(7).standard_normal((2, 4, WIDTH)).astype("f")


class Residuals(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(DEPTH))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = x * x
        for layer in self.layers:
            x = x + torch.tanh(layer(x)) / (1 + x * x)
        return torch.tanh(y) @ x.T


class Ported(chainer.Chain):
    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.layers = chainer.ChainList(*(L.Linear(WIDTH, WIDTH) for _ in range(DEPTH)))

    def forward(self, x, y):
        x = chainer.Variable(np.square(np.asarray(x)))
        for layer in self.layers:
            x = x + F.tanh(layer(x)) / (1 + x * x)
        return F.matmul(F.tanh(y), x, transb=True)


def test_what_residuals_make_of_them_is_not_followed_along_every_path(monkeypatch):
    """Each sum doubles the ways back: there would be thousands of them."""
    asked: list[object] = []
    own = element_index.Addresses._ingredients
    monkeypatch.setattr(
        element_index.Addresses, "_ingredients", lambda *a: asked.append(a) or own(*a)
    )
    result = parity.transfer(Residuals(), Ported(), inputs=(X, Y))
    assert result.written
    assert len(asked) < 500 * DEPTH, len(asked)
