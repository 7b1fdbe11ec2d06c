"""Digits that one model alone loses are no rounding of both."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

import parity
from tests.rules.pairs import compare, draw

X = draw.standard_normal((40, 7)).astype("f")


def in_one_pass(x: torch.Tensor) -> torch.Tensor:
    return (x * x).mean(1) - x.mean(1) ** 2


def in_two_passes(x: torch.Tensor) -> torch.Tensor:
    return ((x - x.mean(1, keepdim=True)) ** 2).mean(1)


def softly(x: torch.Tensor) -> torch.Tensor:
    return torch.log(1 + torch.exp(x))


def by_parts(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) + torch.log1p(torch.exp(-x.abs()))


def distances(x: torch.Tensor) -> torch.Tensor:
    return ((x[:, None] - x[None]) ** 2).sum(2)


def by_products(x: torch.Tensor) -> torch.Tensor:
    square = (x * x).sum(1)
    return square[:, None] + square[None] - 2 * x @ x.T


def to_others(x: torch.Tensor) -> torch.Tensor:
    return distances(x)[~torch.eye(len(x), dtype=torch.bool)]


def to_others_by_products(x: torch.Tensor) -> torch.Tensor:
    return by_products(x)[~torch.eye(len(x), dtype=torch.bool)]


PAIRS = [
    pytest.param(in_two_passes, in_one_pass, X, X + 100, id="variance"),
    pytest.param(by_parts, softly, X, X - 12, id="softplus"),
    pytest.param(to_others, to_others_by_products, X, X + 300, id="distances"),
]


@pytest.mark.parametrize(("stable", "unstable", "here", "far"), PAIRS)
def test_digits_that_one_model_loses_are_seen_where_it_loses_them(
    stable: Callable[..., object], unstable: Callable[..., object], here: object, far: object
) -> None:
    assert compare(stable, unstable, inputs=here).verdict == "parity"
    for pair in ((stable, unstable), (unstable, stable)):
        report = compare(*pair, inputs=far)
        assert report.verdict == "unverified"
        assert "loses fewer digits" in " ".join(report.worst.reasons)
    assert compare(unstable, unstable, inputs=far).verdict == "parity"


def test_distances_to_themselves_are_zero_in_one_of_them() -> None:
    assert compare(distances, by_products, inputs=X).verdict == "unverified"


def test_the_line_that_loses_them_is_named() -> None:
    reasons = " ".join(compare(in_two_passes, in_one_pass, inputs=X + 100).worst.reasons)
    assert "Most digits are lost by sub at" in reasons
    assert f"test_digits_lost.py:{in_one_pass.__code__.co_firstlineno + 1}" in reasons


def test_what_both_lose_is_rounding() -> None:
    def model(x: torch.Tensor, flipped: bool) -> torch.Tensor:
        for _ in range(30):  # the logistic map, in which a rounding doubles at each step
            x = 3.9 * (x - x * x) if flipped else 3.9 * x * (1 - x)
        return x

    inputs = np.random.default_rng(0).uniform(0.1, 0.9, (6, 5)).astype("f")
    report = compare(lambda x: model(x, False), lambda x: model(x, True), inputs=inputs)
    assert report.verdict == "parity"
    final = [model(torch.from_numpy(inputs), one).numpy() for one in (False, True)]
    assert np.abs(final[0] - final[1]).max() > 1e-3


NEARLY = (X * np.float32(0.3 / 0.29) * (1 + 1e-3 * draw.standard_normal(X.shape))).astype("f")


def nearly_equal(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.tanh((x * np.float32(0.3) - y * np.float32(0.29)) * np.float32(500))


@pytest.mark.parametrize(("factor", "verdict"), [(0.3, "unverified"), (0.30001, "diverged")])
def test_what_no_cause_explains_is_unverified_where_rounded_constants_do_as_much(
    factor: float, verdict: str
) -> None:
    """Constants of float32 and of float64, in a difference that magnifies what they are off by."""

    def candidate(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.tanh((x * factor - y * 0.29) * 500)

    reference = parity.wrap(nearly_equal, framework="numpy")
    both = parity.wrap(candidate, framework="torch")
    report = parity.compare(reference, both, inputs=(X, NEARLY))
    assert report.verdict == verdict, str(report)
    said = "by no more than one rounding of inputs and constants" in " ".join(str(report).split())
    assert said == (verdict == "unverified")
