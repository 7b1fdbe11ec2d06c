"""A mask behind the softmax is a mask."""

from __future__ import annotations

import torch

from tests.rules.pairs import FIRST, compare, kinds, summaries

SEEN = torch.ones(5, 5).tril()


def attends(x: torch.Tensor, before: bool, behind: bool) -> torch.Tensor:
    h = x @ FIRST
    scores = h @ h.T
    shares = torch.softmax(scores.masked_fill(SEEN == 0, -1e9) if before else scores, -1)
    return (shares * SEEN if behind else shares) @ h


def test_a_mask_behind_the_softmax_is_told_from_none() -> None:
    reports = [
        compare(
            lambda x: attends(x, True, False), lambda x, behind=behind: attends(x, False, behind)
        )
        for behind in (False, True)
    ]
    assert [kinds(one) for one in reports] == [["attention-mask-missing"]] * 2
    assert "here is not masked" in summaries(reports[0])
    assert "not masked there, but behind it" in summaries(reports[1])
