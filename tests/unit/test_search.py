"""Where layers are all alike, the models part at the faults and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parity

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
nn = torch.nn
X = np.random.default_rng(3).standard_normal((16, 12)).astype("f")


class Chain(nn.Module):
    """Layers of one width, each followed by `step`, the chosen ones by `fault`."""

    def __init__(self, faults: tuple[int, ...] = (), tied: bool = False, masked: bool = False):
        super().__init__()
        torch.manual_seed(4)
        layers = [nn.Linear(12, 12) for _ in range(9)]
        for layer in layers:
            nn.init.orthogonal_(layer.weight, 1.5)
        self.layers = nn.ModuleList([layers[0]] * 9 if tied else layers)
        mask = torch.bernoulli(torch.full((12,), 0.7)) + 0.5
        self.register_buffer("mask", mask if masked else None)
        self.faults = faults

    def forward(self, x: Any) -> Any:
        for at, layer in enumerate(self.layers):
            x = layer(x)
            if at in self.faults:
                x = x * 1.25  # the fault
            if self.mask is not None:
                x = x * self.mask
            x = torch.tanh(x)
        return x


@pytest.mark.parametrize("faults", [(0,), (1,), (4,), (7,), (2, 5), (3, 4), (0, 4, 8)])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_each_fault_is_a_divergence_of_its_own(
    faults: tuple[int, ...], tied: bool, masked: bool
) -> None:
    """What enters the next layer's activation is no partner of what enters this one's."""
    report = parity.compare(Chain(tied=tied, masked=masked), Chain(faults, tied, masked), inputs=X)
    assert {found.candidate.code for found in report.divergences} == {"x = x * 1.25  # the fault"}
    assert sum(found.times for found in report.divergences) == len(faults)
    kinds = {found.cause.kind for found in report.divergences if found.cause is not None}
    assert len(kinds) == 1 and all(found.cause is not None for found in report.divergences)


class Residual(nn.Module):
    """Blocks of one size; those of `bare` hand on what they compute without their input."""

    def __init__(self, bare: tuple[int, ...] = (), by_hand: bool = False) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.layers = nn.ModuleList(nn.Linear(12, 12) for _ in range(6))
        self.norm = nn.LayerNorm(12)
        self.bare, self.by_hand = bare, by_hand

    def normed(self, x: Any) -> Any:
        if not self.by_hand:
            return self.norm(x)
        mean = x.mean(-1, keepdim=True)
        variance = ((x - mean) ** 2).mean(-1, keepdim=True)
        return (x - mean) * torch.rsqrt(variance + 1e-5)

    def forward(self, x: Any) -> Any:
        for at, layer in enumerate(self.layers):
            y = torch.tanh(layer(self.normed(x)))
            x = y if at in self.bare else x + y
        return x


@pytest.mark.parametrize("bare", [(0,), (2,), (1, 2), (5,)])
@pytest.mark.parametrize("by_hand", [False, True])
def test_a_missing_skip_connection_is_one_divergence(bare: tuple[int, ...], by_hand: bool) -> None:
    """What the block hands on goes into the next norm, and past it."""
    report = parity.compare(Residual(), Residual(bare, by_hand), inputs=X)
    assert {found.cause and found.cause.kind for found in report.divergences} == {"branch-missing"}
    assert sum(found.times for found in report.divergences) == len(bare)
    assert all("x + y" in found.reference.code for found in report.divergences)


@pytest.mark.parametrize("bare", [(0,), (2,), (1, 2), (5,)])
@pytest.mark.parametrize("by_hand", [False, True])
def test_a_skip_connection_too_many_is_one_divergence(bare: tuple[int, ...], by_hand: bool) -> None:
    """The reference hands on what the candidate changes before it is read."""
    report = parity.compare(Residual(bare), Residual((), by_hand), inputs=X)
    assert {found.cause and found.cause.kind for found in report.divergences} == {"op-extra"}
    assert {found.candidate.code for found in report.divergences} == {
        "x = y if at in self.bare else x + y"
    }
    assert sum(found.times for found in report.divergences) == len(bare)
