"""Functions of one sample that a framework maps over the batch; and outputs of other kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch

import parity

draw = np.random.default_rng(0)
X = draw.standard_normal((4, 6)).astype("f")
WEIGHT = draw.standard_normal((6, 5)).astype("f")

Model = Callable[[Any], Any]


def by_torch(scale: float) -> Model:
    weight = torch.from_numpy(WEIGHT)
    return lambda x: torch.vmap(lambda row: torch.tanh(scale * (row @ weight)))(x)


def by_tensorflow(scale: float) -> Model:
    def one(row: Any) -> Any:
        return tf.tanh(scale * tf.linalg.matvec(WEIGHT, row, transpose_a=True))

    return lambda x: tf.vectorized_map(one, x)


def in_a_graph(scale: float) -> Model:
    return tf.function(by_tensorflow(scale))


def by_keras(scale: float) -> Model:
    dense = keras.layers.Dense(5, use_bias=False)
    dense.build((None, 6))
    dense.set_weights([WEIGHT])
    return lambda x: keras.ops.vectorized_map(
        lambda row: keras.ops.tanh(scale * dense(row[None])[0]), x
    )


@pytest.mark.parametrize(
    ("framework", "build"),
    [
        ("torch", by_torch),
        ("tensorflow", by_tensorflow),
        ("tensorflow", in_a_graph),
        ("tensorflow", by_keras),
    ],
)
def test_what_is_mapped_over_samples_is_compared(framework: str, build: Any) -> None:
    reference = parity.wrap(lambda x: torch.tanh(x @ torch.from_numpy(WEIGHT)), framework="torch")
    for scale, verdict in ((1.0, "parity"), (1.1, "diverged")):
        port = parity.wrap(build(scale), framework=framework)
        assert parity.compare(reference, port, inputs=X).verdict == verdict


def sparse(scale: float) -> Model:
    return lambda x: tf.sparse.from_dense(scale * tf.nn.relu(x))


def ragged(scale: float) -> Model:
    return lambda x: tf.RaggedTensor.from_row_splits(
        scale * tf.tanh(tf.reshape(x, [-1])), [0, 5, X.size]
    )


def text(scale: float) -> Model:
    return lambda x: (tf.tanh(x), tf.strings.as_string(scale * tf.tanh(x)))


@pytest.mark.parametrize("build", [sparse, ragged, text])
def test_outputs_of_other_kinds_are_compared(build: Any) -> None:
    for scale, verdict in ((1.0, "parity"), (1.5, "diverged")):
        models = (parity.wrap(build(one), framework="tensorflow") for one in (1.0, scale))
        assert parity.compare(*models, inputs=X).verdict == verdict
