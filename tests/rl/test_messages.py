"""Wrong shapes and values: what was given, and what is expected."""

from __future__ import annotations

from typing import Any

import pytest
from numpy import inf, ones, zeros

import parity

HEADS = [
    (
        lambda rl: rl.dueling_q(zeros((5, 2)), zeros((5, 4))),
        r"\(5, 2\); expected \(5,\) or \(5, 1\)",
    ),
    (lambda rl: rl.dueling_q(zeros(5), zeros((5, 4)), axis=2), "actions on axis 2"),
    (lambda rl: rl.dueling_q(zeros(5), zeros((5, 4)), "median"), "'mean', 'max' or 'none'"),
    (lambda rl: rl.dueling_q(["a"], zeros((5, 4))), "real numbers"),
    (
        lambda rl: rl.noisy_linear(*map(zeros, [(5, 3), (2, 4), 2, (2, 4), 2, (2, 4), 2])),
        r"\(5, 4\)",
    ),
    (
        lambda rl: rl.noisy_linear(*map(zeros, [(5, 4), (2, 4), 2, (4, 2), 2, (2, 4), 2])),
        "sigma_weight",
    ),
    (
        lambda rl: rl.noisy_linear(*map(zeros, [(5, 4), (2, 4), 2, (2, 4), 2, (2, 4), 4])),
        "noise_bias",
    ),
    (lambda rl: rl.factorised_noise(zeros((2, 2)), zeros(2)), r"\(inputs,\)"),
    (lambda rl: rl.c51_support(1.0, 1.0, 5), "v_min < v_max"),
    (lambda rl: rl.c51_q(zeros((5, 4, 51)), zeros(50)), r"expected \(51,\)"),
    (
        lambda rl: rl.c51_projection(zeros((5, 3)), zeros((5, 1)), zeros(5), [0, 1, 2]),
        r"expected \(5,\)",
    ),
    (lambda rl: rl.c51_projection(zeros((5, 3)), zeros(5), zeros(5), [2, 1, 0]), "rising"),
    (lambda rl: rl.c51_projection(zeros((5, 3)), zeros(5), zeros(5), [0, 1, 3]), "evenly spaced"),
    (lambda rl: rl.c51_loss(zeros((5, 3)), zeros((5, 4))), "target has shape"),
    (lambda rl: rl.quantile_midpoints(0), "one quantile or more"),
    (lambda rl: rl.quantile_huber_loss(zeros((5, 3)), zeros((4, 3))), r"expected \(5, 3\)"),
    (lambda rl: rl.quantile_huber_loss(zeros((5, 3)), zeros((5, 3)), -1.0), "kappa is -1.0"),
    (lambda rl: rl.iqn_loss(zeros((5, 3)), zeros((5, 3)), zeros((5, 2))), "one for each quantile"),
    (lambda rl: rl.iqn_embedding(zeros(3), zeros((4, 8)), zeros(8)), r"expected \(4,\)"),
]
TARGETS = [
    (lambda rl: rl.q_target(zeros((5, 1)), zeros(5), zeros((5, 4))), r"expected \(5,\)"),
    (lambda rl: rl.double_q_target(zeros(5), zeros(5), zeros((5, 4)), zeros((5, 3))), "next_q_t"),
    (lambda rl: rl.n_step_returns(zeros((5, 2)), zeros(5), zeros((5, 2)), 3), "discounts has"),
    (lambda rl: rl.n_step_returns(zeros(5), zeros(5), zeros(5), 0), "n is 0"),
    (lambda rl: rl.lambda_returns(zeros(5), zeros(5), zeros(6), 0.9), "next_values has shape"),
    (lambda rl: rl.lambda_returns(zeros(5), zeros(5), zeros(5), 1.5), "lambda_ is 1.5"),
    (lambda rl: rl.gae(zeros(5), zeros(5), zeros(5), 0.9), r"expected \(6,\).*time \+ 1"),
    (lambda rl: rl.vtrace(zeros(4), zeros(5), zeros(5), zeros(6)), "log_ratios has shape"),
]
DISTRIBUTIONS = [
    (
        lambda rl: rl.Categorical(zeros((5, 4))).log_prob(zeros((5, 1))),
        r"\(5, 1\); expected \(5,\)",
    ),
    (lambda rl: rl.Categorical(zeros((5, 4))).log_prob(ones(5) * 4), "from 0 to 3"),
    (lambda rl: rl.Categorical(zeros((5, 4))).log_prob(ones(5) / 2), "whole numbers"),
    (lambda rl: rl.Categorical(zeros((5, 4)) - inf), "forbid every choice"),
    (lambda rl: rl.Categorical(zeros((5, 4))).sample(ones(5)), r"uniform in \[0, 1\)"),
    (
        lambda rl: rl.Categorical(zeros((5, 4))).kl(rl.Categorical(zeros((5, 3)))),
        "4 choices from 3",
    ),
    (
        lambda rl: rl.Categorical(zeros((5, 4))).kl(rl.Bernoulli(zeros((5, 4)))),
        "another Categorical",
    ),
    (lambda rl: rl.MultiCategorical(zeros((5, 4)), (2, 3)), "add up to 4"),
    (lambda rl: rl.Bernoulli(zeros((5, 4))).kl(rl.Bernoulli(zeros((5, 3)))), r"event \(4,\)"),
    (lambda rl: rl.DiagonalGaussian(zeros((5, 4)), ones(4)), "std has shape"),
    (lambda rl: rl.DiagonalGaussian(zeros((5, 4)), zeros((5, 4))), "std must be positive"),
    (
        lambda rl: rl.DiagonalGaussian(zeros((5, 4)), ones((5, 4))).log_prob(zeros(5)),
        r"batch \(5,\) and event \(4,\)",
    ),
    (
        lambda rl: rl.SquashedGaussian(zeros((5, 4)), ones((5, 4)), 1.0, -1.0),
        "low must be below high",
    ),
    (
        lambda rl: rl.SquashedGaussian(zeros((5, 4)), ones((5, 4)), zeros(3)),
        r"low has shape \(3,\)",
    ),
    (
        lambda rl: rl.SquashedGaussian(zeros((5, 1)), ones((5, 1))).kl(
            rl.SquashedGaussian(zeros((5, 1)), ones((5, 1)), -2.0)
        ),
        "same bounds",
    ),
    (lambda rl: rl.Beta(zeros((5, 4)), ones((5, 4))), "alpha must be positive"),
    (
        lambda rl: rl.GaussianMixture(zeros((5, 2)), zeros((5, 3, 4)), ones((5, 3, 4))),
        "logits has shape",
    ),
    (
        lambda rl: rl.Autoregressive(
            rl.Categorical(zeros((5, 4))), lambda a: rl.Categorical(zeros((4, 2)))
        ).mode(),
        r"batch \(4,\)",
    ),
]


@pytest.mark.parametrize(("call", "message"), [*HEADS, *TARGETS, *DISTRIBUTIONS])
def test_wrong_shapes_and_values_say_what_is_expected(call: Any, message: str) -> None:
    with pytest.raises(parity.ParityError, match=message):
        call(parity.rl)


OPEN = [
    (lambda rl: rl.SquashedGaussian(zeros((2, 1)), ones((2, 1))).entropy(), "base.entropy"),
    (
        lambda rl: rl.GaussianMixture(zeros((2, 3)), zeros((2, 3, 1)), ones((2, 3, 1))).entropy(),
        "samples",
    ),
    (
        lambda rl: rl.GaussianMixture(zeros((2, 3)), zeros((2, 3, 1)), ones((2, 3, 1))).kl(None),
        "samples",
    ),
    (
        lambda rl: rl.GaussianMixture(zeros((2, 3)), zeros((2, 3, 1)), ones((2, 3, 1))).mode(),
        "mean",
    ),
    (
        lambda rl: rl.Autoregressive(
            rl.Bernoulli(zeros((2, 3))), lambda a: rl.Categorical(zeros((2, 3)))
        ).entropy(),
        "samples",
    ),
]


@pytest.mark.parametrize(("call", "message"), OPEN)
def test_what_has_no_closed_form_says_what_can_be_had(call: Any, message: str) -> None:
    with pytest.raises(parity.rl.NoClosedForm, match=message):
        call(parity.rl)
