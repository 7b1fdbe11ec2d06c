"""Comparing models leaves them, and the caller's data, as they were, bit for bit."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import strategies

import parity
from parity.errors import ModelError
from parity.frameworks.chainer_numpy import import_chainer
from tests.frameworks.changing import DEEDS, FRAMEWORKS, X, built, counts, reassigns, writes
from tests.frameworks.holding import picture

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")
chainer = import_chainer()


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
