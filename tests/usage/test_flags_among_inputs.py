"""Flags, words and numbers of Python's among the inputs reach each model as they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import chainer
import keras
import numpy as np
import pytest
import tensorflow as tf
import torch

import parity

draw = np.random.default_rng(3)
X = draw.normal(size=(5, 3)).astype("f")
ONLINE, TARGET = (draw.normal(size=(3, 4)).astype("f") for _ in range(2))


def computed(x: Any, target: Any, reduce: Any, scale: Any, ops: Any, multiply: Any) -> Any:
    """Branches on a flag, a word and None, as code of users does."""
    assert type(target) is bool and type(reduce) is str
    y = multiply(x, TARGET if target else ONLINE)
    y = ops(y) if reduce == "tanh" else y
    return y if scale is None else y * scale


class InTorch(torch.nn.Module):
    def forward(self, x: Any, target: Any = False, reduce: Any = "none", scale: Any = None) -> Any:
        multiply = lambda x, weight: x @ torch.from_numpy(weight)  # noqa: E731
        return computed(x, target, reduce, scale, torch.tanh, multiply)


class InKeras(keras.Model):
    def call(self, x: Any, target: Any = False, reduce: Any = "none", scale: Any = None) -> Any:
        return computed(x, target, reduce, scale, keras.ops.tanh, keras.ops.matmul)


class InTensorFlow(tf.Module):
    @tf.function
    def __call__(self, x: Any, target: Any = False, reduce: Any = "none", scale: Any = None) -> Any:
        return computed(x, target, reduce, scale, tf.tanh, tf.matmul)


class InChainer(chainer.Chain):
    def forward(self, x: Any, target: Any = False, reduce: Any = "none", scale: Any = None) -> Any:
        functions = chainer.functions
        return computed(x, target, reduce, scale, functions.tanh, functions.matmul)


def in_numpy(x: Any, target: Any = False, reduce: Any = "none", scale: Any = None) -> Any:
    return computed(x, target, reduce, scale, np.tanh, np.matmul)


PORTS: dict[str, Callable[[], Any]] = {
    "keras": InKeras,
    "tensorflow": InTensorFlow,
    "chainer": InChainer,
    "numpy": lambda: parity.wrap(in_numpy, framework="numpy"),
}
INPUTS: dict[str, Any] = {
    "by place": (X, True, "tanh"),
    "by name": {"x": X, "target": True, "reduce": "tanh"},
    "none": (X, True, "tanh", None),
    "a number": {"x": X, "target": False, "reduce": "tanh", "scale": 0.5},
    "a whole number": (X, True, "none", 3),
}
each_port = pytest.mark.parametrize("port", PORTS)


@each_port
@pytest.mark.parametrize("inputs", INPUTS.values(), ids=INPUTS)
def test_they_are_what_the_caller_gave(inputs: Any, port: str) -> None:
    report = parity.compare(InTorch(), PORTS[port](), inputs=inputs)
    assert report.verdict == "parity", str(report)


@each_port
def test_the_branch_that_they_choose_is_compared(port: str, monkeypatch: Any) -> None:
    reference = torch.from_numpy(TARGET.copy())
    model = parity.wrap(lambda x, target, reduce: torch.tanh(x @ reference), framework="torch")
    assert parity.compare(model, PORTS[port](), inputs=(X, True, "tanh")).verdict != "diverged"
    assert parity.compare(model, PORTS[port](), inputs=(X, False, "tanh")).verdict == "diverged"


@each_port
@pytest.mark.parametrize(
    ("inputs", "name"), [((X, True, "tanh"), "1"), ((X, False, "none", 0.5), "3")]
)
def test_one_that_a_single_model_reads_is_not_verified(inputs: Any, name: str, port: str) -> None:
    """With another number there the two would differ."""
    given = inputs[1:]
    held = parity.wrap(lambda x, *ignored: InTorch()(x, *given), framework="torch", name="held")
    report = parity.compare(held, PORTS[port](), inputs=inputs)
    assert report.verdict == "unverified"
    assert f"input '{name}' changes the outputs of" in " ".join(str(report).split())


@pytest.mark.parametrize("scale", [np.float32(0.5), np.array(0.5, "f")], ids=["number", "array"])
@each_port
def test_a_number_of_numpys_is_an_array(scale: Any, port: str) -> None:
    """Another one is tried where models may not read it: Chainer took none for one number."""

    def reads(x: Any, scale: Any) -> Any:
        return x * scale

    by_name = {"keras": "tensorflow"}
    port = parity.wrap(reads, framework=by_name.get(port, port))  # type: ignore[arg-type]
    reference = parity.wrap(lambda x, scale: x * 0.5, framework="torch")
    report = parity.compare(reference, port, inputs=(X, scale))
    assert report.verdict == "unverified"
    assert "input '1' changes the outputs of reads" in " ".join(str(report).split())


class Dropped(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.drop = keras.layers.Dropout(0.5)

    def call(self, x: Any, training: Any = None) -> Any:
        return self.drop(keras.ops.tanh(x), training=training)


@pytest.mark.parametrize("inputs", [{"x": X, "training": False}, {"x": X}])
def test_a_flag_of_training_goes_to_the_side_that_takes_it(inputs: Any) -> None:
    assert parity.compare(torch.nn.Tanh(), Dropped(), inputs={"x": X}).verdict == "parity"
    assert parity.compare(
        parity.wrap(lambda x: torch.tanh(x), framework="torch"), Dropped(), inputs=inputs
    ).verdict == "parity"  # fmt: skip


def test_a_flag_of_training_by_its_place() -> None:
    model = Dropped()
    assert parity.compare(model, model, inputs=(X, False)).verdict == "parity"


def test_a_flag_that_says_other_than_the_mode_is_refused() -> None:
    model = parity.wrap(lambda x: torch.tanh(x), framework="torch")
    with pytest.raises(parity.ParityError, match=r"training=True.*mode='train'"):
        parity.compare(model, Dropped(), inputs={"x": X, "training": True})


@each_port
def test_a_model_that_cannot_do_with_a_number_gets_a_tensor_of_it(port: str) -> None:
    """The other may want the number itself."""
    functions = chainer.functions
    ways: dict[str, Any] = {
        "keras": lambda x, scale: x * keras.ops.exp(tf.reshape(scale, scale.shape)),
        "tensorflow": lambda x, scale: x * tf.exp(tf.reshape(scale, scale.shape)),
        "chainer": lambda x, scale: functions.scale(x, functions.exp(scale), 0),
        "numpy": lambda x, scale: x * np.exp(scale.reshape(())),
    }
    framework = {"keras": "tensorflow"}.get(port, port)
    model = parity.wrap(ways[port], framework=framework, name="stacks")  # type: ignore[arg-type]
    reference = parity.wrap(lambda x, scale: x * math.exp(scale), framework="torch")
    report = parity.compare(reference, model, inputs=(X, 0.5))
    assert report.verdict == "parity", str(report)
