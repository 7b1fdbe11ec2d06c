"""Makes two tapes alike before they are matched, where one does at once what the other does not.

Draws in a loop become one draw that is cut, tables that one model made beforehand are the ones that
the other computes, a state has the axis of layers that it has in the reference, and distributions
are given by the same parameters.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from parity.diagnosis.distribution_laws import in_one_law
from parity.diagnosis.replay_check import PlainRun
from parity.diagnosis.states import with_axes_of_states
from parity.draws.stacked import lines_of_loops, stacked
from parity.matching.match import Indexed
from parity.matching.tables import with_tables
from parity.tape import Tape


def aligned(
    reference: Indexed, candidate: Tape, plain_runs: tuple[PlainRun, PlainRun]
) -> tuple[Indexed, Tape, tuple[PlainRun, PlainRun]]:
    """Both models made alike, with the plain runs of what they are then."""
    first, second = (
        replace(run, tape=tape)
        for run, tape in zip(plain_runs, (reference.tape, candidate), strict=True)
    )
    first, second = in_one_law(first, second)
    loops = lines_of_loops(first.tape, candidate)
    if loops[0]:
        first = first.made(partial(stacked, lines=loops[0]))
    if loops[1]:
        second = second.made(partial(stacked, lines=loops[1]))
    second = with_axes_of_states(first.tape, second)
    if first.tape is not reference.tape:
        reference = Indexed(first.tape, first.tape.replay("float64"))
    reference, candidate = with_tables(reference, second.tape)
    runs = replace(first, tape=reference.tape), replace(second, tape=candidate)
    return reference, candidate, runs
