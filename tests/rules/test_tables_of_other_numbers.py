"""A table, as a window, that holds other numbers than what the reference computes with."""

from __future__ import annotations

import math

import numpy as np
import torch

from tests.rules.pairs import FIRST, SECOND, SQUARE, compare, kinds, summaries

STEPS = np.random.default_rng(7).standard_normal((4, 9, 7)).astype("f")


def rising(alpha: float) -> torch.Tensor:
    return alpha - (1 - alpha) * torch.cos(2 * math.pi * torch.arange(5) / 8)


def whole(alpha: float) -> torch.Tensor:
    half = rising(alpha)
    return torch.cat([half, half[:-1].flip(0)])


def in_halves(x: torch.Tensor, alpha: float) -> torch.Tensor:
    """Each half of the steps times half a window."""
    half = rising(alpha)[:, None]
    y = torch.tanh(x @ FIRST)
    windowed = torch.cat([y[:, :5] * half, y[:, 5:] * half[:-1].flip(0)], 1)
    return torch.tanh(windowed @ SQUARE) @ SECOND


def at_once(x: torch.Tensor, alpha: float) -> torch.Tensor:
    windowed = torch.tanh(x @ FIRST) * whole(alpha)[:, None]
    return torch.tanh(windowed @ SQUARE) @ SECOND


def test_another_window_that_one_model_applies_in_halves() -> None:
    report = compare(lambda x: in_halves(x, 0.54), lambda x: at_once(x, 0.5), inputs=STEPS)
    assert kinds(report) == ["weight-values"]
    assert "other numbers in the result of cat" in summaries(report)
    (found,) = report.divergences
    assert found.cause.parameters == {"at [0, 0]": (0.08, 0.0)}
    assert found.candidate.code.startswith("return torch.cat([half")


def test_a_factor_that_depends_on_the_inputs_is_no_table() -> None:
    def of_inputs(x: torch.Tensor) -> torch.Tensor:
        windowed = torch.tanh(x @ FIRST) * (whole(0.5)[:, None] + x.mean((1, 2), keepdim=True))
        return torch.tanh(windowed @ SQUARE) @ SECOND

    report = compare(of_inputs, lambda x: at_once(x, 0.5), inputs=STEPS)
    assert "weight-values" not in kinds(report)
