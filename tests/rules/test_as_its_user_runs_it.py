"""Models run as their users run them: their own train(), inputs as given, the first call."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity
from parity.numerics.difference import residual
from tests.rules.pairs import FIRST, X

tf = pytest.importorskip("tensorflow")


class Frozen(torch.nn.Module):
    """Its norm stays in eval mode, whatever is requested."""

    def __init__(self, frozen: bool) -> None:
        super().__init__()
        self.frozen, self.norm = frozen, torch.nn.BatchNorm1d(7)

    def train(self, mode: bool = True) -> Frozen:
        super().train(mode)
        if self.frozen:
            self.norm.eval()
        return self

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.norm(x) @ FIRST)


def test_a_module_keeps_its_norm_frozen_by_its_own_train() -> None:
    frozen, free = (parity.wrap(Frozen(one), mode="train") for one in (True, False))
    assert parity.compare(frozen, Frozen(True), inputs=X).verdict == "parity"
    assert parity.compare(free, Frozen(True), inputs=X).verdict == "diverged"


class Clocked(torch.nn.Module):
    """A statistic in float64 beside weights in float32."""

    def __init__(self, absorbed: float) -> None:
        super().__init__()
        self.absorbed = absorbed
        self.register_buffer("mean", torch.full((7,), 0.5, dtype=torch.float64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = (x + self.absorbed) - self.absorbed
        return torch.tanh((x - self.mean).float() @ FIRST)


def test_a_statistic_in_float64_does_not_widen_the_inputs() -> None:
    right, wrong = Clocked(0.0), Clocked(1.7e6)
    assert parity.compare(right, right, inputs=X).verdict == "parity"
    assert parity.compare(right, wrong, inputs=X).verdict != "parity"


class Started(tf.Module):
    """Keeps a flag and makes its weights when it is first called."""

    def __init__(self, first: float) -> None:
        super().__init__()
        self.started, self.first, self.kernel = False, first, None

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        if self.kernel is None:
            self.kernel = tf.Variable(FIRST.numpy())
        factor = 1.0 if self.started else self.first
        self.started = True
        return tf.tanh(factor * tf.matmul(x, self.kernel))


def test_what_a_first_call_begins_with_is_compared() -> None:
    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(2.0 * x @ FIRST)

    def verdict(first: float) -> str:
        wrapped = parity.wrap(reference, framework="torch")
        return parity.compare(wrapped, Started(first), inputs=X).verdict

    assert verdict(2.0) == "parity"
    assert verdict(1.5) == "diverged"


def test_values_whose_squares_overflow_have_a_residual() -> None:
    a = np.array([1e250, -3e250, 2e250])
    assert residual(a, a * (1 + 1e-6)) == pytest.approx(1e-6, rel=1e-3)
