"""Where layers are all alike, the models diverge at the faults and nowhere else."""

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
    """Blocks of one size; those of `bare` pass on what they compute without their input."""

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
    """What the block passes on goes into the next norm, and past it."""
    report = parity.compare(Residual(), Residual(bare, by_hand), inputs=X)
    assert {found.cause and found.cause.kind for found in report.divergences} == {"branch-missing"}
    assert sum(found.times for found in report.divergences) == len(bare)
    assert all("x + y" in found.reference.code for found in report.divergences)


@pytest.mark.parametrize("bare", [(0,), (2,), (1, 2), (5,)])
@pytest.mark.parametrize("by_hand", [False, True])
def test_a_skip_connection_too_many_is_one_divergence(bare: tuple[int, ...], by_hand: bool) -> None:
    """The reference passes on what the candidate changes before it is read."""
    report = parity.compare(Residual(bare), Residual((), by_hand), inputs=X)
    assert {found.cause and found.cause.kind for found in report.divergences} == {"op-extra"}
    assert {found.candidate.code for found in report.divergences} == {
        "x = y if at in self.bare else x + y"
    }
    assert sum(found.times for found in report.divergences) == len(bare)


def test_what_is_substituted_stays_where_a_place_before_it_is_found_later() -> None:
    """An LSTM's last state is a separate place, found after its outputs and before them."""
    torch.manual_seed(0)
    cell, head = nn.LSTM(4, 5, batch_first=True), torch.randn(5, 3)
    x = np.random.default_rng(0).standard_normal((3, 6, 4)).astype("f")
    states = np.random.default_rng(1).standard_normal((2, 3, 5)).astype("f")

    def squashed(y: torch.Tensor) -> torch.Tensor:
        return torch.sign(y) * (torch.sqrt(y.abs() + 1) - 1) + 1e-3 * y

    def fused(x: torch.Tensor, s: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y, (_, c) = cell(x, (s[:1], s[1:]))
        y = y @ head
        return y, squashed(y), c[0]

    def unrolled(x: torch.Tensor, s: torch.Tensor) -> tuple[torch.Tensor, ...]:
        c, h = s
        outputs = []
        for t in range(6):
            gates = x[:, t] @ cell.weight_ih_l0.T + cell.bias_ih_l0
            i, f, g, o = (gates + h @ cell.weight_hh_l0.T + cell.bias_hh_l0).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            outputs.append(h)
        y = torch.stack(outputs, 1) @ head
        return y, squashed(y), c

    models = (parity.wrap(one, framework="torch") for one in (fused, unrolled))
    report = parity.compare(*models, inputs=(x, states))
    assert report.verdict == "diverged"
    places = [frame.function for one in report.divergences for frame in one.candidate.frames]
    assert "unrolled" in places and "squashed" not in places
