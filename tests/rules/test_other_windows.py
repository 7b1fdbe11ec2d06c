"""A stride on another convolution; a pool that takes the maximum where the mean belongs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tests.rules.pairs import compare, kinds, summaries, weights

IMAGES = np.random.default_rng(3).standard_normal((2, 3, 12, 12)).astype("f")
ONE, THREE, LAST = weights(5, 3, 1, 1), weights(6, 5, 3, 3), weights(4, 6, 3, 3)
BIAS = weights(5)


def bottleneck(x: torch.Tensor, strides: tuple[int, int], padding: int = 1) -> torch.Tensor:
    x = torch.relu(F.conv2d(x, ONE, BIAS, stride=strides[0]))
    x = F.conv2d(x, THREE, stride=strides[1], padding=padding)
    return F.conv2d(torch.relu(x), LAST).flatten(1)


@pytest.mark.parametrize("turned", [False, True])
def test_another_convolution_has_the_stride(turned) -> None:
    strides = ((2, 1), (1, 2))[:: -1 if turned else 1]
    report = compare(
        lambda x: bottleneck(x, strides[0]), lambda x: bottleneck(x, strides[1]), inputs=IMAGES
    )
    assert kinds(report) == ["stride"]
    assert f"strides {strides[1][0]}, {strides[1][1]}" in summaries(report)


def test_a_stride_of_one_convolution_is_its_own() -> None:
    report = compare(
        lambda x: bottleneck(x, (1, 3)), lambda x: bottleneck(x, (1, 2))[:, ::1], inputs=IMAGES
    )
    assert "one after the other" not in summaries(report)


def pooled(x: torch.Tensor, pool: str, **how: object) -> torch.Tensor:
    images = F.conv2d(x, weights_of_pools, padding=1)
    pools = {"max": F.max_pool2d, "mean": F.avg_pool2d}
    return torch.tanh(pools[pool](images, 2, **how)).flatten(1)


weights_of_pools = weights(4, 3, 3, 3)


@pytest.mark.parametrize("pools", [("mean", "max"), ("max", "mean")])
def test_a_pool_of_the_other_kind(pools) -> None:
    report = compare(lambda x: pooled(x, pools[0]), lambda x: pooled(x, pools[1]), inputs=IMAGES)
    assert kinds(report) == ["reduction-kind"]
    words = {"max": "maximum", "mean": "mean"}
    assert f"takes the {words[pools[1]]} of each window" in summaries(report)


def test_a_pool_of_the_other_kind_over_other_windows_is_more() -> None:
    report = compare(
        lambda x: pooled(x, "mean"), lambda x: pooled(x, "max", stride=3)[:, :4], inputs=IMAGES
    )
    assert report.verdict == "diverged" and "of each window" not in summaries(report)


def test_a_convolution_of_the_other_end_has_no_negative_padding() -> None:
    """The part is taken before the convolution in one model, and behind it in the other."""

    def behind(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(F.conv2d(x, ONE)[:, :, 2:]).flatten(1)

    def before(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(F.conv2d(x[:, :, :-2], ONE)).flatten(1)

    report = compare(behind, before, inputs=IMAGES)
    assert kinds(report) == ["index-value"]
    assert "the first along axis 2 are read; the reference reads the last" in summaries(report)
