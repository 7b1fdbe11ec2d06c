"""Is a kernel one function in every precision: do float32 and float64 differ by rounding alone?

A framework's own kernels are. One that a user wrote may ask for the dtype of what it gets, and be
another function in float64 than the one that ran.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from parity.errors import NoFloat64
from parity.numerics.accounting import in_reals
from parity.numerics.difference import residual
from parity.numerics.null import nudged
from parity.numerics.rounding import U32
from parity.tape import Array, Native, Op, Tape

_DRAWS = 3
_OTHER = 16.0  # times what moved inputs leave: more than sums and constants inside round by


def check_kernel(tape: Tape, op: Op, typed: Sequence[Array], results: Sequence[Native]) -> None:
    """Holds a kernel's float64 results against what it gives as recorded; once for an operation.

    Args:
        typed: its arguments in the recorded dtypes.
        results: what it gave for them in float64.

    Raises:
        NoFloat64: it is another function there.
    """
    adapter = tape.adapter

    def again(arrays: Sequence[Array]) -> list[Array]:
        given = [adapter.from_numpy(array) for array in arrays]
        return [adapter.to_numpy(one) for one in adapter.execute(op, given, None)]

    if op.index not in tape.kernels:
        exact = [adapter.to_numpy(one) for one in results]
        tape.kernels[op.index] = is_one_function(again, typed, exact)
    if not tape.kernels[op.index]:
        raise NoFloat64(f"{op.kind} is another function there than in the recorded dtype")


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
        exact: what the kernel gave for the same numbers in float64.
    """
    if not any(array.dtype in (np.float32, np.complex64) for array in arguments):
        return True
    random = np.random.default_rng(0)
    ran = call(arguments)
    moved = [call([nudged(array, random) for array in arguments]) for _ in range(_DRAWS)]
    for index, (wide, narrow) in enumerate(zip(exact, ran, strict=True)):
        if wide.dtype.kind not in "fc" or wide.shape != narrow.shape:
            continue
        wide, narrow = in_reals(wide), in_reals(narrow)
        others = [in_reals(one[index]) for one in moved]
        finite = np.isfinite(wide) & np.isfinite(narrow)
        for again in others:
            finite &= np.isfinite(again)
        if not finite.any():
            continue
        usual = max(residual(narrow[finite], again[finite]) for again in others)
        if not residual(wide[finite], narrow[finite]) <= _OTHER * max(usual, U32):
            return False
    return True
