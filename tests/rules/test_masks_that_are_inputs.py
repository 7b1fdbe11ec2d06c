"""A mask of whole numbers or flags that one model is not given; what is an index masks nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import parity
from parity.report.report import Report
from tests.rules.pairs import FIRST, SQUARE, compare, kinds, weights

STEPS = np.random.default_rng(17).standard_normal((2, 6, 7)).astype("f")
SEEN = np.ones((2, 6), "int64")
SEEN[1, 4:] = 0
TABLE = weights(2, 6)


def attends(x: torch.Tensor, seen: torch.Tensor | None, fused: bool = False) -> torch.Tensor:
    h = x @ FIRST
    query, key = h @ SQUARE, torch.tanh(h)
    added = None
    if seen is not None:
        added = (1.0 - seen[:, None, :].float()) * -1e30
    if fused:
        return F.scaled_dot_product_attention(query, key, h, attn_mask=added)
    scores = query @ key.transpose(1, 2) / 6**0.5
    return torch.softmax(scores if added is None else scores + added, -1) @ h


def compared(reference, candidate, seen: np.ndarray) -> Report:
    one = parity.wrap(reference, framework="torch", inputs=(STEPS, seen))
    other = parity.wrap(candidate, framework="torch", inputs=(STEPS,))
    return parity.compare(one, other)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("kind", ["int64", "bool"])
def test_a_mask_that_is_not_passed(fused, kind) -> None:
    report = compared(
        lambda x, seen: torch.tanh(attends(x, seen, fused)),
        lambda x: torch.tanh(attends(x, None)),
        SEEN.astype(kind),
    )
    assert kinds(report) == ["attention-mask-missing"]


def test_an_index_of_zeros_and_ones_is_no_mask() -> None:
    report = compared(
        lambda x, kind: torch.tanh(attends(x + 0 * x, None) + TABLE[kind]),
        lambda x: torch.tanh(attends(x, None) + TABLE[1]),
        SEEN,
    )
    assert report.verdict == "diverged"
    assert not {"attention-mask-missing", "sequence-mask"} & {*kinds(report)}


def test_a_mask_that_is_made_elsewhere_is_what_fused_attention_lacks() -> None:
    """What both make of the padding is -inf where it is: one side alone adds it to its scores."""
    wide = weights(7, 8)

    def hidden(seen: torch.Tensor) -> torch.Tensor:
        return torch.zeros(seen.shape).masked_fill(seen < 1, float("-inf"))[:, None]

    def reference(x: torch.Tensor, seen: torch.Tensor) -> tuple[torch.Tensor, ...]:
        query, added = x @ wide, hidden(seen)
        scores = torch.baddbmm(added, query / 8**0.5, torch.tanh(query).mT)
        return torch.softmax(scores, 2) @ x, torch.softmax(added, 2)

    def candidate(x: torch.Tensor, seen: torch.Tensor) -> tuple[torch.Tensor, ...]:
        query = x @ wide
        attended = F.scaled_dot_product_attention(query, torch.tanh(query), x)
        return attended, torch.softmax(hidden(seen), 2)

    (found,) = compare(reference, candidate, inputs=(STEPS, SEEN)).divergences
    assert found.cause is not None and found.cause.kind == "attention-mask-missing"
