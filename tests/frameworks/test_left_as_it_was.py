"""Comparing models leaves them, and the caller's data, as they were, bit for bit."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import strategies

import parity
from parity.errors import ModelError
from parity.frameworks.chainer_numpy import import_chainer
from tests.frameworks.holding import Holding, picture

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")
chainer = import_chainer()
F, L = chainer.functions, chainer.links
X = np.random.default_rng(0).standard_normal((4, 3)).astype("f")
FRAMEWORKS = ("torch", "tensorflow", "keras", "chainer", "numpy")


# --- models that change whatever they hold -------------------------------------------------------


class Torch(torch.nn.Module):
    def __init__(self, does: Callable[..., None]) -> None:
        super().__init__()
        self.does, self.held = does, Holding()
        self.dense, self.norm = torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3)
        self.register_buffer("seen", torch.zeros(3))
        self.last = torch.zeros(4, 3)
        self.deep = SimpleNamespace(a=SimpleNamespace(b=torch.nn.BatchNorm1d(3)))
        self.generator = torch.Generator().manual_seed(3)

    def forward(self, x: Any) -> Any:
        self.does(self, x)
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

    def __call__(self, x: Any) -> Any:
        self.does(self, x)
        return x @ self.kernel


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

    def call(self, x: Any, training: bool = False) -> Any:
        self.does(self, x)
        self.norm(x, training=training)
        self.recurrent(x[:, None])
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

    def forward(self, x: Any) -> Any:
        self.does(self, x)
        self.norm(x)
        self.lstm(x)
        return self.dense(x)


class NumPy:
    def __init__(self, does: Callable[..., None]) -> None:
        self.does, self.held = does, Holding()
        self.kernel, self.seen = np.ones((3, 3), "f"), np.zeros(3, "f")
        self.last = np.zeros((4, 3), "f")
        self.deep = SimpleNamespace(a=SimpleNamespace(b=np.zeros(3)))

    def __call__(self, x: Any) -> Any:
        self.does(self, x)
        return x @ self.kernel


CLASSES = {
    "torch": Torch, "tensorflow": TensorFlow, "keras": Keras, "chainer": Chainer, "numpy": NumPy,
}  # fmt: skip


def built(framework: str, does: Callable[..., None], mode: str = "eval") -> parity.Model:
    """A model that was called before, so that all it holds is there."""
    model = CLASSES[framework](lambda *_: None)
    if framework == "keras":
        model(X)
    if framework == "chainer":
        model.lstm(X)
    vars(model)["does"] = does
    name = {"keras": "tensorflow"}.get(framework, framework)
    return parity.wrap(model, framework=name, mode=mode)


def assert_left(compare: Callable[[parity.Model, np.ndarray], object], model: parity.Model) -> None:
    given = X.copy()
    before = picture(model.obj, given)
    compare(model, given)
    after = picture(model.obj, given)
    assert before.keys() == after.keys()
    assert not [path for path in before if before[path] != after[path]]


def compared(model: parity.Model, given: np.ndarray) -> None:
    parity.compare(model, parity.wrap(torch.tanh, framework="torch"), inputs=given)


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


@pytest.mark.parametrize("mode", ["eval", "train"])
@pytest.mark.parametrize("does", DEEDS)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_a_model_holds(framework: str, does: Callable[..., None], mode: str) -> None:
    def once(model: Any, x: Any) -> None:
        does(model, x)

    assert_left(compared, built(framework, once, mode))


def test_torch_tensors_generators_and_modes() -> None:
    def does(model: Any, x: Any) -> None:
        model.dense.weight.data.mul_(1.5)
        model.dense.weight.data = model.dense.weight.data * 1.5
        model.dense.bias.detach().numpy()[0] += 1
        model.dense.bias.requires_grad_(False)
        model.seen.add_(1)
        model.seen.numpy()[1] = 3
        torch.rand(3, generator=model.generator)
        torch.rand(3)
        model.deep.a.b(x)
        model.norm.train()
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        torch.set_default_dtype(torch.float32)
        torch.use_deterministic_algorithms(True)
        torch.set_float32_matmul_precision("medium")
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.deterministic = True

    assert_left(compared, built("torch", does))
    assert_left(compared, built("torch", does, "train"))


def test_a_gradient_that_a_model_makes() -> None:
    def does(model: Any, x: Any) -> None:
        with torch.enable_grad():
            model.dense(x).sum().backward()

    model = built("torch", does)
    assert_left(compared, model)
    model.obj.dense(torch.ones(1, 3)).sum().backward()  # now there is one already
    assert_left(compared, model)


def test_tensorflow_variables_and_generators() -> None:
    def does(model: Any, x: Any) -> None:
        model.kernel.assign_add(model.kernel)
        model.seen.assign(model.seen + 1)
        model.deep.a.b.assign_add([1.0, 1.0, 1.0])
        model.generator.normal((3,))
        tf.random.normal((3,))
        model.listed.append(3)
        model.table["a"] = 3

    assert_left(compared, built("tensorflow", does))


def test_keras_seeds_in_closures_and_variables() -> None:
    def does(model: Any, x: Any) -> None:
        model.draw()
        model.deep.a.b.assign(model.deep.a.b + 1)
        model.dense.kernel.assign(model.dense.kernel * 2)
        keras.random.normal((3,))
        keras.config.set_epsilon(1e-3)
        keras.config.set_image_data_format("channels_first")
        tf.config.experimental.enable_tensor_float_32_execution(False)

    assert_left(compared, built("keras", does))
    assert_left(compared, built("keras", does, "train"))


def test_chainer_arrays_configuration_and_optimizers() -> None:
    def does(model: Any, x: Any) -> None:
        model.dense.W.array[...] *= 2
        model.dense.b.array = model.dense.b.array + 1
        model.seen += 1
        with chainer.using_config("train", True):
            model.deep.a.b(x)
        chainer.global_config.dtype = np.float32
        chainer.config.cudnn_deterministic = True

    assert_left(compared, built("chainer", does))
    assert_left(compared, built("chainer", does, "train"))


def test_numpy_writes_to_what_it_is_given() -> None:
    def does(model: Any, x: Any) -> None:
        x += 1
        model.kernel *= 2
        model.seen[0] += 1
        model.deep.a.b += 1
        np.seterr(all="raise")
        np.set_printoptions(precision=2)
        os.environ["OF_A_MODEL"] = "1"
        os.environ.pop("HOME", None)

    assert_left(compared, built("numpy", does))


# --- whatever becomes of it ----------------------------------------------------------------------


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_model_that_raises(framework: str) -> None:
    def does(model: Any, x: Any) -> None:
        for deed in DEEDS:
            deed(model, x)
        raise ValueError("no")

    def raising(model: parity.Model, given: np.ndarray) -> None:
        with pytest.raises(ModelError, match="no"):
            compared(model, given)

    assert_left(raising, built(framework, does))


def everything(model: Any, x: Any) -> None:
    for deed in (reassigns, counts, writes):  # what is drawn and lost makes it unverified
        deed(model, x)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_models_that_pass_searches_and_assertions(framework: str, assert_parity: Any) -> None:
    """A model against itself: what it keeps is the same in each run."""

    def found(model: parity.Model, given: np.ndarray) -> None:
        assert parity.compare(model, model, inputs=given).verdict == "parity"
        assert_parity(model, model, inputs=given)
        assert_parity(model, model, observations=strategies.just(given), max_examples=3)

    assert_left(found, built(framework, everything))


def test_a_count_in_parsed_arguments_is_put_back() -> None:
    import argparse

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.args = argparse.Namespace(step=0)
            self.dense = torch.nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            self.args.step += 1
            return self.dense(x) * self.args.step

    net = Net()
    wrapped = parity.wrap(net, framework="torch")
    inputs = np.random.default_rng(0).normal(size=(4, 3)).astype("f")
    assert parity.compare(wrapped, wrapped, inputs=inputs).verdict == "parity"
    assert net.args.step == 0
