"""What differs in float64 alone, at a tie or where nothing is left for a root, is no alarm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import parity
from tests.rules.pairs import compare


def offers() -> np.ndarray:
    """Rows of which three tenths are, in float32, a tenth three times."""
    x = np.round(np.random.default_rng(0).uniform(8, 40, (900, 2)), 2).astype("f")
    x = x[x[:, 0] * np.float32(0.3) == x[:, 0] * np.float32(0.1) * np.float32(3)][:60]
    x[:, 1] = np.where(np.arange(len(x)) % 3, 0.2, 0.4) * x[:, 0]
    return x


def taking(gain: float, last: float = 0.0) -> Any:
    def model(x: torch.Tensor) -> dict[str, torch.Tensor]:
        made = torch.stack([x[:, 0] * 0.3, x[:, 0] * (3 * 0.1), gain * x[:, 1]], 1)
        margin = (made + 0.01).log() - made.log()
        best = made + last * torch.tensor([0.0, 0.0, 1.0])
        return {"margin": margin - margin.mean(1, keepdim=True), "taken": best.argmax(1)}

    return model


def taken(x: np.ndarray) -> dict[str, np.ndarray]:
    made = np.stack([x[:, 0] * 0.3, x[:, 0] * 0.1 * 3, x[:, 1]], 1)
    margin = np.log(made + 0.01) - np.log(made)
    return {"margin": margin - margin.mean(1, keepdims=True), "taken": made.argmax(1)}


@pytest.mark.parametrize(
    ("gain", "last", "is_alarm"), [(1, 0, False), (1.01, 0, True), (1, 1, True)]
)
def test_a_tie_beside_an_output_that_is_rounded(gain: float, last: float, is_alarm: bool) -> None:
    models = parity.wrap(taken, framework="numpy"), parity.wrap(taking(gain, last), name="port")
    found = parity.compare(*models, inputs=offers()).verdict
    assert (found == "diverged") is is_alarm


def squared(one: torch.Tensor) -> torch.Tensor:
    return one[:, 0] * one[:, 0] + one[:, 1] * one[:, 1] + one[:, 2] * one[:, 2]


def by_quotient(x: torch.Tensor) -> torch.Tensor:
    return x / squared(x).sqrt()[:, None]


def by_product(x: torch.Tensor) -> torch.Tensor:
    return x * (1 / squared(x).sqrt())[:, None]


def beyond(unit: Any, two: float = 2.0) -> Any:
    """How far a point of the sphere is from itself, and another place from it."""

    def model(x: torch.Tensor) -> torch.Tensor:
        here = unit(x)
        return (2 - two * torch.stack([squared(here), (here * here.roll(1, 0)).sum(1)], 1)).sqrt()

    return model


def points() -> np.ndarray:
    x = torch.from_numpy(np.random.default_rng(1).standard_normal((600, 3)).astype("f"))
    inside = (squared(by_quotient(x)) <= 1) & (squared(by_product(x)) <= 1)
    return x[inside][:40].numpy()


def test_the_root_of_next_to_nothing_is_no_number_in_float64_alone() -> None:
    assert compare(beyond(by_quotient), beyond(by_product), inputs=points()).verdict != "diverged"


def test_what_is_beside_such_a_root_still_counts() -> None:
    found = compare(beyond(by_quotient), beyond(by_product, 1.99), inputs=points())
    assert found.verdict == "diverged"
