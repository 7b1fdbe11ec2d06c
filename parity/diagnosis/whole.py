"""A last look before an alarm: do the models, left alone, differ by more than rounded constants?

The search for the place puts values in and compares regions; a look-alike may mislead it. Models
whose outputs agree in float64 to what rounding their constants to float32 explains do not diverge,
whatever was found on the way.
"""

from __future__ import annotations

from collections.abc import Sequence

from parity.diagnosis.locate import OutputPair
from parity.matching.match import Match
from parity.numerics.difference import residual
from parity.numerics.rounding import explained_by_constants

# Beyond this no rounding of constants is meant: a chaotic network would explain anything.
_SMALL = 1e-5


def agree_as_a_whole(matched: Match, outputs: Sequence[OutputPair]) -> float | None:
    """The largest residual of the outputs, nothing put in; None if rounding does not explain it."""
    tape, reference = matched.side.tape, matched.reference
    run = tape.replay("float64", matched.inputs)
    leaves = [value.id for value in tape.values if value.op < 0 and value.kind != "input"]
    largest = 0.0
    for pair in outputs:
        ours, theirs = reference.array(pair.reference), run.array(pair.candidate)
        if ours.shape != theirs.shape:
            return None
        apart = residual(ours, theirs)
        if not apart <= _SMALL:
            return None
        if apart > explained_by_constants(tape, run, tape.ops, leaves, pair.candidate):
            return None
        largest = max(largest, apart)
    return largest
