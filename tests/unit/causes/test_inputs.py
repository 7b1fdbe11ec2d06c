"""What is done to the inputs first."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
import torch
from torch.nn import functional as F

import parity
from tests.unit.causes.compared_pairs import Values, cause_of, kind, tensor

values = Values()

IMAGES = np.random.default_rng(4).integers(0, 256, (3, 3, 8, 9)).astype(np.float32)
STACK = np.random.default_rng(5).integers(0, 256, (3, 4, 8, 9)).astype(np.float32)
KERNEL, OTHER = tensor(values(5, 3, 3, 3)), tensor(values(5, 4, 3, 3))


def through(prepare, kernel=KERNEL):
    return lambda x: torch.relu(F.conv2d(prepare(x), kernel))


def test_the_scale_of_both_sides():
    cause = cause_of(through(lambda x: x / 255), through(lambda x: x), IMAGES)
    assert cause.kind == "input-scale"
    assert cause.parameters["scale"] == pytest.approx((1 / 255, 1.0), rel=1e-5)


def test_a_scale_is_said_as_it_is_written():
    for scale, said in ((0.56, "multiplied by 0.56"), (1 / 255, "divided by 255"), (5.2, "by 5.2")):
        cause = cause_of(through(lambda x: x), through(lambda x, by=scale: x * by), IMAGES)
        assert cause.kind == "input-scale" and said in cause.summary, cause.summary


def test_bytes():
    cause = cause_of(
        through(lambda x: x.float() / 255), through(lambda x: x.float()), IMAGES.astype(np.uint8)
    )
    assert cause.kind == "input-scale"


def test_means_and_deviations():
    mean = torch.tensor([0.4, 0.5, 0.6])[:, None, None]

    cause = cause_of(through(lambda x: (x / 255 - mean) / 0.25), through(lambda x: x / 255), IMAGES)
    assert cause.kind == "input-normalisation"
    assert cause.parameters["mean"] == ((0.4, 0.5, 0.6), 0.0)  # both divide by 255: of x / 255
    assert cause.parameters["std"] == ((0.25, 0.25, 0.25), 1.0)


def test_blue_first():
    assert kind(through(lambda x: x), through(lambda x: x.flip(1)), IMAGES) == "input-channel-order"


def test_frames():
    for order in ([3, 2, 1, 0], [1, 2, 3, 0]):
        assert (
            kind(through(lambda x: x, OTHER), through(lambda x, o=order: x[:, o], OTHER), STACK)
            == "frame-order"
        )


def test_a_scale_in_the_middle_of_the_model_is_not_the_inputs():
    def scaled(by):
        return lambda x: torch.sin(F.conv2d(x / 255, KERNEL) * by)

    assert not kind(scaled(1.0), scaled(0.7), IMAGES).startswith("input")


def test_a_root_is_no_scale():
    found = kind(through(lambda x: x / 255), through(lambda x: (x / 255).sqrt()), IMAGES)
    assert not found.startswith("input")


def test_the_scale_of_noise_is_not_called_the_inputs():
    def reference(x):
        noise = (torch.randn_like(x) * 0.4).clamp(-1, 1)
        return (torch.tanh(x) + noise).clamp(-2, 2)

    def candidate(x):
        noise = tf.clip_by_value(tf.random.normal(tf.shape(x), stddev=0.16), -1.0, 1.0)
        return tf.clip_by_value(tf.tanh(x) + noise, -2.0, 2.0)

    report = parity.compare(
        parity.wrap(reference, framework="torch"),
        parity.wrap(candidate, framework="tensorflow"),
        inputs=np.random.default_rng(6).normal(size=(16, 3)).astype("f"),
    )
    (divergence,) = report.comparisons[0].divergences
    assert divergence.cause.kind == "input-scale"
    assert divergence.cause.summary.startswith("the noise is")


def test_a_mean_that_was_taken_off_before_is_not_reported_as_none():
    mean, deviation = tensor(values(6)), tensor(abs(values(6)) + 0.1)

    def whitened(least):
        return lambda x: torch.tanh((x - mean) / (deviation + least))

    cause = cause_of(whitened(1e-3), whitened(1e-1), values(50, 6))
    assert cause.kind == "input-normalisation"
    assert list(cause.parameters) == ["std"]
    assert "what is made of the input alone is divided by (" in cause.summary


class Standardised(torch.nn.Module):
    """A model that keeps its input's mean and deviation, or a scale and a shift, as weights."""

    def __init__(self, mean, deviation, folded=False):
        super().__init__()
        kept = (1 / deviation, -mean / deviation) if folded else (mean, deviation)
        self.kept = torch.nn.ParameterList(torch.nn.Parameter(tensor(one)) for one in kept)
        self.folded = folded

    def forward(self, x):
        first, second = self.kept
        x = x * first + second if self.folded else (x - first) / second
        return torch.tanh(x @ WIDE)


WIDE, MEAN, DEVIATION = tensor(values(4, 3)), values(4), abs(values(4)) + 0.5


def test_a_normalisation_that_is_kept_as_weights_is_one():
    ways = ((MEAN / 2, DEVIATION), (MEAN[::-1], DEVIATION[::-1]), (MEAN, DEVIATION**2))
    for folded in (False, True):
        reference = Standardised(MEAN, DEVIATION)
        for way in ways:
            candidate = Standardised(*(np.ascontiguousarray(one) for one in way), folded)
            cause = cause_of(reference, candidate, values(20, 4))
            assert cause.kind == "input-normalisation", cause.summary


def test_equal_weights_that_are_applied_in_another_order_are_no_normalisation():
    class Shifted(Standardised):
        def forward(self, x):
            shift, scale = self.kept
            return torch.tanh((x * scale + shift if self.folded else (x + shift) * scale) @ WIDE)

    first, second = Shifted(MEAN, DEVIATION), Shifted(MEAN, DEVIATION)
    second.folded = True
    assert kind(first, second, values(20, 4)) != "input-normalisation"


def test_one_number_of_a_normalisation_is_a_weights():
    other = MEAN * np.float32([1, 1, 1.5, 1])
    for folded in (False, True):
        cause = cause_of(
            Standardised(MEAN, DEVIATION), Standardised(other, DEVIATION, folded), values(20, 4)
        )
        assert cause.kind == "weight-values", cause.summary
        assert not folded or "at entry 2 of 4 " in cause.summary


def test_what_is_taken_from_one_is_not_normalised():
    done = (np.random.default_rng(6).random((5, 4)) < 0.5).astype(np.float32)
    kernel = tensor(values(4, 3))
    cause = cause_of(lambda x: (1 - x) @ kernel, lambda x: x @ kernel, done)
    assert "normalised" not in cause.summary and "deviation" not in cause.summary


def test_a_temperature_that_was_learned_since_is_a_scale():
    """The reference took it once, when it was 1."""
    temperature = torch.nn.Linear(1, 1)
    temperature.bias.data.fill_(-2.0)

    def scaled(x):
        return torch.exp(temperature.bias) * x

    for factor, other in ((1.0, "taken as it is"), (0.5, "divided by 2")):
        cause = cause_of(lambda x, by=factor: torch.tensor(by) * x, scaled, values(6))
        assert cause.kind == "input-scale" and cause.confirmed
        assert cause.summary == f"the input is divided by 7.38907; the reference's is {other}"


def test_of_one_entry_that_is_read_another_is_no_order():
    """Prices are divided by the first close of a window in the place of the last."""
    prices = np.random.default_rng(8).uniform(1, 2, (4, 6, 10, 3)).astype(np.float32)
    report = parity.compare(
        parity.wrap(lambda x: tf.tanh(x / x[:, :, -1:, :1] - 1), framework="tensorflow"),
        parity.wrap(lambda x: torch.tanh(x / x[:, :, :1, :1] - 1), framework="torch"),
        inputs=prices,
    )
    (found,) = report.divergences
    assert found.cause is not None and found.cause.kind in ("direction", "index-value")
