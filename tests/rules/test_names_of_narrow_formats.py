"""A weight that is rounded and cast back is rounded: nothing is computed in its format."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tests.rules.pairs import FIRST, compare, summaries


def exact(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x @ FIRST)


def test_a_weight_that_is_rounded_is_distinguished_from_computing_in_a_format() -> None:
    words = summaries(compare(exact, lambda x: torch.tanh(x @ FIRST.bfloat16().float())))
    assert "is rounded to bfloat16" in words and "computes" not in words
    words = summaries(compare(lambda x: torch.tanh(x @ FIRST.bfloat16().float()), exact))
    assert "is not rounded" in words and "computes" not in words
    words = summaries(
        compare(exact, lambda x: torch.tanh((x.bfloat16() @ FIRST.bfloat16()).float()))
    )
    assert "computes in bfloat16" in words


def test_noise_that_is_drawn_in_a_format_is_reported() -> None:
    def noisy(dtype: torch.dtype) -> Callable[[torch.Tensor], torch.Tensor]:
        def model(x: torch.Tensor) -> torch.Tensor:
            u = torch.rand(len(x), 4, dtype=dtype).float().clamp(1e-6, 1 - 1e-6)
            return torch.tanh(x @ FIRST)[:, :4] - torch.log(-torch.log(u))

        return model

    report = compare(noisy(torch.float32), noisy(torch.bfloat16))
    assert report.verdict in ("diverged", "unverified")
    assert compare(noisy(torch.bfloat16), noisy(torch.bfloat16)).verdict != "diverged"
