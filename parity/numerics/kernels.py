"""Is a kernel one function in every precision: do float32 and float64 differ by rounding alone?

A framework's own kernels are. One that a user wrote may ask for the dtype of what it gets, and be
another function in float64 than the one that ran.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from parity.arrays import Array
from parity.numerics import limits
from parity.numerics.accounting import in_reals
from parity.numerics.difference import residual
from parity.numerics.limits import U32
from parity.numerics.null_distribution import nudged


def is_one_function(
    call: Callable[[Sequence[Array]], Sequence[Array]],
    arguments: Sequence[Array],
    exact: Sequence[Array],
) -> bool:
    """Whether what a kernel gave in float64 is what it gives in float32, but for rounding.

    Rounding is measured by moving the arguments by one unit in the last place.

    Args:
        call: runs the kernel.
        arguments: as the model gave them.
        exact: what the kernel gave for the same values in float64.
    """
    if not any(array.dtype in (np.float32, np.complex64) for array in arguments):
        return True
    random = np.random.default_rng(0)
    ran = call(arguments)
    moved: list[Sequence[Array]] = []
    for draws in limits.KERNEL_DRAWS:  # an element may stay by luck
        while len(moved) < draws:
            moved.append(call([nudged(array, random) for array in arguments]))
        agree = [
            _agree(in_reals(wide), in_reals(narrow), [in_reals(one[index]) for one in moved])
            for index, (wide, narrow) in enumerate(zip(exact, ran, strict=True))
            if wide.dtype.kind in "fc" and wide.shape == narrow.shape
        ]
        if all(agree):
            return True
    return False


def _agree(wide: Array, narrow: Array, moved: Sequence[Array]) -> bool:
    """Whether a result in float64 is that in float32 but for rounding, as moved arguments show it.

    As a whole, and each element by its own size: what is small, as the tail of a softmax, counts.
    """
    finite = np.isfinite(wide) & np.isfinite(narrow)
    for again in moved:
        finite &= np.isfinite(again)
    if not finite.any():
        return True
    wide, narrow = wide[finite], narrow[finite].astype(np.float64)
    others = [again[finite].astype(np.float64) for again in moved]
    usual = max(residual(narrow, again) for again in others)
    if not residual(wide, narrow) <= limits.OTHER_KERNEL * max(usual, U32):
        return False
    steps = np.max([np.abs(narrow - again) for again in others], axis=0)
    least = np.maximum(limits.LOST_IN_KERNEL * np.abs(wide), limits.LOST_OF_ONES)
    return bool((np.abs(wide - narrow) <= np.maximum(limits.OTHER_KERNEL * steps, least)).all())
