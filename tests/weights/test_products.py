"""Steps that are paired by those that multiply by weights, where the others are spelt otherwise."""

from __future__ import annotations

from dataclasses import replace

import keras
import numpy as np
import pytest
import torch

import parity
from parity.weights import pairing, trial_runs
from parity.weights import transfer as transfer_module

LENGTH, CONDITION = 6, 5
WIDTHS = 4, 8, 4


def _block(before, width):
    convolution = torch.nn.Conv1d(before, width, 3, padding=1)
    return torch.nn.Sequential(convolution, torch.nn.GroupNorm(2, width), torch.nn.Mish())


class Residual(torch.nn.Module):
    """Two blocks, scaled and shifted between them by a condition, beside a kernel of one pixel."""

    def __init__(self, before, width):
        super().__init__()
        self.first, self.second = _block(before, width), _block(width, width)
        self.film = torch.nn.Sequential(torch.nn.Mish(), torch.nn.Linear(CONDITION, 2 * width))
        self.skip = torch.nn.Conv1d(before, width, 1)

    def forward(self, x, condition):
        scale, shift = self.film(condition).unsqueeze(-1).chunk(2, dim=1)
        return self.second(scale * self.first(x) + shift) + self.skip(x)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.time = torch.nn.Linear(CONDITION, CONDITION)
        sizes = zip((3, *WIDTHS), WIDTHS, strict=False)
        self.residuals = torch.nn.ModuleList(Residual(*size) for size in sizes)

    def forward(self, x, condition):
        h, condition = x.transpose(1, 2), self.time(condition)
        for residual in self.residuals:
            h = residual(h, condition)
        return h.transpose(1, 2)


def _mish(x):
    return x * keras.ops.tanh(keras.ops.softplus(x))


def _ported():
    x, condition = keras.Input((LENGTH, 3)), keras.Input((CONDITION,))

    def block(h, width):
        h = keras.layers.Conv1D(width, 3, padding="same")(h)
        return _mish(keras.layers.GroupNormalization(2, epsilon=1e-5)(h))

    h, hidden = x, keras.layers.Dense(CONDITION)(condition)
    for width in WIDTHS:
        film = keras.layers.Dense(2 * width)(_mish(hidden))[:, None]
        inner = film[..., :width] * block(h, width) + film[..., width:]
        h = block(inner, width) + keras.layers.Conv1D(width, 1)(h)
    return keras.Model([x, condition], h)


@pytest.fixture(autouse=True)
def by_steps_alone(monkeypatch):
    monkeypatch.setattr(transfer_module, "with_effects", lambda source, target, ways: ways)
    monkeypatch.setattr(transfer_module, "with_the_last", lambda source, target, ways: ways)


@pytest.fixture
def inputs():
    random = np.random.default_rng(2)
    shapes = (3, LENGTH, 3), (3, CONDITION)
    return tuple(random.normal(size=shape).astype("f") for shape in shapes)


def _models():
    torch.manual_seed(0)
    source, target = Net(), _ported()
    for one in source.parameters():
        torch.nn.init.normal_(one, 0.2, 0.5)
    return source, target


def test_an_activation_that_one_model_writes_out(inputs):
    source, target = _models()
    assert parity.transfer(source, target, inputs=inputs).verdict == "parity"
    kernels = [one.numpy() for one in target.weights if one.path.endswith("kernel")]
    for residual in source.residuals:
        own = residual.second[0].weight.detach().numpy().transpose(2, 1, 0)
        assert any(np.array_equal(own, one) for one in kernels)


def test_all_steps_together_do_not_pair_it(inputs, monkeypatch):
    monkeypatch.setattr(pairing, "align_by_products", pairing.align)
    assert parity.transfer(*_models(), inputs=inputs).verdict == "diverged"


class _Open:
    """Comparisons that find agreement, and cannot say what it proves."""

    def __init__(self, monkeypatch):
        self.count = 0
        compared = trial_runs.Trial._compared

        def unverified(trial, way, seconds=None):
            self.count += 1
            found = compared(trial, way, seconds)
            comparisons = [replace(one, verdict="unverified") for one in found.comparisons]
            return replace(found, comparisons=tuple(comparisons))

        monkeypatch.setattr(trial_runs.Trial, "_compared", unverified)


def test_outputs_that_are_the_same_end_the_search(inputs, monkeypatch):
    found = _Open(monkeypatch)
    source, target = _models()
    result = parity.transfer(source, target, inputs=inputs)
    assert result.verdict == "unverified" and result.written
    # once with little time, as of a way after the first, and once with all that it takes
    assert found.count == 2 and not result.pairing.left[1]
    assert np.allclose(source(*map(torch.tensor, inputs)).detach(), target(inputs), atol=1e-4)
