"""What was kept of the given inputs, where other samples show little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from parity.report.report import Report
from tests.rules.pairs import compare

draw = np.random.default_rng(11)


def matrix(rows: int, columns: int) -> torch.Tensor:
    return torch.from_numpy(draw.normal(size=(rows, columns)).astype("f"))


def pixels() -> np.ndarray[Any, Any]:
    found = draw.integers(0, 256, (6, 12)).astype("f")
    found[np.arange(6), draw.integers(0, 12, 6)] = 255
    return found


PIXELS, OF_PIXELS, BYTES = pixels(), matrix(12, 4), pixels().astype("uint8")
SQUARE, OF_SQUARE = np.clip(draw.normal(size=(6, 6)), -2.4, 2.4).astype("f"), matrix(6, 4)
SQUARE[[0, 1, 2, 0, 1, 2], range(6)], SQUARE[[3, 4, 5, 5, 4, 3], range(6)] = 2.5, -2.5
THREE, OF_THREE = draw.normal(size=(3, 5)).astype("f"), matrix(5, 4)
CLIPPED = np.clip(4 * draw.normal(size=(6, 5)), -5, 5).astype("f")
CLIPPED[:, 1] = [5, -5, 5, 5, -5, -5]

Model = Callable[[Any], Any]


def by_largest(x: Any) -> Any:
    return torch.tanh(x / x.amax() @ OF_PIXELS)


def by_columns(x: Any) -> Any:
    return torch.tanh(x / x.abs().amax(0, keepdim=True) @ OF_SQUARE)


def by_mean(x: Any) -> Any:
    h = torch.tanh(x @ OF_THREE)
    return h - h.mean(0)


def noisy(scale: Callable[[Any], Any]) -> Model:
    def model(x: Any) -> Any:
        h = torch.tanh(x / scale(x) @ OF_THREE)
        return h + 0.05 * torch.randn(h.shape)

    return model


PAIRS = {
    "whole-numbers": (by_largest, lambda x: torch.tanh(x * (1 / 255) @ OF_PIXELS), PIXELS),
    "a-square": (by_columns, lambda x: torch.tanh(x / 2.5 @ OF_SQUARE), SQUARE),
    "three": (
        by_mean,
        lambda x: (h := torch.tanh(x @ OF_THREE)) - h.sum(0) / 3,
        THREE,
    ),
    "beside-noise": (noisy(lambda x: x.abs().amax()), noisy(lambda x: 5.0), CLIPPED),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_was_kept_is_not_verified(name: str) -> None:
    model, kept, inputs = PAIRS[name]
    for pair in ((model, kept), (kept, model)):
        assert compare(*pair, inputs=inputs).verdict == "unverified"
    for one in (model, kept):
        assert compare(one, one, inputs=inputs).verdict == "parity"


def test_right_models_of_whole_numbers_are_right() -> None:
    table = matrix(256, 3)

    def gathered(x: Any) -> Any:
        return torch.tanh(table[x.long()].mean(1))

    def one_hot(x: Any) -> Any:
        hot = torch.nn.functional.one_hot(x.long(), 256).float()
        return torch.tanh((hot @ table).sum(1) / x.shape[1])

    for inputs in (BYTES, BYTES[:1], BYTES.astype("int64")):
        assert compare(gathered, one_hot, inputs=inputs).verdict == "parity"


def test_a_reciprocal_is_said_to_be_one() -> None:
    report: Report = compare(by_largest, PAIRS["whole-numbers"][1], inputs=PIXELS)
    assert "holds as a reciprocal the number 255" in " ".join(str(report).split())
