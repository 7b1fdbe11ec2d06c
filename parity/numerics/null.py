"""Where float64 is not to be had: is a difference larger than rounding leaves by itself?

The reference's operations run again and again with every input and weight moved by one unit in the
last place. That gives a null distribution of what rounding does to them. It is weaker than
precision scaling: an epsilon's difference can hide in it. It knows nothing of the order in which a
kernel sums, which at long sums leaves several times as much, so a difference counts only beyond
eight times the null's largest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from parity.numerics.difference import residual
from parity.tape import Array

# Draws for each input; a rank test over them cannot give less than 1 / (DRAWS + 1).
DRAWS = 19
ORDER_OF_SUMMATION = 8.0

# Runs operations on arrays: what enters, by value id, to what leaves.
Run = Callable[[dict[int, Array]], Array]


def null_test(
    reference: Run, candidate: Run, inputs: Sequence[dict[int, Array]], weights: dict[int, Array]
) -> float:
    """The probability of a difference as large by rounding alone, on all inputs together.

    Args:
        reference, candidate: run the operations of either model in the working precision.
        inputs: independent sets of what enters, the same for both.
        weights: parameters and constants that the reference's operations read, to be moved too.

    Returns:
        The product of the rank tests' p over the independent inputs, at least
        `(1 / (DRAWS + 1)) ** len(inputs)`. Times the number of such tests in a report it bounds the
        rate of false alarms of the whole report (Bonferroni; Holm's procedure is no stricter).
    """
    random = np.random.default_rng(0)
    together = 1.0
    for arrays in inputs:
        plain = reference(arrays)
        observed = residual(plain, candidate(arrays)) / ORDER_OF_SUMMATION
        at_least = 0
        for _ in range(DRAWS):
            moved = {value: _moved(array, random) for value, array in {**arrays, **weights}.items()}
            at_least += not residual(plain, reference(moved)) < observed
        together *= (1 + at_least) / (DRAWS + 1)
    return together


def _moved(array: Array, random: np.random.Generator) -> Array:
    """The numbers one unit in the last place up, down, or where they are."""
    if array.dtype.kind != "f":
        return array
    step = random.integers(-1, 2, array.shape)
    found: Array = np.where(step == 0, array, np.nextafter(array, array + step.astype(array.dtype)))
    return found
