"""Graphs that draw by another law than the code that they were traced from."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity

tf = pytest.importorskip("tensorflow")

X = np.random.default_rng(0).standard_normal((64, 7)).astype("f")
W = np.random.default_rng(1).standard_normal((7, 4)).astype("f")


class Policy:
    """Noise whose scale is set when a graph may have been traced already."""

    def __init__(self, early):
        self.scale = 1.0
        self.act = tf.function(self._act)
        if early:
            self.act(tf.constant(X))
        self.scale = 0.1

    def _act(self, x):
        h = tf.matmul(x, W)
        return h, h + self.scale * tf.random.normal(tf.shape(h))

    def __call__(self, x):
        return self.act(x)


def reference(x):
    h = x @ torch.from_numpy(W)
    return h, h + 0.1 * torch.randn(h.shape)


@pytest.mark.parametrize(("early", "verdict"), [(True, "unverified"), (False, "parity")])
def test_a_graph_that_was_traced_with_another_scale(early, verdict):
    candidate = parity.wrap(Policy(early), framework="tensorflow")
    found = parity.compare(parity.wrap(reference, framework="torch"), candidate, inputs=X)
    assert found.verdict == verdict, found.comparisons[0].reasons
    if early:
        assert "another law than its code" in found.comparisons[0].reasons[0]


@pytest.mark.parametrize(("independent", "verdict"), [(True, "unverified"), (False, "parity")])
def test_two_graphs_that_draw_the_same_values(independent, verdict):
    def noisy(h):
        return h + 0.1 * tf.random.normal(tf.shape(h))

    tf.random.set_seed(5)
    first, second = tf.function(noisy), tf.function(noisy)
    both = tf.function(lambda h: (noisy(h), noisy(h)))

    def model(x):
        h = tf.matmul(x, W)
        return (first(h), second(h)) if independent else both(h)

    def two(x):
        h = x @ torch.from_numpy(W)
        return h + 0.1 * torch.randn(h.shape), h + 0.1 * torch.randn(h.shape)

    candidate = parity.wrap(model, framework="tensorflow")
    found = parity.compare(parity.wrap(two, framework="torch"), candidate, inputs=X)
    assert found.verdict == verdict, found.comparisons[0].reasons


def test_a_graph_that_gives_complex_numbers():
    def model(x):
        h = tf.matmul(x, W)
        return h, tf.complex(h, h + 0.1 * tf.random.normal(tf.shape(h)))

    def complex_too(x):
        h, noisy = reference(x)
        return h, torch.complex(h, noisy)

    candidate = parity.wrap(tf.function(model), framework="tensorflow")
    found = parity.compare(parity.wrap(complex_too, framework="torch"), candidate, inputs=X)
    assert found.verdict == "parity", found.comparisons[0].reasons
