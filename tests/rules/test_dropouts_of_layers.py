"""A model in training mode: its dropouts are one cause where nothing between them agrees."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import parity
from tests.rules.pairs import kinds, summaries

STEPS = np.random.default_rng(4).standard_normal((3, 6, 8)).astype("f")


class Encoder(torch.nn.Module):
    """Two layers of attention with a residual sum and a norm."""

    def __init__(self, rate: float, after: float = 1.0) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.rate, self.after = rate, after
        self.parts = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(8))

    def dropped(self, h: torch.Tensor) -> torch.Tensor:
        if not self.rate:
            return h
        return torch.where(torch.rand(h.shape) >= self.rate, h / (1 - self.rate), 0.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.dropped(F.layer_norm(x, (8,)))
        for at in (0, 4):
            query, key, value, out = (self.parts[at + one] for one in range(4))
            shares = torch.softmax(self.after * query(h) @ key(h).transpose(1, 2), -1)
            mixed = out(self.dropped(shares) @ value(h))
            h = F.layer_norm(h + self.dropped(mixed), (8,))
        return h


def compared(reference: Encoder, candidate: Encoder) -> parity.Report:
    return parity.compare(parity.wrap(reference), parity.wrap(candidate), inputs=STEPS)


@pytest.mark.parametrize("turned", [False, True])
def test_dropouts_of_several_layers_are_one_cause(turned) -> None:
    models = Encoder(0.0), Encoder(0.25)
    report = compared(*(models[::-1] if turned else models))
    assert kinds(report) == ["dropout-active"]
    assert "active here" in summaries(report)


def test_another_fault_between_them_is_not_theirs() -> None:
    report = compared(Encoder(0.0), Encoder(0.25, after=0.5))
    assert report.verdict == "diverged" and "at 5 places" not in summaries(report)
