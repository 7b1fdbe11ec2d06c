"""The framework of a method or a function, in a module that uses several."""

from __future__ import annotations

import functools
from typing import Any

import chainer
import keras
import numpy as np
import pytest
import tensorflow as tf
import torch

import parity
from parity.errors import ModelError
from parity.frameworks.recognise import recognise

X = np.random.default_rng(0).normal(size=(4, 5)).astype("f")


class InTorch(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = torch.nn.Linear(5, 3)

    def q_values(self, obs: Any) -> Any:
        return self.head(obs)


class InKeras(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.head = keras.layers.Dense(3)

    def q_values(self, obs: Any) -> Any:
        return self.head(obs)


class InTensorFlow(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = tf.Variable(np.ones((5, 3), "f"))

    def q_values(self, obs: Any) -> Any:
        return obs @ self.head


class InChainer(chainer.Chain):
    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.head = chainer.links.Linear(5, 3)

    def q_values(self, obs: Any) -> Any:
        return self.head(obs)


class Agent:
    """No model itself; its attribute `tf` is none of the module's."""

    def __init__(self, net: Any) -> None:
        self.net = self.tf = net

    def act(self, obs: Any) -> Any:
        return self.tf.q_values(obs)

    def __call__(self, obs: Any) -> Any:
        return self.act(obs)


def closure(net: Any) -> Any:
    def act(obs: Any, *, scale: float = 1.0) -> Any:
        return net.q_values(obs) * scale

    return act


MODELS = {"torch": InTorch, "tensorflow": InTensorFlow, "keras": InKeras, "chainer": InChainer}
FORMS = {
    "method": lambda net: net.q_values,
    "closure": closure,
    "method of an object": lambda net: Agent(net).act,
    "object": Agent,
    "partial": lambda net: functools.partial(closure(net), scale=2.0),
    "lambda": lambda net: lambda obs: net.q_values(obs),
}


@pytest.mark.parametrize("framework", MODELS)
@pytest.mark.parametrize("form", FORMS)
def test_what_it_holds_determines_its_framework(form: str, framework: str) -> None:
    model = FORMS[form](MODELS[framework]())
    assert recognise(model) == {"keras": "tensorflow"}.get(framework, framework)


def in_torch(obs: Any) -> Any:
    return torch.tanh(obs)


def in_tensorflow(obs: Any) -> Any:
    return [tf.tanh(one) for one in (obs,)][0]


def in_keras(obs: Any) -> Any:
    return keras.ops.tanh(obs)


def in_chainer(obs: Any) -> Any:
    return chainer.functions.tanh(obs)


def calls_another(obs: Any) -> Any:
    return in_chainer(obs)


def of_no_framework(obs: Any) -> Any:
    return abs(obs) * np.pi


@pytest.mark.parametrize(
    ("function", "framework"),
    [
        (in_torch, "torch"), (in_tensorflow, "tensorflow"), (in_keras, "tensorflow"),
        (in_chainer, "chainer"), (calls_another, "chainer"),
    ],
)  # fmt: skip
def test_what_its_code_reads_determines_its_framework(function: Any, framework: str) -> None:
    assert recognise(function) == framework


def test_what_reads_or_holds_two_is_not_guessed() -> None:
    net = InTorch()
    for function in (of_no_framework, lambda obs: tf.constant(net(torch.tensor(obs)).numpy())):
        with pytest.raises(ModelError, match="Cannot tell the framework"):
            recognise(function)


def test_methods_are_transferred_as_they_are() -> None:
    result = parity.transfer(InTorch().q_values, InKeras().q_values, inputs=X)
    assert result.verdict == "parity" and result.written
