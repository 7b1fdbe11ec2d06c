"""A script in float32 that computes log(1 + exp(x)) loses small numbers where nothing looks."""

from __future__ import annotations

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


def test_it_is_no_alarm_beside_large_numbers_and_no_parity() -> None:
    beside = np.concatenate([np.linspace(5, 12, 6, dtype="f")[None], FAR_BELOW])
    assert verdict(beside) == "unverified"


@pytest.mark.parametrize("offset", [1e-6, 1e-4])
def test_a_fault_there_is_a_divergence(offset: float) -> None:
    beside = np.concatenate([np.linspace(5, 12, 6, dtype="f")[None], FAR_BELOW])
    assert verdict(beside, offset) == "diverged"


def test_where_all_numbers_are_small_nothing_is_excused() -> None:
    assert verdict(FAR_BELOW) == "diverged"
