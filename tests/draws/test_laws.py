"""Noise made from draws in another way: where its law differs, many runs show it."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
import torch

import parity
from benchmarks.attacks import run
from benchmarks.attacks.corpus import attacks
from parity.budget import Spent
from parity.diagnosis import limits, same_distribution

rng = np.random.default_rng(0)
W = rng.normal(size=(8, 3)).astype("f")
X = rng.normal(size=(5, 8)).astype("f")
FACTOR = np.array([[0.9, 0, 0], [0.5, 0.4, 0], [-0.4, 0.3, 0.6]], "f")
ANGLE = np.float32(0.7)
TURN = np.array(
    [[np.cos(ANGLE), -np.sin(ANGLE), 0], [np.sin(ANGLE), np.cos(ANGLE), 0], [0, 0, 1]], "f"
)


def compared(reference, candidate, x=X):
    torch.manual_seed(0)
    tf.random.set_seed(1)
    report = parity.compare(
        parity.wrap(reference, framework="torch", name="reference"),
        parity.wrap(candidate, framework="tensorflow", name="candidate"),
        inputs=x,
    )
    return report.comparisons[0]


def correlated(x):
    return x @ torch.from_numpy(W) + torch.randn(len(x), 3) @ torch.from_numpy(FACTOR).T


def correlated_by(matrix):
    def candidate(x):
        return tf.matmul(x, W) + tf.matmul(tf.random.normal((len(x), 3)), matrix)

    return candidate


@pytest.mark.parametrize("batch", [1, 5])
def test_a_covariance_without_its_correlations(batch):
    """Each element by itself has the same distribution."""
    alone = np.diag(np.sqrt(np.square(FACTOR).sum(1))).astype("f")
    assert compared(correlated, correlated_by(FACTOR.T), X[:batch]).verdict == "parity"
    found = compared(correlated, correlated_by(alone), X[:batch])
    assert found.verdict == "diverged"


def test_a_factor_of_the_same_covariance_is_no_divergence(monkeypatch):
    monkeypatch.setattr(limits, "LAW_RUNS", 2000)
    found = compared(correlated, correlated_by(TURN @ FACTOR.T))
    assert found.verdict == "unverified"
    assert "show no difference" in found.reasons[0]


def test_a_start_that_converges_late_is_no_divergence(monkeypatch):
    """A power iteration from random numbers, drawn here nearly across the axis it looks for."""
    monkeypatch.setattr(limits, "LAW_RUNS", 2000)
    report = run.report(attacks()["start-of-ones"], "twin", seed=2)
    assert report.verdict == "unverified", report


def test_where_the_time_ends_what_was_seen_so_far_is_stated(monkeypatch):
    """Of less than the first look there is nothing to state."""
    fresh = same_distribution._fresh

    def until(turn):
        def samples(tape, units, turns, *given):
            if turns.start >= turn:
                raise Spent
            return fresh(tape, units, turns, *given)

        return samples

    for turn, said in ((1, "250 runs of both"), (0, "the budget of")):
        monkeypatch.setattr(same_distribution, "_fresh", until(turn))
        found = compared(correlated, correlated_by(TURN @ FACTOR.T))
        assert found.verdict == "unverified" and said in " ".join(found.reasons)


def law(a, b):
    found = same_distribution._compared(a, b, 7)
    assert found is not None
    return found


def test_what_only_products_show():
    random = np.random.default_rng(0)
    a, b = random.standard_normal((2, 4000, 2))
    b[:, 1] = 0.2 * b[:, 0] + 0.98**0.5 * b[:, 1]
    found = law(a, b)
    assert found.differ and not found.distance > found.seen
    assert "products of two of them" in str(found)


def test_what_only_all_of_many_samples_show():
    random = np.random.default_rng(0)
    a, b = random.standard_normal((2, 500, 100))
    found = law(a, 1.08 * b)
    assert found.differ and not found.distance > found.seen


def test_a_mask_that_is_missing_in_a_long_recurrence():
    """Many operations: few of the runs that others get would be too few to decide."""
    u = rng.normal(size=(8, 8)).astype("f") / np.sqrt(np.float32(8))

    def reference(x):
        before, inside = (torch.nn.functional.dropout(torch.ones(5, 8), 0.2) for _ in range(2))
        h = torch.zeros(5, 8)
        for _ in range(60):
            h = torch.tanh(x * before + (h * inside) @ torch.from_numpy(u))
        return h

    def port(masked):
        def candidate(x):
            before = tf.nn.dropout(tf.ones((5, 8)), 0.2)
            inside = tf.nn.dropout(tf.ones((5, 8)), 0.2) if masked else tf.ones((5, 8))
            h = tf.zeros((5, 8))
            for _ in range(60):
                h = tf.tanh(x * before + tf.matmul(h * inside, u))
            return h

        return candidate

    assert compared(reference, port(True)).verdict == "parity"
    assert compared(reference, port(False)).verdict == "diverged"


def test_a_greedy_action_that_is_the_one_that_was_drawn():
    """One sample, and both models gave one action by chance: other draws distinguish them."""

    def reference(x):
        q = x @ torch.from_numpy(W)
        at = torch.distributions.Categorical(logits=0.1 * q).sample()
        return torch.gather(q, 1, at[:, None])

    def candidate(x):
        return tf.reduce_max(tf.matmul(x, W), 1, keepdims=True)

    seen = set()
    for row in range(5):
        found = compared(reference, candidate, X[row : row + 1])
        assert found.verdict == "diverged", found.reasons
        torch.manual_seed(0)
        drawn, best = (
            one(X[row : row + 1]) for one in (lambda x: reference(torch.from_numpy(x)), candidate)
        )
        seen.add(bool(np.isclose(float(drawn), float(best))))
    assert True in seen  # else nothing was equal by chance


@pytest.mark.parametrize("drawn", ["standard_normal", "standard_cauchy", "standard_exponential"])
def test_one_law_is_not_found_to_be_two(drawn):
    """Whatever the law: heavy tails too."""
    for seed in range(60):
        random = np.random.default_rng(seed)
        a, b = (getattr(random, drawn)((400, 6)) for _ in range(2))
        mixed = random.standard_normal((6, 6))
        assert not law(a @ mixed, b @ mixed).differ


def test_rounding_beside_noise_is_no_law():
    """A sum that is 1 up to rounding in one model, and exactly 1 in the other."""
    random = np.random.default_rng(0)
    a, b = random.standard_normal((2, 2000, 3))
    a[:, 0] = 1 + 2.0**-52 * random.integers(-2, 3, 2000)
    b[:, 0] = 1
    assert not law(a, b).differ


def test_runs_are_made_once_however_many_draws_have_no_counterpart(monkeypatch):
    made = []
    original = same_distribution._distributed

    def counting(*given):
        made.append(given)
        return original(*given)

    monkeypatch.setattr(same_distribution, "_distributed", counting)

    def reference(x):
        h = x @ torch.from_numpy(W)
        a = h + 0.6 * torch.randn(5, 3) + 0.8 * torch.randn(5, 3)
        return a, torch.tanh(h) + 0.6 * torch.randn(5, 3) + 0.8 * torch.randn(5, 3)

    def candidate(x):
        h = tf.matmul(x, W)
        return h + tf.random.normal((5, 3)), tf.tanh(h) + tf.random.normal((5, 3))

    assert compared(reference, candidate).verdict == "unverified"
    assert len(made) == 1


@pytest.mark.parametrize(("power", "verdict"), [(0.5, "parity"), (1.0, "diverged")])
def test_a_scale_that_differs_by_little_behind_a_decoder(power, verdict):
    """No law of the outputs shows it: the samples' own does, element by element."""
    x = np.random.default_rng(0).standard_normal((6, 5)).astype("f")
    w = [np.random.default_rng(i).standard_normal((5, 5)).astype("f") / 4 for i in (1, 2, 3)]

    def model(power):
        def called(x):
            mean, log_variance = x @ torch.from_numpy(w[0]), 0.3 * x @ torch.from_numpy(w[1])
            drawn = mean + torch.exp(power * log_variance) * torch.randn_like(mean)
            return torch.tanh(drawn @ torch.from_numpy(w[2])).sum(1)

        return parity.wrap(called, framework="torch")

    assert parity.compare(model(0.5), model(power), inputs=x).verdict == verdict
