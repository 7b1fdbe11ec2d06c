"""What a fault leaves as it was is not named: weights beside a state, a mask behind a curve."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import torch
from torch.nn import functional as F

import parity
from tests.rules.pairs import FIRST, SQUARE, compare, draw, kinds, summaries, weights

X = draw.standard_normal((5, 3, 7)).astype("f")
IMAGES = draw.standard_normal((3, 4, 8, 9)).astype("f")
PAIRS = draw.standard_normal((4, 7, 7, 3)).astype("f")
B, C, D, KERNEL, GATES, STATES = (
    *(weights(6) for _ in range(2)),
    *(weights(24), weights(5, 4, 3, 3), weights(7, 24), weights(6, 24)),
)


def states(x: torch.Tensor, start: float = 0.0, last: torch.Tensor | None = B) -> torch.Tensor:
    h = torch.full((len(x), 6), start)
    for t in range(3):
        h = x[:, t] @ FIRST + h @ SQUARE + C
        h = torch.tanh(h if last is None and t == 2 else h + B)
    return h


def test_a_bias_that_one_step_lacks_is_missing_there() -> None:
    report = compare(states, lambda x: states(x, last=None), inputs=X)
    assert kinds(report) == ["bias-missing"]
    assert "added twice" not in summaries(report)


def lstm(x: torch.Tensor, start: float, joined: bool) -> torch.Tensor:
    h, c = torch.full((len(x), 6), start), torch.zeros(len(x), 6)
    for t in range(3):
        if joined:
            gates = x[:, t] @ GATES + h @ STATES + 2 * D
        else:
            gates = torch.addmm(D, x[:, t], GATES) + torch.addmm(D, h, STATES)
        i, f, g, o = gates.chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    return h


@pytest.mark.parametrize("model", [lambda x, start: states(x, start), lstm], ids=["plain", "lstm"])
def test_another_first_state_is_no_other_weight_and_no_addition(model: Any) -> None:
    first, other = (
        (model, model)
        if model is not lstm
        else (
            lambda x, start: lstm(x, start, False),
            lambda x, start: lstm(x, start, True),
        )
    )
    report = compare(lambda x: first(x, 0.0), lambda x: other(x, 1.0), inputs=X)
    assert report.verdict == "diverged"
    assert not {"op-extra", "weight-values"} & set(kinds(report))
    assert "other numbers" not in summaries(report)


def test_a_curve_before_a_mask_is_not_the_mask() -> None:
    free = torch.tensor([0.0, 1, 0, 1, 1, 0])

    def coupling(x: torch.Tensor, curve: Any) -> tuple[torch.Tensor, ...]:
        s = curve(x @ FIRST) * free
        return s.sum(1), x[:, :6] * torch.exp(s)

    report = compare(lambda x: coupling(x, torch.tanh), lambda x: coupling(x, lambda s: s))
    assert report.verdict == "diverged" and "sequence-mask" not in kinds(report)


def test_a_softmax_over_another_axis_is_no_order_of_axes() -> None:
    models = (
        parity.wrap(lambda x: torch.softmax(F.leaky_relu(x), 2) * 2, framework="torch"),
        parity.wrap(
            lambda x: tf.nn.softmax(tf.nn.leaky_relu(x, 0.01), 1) * 2, framework="tensorflow"
        ),
    )
    report = parity.compare(*models, inputs=PAIRS)
    assert report.verdict == "diverged" and "head-split-order" not in kinds(report)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("change", ["rolled", "reversed"])
def test_an_axis_is_the_parameters_own(axis: int, change: str) -> None:
    weight = torch.nn.Parameter(SQUARE)

    def wrong(x: torch.Tensor) -> torch.Tensor:
        other = weight.roll(2, axis) if change == "rolled" else weight.flip(axis)
        return torch.tanh(x @ FIRST) @ other.T

    report = compare(lambda x: torch.tanh(x @ FIRST) @ weight.T, wrong)
    assert kinds(report) == ["channel-order"]
    assert f"axis {axis} is" in summaries(report)


@pytest.mark.parametrize("kernel", [KERNEL.roll(1, 1), KERNEL.flip(1)], ids=["rolled", "reversed"])
def test_the_channels_of_a_kernel_are_not_the_inputs(kernel: torch.Tensor) -> None:
    kernel = kernel.contiguous()
    report = compare(lambda x: F.conv2d(x, KERNEL), lambda x: F.conv2d(x, kernel), inputs=IMAGES)
    assert kinds(report) == ["channel-order"]
    assert "of the input" not in summaries(report) and "backwards" not in summaries(report)


def test_what_stands_for_a_curve_and_changes_nothing_is_named() -> None:
    def gated(x: torch.Tensor, curve: Any) -> torch.Tensor:
        return curve(torch.sigmoid(x @ FIRST)) @ SQUARE

    report = compare(lambda x: gated(x, F.silu), lambda x: gated(x, F.relu))
    assert kinds(report) == ["activation-missing"]
    assert "relu there changes nothing on these inputs" in summaries(report)


def test_a_curve_of_positive_values_is_not_what_the_network_gives() -> None:
    def head(x: torch.Tensor, curve: Any) -> tuple[torch.Tensor, ...]:
        variance = torch.sigmoid(x @ FIRST) + 0.1
        return (x @ SQUARE.new_ones(7, 6)) / torch.sqrt(variance), curve(variance)

    report = compare(lambda x: head(x, F.elu), lambda x: head(x, F.softplus))
    assert report.verdict == "diverged" and "the reference's is x" not in summaries(report)


def test_an_epsilon_that_shows_in_one_model_is_not_nought_in_both() -> None:
    def unit(x: torch.Tensor, axis: int, least: float) -> torch.Tensor:
        square = x.square().sum(axis, keepdim=True)
        return x * torch.rsqrt(torch.clamp(square, min=least))

    inputs = np.random.default_rng(5).standard_normal((4, 6, 6)).astype("f")
    report = compare(lambda x: F.normalize(x, dim=-1), lambda x: unit(x, 1, 1e-12), inputs=inputs)
    assert kinds(report) == ["norm-axis"] and "epsilon 0" not in summaries(report)


def test_what_a_repair_puts_before_several_readers_is_not_their_source() -> None:
    def heads(x: torch.Tensor, squashed: bool) -> tuple[torch.Tensor, ...]:
        mean = torch.tanh(x @ FIRST) @ SQUARE
        return torch.tanh(mean) if squashed else mean, (mean**2).sum(1) - mean[:, 0]

    report = compare(lambda x: heads(x, True), lambda x: heads(x, False))
    assert report.verdict == "diverged" and "wrong-source" not in kinds(report)


def test_what_a_fused_norm_gives_besides_is_not_read() -> None:
    gain, images = weights(6), draw.standard_normal((4, 5, 7)).astype("f")

    def pooled(x: torch.Tensor, right: bool) -> tuple[torch.Tensor, ...]:
        h = torch.tanh(x @ FIRST)
        return F.layer_norm(h, (6,), gain, gain), torch.tanh(h.amax(-1) if right else h.mean(-1))

    report = compare(lambda x: pooled(x, True), lambda x: pooled(x, False), inputs=images)
    assert report.verdict == "diverged" and "layer_norm" not in summaries(report)


def test_a_mean_over_other_axes_is_not_a_missing_one() -> None:
    def reference(x: torch.Tensor) -> torch.Tensor:
        g = torch.exp(x @ FIRST)
        return (g - g.mean(1, keepdim=True)) / (g.std(1, keepdim=True) + 1e-3)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        g = torch.exp(x @ FIRST)
        mean = g.mean((0, 1), keepdim=True)
        variance = torch.square(g - mean).sum(1, keepdim=True) / 5
        return (g - mean) / (torch.sqrt(variance) + 1e-3)

    report = compare(reference, candidate)
    assert report.verdict == "diverged" and "op-missing" not in kinds(report)
