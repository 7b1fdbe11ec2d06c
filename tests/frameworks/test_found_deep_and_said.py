"""Layers that lie deep, first calls, and what cannot be put back after a run, which is said."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import parity
from parity.frameworks.chainer_numpy import import_chainer
from tests.frameworks.holding import Holding

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")
chainer = import_chainer()
L = chainer.links
X = np.random.default_rng(0).standard_normal((4, 3)).astype("f")
FRAMEWORKS = ("torch", "tensorflow", "chainer", "numpy")


class Deep:
    """A plain object whose layer lies some attributes deep."""

    def __init__(self, layer: Any, depth: int) -> None:
        held = SimpleNamespace(layer=layer)
        for _ in range(depth):
            held = SimpleNamespace(held=held)
        self.held = held

    def __call__(self, x: Any) -> Any:
        held = self.held
        while not hasattr(held, "layer"):
            held = held.held
        return held.layer(x)


@pytest.mark.parametrize("depth", range(5))
def test_the_mode_of_layers_that_lie_deep(depth: int) -> None:
    layer, alone = torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3).eval()
    deep = parity.wrap(Deep(layer, depth), framework="torch")
    assert parity.compare(alone, deep, inputs=X).verdict == "parity"
    assert layer.training and int(layer.num_batches_tracked) == 0
    link = L.BatchNormalization(3)
    deep = parity.wrap(Deep(link, depth), framework="chainer")
    assert parity.compare(link, deep, inputs=X).verdict == "parity"
    variable = tf.Variable(np.ones(3, "f"))
    adds = parity.wrap(Deep(variable.assign_add, depth), framework="tensorflow")
    assert parity.compare(adds, adds, inputs=X[0]).verdict == "parity"
    assert variable.numpy().tolist() == [1, 1, 1]


def test_what_cannot_be_put_back_is_said() -> None:
    class Counting:
        def __init__(self) -> None:
            self.calls, self.spawns = itertools.count(), np.random.default_rng(1)
            self.going_on = (number for number in range(100))
            self.other = 0

        def __call__(self, x: Any) -> Any:
            next(self.calls), next(self.going_on), self.spawns.spawn(1)
            self.other += 1
            return x * 2

    model = parity.wrap(Counting(), framework="numpy")
    doubled = parity.wrap(lambda x: x * 2, framework="torch", name="doubled")
    report = parity.compare(doubled, model, inputs=X)
    assert report.verdict == "parity"
    (said,) = [one for one in report.comparisons[0].caveats if "put back" in one]
    assert all(name in said for name in ("Counting", "calls", "going_on", "spawns"))
    assert "other" not in said
    assert "put back" not in str(parity.compare(doubled, doubled, inputs=X).comparisons[0].caveats)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_fault_in_what_is_computed_from_a_state_is_found(framework: str) -> None:
    """A run starts where the one before started, so that what is kept shows in the outputs."""

    def scaled(by: float) -> Any:
        holding = Holding()

        def model(x: Any) -> Any:
            holding.calls += 1
            return x * (holding.calls * by)

        return parity.wrap(model, framework=framework)

    assert parity.compare(scaled(2.0), scaled(2.0), inputs=X).verdict == "parity"
    assert parity.compare(scaled(2.0), scaled(3.0), inputs=X).verdict == "diverged"


def test_weights_that_a_first_call_makes_stay() -> None:
    class Late(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dense: Any = None
            self.calls = 0

        def forward(self, x: Any) -> Any:
            if self.dense is None:
                self.dense = torch.nn.Linear(x.shape[1], 3)
            self.calls += 1
            return self.dense(x)

    model = Late()
    parity.compare(model, model, inputs=X)
    assert model.dense is not None
    calls = model.calls
    assert parity.compare(model, model, inputs=X).verdict == "parity"
    assert model.calls == calls
    late = keras.Sequential([keras.layers.Dense(3), keras.layers.BatchNormalization()])
    assert parity.compare(late, late, inputs=X).verdict == "parity"
    assert late.built and len(late.weights) == 6
