"""How much of a float64 difference the rounding of constants to float32 explains.

Two correct models may bake a constant in float32 in different places: a support vector, a folded
BatchNorm, the square root of 2 in a kernel. What that leaves is no fault. It is measured, not
assumed: constants and parameters that enter the operations in question are moved by one float32
rounding, and the operations run again.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from parity.numerics import limits
from parity.numerics.accounting import is_progression
from parity.numerics.difference import residual
from parity.numerics.limits import FACTOR, U32, UNITS
from parity.tape import Array, Op, Replay, Tape


def explained_by_constants(
    tape: Tape,
    run: Replay,
    ops: Iterable[Op],
    leaves: Iterable[int],
    value: int,
    enough: float = float("inf"),
) -> float:
    """The relative difference in `value` that float32-rounded constants account for.

    Args:
        tape, run: the tape and its float64 values.
        ops: the operations between the last values with a partner and `value`.
        leaves: the parameters and constants that these read, directly or through static operations.
        value: the id of the value that they end in.
        enough: what is to be explained; once it is, nothing more is measured.

    Returns:
        A relative root mean square; never below four float32 roundings of the value itself, which
        is what a constant inside a kernel leaves.
    """
    constants = {leaf: run.array(leaf) for leaf in leaves}
    constants = {leaf: one for leaf, one in constants.items() if one.dtype.kind == "f" and one.size}
    floor = FACTOR * U32
    if not constants or enough <= floor:
        return floor
    indices = {op.index for op in ops} | tape.graph.static_before(ops)
    # run anew: what stands in `run` may have been replaced by the other side's value
    plain = tape.replay("float64", constants, run, only=indices).array(value)
    random = np.random.default_rng(0)
    moved = []
    for _ in range(limits.CONSTANT_DRAWS):
        rounded = {
            leaf: otherwise_rounded(array, tape.values[leaf].dtype, random)
            for leaf, array in constants.items()
        }
        again = tape.replay("float64", rounded, run, only=indices)
        moved.append(residual(plain, again.array(value)))
        if enough <= FACTOR * moved[-1]:
            break
    return max(floor, FACTOR * max(moved)) if np.isfinite(moved).all() else floor


def otherwise_rounded(array: Array, dtype: str, random: np.random.Generator) -> Array:
    """Values as another rounding to their format would leave them; those that have none stay.

    An exponent of 3 or a factor of 0.5 is exact in any precision. Of a support that was made of
    its ends the middle has their rounding, however small it is itself.

    Args:
        array: in float64.
        dtype: the format that they were rounded to; one that is not known is taken for float32.
    """
    unit = UNITS.get(dtype, U32)
    bits = 2.0**12 if unit == U32 else 2.0**4
    exact = array * bits == np.round(array * bits)
    step = unit * random.uniform(-1, 1, array.shape)
    if not exact.all() and is_progression(array):
        moved: Array = array + step * np.abs(array).max()
        return moved
    return np.where(exact, array, array * (1 + step))
