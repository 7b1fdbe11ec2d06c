"""Precision scaling: how a difference shrinks from the working precision to float64.

The same bits go into an operation on both sides. Rounding leaves a difference that shrinks with the
unit roundoff, by 2**-29 from float32 to float64; what the operations compute otherwise leaves one
that stays. So rho = rms(A64 - B64) / rms(A32 - B32) is about 2e-9 for rounding and about 1 for a
fault, and the cut is the geometric middle. It needs no tolerance, and it knows an ill-conditioned
operation (a variance from E[x**2] - E[x]**2 with a large mean) from a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from parity.numerics.difference import residual
from parity.tape import Array, Op, Replay, Tape

# Half way, in powers of two, between 2**-29 and 1.
CUT = 2.0**-14.5


def is_rounding(in_float64: float, in_working_precision: float) -> bool:
    """Whether a difference shrinks with the precision, as rounding does.

    An infinite one, of other masks, does not shrink, even where it is infinite in both. Where it is
    infinite in the working precision alone, numbers were lost there that float64 holds: rounding
    then is what leaves little in float64.
    """
    lost = in_working_precision == float("inf")
    return in_float64 < float("inf") and in_float64 <= CUT * (1 if lost else in_working_precision)


def working_residual(
    reference: Array, tape: Tape, inputs: Mapping[int, Array], ops: Iterable[Op], value: int
) -> float:
    """What the candidate's operations leave in the working precision, fed the reference's bits.

    Args:
        reference: the reference's value as recorded, laid out as the candidate's.
        tape: the candidate's tape.
        inputs: what enters its operations, from the reference's recorded run, by value id.
        ops: the candidate's operations.
        value: the candidate's value that they end in.

    Returns:
        A relative root mean square.
    """
    recorded = Replay(tape, None, dict(tape.recorded))
    as_typed = {
        entry: array.astype(recorded.array(entry).dtype, copy=False)
        for entry, array in inputs.items()
    }
    again = tape.replay(None, as_typed, recorded, only={op.index for op in ops})
    return residual(reference, again.array(value))
