"""A first state, or another tensor of one number throughout, that holds another number."""

from __future__ import annotations

import numpy as np
import torch

from tests.rules.pairs import FIRST, SQUARE, compare, kinds, summaries

STEPS = np.random.default_rng(5).standard_normal((4, 3, 7)).astype("f")


def cell(x: torch.Tensor, first: float) -> torch.Tensor:
    h = torch.full((4, 6), first)
    for step in range(3):
        h = torch.tanh(x[:, step] @ FIRST + h @ SQUARE)
    return h


def test_a_first_state_of_ones() -> None:
    report = compare(lambda x: cell(x, 0.0), lambda x: cell(x, 1.0), inputs=STEPS)
    assert kinds(report) == ["fill-value"]
    assert "is 1.0 throughout, the reference's 0.0" in summaries(report)


def test_a_first_state_of_another_number_than_one() -> None:
    report = compare(lambda x: cell(x, 0.5), lambda x: cell(x, 0.25), inputs=STEPS)
    assert kinds(report) == ["fill-value"]
    assert "is 0.25 throughout, the reference's 0.5" in summaries(report)


def test_states_that_are_of_one_number_and_no_fault() -> None:
    """What differs is the activation; both states are zeros."""

    def other(x: torch.Tensor) -> torch.Tensor:
        h = torch.zeros((4, 6))
        for step in range(3):
            h = torch.sigmoid(x[:, step] @ FIRST + h @ SQUARE)
        return h

    report = compare(lambda x: cell(x, 0.0), other, inputs=STEPS)
    assert "fill-value" not in summaries(report) and "fill-value" not in kinds(report)


def test_a_feature_that_is_filled_like_an_input() -> None:
    """The time that is left, which is half a step short."""

    def with_time(x: torch.Tensor, left: float) -> torch.Tensor:
        time = torch.full_like(x[:, :1], left)
        return torch.tanh(torch.cat([x[:, :6], time], 1) @ FIRST) @ SQUARE

    report = compare(lambda x: with_time(x, 0.5), lambda x: with_time(x, 0.375), inputs=STEPS[:, 0])
    assert kinds(report) == ["fill-value"]
    assert "is 0.375 throughout, the reference's 0.5" in summaries(report)
