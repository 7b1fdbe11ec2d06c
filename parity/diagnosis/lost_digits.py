"""Functions that lose digits in float32, and are taken for other functions in float64 for it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.output_rounding import ComparedOutput
from parity.errors import ParityError
from parity.matching.match import Match
from parity.numerics.difference import by_column
from parity.tape import Tape


def lost_in_float32_alone(matched: Match, compared: Sequence[ComparedOutput]) -> set[str]:
    """The outputs that agree in float64 where a function that seems another one there runs in it.

    As a variance that is a difference of squares: it is no other function, but nothing shows it.
    What is more than such a difference of numbers about 1 loses is not among them.
    """
    tapes = matched.reference.tape, matched.side.tape
    with contextlib.ExitStack() as stack:
        for tape in tapes:
            stack.enter_context(_as_one_function(tape))
        try:
            reference = tapes[0].outputs_of("float64", {})
            candidate = tapes[1].outputs_of("float64", matched.given)
        except ParityError:  # outside what an operation takes
            return set()
    names = {value: name for name, value in tapes[0].outputs.items()}
    found = set()
    for one in compared:
        a, b = reference[names[one.pair.reference]], one.lay(candidate[one.name])
        if not one.is_float or b is None or a.shape != b.shape or b.dtype.kind != "f":
            continue
        gap = np.abs(one.ran[0].astype(np.float64) - one.ran[1])
        largest = float(np.abs(a[np.isfinite(a)]).max(initial=0.0))
        small = bool((gap <= limits.LOST_NEAR_ONE * max(1.0, largest)).all())
        agree = by_column(a, b) <= limits.ROUNDED_CONSTANTS
        if largest >= limits.LOST_OF_LARGE and small and agree:
            found.add(one.name)
    return found


@contextlib.contextmanager
def _as_one_function(tape: Tape) -> Iterator[None]:
    """Within it functions that were taken for others in float64 run there all the same."""
    known = dict(tape.kernels)
    tape.kernels.update(dict.fromkeys(known, True))
    try:
        yield
    finally:
        tape.kernels.clear()
        tape.kernels.update(known)
