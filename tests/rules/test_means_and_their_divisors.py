"""A divisor is named where the sum is right; a spread where a norm divides by it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tests.rules.pairs import FIRST, SECOND, SQUARE, compare, kinds, summaries

draw = np.random.default_rng(31)
SETS = draw.standard_normal((5, 9, 7)).astype("f")
MASK = (np.arange(9) < np.array([2, 4, 9, 3, 7])[:, None]).astype("f")


def pooled(x: torch.Tensor, mask: torch.Tensor, hides: bool, counts: bool) -> torch.Tensor:
    h = torch.sigmoid(x @ FIRST)
    if hides:
        h = h * mask[..., None]
    count = mask.sum(1, keepdim=True).clamp(min=1) if counts else h.shape[1]
    return torch.tanh(h.sum(1) / count) @ SECOND


@pytest.mark.parametrize("turned", [False, True])
def test_a_divisor_that_counts_the_padding(turned) -> None:
    models = [lambda x, mask, to=to: pooled(x, mask, True, to) for to in (True, False)]
    report = compare(*(models[::-1] if turned else models), inputs=(SETS, MASK))
    assert kinds(report) == ["mean-divisor"]
    shown = report.divergences[0].cause.parameters["divisor"]
    assert shown[turned].startswith("the sum of") and shown[not turned] == "9, all elements"


def test_what_is_not_masked_is_no_matter_of_the_divisor() -> None:
    report = compare(
        lambda x, mask: pooled(x, mask, True, True),
        lambda x, mask: pooled(x, mask, False, False),
        inputs=(SETS, MASK),
    )
    assert report.verdict == "diverged" and "mean-divisor" not in kinds(report)
    report = compare(
        lambda x, mask: pooled(x, mask, True, True),
        lambda x, mask: pooled(x, mask, False, True),
        inputs=(SETS, MASK),
    )
    assert report.verdict == "diverged" and "mean-divisor" not in kinds(report)


def normed(x: torch.Tensor, centred: bool, scales: bool = True) -> torch.Tensor:
    h = torch.sigmoid(x @ FIRST) @ SQUARE
    square = h.var(-1, unbiased=False, keepdim=True) if centred else h.square().mean(-1, True)
    return (h * torch.rsqrt(square + 1e-3)) @ SECOND if scales else torch.tanh(square)


@pytest.mark.parametrize("turned", [False, True])
def test_a_norm_by_the_spread_around_the_mean(turned) -> None:
    models = lambda x: normed(x, False), lambda x: normed(x, True)  # noqa: E731
    report = compare(*(models[::-1] if turned else models), inputs=SETS)
    assert kinds(report) == ["norm-not-centered"]
    assert report.divergences[0].cause.parameters == {"centred": (turned, not turned)}


def test_a_spread_that_nothing_is_divided_by_is_no_norm() -> None:
    models = (lambda x, to=to: normed(x, to, scales=False) for to in (True, False))
    report = compare(*models, inputs=SETS)
    assert report.verdict == "diverged" and "norm-not-centered" not in kinds(report)


def features(x: torch.Tensor, mean: int) -> torch.Tensor:
    """What several widths of a convolution find, each reduced over the places."""
    found = []
    for place, width in enumerate((2, 3, 4)):
        h = F.conv1d(x, KERNELS[place], padding=width - 1)
        found.append(h.mean(2) if place < mean else h.amax(2))
    return torch.tanh(torch.cat(found, 1))


KERNELS = [torch.from_numpy(draw.standard_normal((6, 9, width)).astype("f")) for width in (2, 3, 4)]


@pytest.mark.parametrize("turned", [False, True])
def test_all_reductions_of_another_kind(turned) -> None:
    models = lambda x: features(x, 0), lambda x: features(x, 3)  # noqa: E731
    report = compare(*(models[::-1] if turned else models), inputs=SETS)
    assert kinds(report) == ["reduction-kind"]
    shown = ("max", "mean")[:: -1 if turned else 1]
    assert report.divergences[0].cause.parameters == {"kind": shown}
    assert "in each of 3 places" in summaries(report)


def scaled(x: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    h = torch.tanh(x @ SQUARE[:, :6])
    low, high = h.amin(axes, keepdim=True), h.amax(axes, keepdim=True)
    return (h - low) / (high - low + 1e-3)


def flattened(x: torch.Tensor) -> torch.Tensor:
    h = torch.tanh(x @ SQUARE[:, :6])
    low = h.flatten(1).min(1)[0].view(-1, 1, 1)
    high = h.flatten(1).max(1)[0].view(-1, 1, 1)
    return (h - low) / (high - low + 1e-3)


@pytest.mark.parametrize("reference", [flattened, lambda x: scaled(x, (1, 2))])
def test_least_and_greatest_over_other_axes(reference) -> None:
    report = compare(reference, lambda x: scaled(x, (1,)), inputs=SETS[:, :, :6])
    assert kinds(report) == ["reduction-axis"]
    assert report.divergences[0].cause.parameters == {"axis": ((1, -1), 1)}
    assert "min and max over axis 1" in summaries(report)
