"""Causes that another fault resembles: they are not confirmed."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import parity

X = (0.1 * np.random.default_rng(0).standard_normal((6, 8))).astype("f")


class Scaled(nn.Module):
    def __init__(self, factor: float, epsilon: float = 1e-5) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.head, self.out = nn.Linear(8, 12), nn.Linear(12, 3)
        self.norm = nn.LayerNorm(12, eps=epsilon)
        self.factor = factor

    def forward(self, x):
        h = self.head(x)
        return self.out(self.norm(h if self.factor == 1 else self.factor * h))


def confirmed(reference: nn.Module, candidate: nn.Module) -> set[str]:
    report = parity.compare(
        parity.wrap(reference, framework="torch"),
        parity.wrap(candidate, framework="torch"),
        inputs=X,
    )
    assert report.verdict == "diverged", str(report)
    found = [one.cause for one in report.comparisons[0].divergences]
    return {cause.kind for cause in found if cause is not None and cause.confirmed}


@pytest.mark.parametrize("factor", [2.0, 0.25])
def test_a_scale_before_a_norm_is_no_other_epsilon(factor: float) -> None:
    assert "norm-epsilon" not in confirmed(Scaled(1.0), Scaled(factor))


def test_another_epsilon_is_one() -> None:
    assert confirmed(Scaled(1.0), Scaled(1.0, 1e-3)) == {"norm-epsilon"}


def test_ones_that_are_counted_are_no_bias() -> None:
    groups = torch.tensor([0, 0, 0, 1, 1, 2])

    def mean(x):
        total = torch.zeros(3, 8).index_add(0, groups, x)
        count = torch.zeros(3).index_add(0, groups, torch.ones(6)).clamp(min=1)
        return total / count[:, None]

    def summed(x):
        return torch.zeros(3, 8).index_add(0, groups, x)

    assert "bias-missing" not in confirmed(mean, summed)


def test_what_is_looked_up_from_behind_is_no_kernel_that_is_flipped() -> None:
    table = torch.randn(11, 4, generator=torch.Generator().manual_seed(1))
    places = torch.arange(6)[None, :] - torch.arange(6)[:, None] + 5

    def biased(sign: int):
        index = places if sign > 0 else places.T

        def run(x):
            return (x @ x.T)[None] + table[index].permute(2, 0, 1)

        return run

    assert confirmed(biased(1), biased(-1)).isdisjoint({"kernel-flipped", "weight-not-transposed"})


def test_a_pool_that_became_a_slice_is_no_other_resize() -> None:
    images = np.random.default_rng(1).standard_normal((2, 3, 8, 8)).astype("f")
    report = parity.compare(
        parity.wrap(lambda x: nn.functional.avg_pool2d(x, 2), framework="torch"),
        parity.wrap(lambda x: x[:, :, ::2, ::2] * 1.0, framework="torch"),
        inputs=images,
    )
    for one in report.comparisons[0].divergences:
        assert one.cause is None or not (
            one.cause.confirmed and one.cause.kind.startswith("resize")
        )
