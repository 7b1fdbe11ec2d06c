"""Products that are added up: whose bias each is makes no difference."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
from torch import nn

import parity
from parity.frameworks.chainer_numpy import import_chainer

chainer = import_chainer()
F, L = chainer.functions, chainer.links


def values(*shape: int) -> np.ndarray:
    return np.random.default_rng(list(shape)).normal(size=shape).astype(np.float32)


INPUTS = values(3, 4), values(3, 5)


class Torch(nn.Module):
    def __init__(self, first: bool, second: bool) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 6, bias=first), nn.Linear(5, 6, bias=second)
        self.out = nn.Linear(6, 2)

    def forward(self, x: Any, y: Any) -> Any:
        return self.out(torch.relu(self.a(x) + self.b(y)))


class Keras(keras.Model):
    def __init__(self, first: bool, second: bool) -> None:
        super().__init__()
        dense = keras.layers.Dense
        self.a, self.b = dense(6, use_bias=first), dense(6, use_bias=second)
        self.out = dense(2)

    def call(self, x: Any, y: Any) -> Any:
        return self.out(keras.ops.relu(self.a(x) + self.b(y)))


class Chainer(chainer.Chain):
    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.a, self.b = L.Linear(4, 6, nobias=True), L.Linear(5, 6, nobias=True)
            self.bias, self.out = chainer.Parameter(values(6)), L.Linear(6, 2)

    def forward(self, x: Any, y: Any) -> Any:
        added = self.a(x) + self.b(y)
        return self.out(F.relu(added + F.broadcast_to(self.bias, added.shape)))


class TensorFlow(tf.Module):
    """One bias behind the sum, or between the products."""

    def __init__(self, between: bool) -> None:
        super().__init__()
        self.between = between
        self.w, self.u = tf.Variable(values(4, 6)), tf.Variable(values(5, 6))
        self.b, self.k = tf.Variable(values(6)), tf.Variable(values(6, 2))
        self.c = tf.Variable(values(2))

    def __call__(self, x: Any, y: Any) -> Any:
        one, other = x @ self.w, y @ self.u
        added = other + self.b + one if self.between else one + other + self.b
        return tf.nn.relu(added) @ self.k + self.c


WAYS: dict[str, Callable[[], Any]] = {
    "torch, two": lambda: Torch(True, True),
    "torch, first": lambda: Torch(True, False),
    "keras, two": lambda: Keras(True, True),
    "keras, second": lambda: Keras(False, True),
    "chainer, behind": Chainer,
    "tensorflow, behind": lambda: TensorFlow(between=False),
    "tensorflow, between": lambda: TensorFlow(between=True),
}


RING = [*itertools.pairwise(WAYS), *itertools.pairwise(reversed(WAYS))]  # each in both directions


@pytest.mark.parametrize(("first", "second"), RING)
def test_all_biases_are_written(first: str, second: str) -> None:
    source, target = WAYS[first](), WAYS[second]()
    for model in (source, target):
        if isinstance(model, keras.Model):
            model(*INPUTS)
    if isinstance(source, keras.Model):
        for variable in source.variables:
            variable.assign(values(*variable.shape))
    result = parity.transfer(source, target, INPUTS)
    assert result.verdict == "parity", str(result)
    assert result.table.left == ((), ())


def test_where_none_is_added_it_is_none() -> None:
    target = Torch(True, True)
    result = parity.transfer(Torch(False, False), target, INPUTS)
    assert result.verdict == "parity", str(result)
    assert not target.a.bias.any() and not target.b.bias.any()
