"""Reductions in the other order; a gate before a product and not behind it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.rules.pairs import FIRST, SECOND, SQUARE, compare, kinds, summaries, weights

draw = np.random.default_rng(61)
DENSITIES = draw.standard_normal((5, 8, 3, 7)).astype("f")
X = draw.standard_normal((9, 7)).astype("f")
GATE, BIAS = weights(7, 6), weights(6)


def mixed(x: torch.Tensor, first: str, keeps: bool = False) -> torch.Tensor:
    h = torch.tanh(x @ FIRST)
    if first == "mixture":
        found = torch.logsumexp(h, 2, keepdim=keeps)
        found = found.sum(-1)[:, :, 0] if keeps else found.sum(-1)
    else:
        found = torch.logsumexp(h.sum(-1), 2)
    return torch.tanh(found)


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_a_log_sum_exp_and_a_sum(turned, keeps) -> None:
    models = lambda x: mixed(x, "mixture", keeps), lambda x: mixed(x, "sum")  # noqa: E731
    report = compare(*(models[::-1] if turned else models), inputs=DENSITIES)
    assert kinds(report) == ["op-order"]
    words = "sum is taken before logsumexp", "logsumexp is taken before sum"
    assert words[turned] in summaries(report)


def test_reductions_of_other_axes_are_not_merely_exchanged() -> None:
    report = compare(
        lambda x: mixed(x, "mixture")[:, :3],
        lambda x: torch.tanh(torch.logsumexp(torch.tanh(x @ FIRST).sum(1), -1)),
        inputs=DENSITIES,
    )
    assert report.verdict == "diverged" and "op-order" not in kinds(report)


def gated(x: torch.Tensor, before: bool, adds: bool = False) -> torch.Tensor:
    h, gate = torch.sin(x @ FIRST), torch.exp(x @ GATE / 4)
    if adds:
        found = (gate + h) @ SQUARE if before else gate + h @ SQUARE
    else:
        found = (
            torch.addmm(BIAS, gate * h, SQUARE) if before else gate * torch.addmm(BIAS, h, SQUARE)
        )
    return torch.tanh(found) @ SECOND


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_a_gate_before_a_product(turned, adds) -> None:
    models = lambda x: gated(x, False, adds), lambda x: gated(x, True, adds)  # noqa: E731
    report = compare(*(models[::-1] if turned else models), inputs=X)
    assert kinds(report) == ["op-order"]
    assert f"is applied {'after' if turned else 'before'}" in summaries(report)


def test_another_gate_before_a_product_is_not_merely_moved() -> None:
    def other(x: torch.Tensor) -> torch.Tensor:
        h, gate = torch.sin(x @ FIRST), torch.exp(x @ GATE / 4)
        return torch.tanh(torch.addmm(BIAS, (1 - gate) * h, SQUARE)) @ SECOND

    report = compare(lambda x: gated(x, False), other, inputs=X)
    assert report.verdict == "diverged" and "op-order" not in kinds(report)
