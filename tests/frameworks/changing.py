"""Models of every framework that change whatever they hold when they run."""

from __future__ import annotations

import random
from collections.abc import Callable
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
FRAMEWORKS = ("torch", "tensorflow", "tf.function", "keras", "chainer", "numpy")


def nothing() -> None:
    """How a run ends, before what it returns."""


class Torch(torch.nn.Module):
    def __init__(self, does: Callable[..., None]) -> None:
        super().__init__()
        self.does, self.held = does, Holding()
        self.dense, self.norm = torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3)
        self.register_buffer("seen", torch.zeros(3))
        self.last = torch.zeros(4, 3)
        self.deep = SimpleNamespace(a=SimpleNamespace(b=torch.nn.BatchNorm1d(3)))
        self.generator = torch.Generator().manual_seed(3)
        self.recurrent, self.ends = torch.nn.GRU(3, 3), nothing

    def forward(self, x: Any) -> Any:
        self.does(self, x)
        self.recurrent(self.norm(x))
        self.ends()
        return self.dense(x)


class TensorFlow(tf.Module):
    def __init__(self, does: Callable[..., None]) -> None:
        super().__init__()
        self.does, self.held = does, Holding()
        self.kernel, self.seen = tf.Variable(tf.ones((3, 3))), tf.Variable(tf.zeros(3))
        self.last = tf.zeros((4, 3))
        self.listed: list[Any] = []
        self.table: dict[str, Any] = {}
        self.generator = tf.random.Generator.from_seed(3)
        self.deep = SimpleNamespace(a=SimpleNamespace(b=tf.Variable(tf.zeros(3))))
        self.ends = nothing

    def __call__(self, x: Any) -> Any:
        self.does(self, x)
        self.seen.assign_add(tf.reduce_mean(x, 0))
        self.ends()
        return x @ self.kernel


class Graph(TensorFlow):
    @tf.function  # type: ignore[untyped-decorator]
    def __call__(self, x: Any) -> Any:
        return super().__call__(x)


class Keras(keras.Model):
    def __init__(self, does: Callable[..., None]) -> None:
        super().__init__()
        self.does, self.held = does, Holding()
        self.dense = keras.layers.Dense(3)
        self.norm = keras.layers.BatchNormalization()
        self.recurrent = keras.layers.GRU(3, stateful=True)
        self.last = tf.zeros((4, 3))
        seeds = keras.random.SeedGenerator(3)
        self.draw = lambda: keras.random.normal((3,), seed=seeds)
        self.deep = SimpleNamespace(a=SimpleNamespace(b=keras.Variable(np.zeros(3, "f"))))
        self.ends = nothing

    def call(self, x: Any, training: bool = False) -> Any:
        self.does(self, x)
        self.norm(x, training=training)
        self.recurrent(x[:, None])
        self.ends()
        return self.dense(x)


class Chainer(chainer.Chain):
    def __init__(self, does: Callable[..., None]) -> None:
        super().__init__()
        self.does, self.held = does, Holding()
        with self.init_scope():
            self.dense, self.norm = L.Linear(3, 3), L.BatchNormalization(3)
            self.lstm = L.LSTM(3, 3)
        self.add_persistent("seen", np.zeros(3, "f"))
        self.last = np.zeros((4, 3), "f")
        self.deep = SimpleNamespace(a=SimpleNamespace(b=L.BatchNormalization(3)))
        self.ends = nothing

    def forward(self, x: Any) -> Any:
        self.does(self, x)
        self.norm(x)
        self.lstm(x)
        self.ends()
        return self.dense(x)


class NumPy:
    def __init__(self, does: Callable[..., None]) -> None:
        self.does, self.held = does, Holding()
        self.kernel, self.seen = np.ones((3, 3), "f"), np.zeros(3, "f")
        self.last = np.zeros((4, 3), "f")
        self.deep = SimpleNamespace(a=SimpleNamespace(b=np.zeros(3)))
        self.ends = nothing

    def __call__(self, x: Any) -> Any:
        self.does(self, x)
        self.ends()
        return x @ self.kernel


CLASSES = {
    "torch": Torch, "tensorflow": TensorFlow, "tf.function": Graph, "keras": Keras,
    "chainer": Chainer, "numpy": NumPy,
}  # fmt: skip


def built(framework: str, does: Callable[..., None], mode: str = "eval") -> parity.Model:
    """A model that was called before, so that all it holds is there."""
    model = CLASSES[framework](lambda *_: None)
    if framework == "keras":
        model(X)
    if framework == "chainer":
        model.lstm(X)
    vars(model)["does"] = does
    name = {"keras": "tensorflow", "tf.function": "tensorflow"}.get(framework, framework)
    return parity.wrap(model, framework=name, mode=mode)


# --- what a model does to what it holds ----------------------------------------------------------


def reassigns(model: Any, x: Any) -> None:
    model.last = model.last + x
    model.held.array = model.held.array + 1


def counts(model: Any, x: Any) -> None:
    model.held.calls += 1
    type(model.held).of_all += 1
    model.held.listed.append(model.held.calls)
    model.held.table["calls"] = model.held.calls
    model.held.known.add(model.held.calls)
    model.held.last.append(3)
    model.held.slotted.count += 1
    model.held.remembers()


def writes(model: Any, x: Any) -> None:
    model.held.array[...] += 1
    model.held.objects[0] = "other"
    model.held.raw[0] = 3


def draws(model: Any, x: Any) -> None:
    model.held.modern.standard_normal(3)
    model.held.legacy.standard_normal(3)
    model.held.python.random()
    model.held.modern.bit_generator.random_raw()
    np.random.random_sample()
    random.random()


def adds_and_drops(model: Any, x: Any) -> None:
    model.held.new = 3
    del model.held.calls


def keeps_elsewhere(model: Any, x: Any) -> None:
    model.held.view[0] = 7
    model.held.masked[0] = np.ma.masked
    model.held.masked.data[1] = 9
    model.held.context.set(2)
    model.held.of_thread.count = 2
    model.held.of_thread.listed.append(1)
    model.held.of_thread.more = 3


DEEDS = [reassigns, counts, writes, draws, adds_and_drops, keeps_elsewhere]
