"""A model cast to a narrow format: where terms cancel, an element moves by more than its size."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

import parity


def drawn(kind: str, seed: int) -> tuple[nn.Module, np.ndarray]:
    """A layer of many sums, some of which cancel and are right in float32 by luck; then a norm."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    if kind == "linear":
        model = nn.Sequential(nn.Linear(9, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 4))
        x = random.normal(size=(64, 9))
    else:
        norm = nn.LayerNorm([6, 6, 6])
        model = nn.Sequential(nn.Conv2d(2, 6, 3), norm, nn.ReLU(), nn.AvgPool2d(6), nn.Flatten())
        x = random.normal(size=(4, 2, 8, 8))
    return model.eval(), x.astype(np.float32)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("kind", "seed"),
    [("convolution", 27), ("convolution", 28), ("convolution", 0), ("linear", 21), ("linear", 0)],
)
def test_narrow_weights_whose_terms_cancel_have_parity(kind, seed, dtype):
    model, x = drawn(kind, seed)

    report = parity.compare(model, copy.deepcopy(model).to(dtype), inputs=x)

    assert report.verdict == "parity", str(report)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", ["linear", "convolution"])
def test_a_narrow_weight_that_is_another_diverges(kind, dtype):
    model, x = drawn(kind, 0)
    other = copy.deepcopy(model).to(dtype)
    with torch.no_grad():
        row = other[0].weight[1].view(-1)
        row[int(row.abs().argmax())] *= 2

    report = parity.compare(model, other, inputs=x)

    assert report.verdict == "diverged", str(report)
