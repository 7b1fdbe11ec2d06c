"""A shift that wraps around is named where the other model puts a number in, and its number."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.rules.pairs import FIRST, SQUARE, compare, kinds, summaries

draw = np.random.default_rng(52)
STEPS = draw.standard_normal((4, 6, 7)).astype("f")


def read_before(x: torch.Tensor, start: float) -> torch.Tensor:
    """What the step before read, with a number at the first."""
    h = torch.tanh(x @ FIRST)
    return torch.sin(torch.cat([torch.full_like(h[:, :1], start), h[:, :-1]], 1)) @ SQUARE


def rolled(x: torch.Tensor, places: int) -> torch.Tensor:
    return torch.sin(torch.tanh(x @ FIRST).roll(places, 1)) @ SQUARE


@pytest.mark.parametrize("start", [0.0, 3.0])
def test_a_number_at_the_first_step(start) -> None:
    report = compare(
        lambda x: read_before(x, start),
        lambda x: rolled(x, 1),
        inputs=STEPS,
    )
    assert kinds(report) == ["roll-shift"]
    assert f"wraps around; the reference puts {start:g} there" in summaries(report)


def test_a_number_where_the_reference_wraps_around() -> None:
    report = compare(lambda x: rolled(x, 1), lambda x: read_before(x, 2.0), inputs=STEPS)
    assert kinds(report) == ["roll-shift"]
    assert "does not wrap around: 2 is put in its place" in summaries(report)


def test_of_whole_numbers() -> None:
    tokens = draw.integers(0, 7, (4, 6))
    table = torch.from_numpy(draw.standard_normal((9, 6)).astype("f"))
    report = compare(
        lambda t: table[torch.cat([torch.full_like(t[:, :1], 8), t[:, :-1]], 1)] @ SQUARE,
        lambda t: table[t.roll(1, 1)] @ SQUARE,
        inputs=tokens,
    )
    assert kinds(report) == ["roll-shift"]
    assert "the reference puts 8 there" in summaries(report)


def test_the_other_way_round_is_another_shift() -> None:
    report = compare(
        lambda x: read_before(x, 0.0),
        lambda x: rolled(x, -1),
        inputs=STEPS,
    )
    assert report.verdict == "diverged" and "wraps around" not in summaries(report)
