"""A function whose weights are a dict of tensors; statistics that more layers read in one model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf
import torch

import parity
from parity.frameworks.torch import record
from parity.frameworks.torch_weights import tensors

X = np.random.default_rng(4).standard_normal((5, 4)).astype("f")


def net(seed: int) -> Callable[[torch.Tensor], torch.Tensor]:
    torch.manual_seed(seed)
    weights = {
        "input": {"mean": torch.rand(4), "std": torch.rand(4) + 0.5},
        "layers": [{"w": torch.randn(4, 6), "b": torch.randn(6)}, {"w": torch.randn(6, 3)}],
    }

    def run(x: torch.Tensor) -> torch.Tensor:
        given, (first, last) = weights["input"], weights["layers"]
        x = (x - given["mean"]) / given["std"]
        return torch.tanh(x @ first["w"] + first["b"]) @ last["w"]

    return run


class InTensorFlow(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        random = np.random.default_rng(9)
        shapes = {"mean": 4, "std": 4, "w": (4, 6), "b": 6, "v": (6, 3)}
        self.held = {
            name: tf.Variable(random.uniform(0.5, 1.5, shape).astype("f"))
            for name, shape in shapes.items()
        }

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        x = (x - self.held["mean"]) / self.held["std"]
        return tf.tanh(x @ self.held["w"] + self.held["b"]) @ self.held["v"]


def test_they_are_moved_both_ways() -> None:
    function = parity.wrap(net(1), framework="torch", inputs=X)
    module = parity.wrap(InTensorFlow(), framework="tensorflow", inputs=X)
    assert parity.transfer(function, module).verdict == "parity"
    other = parity.wrap(net(2), framework="torch", inputs=X)
    assert parity.transfer(module, other).verdict == "parity"


def test_they_have_names_in_a_report() -> None:
    names = {one.names[0] for one in tensors(net(1))}
    assert names == {
        f"weights.{name}"
        for name in ("input.mean", "input.std", "layers.0.w", "layers.0.b", "layers.1.w")
    }
    tape = record(parity.wrap(net(1), framework="torch"), X)
    assert names <= {value.name for value in tape.values if value.kind == "parameter"}


def test_one_tensor_or_numbers_are_no_weights() -> None:
    def single(table: object) -> list[str]:
        return [one.names[0] for one in tensors(lambda x: (x, table))]

    assert not single({"table": torch.zeros(3)})
    assert not single({"low": torch.tensor(0.0), "high": torch.tensor(1.0)})
    assert not single({"ids": torch.arange(3), "more": torch.arange(4)})
    assert len(single({"a": torch.zeros(3), "b": torch.zeros(2)})) == 2
