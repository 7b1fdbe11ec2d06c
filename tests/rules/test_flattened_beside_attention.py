"""What is flattened in another order beside an attention is no pairing of rotary positions."""

from __future__ import annotations

import numpy as np
import torch

import parity

X = np.random.default_rng(0).normal(size=(4, 10, 8)).astype(np.float32)


class Pooled(torch.nn.Module):
    """Local features, pooled by soft assignment to six clusters, flattened and normalised."""

    def __init__(self, transposed):
        super().__init__()
        torch.manual_seed(0)
        self.transposed = transposed
        self.assign = torch.nn.Linear(8, 6)

    def forward(self, x):
        weights = torch.softmax(self.assign(x), -1)
        pooled = torch.einsum("bnk,bnd->bkd", weights, x)
        pooled = pooled.transpose(1, 2) if self.transposed else pooled
        flat = pooled.reshape(len(x), -1)
        return flat / flat.norm(dim=1, keepdim=True)


def test_it_is_named_by_what_is_flattened():
    report = parity.compare(Pooled(False), Pooled(True), inputs=X)

    (divergence,) = report.divergences
    assert divergence.cause.kind == "flatten-order", str(report)
