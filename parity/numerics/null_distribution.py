"""Where float64 is not to be had: is a difference larger than rounding leaves by itself?

The operations of both run again and again with every input, and the reference's weights, moved by
one unit in the last place. That gives a null distribution of what rounding does to them. It is
weaker than precision scaling: an epsilon's difference can hide in it. It knows nothing of the order
in which a kernel sums, which at long sums leaves several times as much, so a difference counts only
beyond eight times the null's largest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from parity.arrays import Array
from parity.numerics import limits
from parity.numerics.difference import residual
from parity.numerics.limits import U32

# Runs operations on arrays: inputs, by value id, to outputs.
Run = Callable[[dict[int, Array]], Array]


def null_test(
    reference: Run,
    candidate: Run,
    inputs: Sequence[dict[int, Array]],
    weights: dict[int, Array],
    own: Callable[[dict[int, Array]], float] = lambda arrays: 0.0,
) -> float:
    """The probability of a difference as large by rounding alone, on all inputs together.

    Args:
        reference, candidate: run the operations of either model in the working precision.
        inputs: independent sets of inputs, the same for both.
        weights: parameters and constants that the reference's operations read, to be moved too.
        own: the rounding of the side that has float64, on given inputs, as far as it is known.
            Where a large term swallows a step of the inputs, moving them shows none.

    Returns:
        The product of the rank tests' p over the independent inputs, at least
        `(1 / (RANK_DRAWS + 1)) ** len(inputs)`; or 0 where on the first inputs, the user's, it is
        so far beyond what rounding leaves that no other inputs have to show it. Times the number of
        such tests in a report it bounds the rate of false alarms of the whole report (Bonferroni;
        Holm's procedure is no stricter).
    """
    random = np.random.default_rng(0)
    together = 1.0
    for number, arrays in enumerate(inputs):
        plain = reference(arrays)
        # results that are rounded once each are no further off than that
        gap = max(residual(plain, candidate(arrays)) - 2 * U32, 0.0)
        observed = gap / limits.ORDER_OF_SUMMATION
        by_rounding, known = [], own(arrays)
        last = candidate({value: nudged(array, random) for value, array in arrays.items()})
        for _ in range(limits.RANK_DRAWS):
            moved = {value: nudged(array, random) for value, array in {**arrays, **weights}.items()}
            # against another moved run: a branch on the very values given is no rounding
            again = candidate({value: moved[value] for value in arrays})
            by_rounding.append(max(known, residual(plain, reference(moved)), residual(last, again)))
            last = again
        if not number and observed > limits.NO_SUMMATION * max(*by_rounding, U32):
            return 0.0
        at_least = sum(not one < observed for one in by_rounding)
        together *= (1 + at_least) / (limits.RANK_DRAWS + 1)
    return together


def nudged(array: Array, random: np.random.Generator, unit: float | None = None) -> Array:
    """The values one unit in the last place up, down, or where they are; zero, a mask's, stays.

    Args:
        unit: the roundoff of a narrower format, whose last place is meant.
    """
    if array.dtype.kind != "f":
        return array
    step = random.integers(-1, 2, array.shape)
    if unit is not None:
        wide: Array = (array * (1 + 2 * unit * step)).astype(array.dtype)
        return wide
    stays = (step == 0) | (array == 0)
    found: Array = np.where(stays, array, np.nextafter(array, array + step.astype(array.dtype)))
    return found
