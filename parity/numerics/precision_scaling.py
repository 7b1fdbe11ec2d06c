"""Precision scaling: how a difference shrinks from the working precision to float64.

The same bits go into an operation on both sides. Rounding leaves a difference that shrinks with the
unit roundoff, by 2**-29 from float32 to float64; what the operations compute otherwise leaves one
that stays. So rho = rms(A64 - B64) / rms(A32 - B32) is about 2e-9 for rounding and about 1 for a
fault, and the cut is the geometric middle. It needs no tolerance, and it knows an ill-conditioned
operation (a variance from E[x**2] - E[x]**2 with a large mean) from a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from parity.numerics import limits
from parity.numerics.difference import residual, squared_norm
from parity.tape import Array, Op, Replay, Tape


def is_rounding(in_float64: float, in_working_precision: float) -> bool:
    """Whether a difference shrinks with the precision, as rounding does.

    Where it is larger than the values themselves in the working precision, all of them is noise,
    in which a fault of their own size would hide: there it has to shrink by nearly all that
    rounding shrinks by. An infinite one, of other masks, does not shrink, even where it is infinite
    in both. Where it is infinite in the working precision alone, values were lost there that
    float64 holds: rounding then is what leaves little in float64.
    """
    if not in_float64 < float("inf"):
        return False
    lost = in_working_precision == float("inf")
    working = 1.0 if lost else in_working_precision
    return in_float64 <= max(limits.CUT * min(working, 1.0), limits.SCALING_SLACK * working)


def working_residual(
    reference: tuple[Array, Array],
    tape: Tape,
    inputs: Mapping[int, Array],
    ops: Iterable[Op],
    value: int,
) -> float:
    """What the candidate's operations leave in the working precision, on the reference's bits.

    Args:
        reference: the reference's value as recorded and in float64, laid out as the candidate's.
        tape: the candidate's tape.
        inputs: the inputs of its operations, from the reference's recorded run, by value id.
        ops: the candidate's operations.
        value: the candidate's value that they end in.

    Returns:
        A root mean square, relative to the value in float64: in the working precision it may be
        noise altogether.
    """
    recorded = Replay(tape, None, dict(tape.recorded))
    as_typed = {
        entry: array.astype(recorded.array(entry).dtype, copy=False)
        for entry, array in inputs.items()
    }
    again = tape.replay(None, as_typed, recorded, only={op.index for op in ops}).array(value)
    # an element that overflowed in one of them says nothing of the rounding of the others
    ran, exact = reference
    if ran.dtype.kind != "f" or again.dtype.kind != "f" or ran.shape != again.shape:
        return residual(ran, again)
    finite = np.isfinite(ran) & np.isfinite(again) & np.isfinite(exact)
    size = squared_norm(exact[finite].astype(np.float64)) ** 0.5
    if not size:
        return residual(ran, again)
    gap = ran[finite].astype(np.float64) - again[finite].astype(np.float64)
    return float(squared_norm(gap) ** 0.5 / size)
