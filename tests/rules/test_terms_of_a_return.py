"""Returns over steps: discounts of other powers, rewards from the wrong end, bounds of a target."""

from __future__ import annotations

import pytest
import torch

from tests.rules.pairs import compare, draw, kinds, summaries, weights

REWARDS, Q = (draw.standard_normal(shape).astype("f") for shape in ((6, 4), (6, 5)))
DISCOUNT = 0.9


def discounted(x: torch.Tensor, first: int) -> torch.Tensor:
    total = torch.zeros(len(x), 1)
    for step in range(3):
        x = torch.tanh(x @ WIDE)
        total = total + DISCOUNT ** (first + step) * (x @ COLUMN)
    return torch.tanh(total) * (x @ COLUMN)


WIDE, COLUMN = weights(7, 7) / 2, weights(7, 1)


@pytest.mark.parametrize("powers", [(0, 1), (1, 0)])
def test_every_term_is_discounted_once_more_or_less(powers) -> None:
    report = compare(*(lambda x, n=n: discounted(x, n) for n in powers))
    assert kinds(report) == ["weight-scale"]
    said = "1, 0.9, 0.81", "0.9, 0.81, 0.729"
    right, wrong = said if powers == (0, 1) else said[::-1]
    text = f"the terms are multiplied by {wrong}; the reference multiplies them by {right}"
    assert text in summaries(report)


def test_one_term_of_another_factor_is_that_one_alone() -> None:
    def model(factor: float):
        return lambda x: torch.tanh(0.5 * torch.sin(x @ WIDE) + factor * torch.sin(x @ WIDE.T))

    report = compare(model(0.25), model(0.75))
    assert kinds(report) == ["weight-scale"]
    assert "0.75 is multiplied by; the reference multiplies by 0.25" in summaries(report)


def return_at_once(rewards: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    powers = DISCOUNT ** torch.arange(4, dtype=torch.float32)
    return torch.tanh((rewards * powers).sum(1) + DISCOUNT**4 * q.max(1).values)


def return_by_steps(rewards: torch.Tensor, q: torch.Tensor, backwards: bool) -> torch.Tensor:
    target = q.max(1).values
    for step in reversed(range(4)) if backwards else range(4):
        target = rewards[:, step] + DISCOUNT * target
    return torch.tanh(target)


def test_rewards_are_accumulated_from_the_wrong_end() -> None:
    report = compare(return_at_once, lambda r, q: return_by_steps(r, q, False), inputs=(REWARDS, Q))
    assert kinds(report) == ["direction"]
    assert "the input '0' is read from its other end along axis 1" in summaries(report)


def test_a_result_that_is_merely_turned_is_not_read_backwards() -> None:
    report = compare(
        lambda x: torch.tanh(x * 3) + x, lambda x: torch.flip(torch.tanh(x * 3) + x, (1,))
    )
    assert report.verdict != "parity"
    assert "from its other end" not in summaries(report)


def bounded(x: torch.Tensor, low: float | None, high: float | None) -> torch.Tensor:
    return torch.tanh(torch.clamp(3 * (x @ WIDE), low, high)) @ COLUMN


@pytest.mark.parametrize(
    ("bounds", "kind", "text"),
    [
        (((-2.5, 0.0), (-2.5, None)), "op-missing", "the upper bound 0 of clamp is missing"),
        (((-2.5, 0.0), (None, 0.0)), "op-missing", "the lower bound -2.5 of clamp is missing"),
        (((-2.5, None), (-2.5, 0.0)), "op-extra", "the upper bound 0 of clamp is applied"),
    ],
)
def test_one_bound_of_a_clip(bounds, kind, text) -> None:
    report = compare(*(lambda x, b=b: bounded(x, *b) for b in bounds))
    assert kinds(report) == [kind]
    assert text in summaries(report)


def test_another_bound_is_not_a_missing_one() -> None:
    report = compare(lambda x: bounded(x, -2.5, 0.0), lambda x: bounded(x, -2.5, 0.5))
    assert report.verdict != "parity"
    assert "bound" not in summaries(report)
