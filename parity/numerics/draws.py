"""Whether two samples of random draws could come from one distribution."""

from __future__ import annotations

import numpy as np

from parity.tape import Array

# Draws are held to be of one distribution unless the test says otherwise at this error rate.
DRAWS_ERROR_RATE = 1e-4


def same_distribution(a: Array, b: Array) -> float:
    """The two-sample Kolmogorov-Smirnov test.

    Returns:
        The probability of a distance as large between samples of one distribution: the asymptotic
        formula with Stephens' correction for small samples (Press et al., Numerical Recipes,
        14.3.3); too large, never too small, where numbers repeat.
    """
    x, y = np.sort(a.ravel().astype(np.float64)), np.sort(b.ravel().astype(np.float64))
    places = np.concatenate([x, y])
    distance = np.abs(
        np.searchsorted(x, places, "right") / x.size - np.searchsorted(y, places, "right") / y.size
    ).max()
    effective = np.sqrt(x.size * y.size / (x.size + y.size))
    scaled = (effective + 0.12 + 0.11 / effective) * float(distance)
    if scaled < 0.2:  # the series does not converge there, and the answer is 1
        return 1.0
    terms = np.arange(1, 101)
    total = 2 * np.sum((-1.0) ** (terms - 1) * np.exp(-2 * terms**2 * scaled**2))
    return float(np.clip(total, 0.0, 1.0))
