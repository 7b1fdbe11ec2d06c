"""Small differences on inputs that would make a true one large."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import parity
from parity.diagnosis.sorted_mismatches import SortedMismatches
from parity.findings import Cause, Divergence
from parity.site import Site

X = (0.3 * np.random.default_rng(0).standard_normal((6, 9))).astype(np.float32)


def compare(a, b, x=X):
    return parity.compare(*(parity.wrap(f, framework="torch") for f in (a, b)), inputs=x)


def by_clamp(x):
    return torch.tanh(torch.clamp(x * np.float32(1 / 6) + 0.5, 0, 1) * 3)


def by_relu6(x):
    return torch.tanh(torch.nn.functional.relu6(x + 3) / 6 * 3)


@pytest.mark.parametrize("models", [(by_clamp, by_relu6), (by_relu6, by_clamp)])
def test_a_value_before_it_is_clipped_looks_like_the_clipped_one(models):
    """On small inputs nothing is clipped; on larger ones both models clip all the same."""
    assert compare(*models).verdict == "parity"


def norm(epsilon):
    def form(x):
        variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
        return torch.tanh((x - mean) * torch.rsqrt(variance + epsilon))

    return form


def test_a_small_epsilon_does_not_hide_among_rounded_constants():
    report = compare(norm(1e-5), norm(1.0005e-5))
    assert report.verdict == "diverged"
    (divergence,) = report.divergences
    assert "it grows to" in divergence.detail


def test_a_confirmed_one_comes_after_what_differs_on_the_given_inputs():
    report = compare(norm(1e-5), lambda x: norm(1.0005e-5)(x) * 1.5)
    first, last = report.divergences
    assert first.residual > 0.1 and "it grows to" in last.detail
    assert last.cause.kind == "norm-epsilon" and last.cause.confirmed


def test_what_other_inputs_alone_would_show_is_a_note_beside_what_these_show():
    """Unless it is confirmed, and where there is nothing else."""
    small, large = (Divergence(Site(op, ""), Site(op, ""), 1e-8) for op in ("rsqrt", "matmul"))
    cause = Cause("norm-epsilon", "epsilon 2, the reference 1", {}, True, 1e-8, 0.0, 4)
    proved = replace(small, cause=cause)
    for one, left in ((small, [large]), (proved, [large, proved])):
        found = SortedMismatches(elsewhere={(small.reference, small.candidate)})
        assert found.without_small([one, large]) == left
        assert [note.kind for note in found.notes] == ["constant-precision"] * (2 - len(left))
        assert found.without_small([one]) == [one]
    sites = {(small.reference, small.candidate)}
    found = SortedMismatches(elsewhere=sites, here=sites)  # of two calls of a line one differs here
    assert found.without_small([small, large]) == [small, large] and not found.notes


def test_a_value_of_large_mean_less_its_mean_is_no_divergence():
    """Both variances are rounding alone where the values are equal."""

    def centred_first(x):
        return norm(1e-3)(x - x.mean(-1, keepdim=True))

    assert compare(norm(1e-3), centred_first).verdict == "parity"


def test_inputs_that_an_operation_does_not_take_are_left_out():
    """Torch's own cross entropy takes probabilities alone; what is tried here is larger."""
    third = np.float32(1 / 3)
    wanted = torch.from_numpy(np.linspace(0.2, 0.7, X.size).astype("f").reshape(X.shape))

    def in_one(x):
        return third * torch.nn.functional.binary_cross_entropy(x, wanted, reduction="none")

    def in_steps(x):
        return wanted * (-torch.log(x) / 3) + (1 - wanted) * (-torch.log(1 - x) / 3)

    report = compare(in_one, in_steps, np.linspace(0.1, 0.9, X.size, dtype="f").reshape(X.shape))
    assert report.verdict == "parity"
    assert [note.kind for note in report.worst.notes] == ["constant-precision"]


def test_what_has_length_one_may_be_normalised_again():
    """Inputs of another length are different ones: the difference jumps, it does not grow."""
    weight = torch.from_numpy(np.random.default_rng(1).standard_normal((9, 4)).astype("f"))
    x = X / np.linalg.norm(X, axis=1, keepdims=True)

    def again(factor):
        return lambda x: (factor * x / torch.linalg.norm(x, dim=1, keepdim=True)) @ weight

    assert compare(lambda x: x @ weight, again(1.0), x).verdict == "parity"
    assert compare(lambda x: x @ weight, again(1.0001), x).verdict == "diverged"


def test_a_clip_beyond_all_inputs_is_no_divergence():
    third = np.float32(1 / 3)
    clipped = compare(lambda x: x / 3 + 0.1, lambda x: torch.clamp(x, -2, 2) * third + 0.1)
    assert clipped.verdict == "parity"
    reached = compare(lambda x: x / 3 + 0.1, lambda x: torch.clamp(x, -0.5, 0.5) * third + 0.1)
    assert reached.verdict == "diverged"


def elu(x, alpha=1.34):
    low = (torch.exp(torch.minimum(x, torch.zeros(()))) - 1.0) * alpha
    return torch.where(x > 0, x, low)


def test_what_a_clip_lets_through_is_fed_from_before_it():
    """Where all inputs are negative the clipped value is the input; on others both branch."""
    x = -np.abs(X) - 0.1

    def twice(x):
        return torch.nn.functional.softplus(elu(elu(x), 0.745))

    def in_one(x):
        inner = torch.nn.functional.elu(x, 1.34)
        return torch.nn.functional.softplus(torch.nn.functional.elu(inner, 0.745))

    assert compare(twice, in_one, x).verdict == "parity"
    assert compare(in_one, twice, x).verdict == "parity"


def test_what_other_inputs_alone_show_and_nothing_explains_is_unverified():
    def series(x):
        return x - x**3 / 6 + x**5 / 120 - x**7 / 5040

    report = compare(torch.sin, series)
    assert report.verdict == "unverified" and not report.divergences
    assert "it grows to" in " ".join(report.comparisons[0].reasons)
