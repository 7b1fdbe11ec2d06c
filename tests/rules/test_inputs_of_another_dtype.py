"""A candidate's own inputs count in any dtype; only a correct rounding of the same is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import parity
from parity.matching import match

from .pairs import sites

tf = pytest.importorskip("tensorflow")

X = np.random.default_rng(0).standard_normal((64, 40))


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(40, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.layer(x))


def net(dtype: torch.dtype) -> Net:
    torch.manual_seed(0)
    return Net().to(dtype)


def verdict(reference: Any, candidate: Any, factor: float = 1.0) -> str:
    own = parity.wrap(candidate, inputs=X * factor)
    return parity.compare(parity.wrap(reference, inputs=X), own).verdict


DTYPES = [torch.float16, torch.bfloat16, torch.float64]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_inputs_rounded_for_a_model_are_the_same_inputs(dtype: torch.dtype) -> None:
    single, other = net(torch.float32), net(dtype)
    assert verdict(single, other) == verdict(other, single) == "parity"
    assert parity.compare(single, other, inputs=X).verdict == "parity"


@pytest.mark.parametrize("factor", [1.02, 2.0])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_other_inputs_are_a_divergence(dtype: torch.dtype, factor: float) -> None:
    single, other = net(torch.float32), net(dtype)
    assert verdict(single, other, factor) == verdict(other, single, factor) == "diverged"


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64], ids=str)
def test_one_percent_off_is_a_divergence(dtype: torch.dtype) -> None:
    single, other = net(torch.float32), net(dtype)
    assert verdict(single, other, 1.01) == verdict(other, single, 1.01) == "diverged"


def test_one_input_of_many_is_a_divergence() -> None:
    own = X.copy()
    own[3, 5] *= 3
    half = parity.wrap(net(torch.float16), inputs=own)
    assert parity.compare(parity.wrap(net(torch.float32), inputs=X), half).verdict == "diverged"


def test_integers_are_not_substituted_for_floats() -> None:
    pixels = np.random.default_rng(1).integers(0, 255, (6, 40)).astype(np.uint8)
    raw = parity.wrap(lambda x: torch.tanh(x.float() / 255), "torch", inputs=pixels)
    scaled = parity.wrap(lambda x: torch.tanh(x), "torch", inputs=pixels / np.float32(255))
    assert parity.compare(raw, scaled).verdict == "parity"
    wrong = parity.wrap(lambda x: torch.tanh(x), "torch", inputs=pixels / np.float32(254))
    assert parity.compare(raw, wrong).verdict == "diverged"


def test_inputs_that_are_overwritten_would_agree_in_float64(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    single, half = net(torch.float32), net(torch.float16)
    monkeypatch.setattr(match, "rounded_alike", lambda *_: True)
    assert verdict(single, half, 2.0) == "unverified"  # they differ as they ran


def test_a_scalar_stays_a_scalar() -> None:
    """TensorFlow got it as (1,): what is stacked from it has one more axis."""

    def scaled(x: Any, factor: Any) -> Any:
        return torch.stack([factor, 2 * factor]) * x[:, :2]

    def port(x: Any, factor: Any) -> Any:
        assert factor.shape == ()
        return tf.stack([factor, 2 * factor]) * x[:, :2]

    models = parity.wrap(scaled, "torch"), parity.wrap(port, "tensorflow")
    for inputs in ((X, np.float32(0.3)), (X, 0.3)):
        report = parity.compare(*models, inputs=inputs)
        assert report.verdict == "parity" and not sites(report)
