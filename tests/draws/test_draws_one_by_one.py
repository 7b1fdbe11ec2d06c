"""One model draws in a loop, over samples, steps or members, what the other draws at once."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
import torch
import torch.nn.functional as F

import parity

X = np.random.default_rng(0).normal(size=(6, 8)).astype("f4")
STEPS = np.random.default_rng(1).normal(size=(4, 5, 8)).astype("f4")
A = torch.tensor(np.random.default_rng(2).normal(size=(8, 8)).astype("f4") * 0.4)
D = torch.distributions


def steps(noises):
    def model(x):
        h, found = torch.zeros(5, 8), []
        read = noises()
        for at in range(4):
            h = torch.tanh(x[at] + h @ A + 0.3 * read(at))
            found.append(h)
        return torch.stack(found)

    return model


def before(shape, read):
    def noises():
        drawn = torch.randn(shape)
        return lambda at: read(drawn, at)

    return noises


one_by_one = steps(lambda: lambda at: torch.randn(5, 8))
RECURRENT = {
    "steps first": (before((4, 5, 8), lambda noise, at: noise[at]), "parity"),
    "samples first": (before((5, 4, 8), lambda noise, at: noise[:, at]), "parity"),
    "the first one only": (before((4, 5, 8), lambda noise, at: noise[0]), "diverged"),
    "one of them smaller": (
        before((4, 5, 8), lambda noise, at: noise[at] * (0.9 if at == 2 else 1.0)),
        "diverged",
    ),
}


def compared(reference, candidate, inputs=X):
    models = [parity.wrap(one, framework="torch") for one in (reference, candidate)]
    return parity.compare(*models, inputs=inputs)


def both_ways(one, other, inputs=X):
    return {compared(one, other, inputs).verdict, compared(other, one, inputs).verdict}


@pytest.mark.parametrize("name", RECURRENT)
def test_over_steps(name):
    noises, expected = RECURRENT[name]
    assert both_ways(one_by_one, steps(noises), STEPS) == {expected}


def at_once(x):
    noisy = torch.tanh(x) + 0.5 * torch.randn(6, 8) + 0.2 * torch.rand(6, 8)
    return noisy, x * torch.randn(6, 8)


def by_sample(x, scale=1.0, again=False):
    noisy, scaled = [], []
    for row in x:
        first, second = torch.randn(8), torch.rand(8)
        factor = first if again else torch.randn(8)
        noisy.append(torch.tanh(row) + 0.5 * first + 0.2 * scale * second)
        scaled.append(row * factor)
    return torch.stack(noisy), torch.stack(scaled)


def by_feature(x):
    noisy, scaled = [], []
    for column in x.T:
        noisy.append(torch.tanh(column) + 0.5 * torch.randn(6) + 0.2 * torch.rand(6))
        scaled.append(column * torch.randn(6))
    return torch.stack(noisy, 1), torch.stack(scaled, 1)


def test_over_samples_and_features():
    assert both_ways(at_once, by_sample) == {"parity"}
    assert both_ways(at_once, by_feature) == {"parity"}
    assert both_ways(by_sample, by_feature) == {"parity"}


def test_over_samples_with_a_fault():
    assert compared(at_once, lambda x: by_sample(x, scale=4.0)).verdict == "diverged"
    assert compared(at_once, lambda x: by_sample(x, again=True)).verdict == "diverged"
    assert compared(lambda x: by_sample(x, scale=4.0), by_feature).verdict == "diverged"


def test_as_many_features_as_samples():
    def square(x):
        return x[:, :6] + 0.5 * torch.randn(6, 6)

    def rows(x):
        return torch.stack([row[:6] + 0.5 * torch.randn(6) for row in x])

    def columns(x):
        return torch.stack([x[:, at] + 0.5 * torch.randn(6) for at in range(6)], 1)

    assert both_ways(square, rows) == both_ways(square, columns) == {"parity"}


KERNELS = {
    "dropout": (lambda x, k: F.dropout(x @ A, 0.3 + k), 0.1),
    "rsample": (lambda x, k: D.Normal(x, 0.4 + k).rsample(), 0.02),
    "sample": (lambda x, k: D.Normal(x, 0.4 + k).sample(), 0.02),
    "categorical": (lambda x, k: F.one_hot(D.Categorical(logits=(3 + k) * x).sample(), 8) * x, 0.3),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name):
    draw, off = KERNELS[name]

    def loop(k):
        return lambda x: torch.stack([draw(row, k) for row in x])

    assert both_ways(lambda x: draw(x, 0.0), loop(0.0)) == {"parity"}
    assert compared(lambda x: draw(x, 0.0), loop(off)).verdict == "diverged"


def test_a_mean_over_members():
    def mean(x):
        return (torch.tanh(x) + 0.5 * torch.randn(20, 6, 8)).mean(0)

    def loop(members):
        return lambda x: sum(torch.tanh(x) + 0.5 * torch.randn(6, 8) for _ in range(members)) / 20

    assert both_ways(mean, loop(20)) == {"parity"}
    assert compared(mean, loop(19)).verdict == "diverged"


@pytest.mark.parametrize("law", ["normal", "truncated_normal"])
def test_in_tensorflow(law):
    draw = getattr(tf.random, law)

    def loop(scale):
        return lambda x: tf.map_fn(lambda row: row + scale * draw([8]), x)

    def model(function):
        return parity.wrap(function, framework="tensorflow")

    reference = model(lambda x: x + 0.5 * draw([6, 8]))
    assert parity.compare(reference, model(loop(0.5)), inputs=X).verdict == "parity"
    assert parity.compare(reference, model(loop(0.52)), inputs=X).verdict == "diverged"


def test_what_hides_in_half_of_the_samples_is_found():
    """The closing checks look at other samples on draws that are combined in the same way."""

    def held(x):
        first = X[: len(x)]
        same = torch.from_numpy(first) * (x == torch.from_numpy(first)).all()
        return torch.stack([torch.tanh(row) + 0.1 * torch.randn(8) for row in same])

    right = compared(lambda x: torch.tanh(x) + 0.1 * torch.randn(6, 8), held)
    assert right.verdict != "parity", str(right)


def test_a_rate_that_changes_from_step_to_step():
    """Draws at one line that follow several laws are not one draw."""

    def loop(rates):
        return lambda x: torch.stack(
            [F.dropout(row @ A, rate) for row, rate in zip(x, rates, strict=True)]
        )

    rising = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35)
    assert compared(loop(rising), loop(rising)).verdict == "parity"
    assert compared(lambda x: F.dropout(x @ A, 0.1), loop(rising)).verdict == "diverged"
