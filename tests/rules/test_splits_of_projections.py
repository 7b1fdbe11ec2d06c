"""A fused projection whose features are split into heads, kinds and sizes in another order."""

from __future__ import annotations

import numpy as np
import torch

from tests.rules.pairs import compare, kinds, summaries, weights

TOKENS = np.random.default_rng(6).standard_normal((4, 5, 8)).astype("f")
KERNELS = [weights(8, 8) for _ in range(3)]
FUSED = torch.cat(KERNELS, 1)
OUT = weights(8, 6)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    mixed = torch.softmax(q @ k.mT / 2, -1) @ v
    return mixed.transpose(1, 2).reshape(4, 5, 8) @ OUT


def separate(x: torch.Tensor) -> torch.Tensor:
    return attention(*((x @ one).reshape(4, 5, 2, 4).transpose(1, 2) for one in KERNELS))


def kinds_first(x: torch.Tensor) -> torch.Tensor:
    return attention(*(x @ FUSED).reshape(4, 5, 3, 2, 4).permute(2, 0, 3, 1, 4))


def heads_first(x: torch.Tensor) -> torch.Tensor:
    return attention(*(x @ FUSED).reshape(4, 5, 2, 3, 4).permute(3, 0, 2, 1, 4))


def test_a_fused_projection_that_is_read_by_heads_first() -> None:
    assert compare(separate, kinds_first, inputs=TOKENS).verdict == "parity"
    report = compare(separate, heads_first, inputs=TOKENS)
    assert kinds(report) == ["head-split-order"]
    assert "is split as (2, 3, 4); the reference's is as (3, 2, 4)" in summaries(report)


def test_another_scale_of_the_scores_is_no_split() -> None:
    def scaled(x: torch.Tensor) -> torch.Tensor:
        q, k, v = (x @ FUSED).reshape(4, 5, 3, 2, 4).permute(2, 0, 3, 1, 4)
        return attention(q * 2, k, v)

    assert "head-split-order" not in kinds(compare(separate, scaled, inputs=TOKENS))
