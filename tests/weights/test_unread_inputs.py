"""An input that one model alone reads says nothing of weights: a transfer notes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import parity

STEPS = np.random.default_rng(6).normal(size=(3, 5, 4)).astype("f")


class Recurrent(torch.nn.Module):
    """Stops at the end of a sequence, or goes on to the end of all."""

    def __init__(self, stops: bool) -> None:
        super().__init__()
        self.lstm, self.stops = torch.nn.LSTM(4, 6, batch_first=True), stops

    def forward(self, x: Any, lengths: Any) -> Any:
        steps, _ = self.lstm(x)
        if self.stops:
            steps = steps * (torch.arange(x.shape[1]) < lengths[:, None])[..., None]
        return steps


@pytest.mark.parametrize("stops", [(True, False), (False, True)])
def test_lengths_that_one_model_does_not_read_are_noted(stops: tuple[bool, bool]) -> None:
    models = [Recurrent(one) for one in stops]
    inputs = {"x": STEPS, "lengths": np.full(3, 5)}
    result = parity.transfer(*models, inputs=inputs)
    assert result.verdict == "parity", result
    assert any("input 'lengths' changes" in note for note in result.table.notes), result
    assert parity.compare(*models, inputs=inputs).verdict == "unverified"


def test_where_lengths_show_the_models_differ() -> None:
    inputs = {"x": STEPS, "lengths": np.array([5, 2, 3])}
    assert parity.transfer(*map(Recurrent, (True, False)), inputs=inputs).verdict == "diverged"
