"""What is small beside others is judged by its own size: a column, a sample, an early time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.rules.pairs import compare, draw


def absorbed(x: torch.Tensor, by: float) -> torch.Tensor:
    return (x + by) - by


def times(base: float) -> Any:
    """The log of times, which lose digits to a clock's base."""
    return lambda t: torch.log(absorbed(t, base) * torch.tensor([0.6, 1.1, 1.7]))


def masses(by: float) -> Any:
    """Speeds beside masses in kilograms."""
    return lambda x: torch.cat([2e30 * (2 + x[:, :1].abs()), absorbed(x[:, 1:], by)], 1)


def likelihoods(most: float) -> Any:
    return lambda x: torch.exp(-(x.abs() * 6).clamp(max=most))


def waves(off: float) -> Any:
    """Waves of large multiples of a constant that has other last digits, beside prices."""
    anchors = torch.tensor([0.71, 1.13, 1.79, 0.93]) * (1 + off)

    def model(x: torch.Tensor) -> torch.Tensor:
        octaves = torch.tensor([1.0, 256.0, 65536.0])
        made = torch.cos(anchors[:, None] * octaves).reshape(-1)
        return torch.cat([300 * x[:, :4], x[:, 4:5] * made], 1)

    return model


EVEN = np.linspace(0.37, 2e5, 48, dtype="f")[:, None]
X = draw.standard_normal((16, 5)).astype("f")
FAR = np.where(np.arange(16)[:, None] % 4, X, 10 * np.sign(X) + X / 4).astype("f")


@pytest.mark.parametrize(
    ("model", "right", "wrong", "inputs"),
    [
        pytest.param(times, 0.0, 3e4, EVEN, id="times on an even grid"),
        pytest.param(masses, 0.0, 2e6, X, id="speeds beside masses"),
        pytest.param(likelihoods, 1e9, 50.0, FAR, id="likelihoods of outliers"),
        pytest.param(waves, 0.0, 2.0**-23, np.round(X * 64) / 64, id="waves beside prices"),
    ],
)
def test_what_is_small_counts_by_its_own_size(
    model: Any, right: float, wrong: float, inputs: np.ndarray
) -> None:
    assert compare(model(right), model(right), inputs=inputs).verdict == "parity"
    assert compare(model(right), model(wrong), inputs=inputs).verdict != "parity"


# --- what the host computed, and half precision ---------------------------------------------------

TURNS = np.where(draw.uniform(size=(24, 8)) < 0.6, 1e5 * draw.standard_normal((24, 8)), 0.7)
W = torch.from_numpy(draw.standard_normal((5, 6)).astype("f"))
TURNS = (TURNS * draw.uniform(0.3, 1.8, TURNS.shape)).astype("f")


def host(factor: float) -> Any:
    """Phases by NumPy, of which most are of many turns."""

    def model(x: torch.Tensor) -> dict[str, Any]:
        turns = x.numpy()
        phase = np.cos(turns * np.where(np.abs(turns) < 2, np.float32(factor), np.float32(1)))
        return {"score": torch.tanh(x), "phase": phase}

    return model


def casting(activations: bool, held: bool = True) -> Any:
    """A small bias that is scaled in bfloat16; and all activations may be cast as well."""
    bias, scale = torch.arange(1.0, 7) / 3e3, torch.linspace(0.61, 1.9, 6)
    if held:
        bias, scale = bias.bfloat16(), scale.bfloat16()

    def model(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(x @ W)
        if activations:
            h = (h * 1024).bfloat16().float() / 1024
        return h + (bias.bfloat16() * scale.bfloat16()).float()

    return model


def test_most_of_what_a_host_computed_may_be_noisy() -> None:
    assert compare(host(1.0), host(1.0), inputs=TURNS).verdict != "diverged"
    assert compare(host(1.0), host(1.002), inputs=TURNS).verdict != "parity"


def test_a_narrow_format_in_one_place_excuses_none_elsewhere() -> None:
    assert compare(casting(False, False), casting(False), inputs=X).verdict == "parity"
    assert compare(casting(False, False), casting(True), inputs=X).verdict != "parity"
