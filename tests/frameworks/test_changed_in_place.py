"""What a framework changes in place after it was read: a replay reads what was there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import parity
from parity.frameworks import load
from parity.frameworks.chainer_numpy import import_chainer

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")
chainer = import_chainer()
F, L = chainer.functions, chainer.links
X = np.random.default_rng(0).normal(1, 3, size=(8, 5)).astype("f")


class ChainerNorm(chainer.Chain):
    """Inference, training, inference again: the statistics move in between."""

    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.norm = L.BatchNormalization(5, decay=0.7)

    def forward(self, x: Any) -> Any:
        found = []
        for train in (False, True, False, True, False):
            with chainer.using_config("train", train):
                found.append(self.norm(x))
        return {"all": F.concat(found, 1), "mean": chainer.as_variable(self.norm.avg_mean)}


class TorchNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(5, eps=2e-5, momentum=0.3)

    def forward(self, x: Any) -> Any:
        found = [self.norm.train(train)(x) for train in (False, True, False, True, False)]
        return {"all": torch.cat(found, 1), "mean": self.norm.running_mean.clone()}


class KerasNorm(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.norm = keras.layers.BatchNormalization(epsilon=2e-5, momentum=0.7)

    def call(self, x: Any) -> Any:
        found = [self.norm(x, training=train) for train in (False, True, False, True, False)]
        mean = keras.ops.convert_to_tensor(self.norm.moving_mean)
        return {"all": keras.ops.concatenate(found, 1), "mean": mean}


class Trained(chainer.Chain):
    """An optimizer runs inside the call."""

    def __init__(self, optimizer: Any) -> None:
        super().__init__()
        with self.init_scope():
            self.dense = L.Linear(5, 3)
        self.optimizer = optimizer.setup(self)

    def forward(self, x: Any) -> Any:
        before = self.dense(x)
        self.cleargrads()
        F.mean(before**2).backward()
        self.optimizer.update()
        return {"before": before, "after": self.dense(x)}


def replays(model: Any) -> None:
    framework = parity.wrap(model).framework
    tape = load(framework).record(parity.wrap(model), X)
    for precision in (None, "float64"):
        run = tape.replay(precision)
        for name, value in tape.outputs.items():
            recorded = tape.adapter.to_numpy(tape.recorded[value])
            np.testing.assert_allclose(
                run.array(value), recorded, rtol=1e-4, atol=1e-5, err_msg=name
            )


def held(model: Any) -> list[Any]:
    return [one.read().copy() for one in load(parity.wrap(model).framework).tensors(model)]


@pytest.mark.parametrize("build", [ChainerNorm, TorchNorm, KerasNorm])
def test_running_statistics(build: Callable[[], Any]) -> None:
    model = build()
    if build is KerasNorm:
        model.norm.build(X.shape)
    before = held(model)
    replays(model)
    assert all(map(np.array_equal, before, held(model)))
    plain = load(parity.wrap(model).framework).plain(parity.wrap(model))
    assert all(np.array_equal(plain(X)[name], array) for name, array in plain(X).items())


def test_what_is_read_later_agrees_with_torch_and_a_fault_in_it_shows() -> None:
    in_torch, in_chainer = TorchNorm(), ChainerNorm()
    in_torch.norm.track_running_stats = True
    x = X
    biased = in_chainer.norm
    biased.avg_var[...] = 1.0
    report = parity.compare(in_chainer, ChainerNorm(), inputs=x)
    assert report.verdict == "parity", str(report)
    assert parity.compare(in_torch, in_chainer, inputs=x).verdict == "parity"
    in_chainer.norm.decay = 0.75
    assert parity.compare(in_torch, in_chainer, inputs=x).verdict == "diverged"


@pytest.mark.parametrize(
    "optimizer",
    [chainer.optimizers.SGD(0.1), chainer.optimizers.Adam(0.1), chainer.optimizers.RMSprop(0.1)],
    ids=lambda one: type(one).__name__,
)
def test_parameters_that_an_optimizer_changes(optimizer: Any) -> None:
    model = Trained(optimizer)
    before = held(model)
    tape = load("chainer").record(parity.wrap(model), X)
    assert all(map(np.array_equal, before, held(model)))
    run = tape.replay()
    for value in tape.outputs.values():
        np.testing.assert_array_equal(run.array(value), tape.recorded[value])
    assert not np.array_equal(*(run.array(value) for value in tape.outputs.values()))
    assert any("outside Chainer's functions" in caveat for caveat in tape.caveats)


def test_an_optimizer_that_runs_elsewhere_is_as_it_was() -> None:
    model = Trained(chainer.optimizers.SGD(0.1))
    rule = chainer.optimizer.UpdateRule.update
    load("chainer").record(parity.wrap(model), X)
    assert chainer.optimizer.UpdateRule.update is rule
