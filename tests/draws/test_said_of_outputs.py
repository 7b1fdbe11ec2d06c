"""Outputs of models that draw differ as their draws do, which is said beside the values."""

from __future__ import annotations

import numpy as np
import torch

import parity

X = np.random.default_rng(0).standard_normal((5, 6)).astype("f")


def report_of(draws: bool) -> str:
    def model(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x + 0.3 * torch.randn_like(x) if draws else 1.1 * x)

    one = parity.wrap(model, framework="torch")
    return " ".join(str(parity.compare(one, one, inputs=X)).split())


def test_that_each_model_ran_on_draws_of_its_own_is_said() -> None:
    assert "; each model on its own random samples coverage" in report_of(True)
    assert "its own random samples" not in report_of(False)
