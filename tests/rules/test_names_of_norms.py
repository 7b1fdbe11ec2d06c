"""A norm is named where the tape has one: standard normal values look like what one gives."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity
from tests.rules.pairs import SQUARE, compare, kinds, summaries, weights

X = np.random.default_rng(3).standard_normal((64, 6)).astype("f")
W, TURNED = 0.4 * weights(6), torch.linalg.qr(SQUARE)[0]


def rms(x: torch.Tensor) -> torch.Tensor:
    return x / torch.sqrt(x.square().mean(-1, keepdim=True) + 1e-6)


@pytest.mark.parametrize(
    "factor",
    [torch.exp, lambda w: 1 + w, lambda w: torch.exp(w[0]), lambda w: w],
    ids=["exp", "one and more", "temperature", "gain"],
)
def test_a_missing_factor_is_no_part_of_a_norm_where_nothing_is_normalised(factor) -> None:
    report = compare(
        lambda x: torch.tanh((x @ TURNED) * factor(W)), lambda x: torch.tanh(x @ TURNED), inputs=X
    )
    assert kinds(report) == ["op-missing"]


@pytest.mark.parametrize(
    ("reference", "candidate", "missing"),
    [
        (lambda x: rms(x) * W @ SQUARE, lambda x: rms(x) @ SQUARE, "scale"),
        (lambda x: rms(x) * (1 + W) @ SQUARE, lambda x: rms(x) @ SQUARE, "scale"),
        (lambda x: (rms(x) + W) @ SQUARE, lambda x: rms(x) @ SQUARE, "offset"),
        (
            lambda x: torch.layer_norm(x, (6,)) * W @ SQUARE,
            lambda x: torch.layer_norm(x, (6,)) @ SQUARE,
            "scale",
        ),
    ],
    ids=["gain", "one and more", "offset", "layer norm"],
)
def test_a_norm_without_scale_or_offset_is_named(reference, candidate, missing) -> None:
    report = compare(reference, candidate, inputs=X)
    assert kinds(report) == ["norm-affine-missing"]
    assert missing in summaries(report)


def test_a_scale_by_1_and_more_is_a_norms_only_behind_one() -> None:
    report = compare(lambda x: torch.tanh(x * W), lambda x: torch.tanh(x * (1 + W)), inputs=X)
    assert "normalised" not in summaries(report)
    report = compare(lambda x: rms(x) * W, lambda x: rms(x) * (1 + W), inputs=X)
    assert kinds(report) == ["rmsnorm-offset"]


def squares(x: torch.Tensor) -> torch.Tensor:
    return x.square().sum(-1, keepdim=True)


def spread(x: torch.Tensor) -> torch.Tensor:
    return x.var(-1, keepdim=True, correction=0)


def centred(x: torch.Tensor) -> torch.Tensor:
    return x - x.mean(-1, keepdim=True)


@pytest.mark.parametrize(
    ("reference", "candidate", "words"),
    [
        (
            lambda x: x / torch.sqrt(squares(x) + 1e-2),
            lambda x: x / (torch.sqrt(squares(x)) + 1e-2),
            ("added to the norm", "added to the sum of squares"),
        ),
        (
            lambda x: centred(x) / torch.sqrt(spread(x) + 1e-2),
            lambda x: centred(x) / (torch.sqrt(spread(x)) + 1e-2),
            ("added to the standard deviation", "added to the variance"),
        ),
        (
            lambda x: x / torch.sqrt(x.square().mean(-1, keepdim=True) + 1e-2),
            lambda x: x / (torch.sqrt(x.square().mean(-1, keepdim=True)) + 1e-2),
            ("added to the root of the mean square", "added to the mean square"),
        ),
    ],
    ids=["length", "deviation", "mean square"],
)
def test_what_an_epsilon_is_added_to_is_what_is_there(reference, candidate, words) -> None:
    report = compare(reference, candidate, inputs=X)
    assert kinds(report) == ["norm-epsilon-placement"]
    assert all(one in summaries(report) for one in words)


MEAN, VARIANCE = weights(6), weights(6).square() + 0.1


def test_stored_statistics_are_a_batch_norm_only_where_one_is_called() -> None:
    def by_hand(epsilon: float):
        return lambda x: torch.tanh((x - MEAN) / torch.sqrt(VARIANCE + epsilon))

    def called(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(torch.nn.functional.batch_norm(x, MEAN, VARIANCE, eps=1e-3))

    report = compare(by_hand(1e-3), by_hand(1e-2), inputs=X)
    assert kinds(report) == ["norm-epsilon"] and "batch" not in summaries(report)
    report = compare(called, by_hand(1e-2), inputs=X)
    assert kinds(report) == ["norm-epsilon"] and "batch normalisation" in summaries(report)


def test_a_norm_over_all_channels_is_no_local_response() -> None:
    """A window that takes in all of them at every place has no neighbours."""

    def summed(x: torch.Tensor) -> torch.Tensor:
        return x / torch.sqrt(x.square().sum(-1, keepdim=True) + 1e-6)

    steps = X.reshape(16, 4, 6)
    report = compare(lambda x: rms(x) * W, lambda x: summed(x) * W, inputs=steps)
    assert kinds(report) == ["reduction-kind"]


def called(mean: torch.Tensor, variance: torch.Tensor, gained: float = 1.0):
    made = torch.nn.BatchNorm1d(6).eval()
    made.running_mean.data, made.running_var.data = mean, variance

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = made

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(self.norm(x if gained == 1 else gained * x))

    return Model()


def test_another_variance_is_no_other_epsilon() -> None:
    report = compare(called(MEAN, VARIANCE), called(MEAN, VARIANCE + 1e-2), inputs=X)
    assert kinds(report) == ["weight-values"] and "running_var" in summaries(report)
    doubled = called(2**0.5 * MEAN, 2 * VARIANCE, 2**0.5)
    report = compare(called(MEAN, VARIANCE), doubled, inputs=X)
    assert report.verdict == "diverged" and "norm-epsilon" not in kinds(report)


def test_what_a_norm_makes_of_its_weights_is_not_read_in_place_of_one() -> None:
    """Keras computes one offset from mean, scale and offset, in the right port as in this one."""
    keras = pytest.importorskip("keras")
    uniform = np.random.default_rng(6).uniform
    first = called(0.2 * MEAN, torch.from_numpy(uniform(0.05, 0.5, 6).astype("f")))
    first.norm.weight.data = torch.from_numpy(uniform(0.6, 1.4, 6).astype("f"))
    first.norm.bias.data = 0.5 * W
    kept = ("weight", "bias", "running_mean", "running_var")
    norm = keras.layers.BatchNormalization(epsilon=1e-5)
    norm.build((None, 6))
    norm.set_weights([getattr(first.norm, one).detach().numpy() for one in kept])

    def centred_before(x):
        hidden = keras.ops.tanh(x @ SQUARE.numpy())
        return keras.ops.tanh(norm(hidden - norm.moving_mean))

    class Reference(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = first

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.first(torch.tanh(x @ SQUARE))

    candidate = parity.wrap(centred_before, framework="tensorflow")
    assert kinds(parity.compare(Reference(), candidate, inputs=X)) == ["op-extra"]


def test_a_gain_that_holds_1_and_more_is_a_weight_of_other_values() -> None:
    def model(gain: torch.Tensor, more: float):
        class Model(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.gain = torch.nn.Parameter(gain)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return torch.tanh(rms(x) * (self.gain + more if more else self.gain))

        return Model()

    report = compare(model(W, 0), model(1 + W, 0), inputs=X)
    assert kinds(report) == ["weight-values"] and "other numbers in gain" in summaries(report)
    report = compare(model(W, 0), model(W, 1), inputs=X)
    assert kinds(report) == ["rmsnorm-offset"]


def test_axes_of_two_layouts_are_stated_in_one() -> None:
    steps = np.random.default_rng(5).standard_normal((8, 6, 10)).astype("f")
    norm = torch.nn.functional.layer_norm

    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(torch.nn.functional.batch_norm(x, None, None, training=True))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(norm(x.transpose(1, 2), (6,))).transpose(1, 2)

    report = compare(reference, candidate, inputs=steps)
    assert kinds(report) == ["norm-axis"]
    assert "axis -1, the reference (0, -1), which is (0, 1) here" in summaries(report)


@pytest.mark.parametrize(
    ("reference", "candidate", "words"),
    [
        (1e-12, 0.1, "epsilon 0.1 as the least divisor, the reference none that shows"),
        (0.3, 1e-12, "epsilon none that shows, the reference 0.3 as the least divisor"),
    ],
)
def test_an_epsilon_that_does_not_show_has_no_place(reference, candidate, words) -> None:
    def unit(epsilon: float):
        return lambda x: torch.nn.functional.normalize(0.05 * x, eps=epsilon) @ SQUARE

    report = compare(unit(reference), unit(candidate), inputs=X)
    assert kinds(report) == ["norm-epsilon"] and words in summaries(report)
