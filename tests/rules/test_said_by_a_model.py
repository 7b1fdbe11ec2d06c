"""What a model says of itself: that it is in half precision, that a large number is a mask."""

from __future__ import annotations

import pytest
import torch

from tests.rules.pairs import FIRST, compare


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_float32_weights_that_are_cast_do_not_say_half_precision(kind) -> None:
    def model(weight):
        return lambda x: torch.tanh(x.to(kind) @ weight.to(kind)).float()

    def in_full(x):
        return torch.tanh(x @ FIRST)

    assert compare(in_full, model(FIRST)).verdict == "diverged"
    held = FIRST.to(kind)
    rounded = held.float()
    assert compare(lambda x: torch.tanh(x @ rounded), model(held)).verdict != "diverged"


@pytest.mark.parametrize(("one", "other"), [(2e7, 5e7), (1e8, 3e8)])
def test_a_large_number_that_is_not_round_may_be_meant(one, other) -> None:
    def model(cost, whole=False):
        def called(x):
            h = torch.tanh(x @ FIRST)
            hidden = x[:, :1] > 0.3 if whole else (x[:, :6] > 0.3) & (torch.arange(6) > 0)
            return torch.where(hidden, torch.full_like(h, -cost), h)

        return called

    assert compare(model(one), model(one)).verdict == "parity"
    assert compare(model(one), model(other)).verdict == "unverified"
    rows = compare(model(1e8, whole=True), model(1e9, whole=True))
    assert rows.verdict == "unverified" and "fill one" in " ".join(rows.worst.reasons)
    assert compare(model(1e8, whole=True), model(1e8, whole=True)).verdict == "parity"
    lowest = -torch.finfo(torch.float32).min
    for mask in (1e8, 1e9, 2.0**32, lowest, lowest / 2, float("inf")):
        assert compare(model(1e10), model(mask)).verdict == "parity"
