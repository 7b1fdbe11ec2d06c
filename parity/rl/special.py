"""The functions of the beta distribution, which NumPy lacks: log B, digamma, its quantiles."""

from __future__ import annotations

import math

import numpy as np

from parity.errors import InputError
from parity.tape import Array

_log_gamma = np.vectorize(math.lgamma, otypes=[np.float64])
# Bernoulli numbers over 2k, of digamma's asymptotic series (Abramowitz and Stegun 6.3.18); with
# x >= 10 the first term left out is below 1e-15.
_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
_FAR = 10.0
_TERMS = 10_000
_ENOUGH = 1e-15
_HALVINGS = 60


def log_beta(a: Array, b: Array) -> Array:
    """The logarithm of B(a, b), elementwise, for positive numbers."""
    found: Array = _log_gamma(a) + _log_gamma(b) - _log_gamma(a + b)
    return found


def digamma(x: Array) -> Array:
    """The derivative of log gamma, elementwise, for positive numbers.

    The recurrence psi(x) = psi(x + 1) - 1 / x (A&S 6.3.5) up to where the series holds.
    """
    x = np.array(x, np.float64)
    found = np.zeros_like(x)
    while (near := x < _FAR).any():
        found -= np.where(near, 1 / x, 0.0)
        x = x + near
    power = 1 / x**2
    for order, factor in enumerate(_SERIES, 1):
        found -= factor * power**order
    found += np.log(x) - 0.5 / x
    return found


def beta_quantile(probability: Array, a: Array, b: Array) -> Array:
    """Where the beta distribution's distribution function is `probability`, by bisection."""
    low, high = np.zeros_like(probability), np.ones_like(probability)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below = beta_cdf(middle, a, b) < probability
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    found: Array = (low + high) / 2
    return found


def beta_cdf(x: Array, a: Array, b: Array) -> Array:
    """The regularised incomplete beta function I_x(a, b), for x in (0, 1).

    Its continued fraction (DLMF 8.17.22) by Lentz's method, which converges fast below the mean
    or so; beyond by symmetry.

    Raises:
        InputError: a and b are so extreme that it does not converge.
    """
    flip = x > (a + 1) / (a + b + 2)
    x, a, b = np.where(flip, 1 - x, x), np.where(flip, b, a), np.where(flip, a, b)
    with np.errstate(divide="ignore"):
        front = np.exp(a * np.log(x) + b * np.log1p(-x) - np.log(a) - log_beta(a, b))
    found: Array = front * _beta_fraction(x, a, b)
    return np.where(flip, 1 - found, found)


def _beta_fraction(x: Array, a: Array, b: Array) -> Array:
    c, d = np.ones_like(x), 1 / (1 - (a + b) * x / (a + 1))
    found: Array = d
    for m in range(1, _TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / (1 + term * d), 1 + term / c
            found = found * c * d
        if (np.abs(c * d - 1) < _ENOUGH).all():
            return found
    raise InputError(f"no quantiles of a beta distribution with parameters up to {a.max():g}.")
