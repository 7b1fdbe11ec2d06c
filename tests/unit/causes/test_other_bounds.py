"""A clip at other bounds, which nothing reaches, is not called missing without a word of it."""

from __future__ import annotations

import numpy as np
import pytest

import parity

torch = pytest.importorskip("torch")
tf = pytest.importorskip("tensorflow")

X = np.linspace(-1.7, 1.8, 40, dtype="f").reshape(8, 5)


def summary(before, candidate):
    report = parity.compare(
        parity.wrap(lambda x: torch.clamp(before(torch, x), -1, 1).sin(), framework="torch"),
        parity.wrap(candidate, framework="tensorflow"),
        inputs=X,
    )
    (divergence,) = report.comparisons[0].divergences
    assert divergence.cause.kind == "activation-missing"
    return divergence.cause.summary


def test_a_clip_that_nothing_reaches_is_named():
    found = summary(lambda lib, x: x * 1, lambda x: tf.sin(tf.clip_by_value(x * 1, -2.0, 2.0)))
    assert found.endswith("there cuts nothing off")


def test_a_relu_that_cuts_off_is_not_said_to_be_idle():
    found = summary(lambda lib, x: lib.relu(x), lambda x: tf.sin(tf.maximum(x, 0.0)))
    assert "cuts nothing off" not in found
