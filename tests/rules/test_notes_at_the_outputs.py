"""A note excuses what it leaves at the outputs, and not everything beside it in one value."""

from __future__ import annotations

import pytest
import torch

from tests.rules.pairs import FIRST, compare


def offset_by_rounding(x):
    """Noise alone, the same for a row."""
    total = x.sum(1, keepdim=True)
    return (total + 1e7) - 1e7 - total


def offset_by_constants(x):
    up, down = (torch.nn.Parameter(torch.tensor(one)) for one in (1234.5677, 1233.5677))
    total = x.sum(1, keepdim=True)
    return up * total - down * total - total


@pytest.mark.parametrize("offset", [offset_by_rounding, offset_by_constants])
def test_what_is_taken_off_again_excuses_no_weights(offset) -> None:
    def port(off):
        half = 0.5 * FIRST * (1 + off * (torch.arange(6) < 3))
        return lambda x: torch.softmax(2 * (x @ half + offset(x)), 1)

    def reference(x):
        return torch.softmax(x @ FIRST, 1)

    assert compare(reference, port(0.0)).verdict == "parity"
    assert compare(reference, port(5e-5)).verdict != "parity"
