"""What several stored values are computed into is named by the step that is missing, or too much.

No stored value differs then, and none is reported.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.rules.pairs import compare, kinds, summaries, weights

draw = np.random.default_rng(54)
X = draw.standard_normal((5, 3)).astype("f")
TOTAL, SQUARES = draw.uniform(1, 3, 3).astype("f"), draw.uniform(9, 12, 3).astype("f")
HEAD = weights(3, 4)


class Normaliser(torch.nn.Module):
    """The deviation of running sums, with the squared mean taken off or not."""

    def __init__(self, takes_off: bool, squares: np.ndarray = SQUARES) -> None:
        super().__init__()
        self.takes_off = takes_off
        self.register_buffer("total", torch.from_numpy(TOTAL))
        self.register_buffer("squares", torch.from_numpy(squares))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean, second = self.total / 2, self.squares / 2
        variance = second - mean**2 if self.takes_off else second
        return torch.tanh((torch.sin(x @ HEAD[:, :3]) - mean) / torch.sqrt(variance)) @ HEAD


@pytest.mark.parametrize("turned", [False, True])
def test_a_variance_without_the_squared_mean(turned) -> None:
    report = compare(Normaliser(not turned), Normaliser(turned), inputs=X)
    assert kinds(report) == ["op-extra" if turned else "op-missing"]
    assert "sub is" in summaries(report) and "squares" in summaries(report)


def test_other_numbers_in_a_stored_value() -> None:
    report = compare(Normaliser(True), Normaliser(True, SQUARES[::-1] + 1), inputs=X)
    assert report.verdict == "diverged" and not {"op-missing", "op-extra"} & {*kinds(report)}
