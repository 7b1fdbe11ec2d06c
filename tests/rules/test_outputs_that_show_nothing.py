"""Outputs that are one value, or one row, up to rounding show nothing of what is before them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch

import parity
from parity.frameworks.chainer import chainer

F = chainer.functions
X = np.random.default_rng(0).standard_normal((5, 9)).astype("f")
BIAS = np.array([0.3, -0.2, 0.5, 0.1], "f")

Weights = list[np.ndarray[Any, Any]]


def drawn(seed: int) -> Weights:
    random = np.random.default_rng(seed)
    return [random.standard_normal(shape).astype("f") for shape in ((9, 12), (12, 8), (8, 4))]


def in_torch(weights: Weights, scale: float, bias: Any) -> parity.Model:
    first, second, last = map(torch.from_numpy, weights)

    def model(x: Any) -> Any:
        logits = torch.tanh(torch.tanh(x @ first) @ second) @ last
        return torch.softmax(scale * logits + torch.from_numpy(bias), 1)

    return parity.wrap(model, framework="torch")


def in_tensorflow(weights: Weights, scale: float, bias: Any) -> parity.Model:
    def model(x: Any) -> Any:
        logits = tf.tanh(tf.tanh(x @ weights[0]) @ weights[1]) @ weights[2]
        return tf.nn.softmax(scale * logits + bias)

    return parity.wrap(model, framework="tensorflow")


def in_keras(weights: Weights, scale: float, bias: Any) -> Any:
    given = keras.Input((9,))
    layers = [keras.layers.Dense(len(one.T), use_bias=False) for one in weights]
    hidden = keras.ops.tanh(layers[1](keras.ops.tanh(layers[0](given))))
    model = keras.Model(given, keras.ops.softmax(scale * layers[2](hidden) + bias))
    model.set_weights(weights)
    return model


def in_chainer(weights: Weights, scale: float, bias: Any) -> parity.Model:
    def model(x: Any) -> Any:
        logits = F.matmul(F.tanh(F.matmul(F.tanh(F.matmul(x, weights[0])), weights[1])), weights[2])
        return F.softmax(scale * logits + np.broadcast_to(bias, (len(x.array), 4)))

    return parity.wrap(model, framework="chainer")


PORTS = [in_torch, in_tensorflow, in_keras, in_chainer]
each_port = pytest.mark.parametrize("port", PORTS)
each_form = pytest.mark.parametrize(
    ("bias", "samples"), [(0 * BIAS, 5), (0 * BIAS, 1), (BIAS, 5)], ids=["all", "one", "rows"]
)


@each_form
@each_port
def test_other_weights_behind_them_are_no_parity(
    port: Callable[..., Any], bias: Any, samples: int
) -> None:
    for scale, verdict in ((1e-9, "unverified"), (1e-3, "diverged")):
        models = in_torch(drawn(1), scale, bias), port(drawn(2), scale, bias)
        report = parity.compare(*models, inputs=X[:samples])
        assert report.verdict == verdict, str(report)
        if verdict == "unverified":
            assert "but for rounding: what computes it does not show" in report.worst.reasons[0]


@each_form
@each_port
def test_they_are_parity_where_what_is_before_them_agrees(
    port: Callable[..., Any], bias: Any, samples: int
) -> None:
    models = in_torch(drawn(1), 1e-9, bias), port(drawn(1), 1e-9, bias)
    report = parity.compare(*models, inputs=X[:samples])
    assert report.verdict == "parity", str(report)


@each_port
def test_a_single_value_is_one_and_shows_something(port: Callable[..., Any]) -> None:
    """The sum of squares of one sample: a loss."""

    def loss(model: parity.Model, total: Callable[[Any], Any]) -> parity.Model:
        return parity.wrap(lambda x: total(model.obj(x)), framework=model.framework)

    totals: dict[str, Callable[[Any], Any]] = {
        "torch": lambda found: found.square().sum(),
        "tensorflow": lambda found: tf.reduce_sum(found**2),
        "chainer": lambda found: F.sum(found**2),
    }
    models = [parity.wrap(build(drawn(1), 1.0, BIAS)) for build in (in_torch, port)]
    report = parity.compare(*(loss(one, totals[one.framework]) for one in models), inputs=X[:1])
    assert report.verdict == "parity", str(report)
