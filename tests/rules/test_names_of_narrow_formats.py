"""A weight that is rounded and cast back is rounded: nothing is computed in its format."""

from __future__ import annotations

import torch

from tests.rules.pairs import FIRST, compare, summaries


def exact(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x @ FIRST)


def test_a_weight_that_is_rounded_is_told_from_computing_in_a_format() -> None:
    words = summaries(compare(exact, lambda x: torch.tanh(x @ FIRST.bfloat16().float())))
    assert "is rounded to bfloat16" in words and "computes" not in words
    words = summaries(compare(lambda x: torch.tanh(x @ FIRST.bfloat16().float()), exact))
    assert "is not rounded" in words and "computes" not in words
    words = summaries(
        compare(exact, lambda x: torch.tanh((x.bfloat16() @ FIRST.bfloat16()).float()))
    )
    assert "computes in bfloat16" in words
