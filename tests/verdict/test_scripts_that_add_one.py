"""A script in float32 that computes log(1 + exp(x)) loses small values where nothing looks."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import parity

FAR_BELOW = np.random.default_rng(0).normal(-13, 1, (3, 6)).astype("f")


def verdict(x: np.ndarray, offset: float = 0.0) -> str:
    def script(x):
        found = np.log(1 + np.exp(np.asarray(x, np.float32)))
        return (found + np.float32(offset)).astype(np.float32)

    report = parity.compare(
        parity.wrap(torch.nn.Softplus(threshold=1e9), framework="torch"),
        parity.wrap(script, framework="numpy"),
        inputs=x,
    )
    return report.verdict


def test_it_is_no_alarm_beside_large_values_and_no_parity() -> None:
    beside = np.concatenate([np.linspace(5, 12, 6, dtype="f")[None], FAR_BELOW])
    assert verdict(beside) == "unverified"


@pytest.mark.parametrize("offset", [1e-6, 1e-4])
def test_a_fault_there_is_a_divergence(offset: float) -> None:
    beside = np.concatenate([np.linspace(5, 12, 6, dtype="f")[None], FAR_BELOW])
    assert verdict(beside, offset) == "diverged"


def test_where_all_values_are_small_nothing_is_excused() -> None:
    assert verdict(FAR_BELOW) == "diverged"


@pytest.mark.parametrize("factor", [1.0, 1.001])
def test_what_one_result_loses_says_nothing_of_another(factor: float) -> None:
    """A GELU by its formula loses the tail; in float64 the script is still the same function."""
    erf = np.vectorize(math.erf, otypes=[np.float64])
    near = np.linspace(-2, 5, 18, dtype="f").reshape(3, 6)
    x = np.concatenate([FAR_BELOW / 3, near], axis=1)

    def script(x):
        bent = 0.5 * x * (1 + erf(x / np.sqrt(2)).astype(x.dtype))
        return np.flip(factor * (x - x.mean(0)), 1), bent.astype(x.dtype)

    def network(x):
        return torch.flip(x - x.mean(0), (1,)), torch.nn.functional.gelu(x)

    report = parity.compare(
        parity.wrap(script, framework="numpy"),
        parity.wrap(network, framework="torch"),
        inputs=x,
    )
    assert "another function" not in str(report)
    assert report.verdict == ("parity" if factor == 1.0 else "diverged"), str(report)


@pytest.mark.parametrize("factor", [1.0, 1.01])
def test_a_variance_that_is_a_difference_of_squares_is_no_fault(factor: float) -> None:
    """Digits are lost in float32 where no input moves anything, as behind a clip."""
    x = np.random.default_rng(2).normal(0.75, 0.05, (6, 9, 5)).astype("f")
    ends = np.array([-1.7409073, 1.9588267], "f")

    def script(x):
        y = np.clip(3 * x, *ends)
        return factor * ((y * y).mean(1) - y.mean(1) ** 2)

    def network(x):
        return torch.var(torch.clamp(3 * x, *ends.tolist()), 1, correction=0)

    report = parity.compare(
        parity.wrap(network, framework="torch"),
        parity.wrap(script, framework="numpy"),
        inputs=x,
    )
    assert report.verdict == ("unverified" if factor == 1.0 else "diverged"), str(report)
