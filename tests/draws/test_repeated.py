"""Draws that give the same values are one draw, and fresh samples are shared as they are."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
import torch

import parity

X = np.random.default_rng(0).standard_normal((200, 4)).astype(np.float32)


def _two(x):
    return x + 0.1 * torch.randn(x.shape), x + 0.2 * torch.randn(x.shape)


def _forked(forked):
    def model(x):
        with torch.random.fork_rng(enabled=forked):
            a = x + 0.1 * torch.randn(x.shape)
        return a, x + 0.2 * torch.randn(x.shape)

    return model


def _seeded(second):
    def model(x):
        seeds = tf.random.uniform((2, 2), 0, 2**31 - 1, tf.int32)
        a, b = (tf.random.stateless_normal(tf.shape(x), seeds[at]) for at in (0, second))
        return x + 0.1 * a, x + 0.2 * b

    return model


@pytest.mark.parametrize(
    "faulty, twin, framework",
    [(_forked(True), _forked(False), "torch"), (_seeded(0), _seeded(1), "tensorflow")],
)
def test_noise_that_goes_together_is_not_independent(faulty, twin, framework) -> None:
    def verdict(reference, candidate):
        models = [parity.wrap(model, framework=name) for model, name in (reference, candidate)]
        return parity.compare(*models, inputs=X).verdict

    assert verdict((_two, "torch"), (faulty, framework)) != "parity"
    assert verdict((_two, "torch"), (twin, framework)) == "parity"
    assert verdict((faulty, framework), (faulty, framework)) != "diverged"


def _with_a_coin(forked):
    """A generator's values for each head; of one state, one of them begins one value later."""

    def model(x):
        with torch.random.fork_rng(enabled=forked):
            a = x + 0.1 * torch.rand(x.shape)
        coin = torch.rand(1)
        return a, x + 0.2 * torch.rand(x.shape) + coin

    return model


def test_noise_that_begins_among_other_noise_goes_together_with_it() -> None:
    def verdict(*models):
        return parity.compare(*(parity.wrap(m, framework="torch") for m in models), inputs=X)

    found = verdict(_with_a_coin(True), _with_a_coin(True))
    assert found.verdict == "unverified"
    assert "further on" in " ".join(found.comparisons[0].reasons)
    assert verdict(_with_a_coin(False), _with_a_coin(False)).verdict == "parity"


def _gamma(turned):
    def model(x):
        alpha = torch.tensor([0.5, 1.0, 2.0, 4.0])[:, None] + torch.sigmoid(x)
        return torch._standard_gamma(alpha.mT if turned else alpha)

    return model


def test_parameters_of_a_kernel_stand_behind_their_samples() -> None:
    x = X[:200].reshape(50, 4, 4)
    models = [parity.wrap(_gamma(turned), framework="torch") for turned in (False, True, False)]
    assert parity.compare(models[0], models[1], inputs=x).verdict != "parity"
    assert parity.compare(models[0], models[2], inputs=x).verdict == "parity"
