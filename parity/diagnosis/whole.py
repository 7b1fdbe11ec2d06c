"""A last look before an alarm: do the models, left alone, differ at all?

The search for the place puts values in and compares regions; a look-alike may mislead it. Models
whose outputs are the same in float64, nothing put in, do not diverge on these inputs, whatever was
found on the way. The bound is the sharp one of matching; no fault above float32 rounding passes.
"""

from __future__ import annotations

from collections.abc import Sequence

from parity.diagnosis.region import OutputPair
from parity.matching.fingerprint import SAME
from parity.matching.match import Match
from parity.numerics.difference import residual


def agree_as_a_whole(matched: Match, outputs: Sequence[OutputPair]) -> float | None:
    """The largest residual of the outputs, nothing put in; None if they are not the same."""
    run = matched.side.tape.replay("float64", matched.inputs)
    largest = 0.0
    for pair in outputs:
        ours, theirs = matched.reference.array(pair.reference), run.array(pair.candidate)
        if ours.shape != theirs.shape:
            return None
        apart = residual(ours, theirs)
        if not apart <= SAME:
            return None
        largest = max(largest, apart)
    return largest
