"""Models that share no weights are told so, once, in every framework; others are not."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import parity

INPUTS = np.random.default_rng(0).normal(size=(4, 9)).astype("float32")
SIZES = (9, 12, 12, 5)


def drawn(seed: int) -> list[Any]:
    """Kernels as (in, out), and biases."""
    random = np.random.default_rng(seed)
    return [
        (random.normal(size=shape).astype("f") / 3, random.normal(size=shape[1]).astype("f"))
        for shape in zip(SIZES, SIZES[1:], strict=False)
    ]


def in_torch(weights: list[Any]) -> Any:
    torch = pytest.importorskip("torch")
    layers: list[Any] = []
    for kernel, bias in weights:
        layers += [torch.nn.Linear(*kernel.shape), torch.nn.Tanh()]
        with torch.no_grad():
            layers[-2].weight.copy_(torch.from_numpy(kernel.T.copy()))
            layers[-2].bias.copy_(torch.from_numpy(bias))
    return torch.nn.Sequential(*layers)


def in_keras(weights: list[Any]) -> Any:
    keras = pytest.importorskip("keras")
    dense = [keras.layers.Dense(len(bias), activation="tanh") for _, bias in weights]
    model = keras.Sequential([keras.Input((SIZES[0],)), *dense])
    model.set_weights([array for pair in weights for array in pair])
    return model


def in_tensorflow(weights: list[Any]) -> Any:
    tf = pytest.importorskip("tensorflow")
    variables = [(tf.Variable(kernel), tf.Variable(bias)) for kernel, bias in weights]

    def model(x: Any) -> Any:
        for kernel, bias in variables:
            x = tf.tanh(x @ kernel + bias)
        return x

    return parity.wrap(model, framework="tensorflow", name="model")


def in_chainer(weights: list[Any]) -> Any:
    chainer = pytest.importorskip("parity.frameworks.chainer").chainer
    layers: list[Any] = []
    for kernel, bias in weights:
        link = chainer.links.Linear(*kernel.shape, initialW=kernel.T, initial_bias=bias)
        layers += [link, chainer.functions.tanh]
    return chainer.Sequential(*layers)


FRAMEWORKS = (in_torch, in_keras, in_tensorflow, in_chainer)


@pytest.mark.parametrize("candidate", FRAMEWORKS)
def test_weights_that_are_not_shared_are_one_finding(candidate: Any) -> None:
    models = in_torch(drawn(1)), candidate(drawn(2))
    report = parity.compare(*models, inputs=INPUTS)
    assert report.verdict == "diverged"
    (found,) = report.divergences
    assert found.cause.kind == "weights-not-shared" and not found.cause.confirmed
    assert "none of the 3 weight matrices" in found.cause.summary
    assert "parity.transfer" in found.cause.summary and "parity.structure" in found.cause.summary
    assert found.reference.layer == "0"
    assert "falls from" not in str(report)


@pytest.mark.parametrize("candidate", FRAMEWORKS)
def test_models_that_share_a_weight_are_located(candidate: Any) -> None:
    ours, theirs = drawn(1), drawn(2)
    theirs[2] = ours[2]
    report = parity.compare(in_torch(ours), candidate(theirs), inputs=INPUTS)
    assert report.verdict == "diverged"
    assert all(found.cause is None or found.cause.kind != "weights-not-shared"
               for found in report.divergences)  # fmt: skip


def changed(how: str) -> list[Any]:
    random = np.random.default_rng(3)
    return [
        {
            "in half precision": lambda k, b: (k.astype("float16").astype("f"), b + 1),
            "by a factor": lambda k, b: (-2.5 * k, b),
            "a little off": lambda k, b: (k + 0.02 * random.normal(size=k.shape).astype("f"), b),
            "in another order": lambda k, b: (np.ascontiguousarray(k[:, ::-1]), b),
        }[how](kernel, bias)
        for kernel, bias in drawn(1)
    ]


@pytest.mark.parametrize(
    "how", ["in half precision", "by a factor", "a little off", "in another order"]
)
def test_weights_in_another_form_are_shared(how: str) -> None:
    report = parity.compare(in_torch(drawn(1)), in_torch(changed(how)), inputs=INPUTS)
    assert report.verdict == "diverged"
    assert all(found.cause is None or found.cause.kind != "weights-not-shared"
               for found in report.divergences)  # fmt: skip


def test_a_single_layer_is_told_as_what_it_is() -> None:
    report = parity.compare(in_torch(drawn(1)[:1]), in_torch(drawn(2)[:1]), inputs=INPUTS)
    assert report.divergences[0].cause.kind == "weight-values"


def test_many_layers_take_no_longer_than_their_replays() -> None:
    """It was a search for the place of each, and an explanation of each."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)

    def model() -> Any:
        layers: list[Any] = []
        for _ in range(60):
            layers += [torch.nn.Linear(9, 9), torch.nn.Tanh()]
        return torch.nn.Sequential(*layers)

    models = model(), model()
    with torch.no_grad():
        for layer in models[1]:
            if hasattr(layer, "weight"):
                layer.weight.copy_(torch.randn(9, 9))
    started = time.process_time()
    parity.compare(models[0], models[0], inputs=INPUTS)
    alike = time.process_time() - started
    started = time.process_time()
    report = parity.compare(*models, inputs=INPUTS)
    assert [one.cause.kind for one in report.divergences] == ["weights-not-shared"]
    assert time.process_time() - started < 10 * alike + 1.0
