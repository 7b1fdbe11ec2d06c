"""Integers that index are integers in every replay, however they were made."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity

X = np.random.default_rng(0).standard_normal((5, 6)).astype(np.float32)
W = torch.from_numpy(np.random.default_rng(1).standard_normal((6, 4)).astype(np.float32))


@pytest.mark.parametrize("make", [lambda n: torch.full((n,), -1), lambda n: torch.full((n,), 7)])
def test_a_held_option_is_an_index(make) -> None:
    def act(x: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
        q = x @ W
        _, greedy = q.max(1)
        held = make(len(x))
        option = torch.where(first | (held < 0) | (held > 3), greedy, held)
        return q.gather(1, option[:, None])[:, 0] * torch.tanh(q).sum(1)

    first = np.array([True, False, True, True, False])
    models = (parity.wrap(act, framework="torch") for _ in range(2))
    report = parity.compare(*models, inputs=(X, first))
    assert report.verdict == "parity"
    assert not report.comparisons[0].caveats
