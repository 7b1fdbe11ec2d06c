"""Small differences on inputs that would make a true one large."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity

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


def test_a_value_of_large_mean_less_its_mean_is_no_divergence():
    """Both variances are rounding alone where the values are equal."""

    def centred_first(x):
        return norm(1e-3)(x - x.mean(-1, keepdim=True))

    assert compare(norm(1e-3), centred_first).verdict == "parity"
