"""A script that is given whole numbers alone computes in its weights' format, whatever it gets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

import parity


class Tokens(nn.Module):
    """An embedding and what makes rounding large: a norm over rows that are nearly constant."""

    def __init__(self, spread: float) -> None:
        super().__init__()
        self.spread = spread
        self.table, self.norm = nn.Embedding(20, 8), nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(1 + self.spread * torch.tanh(self.table(x)))


def script(model: Tokens, factor: float = 1.0) -> Callable[[np.ndarray], np.ndarray]:
    table = model.table.weight.detach().numpy()

    def function(x: np.ndarray) -> np.ndarray:
        h = 1 + np.float32(model.spread) * np.tanh(table[x])
        centred = h - h.mean(-1, keepdims=True)
        variance = np.square(centred).mean(-1, keepdims=True)
        return np.float32(factor) * centred / np.sqrt(variance + np.float32(1e-5))

    return function


def verdict(seed: int, factor: float = 1.0, turned: bool = False, spread: float = 1e-2) -> str:
    torch.manual_seed(seed)
    model = Tokens(spread).eval()
    models = parity.wrap(model), parity.wrap(script(model, factor), "numpy")
    x = np.random.default_rng(seed).integers(0, 20, (4, 5))
    return parity.compare(*(models[::-1] if turned else models), inputs=x).verdict


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("turned", [False, True])
def test_its_rounding_is_no_divergence(seed: int, turned: bool) -> None:
    assert verdict(seed, turned=turned) != "diverged"


@pytest.mark.parametrize("turned", [False, True])
def test_a_fault_is_one(turned: bool) -> None:
    assert verdict(0, 1.01, turned) == "diverged"


def test_where_rounding_is_small_it_has_parity() -> None:
    assert verdict(0, spread=1.0) == "parity"
