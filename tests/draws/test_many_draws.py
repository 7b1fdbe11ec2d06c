"""A dozen draws of one size: their orders are not all made, for there are 479 million."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import torch

import parity
from parity.draws import pairing

X = np.random.default_rng(0).normal(size=(6, 8)).astype("f")


def net(rate):
    torch.manual_seed(0)
    layer = torch.nn.Linear(8, 8)

    def model(x):
        rows = [torch.nn.functional.dropout(layer(x), rate).tanh() for _ in range(12)]
        return torch.stack(rows).mean(0), torch.stack(rows).var(0)

    return parity.wrap(model, framework="torch")


def permutations(of):
    for count, order in enumerate(itertools.permutations(of)):
        assert count < 1000, "all orders are made"
        yield order


def test_not_all_orders_of_a_dozen_draws_are_made(monkeypatch):
    made = SimpleNamespace(**vars(itertools))
    made.permutations = permutations
    monkeypatch.setattr(pairing, "itertools", made)
    assert parity.compare(net(0.2), net(0.2), inputs=X).verdict == "parity"
    assert parity.compare(net(0.2), net(0.8), inputs=X).verdict == "diverged"


def direction(least):
    """Noise by its length: few of the values that it is made of, and one that decides."""

    def model(x):
        noise = torch.randn(2, 64)
        length = noise.norm(dim=1, keepdim=True)
        return x + (noise / length.clamp(min=least))[:, :8]

    return parity.wrap(model, framework="torch")


def test_a_floor_of_what_many_draws_make_together_is_found():
    assert parity.compare(direction(1e-6), direction(6.5), inputs=X[:2]).verdict != "parity"
    assert parity.compare(direction(1e-6), direction(1e-5), inputs=X[:2]).verdict == "parity"
