"""Distributions over numbers against torch.distributions and quadrature."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .against_torch import D, check_like_torch, inverse, stds, tensor, torch
from .checking import Case, Mutant, same


def check_gaussian(book: Any, case: Case) -> None:
    draw = case.draws()
    shape = (*case.batch, case.n)
    (a, s), (b, t) = ((case.scale * draw.normal(size=shape), stds(draw, shape)) for _ in range(2))
    noise = draw.normal(size=shape)
    found = book.DiagonalGaussian(a, s)
    expected = [D.Independent(D.Normal(tensor(m), tensor(d)), 1) for m, d in ((a, s), (b, t))]
    check_like_torch(
        found, book.DiagonalGaussian(b, t), *expected, a + s * noise, max(1.0, case.scale)
    )
    same(found.sample(noise), a + s * noise)
    same(found.mode(), expected[0].mean)


def squashed(mean: Any, std: Any, low: float, high: float) -> Any:
    """The same, from torch's transforms."""
    half = (high - low) / 2
    transforms = [D.TanhTransform(cache_size=1), D.AffineTransform(low + half, half, cache_size=1)]
    normal = D.Independent(D.Normal(tensor(mean), tensor(std)), 1)
    return D.TransformedDistribution(normal, transforms)


def check_squashed(book: Any, case: Case) -> None:
    draw = case.draws()
    shape = (*case.batch, case.n)
    (a, s), (b, t) = ((draw.normal(size=shape), stds(draw, shape)) for _ in range(2))
    for low, high in ((-1.0, 1.0), (-3.0, 5.0)):
        found, expected = book.SquashedGaussian(a, s, low, high), squashed(a, s, low, high)
        actions = low + (high - low) * draw.uniform(0.01, 0.99, shape)
        np.testing.assert_allclose(
            found.log_prob(actions), expected.log_prob(tensor(actions)), rtol=1e-8, atol=1e-8
        )
        before = case.scale * draw.normal(size=shape)
        half = (high - low) / 2
        # log(d action / d before): 1 - tanh^2 is 1 / cosh^2, and cosh is exact where tanh is 1
        slopes = np.log(half) - 2 * (
            np.abs(before) + np.log1p(np.exp(-2 * np.abs(before))) - np.log(2)
        )
        normal = D.Normal(tensor(a), tensor(s)).log_prob(tensor(before)).numpy()
        same(found.log_prob_before(before), (normal - slopes).sum(-1))
        other = book.SquashedGaussian(b, t, low, high)
        normals = [D.Independent(D.Normal(tensor(m), tensor(d)), 1) for m, d in ((a, s), (b, t))]
        same(found.kl(other), D.kl_divergence(*normals))
        noise = draw.normal(size=shape)
        same(found.sample(noise), low + half * (torch.tanh(tensor(a + s * noise)).numpy() + 1))
        same(found.mode(), low + half * (torch.tanh(tensor(a)).numpy() + 1))


def check_beta(book: Any, case: Case) -> None:
    draw = case.draws()
    shape = (*case.batch, case.n)
    a, b, c, d = np.exp(draw.uniform(-1.5, 3, (4, *shape)))
    for low, high in ((0.0, 1.0), (-2.0, 3.0)):
        transform = D.AffineTransform(low, high - low)
        betas = [D.Independent(D.Beta(tensor(x), tensor(y)), 1) for x, y in ((a, b), (c, d))]
        found, other = book.Beta(a, b, low, high), book.Beta(c, d, low, high)
        actions = low + (high - low) * draw.uniform(0.01, 0.99, shape)
        expected = D.TransformedDistribution(betas[0], [transform])
        np.testing.assert_allclose(
            found.log_prob(actions), expected.log_prob(tensor(actions)), rtol=1e-9, atol=1e-9
        )
        entropy = betas[0].entropy().numpy() + case.n * math.log(high - low)
        np.testing.assert_allclose(found.entropy(), entropy, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.kl(other), D.kl_divergence(*betas), rtol=1e-8, atol=1e-8)
        inner = np.where((a > 1) & (b > 1), (a - 1) / (a + b - 2), (a >= b) & ((a >= 1) | (b >= 1)))
        same(found.mode(), low + (high - low) * inner)


def check_beta_quantiles(book: Any, case: Case) -> None:
    """The share of the density below a sample is its noise, by the trapezoid rule."""
    draw = case.draws()
    a, b = draw.uniform(1.5, 8.0, (2, *case.batch, 1))
    noise = draw.random((*case.batch, 1))
    found = book.Beta(a, b, -1.0, 3.0).sample(noise)
    angles = np.linspace(0, np.pi, 4001)[1:-1]  # x = (1 - cos) / 2 takes the ends' slopes away
    for i in np.ndindex(*case.batch, 1):
        x = (1 - np.cos(angles)) / 2
        density = (
            D.Beta(tensor(a[i]), tensor(b[i])).log_prob(tensor(x)).exp().numpy()
            * np.sin(angles)
            / 2
        )
        end = np.arccos(1 - 2 * (found[i] + 1) / 4)
        shares = np.concatenate(
            [[0], np.cumsum((density[1:] + density[:-1]) / 2 * (angles[1] - angles[0]))]
        )
        assert abs(np.interp(end, angles, shares) - noise[i]) < 1e-5


def check_deterministic(book: Any, case: Case) -> None:
    action = case.scale * case.draws().normal(size=(*case.batch, case.n))
    other = action.copy()
    other[..., -1] += case.scale
    found = book.Deterministic(action)
    same(found.log_prob(action), np.zeros(case.batch))
    same(found.log_prob(other), np.full(case.batch, -np.inf))
    same(found.kl(book.Deterministic(other)), np.full(case.batch, np.inf))
    same(found.kl(book.Deterministic(action)), np.zeros(case.batch))
    same(found.entropy(), np.zeros(case.batch))
    same(found.mode(), action)
    same(found.sample(), action)


def check_mixture(book: Any, case: Case) -> None:
    draw = case.draws()
    logits = draw.normal(size=(*case.batch, case.m))
    means = case.scale * draw.normal(size=(*case.batch, case.m, case.n))
    spread = stds(draw, means.shape)
    found = book.GaussianMixture(logits, means, spread)
    expected = D.MixtureSameFamily(
        D.Categorical(logits=tensor(logits)),
        D.Independent(D.Normal(tensor(means), tensor(spread)), 1),
    )
    actions = means[..., 0, :] + draw.normal(size=(*case.batch, case.n))
    same(found.log_prob(actions), expected.log_prob(tensor(actions)))
    same(found.mean(), expected.mean)
    assert (found.batch_shape, found.event_shape) == (expected.batch_shape, expected.event_shape)
    uniform, noise = draw.random(case.batch), draw.normal(size=actions.shape)
    sample = found.sample((uniform, noise))
    probabilities = torch.softmax(tensor(logits), -1).numpy()
    for i in np.ndindex(case.batch):
        component = inverse(probabilities[i], uniform[i])
        same(sample[i], means[i][component] + spread[i][component] * noise[i])


def check_special(book: Any, case: Case) -> None:
    x, y = np.exp(case.draws().uniform(-5, 7, (2, *case.batch, case.n)))
    np.testing.assert_allclose(book.digamma(x), torch.digamma(tensor(x)), rtol=1e-14, atol=1e-14)
    logs = torch.lgamma(tensor(x)) + torch.lgamma(tensor(y)) - torch.lgamma(tensor(x + y))
    np.testing.assert_allclose(book.log_beta(x, y), logs, rtol=1e-11, atol=1e-11)
    # I_x(a, 1) = x^a, and I_x(a, b) + I_(1-x)(b, a) = 1
    place = case.draws().uniform(0.01, 0.99, x.shape)
    np.testing.assert_allclose(
        book.beta_cdf(place, x, np.ones_like(x)), place**x, rtol=1e-9, atol=1e-13
    )
    y = np.clip(
        y, 1.0, None
    )  # a density without a pole: its quantiles determine their probabilities
    x = np.clip(x, 1.0, None)
    again = book.beta_cdf(book.beta_quantile(place, x, y), x, y)
    np.testing.assert_allclose(again, place, rtol=1e-9)
    swapped = book.beta_cdf(1 - place, y, x)
    np.testing.assert_allclose(book.beta_cdf(place, x, y) + swapped, 1.0, rtol=1e-10)


NUMBERS, BOUNDED = "continuous", "bounded"
CHECKS = [
    check_gaussian,
    check_squashed,
    check_beta,
    check_beta_quantiles,
    check_deterministic,
    check_mixture,
    check_special,
]
MUTANTS = [
    Mutant(check_gaussian, NUMBERS, "+ _LOG_2PI) - np.log(std)", "+ _LOG_2PI) - std"),
    Mutant(check_gaussian, NUMBERS, "0.5 + 0.5 * _LOG_2PI", "0.5 * _LOG_2PI"),
    Mutant(check_gaussian, NUMBERS, "self.std / other.std", "other.std / self.std"),
    Mutant(
        check_gaussian,
        NUMBERS,
        "self.mean + self.std * self._action",
        "self.mean + self.std**2 * self._action",
    ),
    Mutant(
        check_squashed,
        BOUNDED,
        "before, self.base.mean, self.base.std) - slope - scale",
        "before, self.base.mean, self.base.std) - slope",
    ),
    Mutant(
        check_squashed,
        BOUNDED,
        "2 * (np.log(2) - before - softplus(-2 * before))",
        "np.log(1 - np.tanh(before) ** 2)",
    ),
    Mutant(
        check_squashed,
        BOUNDED,
        "0.5 * (np.log(below) - np.log(above))",
        "0.5 * (np.log(above) - np.log(below))",
    ),
    Mutant(check_squashed, BOUNDED, "np.tanh(before) + 1", "np.tanh(before)"),
    Mutant(
        check_squashed,
        BOUNDED,
        "return self.base.kl(other.base)",
        "return other.base.kl(self.base)",
    ),
    Mutant(
        check_beta,
        BOUNDED,
        "- log_beta(self.alpha, self.beta) - np.log(wide)",
        "- log_beta(self.alpha, self.beta)",
    ),
    Mutant(
        check_beta, BOUNDED, "(self.alpha - 1) * np.log(below)", "(self.beta - 1) * np.log(below)"
    ),
    Mutant(check_beta, BOUNDED, "(a + b - 2) * digamma(a + b)", "(a + b) * digamma(a + b)"),
    Mutant(
        check_beta, BOUNDED, "log_beta(other.alpha, other.beta) - log_beta(a, b)", "log_beta(a, b)"
    ),
    Mutant(check_beta, BOUNDED, "inner = (a - 1) / (a + b - 2)", "inner = a / (a + b)"),
    Mutant(
        check_beta_quantiles,
        BOUNDED,
        "beta_quantile(uniform, self.alpha, self.beta)",
        "beta_quantile(uniform, self.beta, self.alpha)",
    ),
    Mutant(check_deterministic, NUMBERS, "== self.action).all(-1)", "== self.action).any(-1)"),
    Mutant(
        check_deterministic,
        NUMBERS,
        "-self.log_prob(self._like(other).action)",
        "self.log_prob(self._like(other).action)",
    ),
    Mutant(
        check_mixture,
        NUMBERS,
        "log_sum_exp(self.weights.logs + each)",
        "(self.weights.probabilities * each).sum(-1)",
    ),
    Mutant(check_mixture, NUMBERS, "log_sum_exp(self.weights.logs + each)", "log_sum_exp(each)"),
    Mutant(check_mixture, NUMBERS, "self.stds, component, -2", "self.means, component, -2"),
    Mutant(check_special, "special", "np.log(x) - 0.5 / x", "np.log(x) + 0.5 / x"),
    Mutant(check_special, "special", "-1 / 120", "1 / 120"),
    Mutant(check_special, "special", "m * (b - m) * x", "m * (b + m) * x"),
]
