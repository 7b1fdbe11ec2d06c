"""What no input reaches is looked into where the models differ in it."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch
from torch.nn.functional import layer_norm

import parity
from parity.report.report import Report

draw = np.random.default_rng(31)
X = draw.standard_normal((5, 4, 6)).astype("f")
PLACES, INTO = draw.standard_normal((9, 6)).astype("f"), draw.standard_normal((6, 6)).astype("f")
GAIN, SHIFT = draw.uniform(0.5, 1.5, 6).astype("f"), draw.standard_normal(6).astype("f")


class Scores(torch.nn.Module):
    """Products with projections of embedded places, which are normalised before."""

    def __init__(self) -> None:
        super().__init__()
        self.places, self.into, self.gain, self.shift = (
            torch.nn.Parameter(torch.from_numpy(one)) for one in (PLACES, INTO, GAIN, SHIFT)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        places = layer_norm(self.places, (6,), self.gain, self.shift)
        keys = torch.tanh(places @ self.into)
        return torch.relu(x @ keys.T)


class InTensorFlow(tf.Module):
    def __init__(self, normed: bool) -> None:
        super().__init__()
        self.normed = normed
        self.places, self.into, self.gain, self.shift = map(
            tf.Variable, (PLACES, INTO, GAIN, SHIFT)
        )

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        places = tf.convert_to_tensor(self.places)
        if self.normed:
            mean, spread = tf.nn.moments(places, [1], keepdims=True)
            places = (places - mean) * tf.math.rsqrt(spread + 1e-5) * self.gain + self.shift
        keys = tf.tanh(places @ self.into)
        return tf.nn.relu(tf.tensordot(x, keys, [[2], [1]]))


def compared(normed: bool) -> Report:
    models = parity.wrap(Scores(), framework="torch"), InTensorFlow(normed)
    return parity.compare(models[0], parity.wrap(models[1], framework="tensorflow"), inputs=X)


def test_a_norm_that_weights_lack_is_found_there() -> None:
    assert compared(True).verdict == "parity"
    (found,) = compared(False).divergences
    assert "layer_norm" in found.reference.code or "places @ self.into" in found.reference.code
    assert found.cause is not None and found.cause.confirmed


def test_without_it_the_first_that_reads_an_input_is_blamed(monkeypatch) -> None:
    monkeypatch.setattr("parity.candidate.differ_in_weights_alone", lambda matched, layers: False)
    (found,) = compared(False).divergences
    assert "x @ keys.T" in found.reference.code
