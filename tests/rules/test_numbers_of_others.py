"""A cause is not confirmed where something else in the models gives the same values."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import torch
from torch import nn

import parity
from parity.findings import Cause

draw = np.random.default_rng(17)
X = draw.standard_normal((6, 8)).astype("f")
SMALL = 1e-2 * X


def causes(reference: Any, candidate: Any, x: np.ndarray) -> list[Cause]:
    """The causes of a pair that differs."""
    models = [
        one if isinstance(one, nn.Module) else parity.wrap(one, framework="torch")
        for one in (reference, candidate)
    ]
    report = parity.compare(*models, inputs=x)
    assert report.verdict == "diverged", str(report)
    return [one.cause for one in report.divergences if one.cause is not None]


def confirmed(*pair: Any) -> set[str]:
    return {one.kind for one in causes(*pair) if one.confirmed}


def layer_norm(x: torch.Tensor, epsilon: float = 1e-5) -> torch.Tensor:
    return torch.tanh(nn.functional.layer_norm(x, (8,), eps=epsilon))


def by_hand(x: torch.Tensor, epsilon: float = 1e-5) -> torch.Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return torch.tanh(centred / torch.sqrt(centred.square().mean(-1, keepdim=True) + epsilon))


SCALED: tuple[Callable[..., Any], ...] = (
    lambda x: x / math.sqrt(2),
    lambda x: x * 0.70710678,
    lambda x: x / torch.sqrt(torch.tensor(2.0)),
)


@pytest.mark.parametrize("norm", [layer_norm, by_hand])
@pytest.mark.parametrize("scaled", SCALED)
def test_an_input_over_the_root_of_two_is_no_epsilon_of_twice_the_size(
    norm: Callable[..., Any], scaled: Callable[..., Any]
) -> None:
    assert "norm-epsilon" not in confirmed(norm, lambda x: norm(scaled(x)), SMALL)
    assert confirmed(norm, lambda x: norm(x, 2e-5), SMALL) == {"norm-epsilon"}


def normal(std: Callable[..., Any], power: int = 2) -> Callable[..., Any]:
    """The log-density of fixed actions, whose deviation is computed by a function."""

    def model(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, log = x[:, :4], x[:, 4:]
        deviation = std(log)
        gap = (0.3 - mean) ** 2
        return -(gap / (2 * deviation**power) + log).sum(1), mean * deviation

    return model


@pytest.mark.parametrize(
    "std",
    [
        lambda log: torch.exp(0.5 * log),
        lambda log: torch.sqrt(torch.exp(log)),
        lambda log: torch.exp(log) ** 0.5,
        lambda log: torch.exp(2 * log),
    ],
)
def test_the_square_of_another_deviation_is_no_square_too_few(std: Callable[..., Any]) -> None:
    kinds = confirmed(normal(torch.exp), normal(std), X)
    assert not kinds & {"activation-missing", "activation-extra"}


def test_a_square_too_few_is_one() -> None:
    assert confirmed(normal(torch.exp), normal(torch.exp, 1), X) == {"activation-missing"}


def batch_norm() -> nn.Module:
    norm = nn.BatchNorm1d(8)
    with torch.no_grad():
        for one in (norm.running_mean, norm.bias):
            one.copy_(torch.from_numpy(draw.standard_normal(8)))
        for one in (norm.running_var, norm.weight):
            one.copy_(torch.from_numpy(draw.uniform(0.5, 1.5, 8)))
    return norm.eval()


@pytest.mark.parametrize("by", [1e-5, -1e-5])
def test_a_variance_that_is_an_epsilon_off_is_no_other_epsilon(by: float) -> None:
    norm = batch_norm()
    other = copy.deepcopy(norm)
    other.running_var += by

    def candidate(x: Any) -> Any:  # the variance and its epsilon are one value here
        variance = tf.Variable(other.running_var.numpy())
        scale = other.weight.detach().numpy() * tf.math.rsqrt(variance + 1e-5)
        return x * scale + (other.bias.detach().numpy() - other.running_mean.numpy() * scale)

    assert "norm-epsilon" not in confirmed(norm, other, X)
    in_tensorflow = parity.wrap(candidate, framework="tensorflow")
    found = parity.compare(norm, in_tensorflow, inputs=X).divergences
    assert not [one for one in found if one.cause and one.cause.kind == "norm-epsilon"]


def test_statistics_and_a_scale_that_are_others_are_no_epsilon_of_the_reference() -> None:
    norm = batch_norm()
    other = copy.deepcopy(norm)
    with torch.no_grad():
        other.running_var *= 2
        other.weight *= math.sqrt(2)

    assert "norm-epsilon" not in confirmed(norm, other, X)


@pytest.mark.parametrize("epsilons", [(1e-8, 1e-2), (1e-7, 1e-3)])
def test_a_larger_epsilon_is_no_addition_that_the_reference_has_not(
    epsilons: tuple[float, float],
) -> None:
    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x / (x.square().sum(1, keepdim=True) + epsilons[0]))

    def candidate(x: Any) -> Any:
        return tf.tanh(x / (tf.reduce_sum(tf.square(x), 1, keepdims=True) + epsilons[1]))

    report = parity.compare(
        parity.wrap(reference, framework="torch"),
        parity.wrap(candidate, framework="tensorflow"),
        inputs=X,
    )
    assert report.verdict == "diverged"
    assert not [one for one in report.divergences if one.cause and one.cause.confirmed]


def test_a_dropout_too_many_is_not_said_to_be_the_only_one() -> None:
    class Net(nn.Module):
        def __init__(self, twice: bool) -> None:
            super().__init__()
            self.first, self.second = nn.Dropout(0.25), nn.Dropout(0.25)
            self.twice = twice

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = torch.tanh(self.first(x))
            return self.second(x).exp() if self.twice else x.exp()

    models = [parity.wrap(Net(twice), mode="train") for twice in (False, True)]
    report = parity.compare(*models, inputs=np.tile(X, (8, 1)))
    assert report.verdict == "diverged", str(report)
    found = [one.cause for one in report.divergences if one.cause is not None]
    assert all("in the reference it is not" not in one.summary for one in found)
    assert any("the reference has none here" in one.summary for one in found)


@pytest.mark.parametrize(
    ("reference", "candidate", "is_rounded"),
    [(0.7, 0.70710678, False), (0.01, 1 / 99, False), (3.14159265, 3.14, True)],
)
def test_a_number_of_one_digit_is_none_that_was_rounded(
    reference: float, candidate: float, is_rounded: bool
) -> None:
    kinds = confirmed(lambda x: torch.tanh(x + reference), lambda x: torch.tanh(x + candidate), X)
    assert ("constant-precision" in kinds) == is_rounded
