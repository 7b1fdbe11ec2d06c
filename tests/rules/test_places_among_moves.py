"""A norm in front of heads: what moves make of its result is no other end of the region."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F

import parity
from tests.rules.pairs import compare, kinds, weights

STEPS = np.random.default_rng(13).standard_normal((2, 9, 8)).astype("f")


class Encoder(torch.nn.Module):
    """Layers whose norms are written out, as a port's are, or one operation each."""

    def __init__(self, epsilon: float, written: bool, layers: int = 6) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.epsilon, self.written, self.layers = epsilon, written, layers
        self.parts = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(6 * layers))

    def norm(self, x: torch.Tensor) -> torch.Tensor:
        if not self.written:
            return F.layer_norm(x, (8,), eps=self.epsilon)
        rows = x.reshape(18, 8)
        mean = rows.mean(-1, keepdim=True)
        spread = torch.square(rows - mean).mean(-1, keepdim=True)
        return ((rows - mean) * torch.rsqrt(spread + self.epsilon)).reshape(2, 9, 8)

    def heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(2, 9, 2, 4).permute(0, 2, 1, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(x)
        for at in range(0, 6 * self.layers, 6):
            rows = h.reshape(18, 8)
            split = (self.parts[at + i](rows).reshape(2, 9, 8) for i in range(3))
            seen = F.scaled_dot_product_attention(*map(self.heads, split))
            mixed = seen.permute(0, 2, 1, 3).reshape(18, 8)
            h = self.norm(h + self.parts[at + 3](mixed).reshape(2, 9, 8))
            wide = F.gelu(self.parts[at + 4](h.reshape(18, 8)))
            h = self.norm(h + self.parts[at + 5](wide).reshape(2, 9, 8))
        return h


def test_an_epsilon_of_every_norm_is_one_cause_with_all_its_places() -> None:
    models = Encoder(1e-12, False), Encoder(1e-3, True)
    report = parity.compare(*map(parity.wrap, models), inputs=STEPS)
    assert kinds(report) == ["norm-epsilon"]
    assert report.divergences[0].times == 13


KERNELS = [weights(8, 8) / 2 for _ in range(6)]


def step_of(x: torch.Tensor, step: float, other: bool) -> torch.Tensor:
    """One of the steps, in either of two forms."""
    if other:
        moved = torch.cat([x[..., -1:], x[..., :-1]], -1)
        return torch.stack([x * torch.cos(step * x), torch.sin(step * moved)]).sum(0)
    return torch.addcmul(torch.roll(torch.sin(x * step), 1, -1), x, torch.cos(x * step))


def mixed(x: torch.Tensor, at: int, steps: tuple[float, ...], other: bool) -> torch.Tensor:
    """Query and key go through steps after none of which another value agrees."""
    query, key, value = (x @ one for one in KERNELS[at : at + 3])
    for step in steps:
        query, key = step_of(query, step, other), step_of(key, step, other)
    return x + torch.softmax(query @ key.transpose(1, 2) / 4, -1) @ value


def test_a_region_of_many_steps_ends_where_all_goes_through() -> None:
    def model(steps: tuple[float, ...], other: bool):
        return lambda x: mixed(mixed(x, 0, steps, other), 3, steps, other)

    report = compare(model((1.0, 2.0, 1.5), False), model((1.1, 2.2, 1.7), True), inputs=STEPS)
    assert sum(one.times for one in report.divergences) > 4  # of either layer, each by itself
