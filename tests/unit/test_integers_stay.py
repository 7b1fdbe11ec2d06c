"""Integers that index are integers in every replay, however they were made."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity

X = np.random.default_rng(0).standard_normal((5, 6)).astype(np.float32)
W = torch.from_numpy(np.random.default_rng(1).standard_normal((6, 4)).astype(np.float32))


@pytest.mark.parametrize("make", [lambda n: torch.full((n,), -1), lambda n: torch.full((n,), 7)])
def test_a_held_option_is_an_index(make) -> None:
    def act(x: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
        q = x @ W
        _, greedy = q.max(1)
        held = make(len(x))
        option = torch.where(first | (held < 0) | (held > 3), greedy, held)
        return q.gather(1, option[:, None])[:, 0] * torch.tanh(q).sum(1)

    first = np.array([True, False, True, True, False])
    models = (parity.wrap(act, framework="torch") for _ in range(2))
    report = parity.compare(*models, inputs=(X, first))
    assert report.verdict == "parity"
    assert not report.comparisons[0].caveats


@pytest.mark.parametrize("axis", [-1, 1])
def test_an_argmax_of_keras_reads_the_bits_of_what_was_recorded(axis: int) -> None:
    keras = pytest.importorskip("keras")
    tf = pytest.importorskip("tensorflow")

    def reference(x: torch.Tensor) -> torch.Tensor:
        q = (x @ W).reshape(-1, 2, 2)
        return torch.nn.functional.one_hot(q.argmax(axis), 2) * torch.tanh(q).sum(1)[:, None]

    def port(x: tf.Tensor) -> tf.Tensor:
        q = keras.ops.reshape(tf.matmul(x, W.numpy()), (-1, 2, 2))
        hot = keras.ops.one_hot(keras.ops.argmax(q, axis), 2)
        return hot * keras.ops.sum(keras.ops.tanh(q), 1)[:, None]

    wrapped = parity.wrap(reference, framework="torch")
    report = parity.compare(wrapped, parity.wrap(port, framework="tensorflow"), inputs=X)
    assert report.verdict == "parity", str(report)
    assert not report.comparisons[0].caveats
