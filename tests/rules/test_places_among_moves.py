"""A norm in front of heads: what moves make of its result is no other end of the region."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F

import parity
from tests.rules.pairs import kinds

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
