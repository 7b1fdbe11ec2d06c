"""A recurrent cell whose two states are given in each other's place."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

import parity

draw = np.random.default_rng(103)
BATCH, STEPS, WIDTH, STATE = 4, 3, 5, 6
X = draw.standard_normal((BATCH, STEPS, WIDTH)).astype("f")
H, C = (draw.standard_normal((BATCH, STATE)).astype("f") for _ in range(2))
DONE = np.zeros((BATCH, STEPS), "f")
DONE[1, 1] = 1  # none ends before the first step, where the states are read as they are given


def test_it_is_said_of_the_cell_that_reads_them():
    cell = keras.layers.LSTMCell(STATE)
    cell.build((None, WIDTH))
    cell.set_weights([draw.standard_normal(w.shape).astype("f") / 2 for w in cell.get_weights()])
    twin = torch.nn.LSTMCell(WIDTH, STATE)
    kernel, recurrent, bias = map(torch.from_numpy, cell.get_weights())
    with torch.no_grad():
        twin.weight_ih.copy_(kernel.T)
        twin.weight_hh.copy_(recurrent.T)
        twin.bias_ih.copy_(bias)
        twin.bias_hh.zero_()

    def reference(x: tf.Tensor, done: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> tf.Tensor:
        for step in range(STEPS):
            alive = 1 - done[:, step : step + 1]
            _, (h, c) = cell(x[:, step], [h * alive, c * alive])
        return h

    def candidate(
        x: torch.Tensor, done: torch.Tensor, h: torch.Tensor, c: torch.Tensor
    ) -> torch.Tensor:
        state = (c, h)
        for step in range(STEPS):
            alive = 1 - done[:, step : step + 1]
            state = twin(x[:, step], tuple(one * alive for one in state))
        return state[0]

    report = parity.compare(
        parity.wrap(reference, framework="tensorflow"),
        parity.wrap(candidate, framework="torch"),
        inputs=(X, DONE, H, C),
    )
    (found,) = report.divergences
    assert found.cause is not None and found.cause.kind == "wrong-source", str(report)
    assert found.cause.parameters["source"][1] == "the input '3'"
