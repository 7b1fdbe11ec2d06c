"""Random draws: how they are paired, what is said where they differ, and what cannot be known."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import tensorflow as tf
import torch

import parity
from parity.diagnosis import redraw_check
from parity.inputs import layout_advice
from parity.matching.match import Indexed, match
from parity.model import wrap

F = torch.nn.functional
rng = np.random.default_rng(0)
W = rng.normal(size=(8, 4)).astype("f")
V = (0.3 * rng.normal(size=(8, 4))).astype("f")
X = rng.normal(size=(5, 8)).astype("f")
w, v = torch.from_numpy(W), torch.from_numpy(V)


def compared(reference, candidate, x=X, reference_in="torch", candidate_in="torch"):
    torch.manual_seed(0)
    tf.random.set_seed(1)
    np.random.seed(2)
    report = parity.compare(
        parity.wrap(reference, framework=reference_in, name="reference"),
        parity.wrap(candidate, framework=candidate_in, name="candidate"),
        inputs=x,
    )
    return report.comparisons[0]


def matched(reference, candidate, x=X, candidate_in="torch"):
    torch.manual_seed(0)
    tf.random.set_seed(1)
    models = wrap(reference, framework="torch"), wrap(candidate, framework=candidate_in)
    own, other = (layout_advice.record(model, models[0], x)[1] for model in models)
    return match(Indexed(own, own.replay("float64")), other)


def noisy(x):
    return x @ w + torch.exp(x @ v) * torch.randn(len(x), 4)


def test_the_references_samples_are_substituted_in_the_candidates_layout():
    def candidate(x):
        return tf.matmul(x, W) + tf.exp(tf.matmul(x, V)) * tf.transpose(tf.random.normal((4, 5)))

    found = matched(noisy, candidate, candidate_in="tensorflow")
    (value,) = (op.outputs[0] for op in found.side.tape.ops if op.role == "random")
    (drawn,) = (op.outputs[0] for op in found.reference.tape.ops if op.role == "random")
    assert list(found.draws) == [value]
    np.testing.assert_array_equal(found.draws[value], found.reference.array(drawn).T)
    assert all(output in found.pairs for output in found.side.tape.outputs.values())


def test_draws_in_exchanged_order_are_paired_by_what_they_feed():
    def reference(x):
        first, second = torch.randn(5, 4), torch.randn(5, 4)
        return x @ w * first + x @ v + second

    def candidate(x):
        second, first = torch.randn(5, 4), torch.randn(5, 4)
        return x @ w * first + x @ v + second

    assert compared(reference, candidate).verdict == "parity"


@pytest.mark.parametrize("exchanged", [False, True])
def test_one_draw_for_two_is_paired_piece_by_piece(exchanged):
    def reference(x):
        both = torch.randn(2, 5, 4)
        return x @ w * both[0] + both[1]

    def candidate(x):
        first, second = torch.randn(5, 4), torch.randn(5, 4)
        return x @ w * first + second

    sides = (candidate, reference) if exchanged else (reference, candidate)
    assert compared(*sides).verdict == "parity"


@pytest.mark.parametrize(
    "noise",
    [
        lambda: -torch.log(torch.empty(5, 4).exponential_()),
        lambda: -torch.log(-torch.log(torch.rand(5, 4))),
        lambda: torch.distributions.Gumbel(0.0, 1.0).rsample((5, 4)),
        lambda: torch.from_numpy(np.random.gumbel(size=(5, 4)).astype("f")),
    ],
    ids=["exponential", "uniform", "distribution", "numpy"],
)
def test_one_noise_made_in_several_ways_is_one(noise):
    def reference(x):
        u = tf.random.uniform((5, 4), 1e-7, 1.0)
        return tf.nn.softmax(tf.matmul(x, W) - tf.math.log(-tf.math.log(u)))

    def candidate(x):
        return torch.softmax(x @ w + noise(), 1)

    def scaled(x):
        return torch.softmax(x @ w + 1.1 * noise(), 1)

    assert compared(reference, candidate, reference_in="tensorflow").verdict == "parity"
    assert compared(reference, scaled, reference_in="tensorflow").verdict == "diverged"


def test_another_distribution_is_named():
    def uniform(x):
        return x @ w + torch.exp(x @ v) * torch.rand(5, 4)

    (found,) = compared(noisy, uniform).divergences
    stated = "the reference draws normal(mean=0, std=1), the candidate uniform(low=0, high=1)"
    assert stated in found.detail
    assert "torch.rand" in found.candidate.code


def test_another_rate_is_named_though_it_is_a_comparison_with_noise():
    def reference(x):
        return F.dropout(x, 0.1) @ w

    def candidate(x):
        return x * (torch.rand(5, 8) >= 0.5) / 0.5 @ w

    (found,) = compared(reference, candidate).divergences
    assert "bernoulli(p=0.9), the candidate bernoulli(p=0.5)" in found.detail


def test_noise_that_is_shared_is_a_divergence():
    def shared(x):
        return x @ w + torch.exp(x @ v) * torch.randn(1, 4)

    (found,) = compared(noisy, shared).divergences
    assert "20 numbers" in found.detail and "the candidate 4" in found.detail


def test_decisions_that_agree_by_chance_are_drawn_again(monkeypatch):
    def greedy_unless(chance):
        def act(x):
            explore = (torch.rand(len(x), 1) < chance).float()
            return explore * (x @ v) + (1 - explore) * (x @ w)

        return act

    one = X[:1]
    found = compared(greedy_unless(0.05), greedy_unless(0.15), x=one)
    assert found.verdict == "diverged"
    assert compared(greedy_unless(0.05), greedy_unless(0.05), x=one).verdict == "parity"
    monkeypatch.setattr(redraw_check._RedrawTrial, "first_differing", lambda trial, drawing: None)
    assert compared(greedy_unless(0.05), greedy_unless(0.15), x=one).verdict == "parity"


def test_what_could_have_been_seen_is_stated():
    def act(x):
        return (torch.rand(5, 4) < torch.sigmoid(x @ w)).float() @ w.T

    found = compared(act, act)
    assert found.verdict == "parity"
    (note,) = (note for note in found.notes if note.kind == "random")
    assert "draws paired exactly" in note.detail


@pytest.mark.parametrize("factor", [3.0, 1.02])
def test_categorical_kernels_have_their_logits_compared(factor):
    def reference(x):
        chosen = torch.multinomial((x @ w).softmax(1), 2, replacement=True)
        return F.one_hot(chosen, 4).float() @ w.T

    def candidate(factor):
        def run(x):
            chosen = tf.random.categorical(tf.matmul(x, W) * factor, 2)
            return tf.one_hot(chosen, 4) @ W.T

        return run

    assert compared(reference, candidate(1.0), candidate_in="tensorflow").verdict == "parity"
    found = compared(reference, candidate(factor), candidate_in="tensorflow")
    assert found.verdict == "diverged"
    assert "* factor" in found.divergences[0].candidate.code


def test_kernels_of_their_own_have_their_parameters_compared():
    def reference(x):
        return torch._standard_gamma(F.softplus(x @ w) + 0.5)

    def candidate(more):
        return lambda x: tf.random.gamma((), tf.math.softplus(tf.matmul(x, W)) + more)

    assert compared(reference, candidate(0.5), candidate_in="tensorflow").verdict == "parity"
    assert compared(reference, candidate(0.6), candidate_in="tensorflow").verdict == "diverged"


def test_a_sampler_without_counterpart_is_unverified_and_its_fault_a_divergence():
    def box_muller(scale):
        def run(x):
            radius = torch.sqrt(-2 * torch.log(1 - torch.rand(5, 4)))
            return x @ w + scale * radius * torch.cos(2 * np.pi * torch.rand(5, 4))

        return run

    def reference(x):
        return x @ w + torch.randn(5, 4)

    found = compared(reference, box_muller(1.0))
    assert found.verdict == "unverified"
    assert "could not be paired" in found.reasons[0]
    assert "would have been seen" in found.reasons[0]
    assert compared(reference, box_muller(2.0)).verdict == "diverged"


def test_sums_and_products_of_draws_are_no_false_alarm():
    def sums(x):
        return x @ w + 0.6 * torch.randn(5, 4) + 0.8 * torch.randn(5, 4)

    def merged(scale):
        return lambda x: x @ w + scale * torch.randn(5, 4)

    def product(x):
        return x @ w + torch.randn(5, 4, 2).prod(-1)

    def factors(x):
        return x @ w + torch.randn(5, 4) * torch.randn(5, 4)

    assert compared(sums, merged(1.0)).verdict == "unverified"
    assert compared(merged(1.0), sums).verdict == "unverified"
    assert compared(factors, product).verdict == "parity"
    assert compared(lambda x: x @ w + 0.9 * (factors(x) - x @ w), product).verdict == "diverged"
    assert compared(sums, merged(1.4)).verdict == "diverged"


def test_a_branch_in_python_on_a_draw_is_unverified():
    def run(x):
        return x @ w if torch.rand(()) < 0.5 else x @ v

    found = compared(run, run)
    assert found.verdict == "unverified"
    assert "branches on random draws in Python" in found.reasons[0]


def test_sampling_against_none_is_a_divergence_either_way():
    def still(x):
        return x @ w

    assert compared(noisy, still).verdict == "diverged"
    assert compared(still, noisy).verdict == "diverged"


@pytest.mark.parametrize("scale", [2.0, 1.0001])
def test_noise_that_is_scaled_before_it_meets_data_is_a_divergence(scale):
    sigma = torch.from_numpy(np.abs(W) + 0.1)

    def layer(scale):
        return lambda x: torch.tanh(x @ (w + scale * sigma * torch.outer(*noise())))

    def noise():
        return torch.randn(8), torch.randn(4)

    assert compared(layer(1.0), layer(1.0)).verdict == "parity"
    assert compared(layer(1.0), layer(scale)).verdict == "diverged"


def test_a_mask_of_booleans_does_not_end_the_cause():
    def dropped(rate):
        def run(x):
            h = tf.tanh(tf.matmul(x, W))
            kept = tf.random.uniform(h.shape) >= rate
            return tf.where(kept, h, tf.zeros_like(h)) / (1 - rate)

        return run

    with warnings.catch_warnings():
        warnings.filterwarnings("error", "the cause")
        found = compared(
            dropped(0.3), dropped(0.5), reference_in="tensorflow", candidate_in="tensorflow"
        )
    assert found.verdict == "diverged"


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_how_many_are_kept_may_depend_on_what_is_drawn(rate) -> None:
    def model(rate):
        def kept(x):
            coins = torch.bernoulli(torch.full((len(x),), rate))
            return torch.tanh(x)[coins.nonzero()[:3, 0]]

        return parity.wrap(kept, framework="torch")

    rows = np.random.default_rng(0).standard_normal((12, 5)).astype("f")
    report = parity.compare(model(0.5), model(rate), inputs=rows)
    assert (report.verdict == "parity") == (rate == 0.5)


@pytest.mark.parametrize(("size", "expected"), [(1e-5, "unverified"), (0.1, "diverged")])
def test_noise_that_one_model_lacks_is_a_divergence_where_it_is_seen(size, expected) -> None:
    x = np.random.default_rng(0).standard_normal((6, 5)).astype(np.float32)

    def noisy(x):
        return 1 + x.sigmoid() + size * torch.randn_like(x)

    def plain(x):
        return 1 + x.sigmoid()

    models = [parity.wrap(one, framework="torch") for one in (noisy, plain)]
    for pair in (models, models[::-1]):
        assert parity.compare(*pair, inputs=x).verdict == expected
