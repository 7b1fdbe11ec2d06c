"""Weights of attention fit any number of heads: another one is named, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.rules.pairs import compare, kinds, summaries, weights

STEPS = np.random.default_rng(6).standard_normal((2, 5, 7)).astype("f")
KERNELS = [weights(7, 12) / 3 for _ in range(3)]
OUT = weights(12, 4)
SEEN = torch.ones(5, 5).tril() > 0


def attends(x: torch.Tensor, heads: int, fused: bool, scale: float = 1.0) -> torch.Tensor:
    q, k, v = ((x @ one).reshape(2, 5, heads, -1).transpose(1, 2) for one in KERNELS)
    q = q * scale
    if fused:
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=SEEN)
    else:
        scores = q @ k.transpose(2, 3) / (12 / heads) ** 0.5
        mixed = torch.softmax(scores.masked_fill(~SEEN, -1e9), -1) @ v
    return torch.tanh(mixed.transpose(1, 2).reshape(2, 5, 12)) @ OUT


@pytest.mark.parametrize("fused", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("heads", [(4, 2), (2, 4), (6, 3)])
def test_another_number_of_heads(fused, heads) -> None:
    report = compare(
        lambda x: attends(x, heads[0], fused[0]),
        lambda x: attends(x, heads[1], fused[1]),
        inputs=STEPS,
    )
    assert kinds(report) == ["head-count"]
    assert f"attention has {heads[1]} heads of {12 // heads[1]} features" in summaries(report)


def test_heads_with_another_scale_are_not_only_others() -> None:
    report = compare(
        lambda x: attends(x, 4, True), lambda x: attends(x, 2, False, 0.3), inputs=STEPS
    )
    assert "head-count" not in kinds(report)
