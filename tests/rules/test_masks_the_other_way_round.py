"""A mask that marks what is hidden, read as one that marks what is seen, is named."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.rules.pairs import FIRST, compare, kinds, summaries

draw = np.random.default_rng(51)
STEPS = draw.standard_normal((4, 6, 7)).astype("f")
LENGTHS = np.array([4, 3, 5, 2])
HIDDEN = np.arange(6)[None] >= LENGTHS[:, None]
KEY = torch.from_numpy(draw.standard_normal((7, 6)).astype("f"))


def fused(x: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
    """Attention in one operation."""
    bias = torch.zeros(4, 1, 6).masked_fill(hidden[:, None], -torch.inf)
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(x @ FIRST, x @ KEY, torch.sin(x @ FIRST), attn_mask=bias)


def by_hand(x: torch.Tensor, mask: torch.Tensor, marks_hidden: bool) -> torch.Tensor:
    scores = (x @ FIRST) @ (x @ KEY).transpose(1, 2) / 6**0.5
    if marks_hidden:
        scores = scores.masked_fill(mask[:, None], -1e9)
    else:
        scores = torch.where(mask[:, None], scores, -1e9)
    return torch.softmax(scores, -1) @ torch.sin(x @ FIRST)


INPUTS = [STEPS, HIDDEN]


def test_of_attention_in_one_operation() -> None:
    report = compare(fused, lambda x, m: by_hand(x, m, False), inputs=INPUTS)
    assert kinds(report) == ["mask-pattern"]
    assert "is inverted" in summaries(report)


@pytest.mark.parametrize("turned", [False, True])
def test_of_attention_by_hand(turned) -> None:
    models = lambda x, m: by_hand(x, m, True), lambda x, m: by_hand(x, m, False)  # noqa: E731
    report = compare(*(models[::-1] if turned else models), inputs=INPUTS)
    assert kinds(report) == ["mask-pattern"]
    assert "is inverted" in summaries(report)


def test_of_attention_that_inverts_it_in_the_reference() -> None:
    report = compare(
        lambda x, m: by_hand(x, ~m, False), lambda x, m: by_hand(x, m, False), inputs=INPUTS
    )
    assert kinds(report) == ["mask-pattern"]


def test_a_mask_that_is_not_applied_is_not_inverted() -> None:
    report = compare(fused, lambda x, m: by_hand(x, torch.zeros_like(m), True), inputs=INPUTS)
    assert report.verdict == "diverged" and "is inverted" not in summaries(report)
