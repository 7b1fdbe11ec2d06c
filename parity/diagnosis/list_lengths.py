"""Outputs of another length in float64 than as they ran, as lists of what lies above a limit.

No float64 replay says what rounding did to an element there: it may be another element. So they are
compared twice, in float64 and as the models ran, each time with the runs of as many values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.moved_outputs import given_as_ran
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replay_check import PlainRuns, as_ran
from parity.errors import ParityError
from parity.matching.match import Match
from parity.numerics.accounting import in_reals, of_one_kind
from parity.numerics.difference import mask_sentinels
from parity.numerics.rounding_noise import moved_as_long
from parity.tape import Array, Precision


def listed_otherwise(matched: Match, pairs: Sequence[OutputPair], plain: PlainRuns) -> list[str]:
    """Such outputs that differ by more than rounding does; what is said of each."""
    runs = as_ran(plain[0], {}), as_ran(plain[1], matched.draws)
    exact = matched.exact_outputs
    found = []
    for pair in pairs:
        name, other = pair.names
        ran = runs[0][name], runs[1][other]
        wide = matched.reference.array(pair.reference), exact[other]
        if all(a.shape == b.shape for a, b in zip(ran, wide, strict=True)):
            continue
        sides: tuple[tuple[tuple[Array, Array], Precision, str], ...] = (
            (ran, None, "as they ran"),
            (wide, "float64", "in float64"),
        )
        differ = next((one for one in sides if _differ(matched, pair, *one[:2])), None)
        if differ is not None:
            shapes = " and ".join(dict.fromkeys(str(one.shape) for one in ran))
            found.append(
                f"output {pair.name!r} is of the shape {shapes} as the models ran and "
                f"{wide[0].shape} in float64: how many values there are depends on rounding. "
                f"{differ[2].capitalize()} they differ by more than is known to be rounding: "
                "return what they are chosen from as well"
            )
    return found


def _differ(
    matched: Match, pair: OutputPair, arrays: tuple[Array, Array], precision: Precision
) -> bool:
    if arrays[0].shape != arrays[1].shape:
        return True
    a, b = (mask_sentinels(in_reals(one)) for one in of_one_kind(*arrays))
    if not {a.dtype.kind, b.dtype.kind} & set("f"):
        return not np.array_equal(a, b)
    a, b = a.astype(np.float64), b.astype(np.float64)
    given = ({}, matched.draws) if precision else given_as_ran(matched)
    moved = []
    for tape, value, supplied in zip(matched.tapes, pair.values, given, strict=True):
        try:
            step = moved_as_long(tape, value, supplied, precision, a.shape)
        except ParityError:  # moved values are outside what an operation takes
            step = np.zeros(a.shape)
        moved.append(step)
    with np.errstate(all="ignore"):
        gap = np.abs(a - b)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        allowed = np.maximum(
            limits.OWN_ROUNDING * np.maximum(np.abs(a), np.abs(b)),
            limits.TIMES_MOVED * np.minimum(*moved),
        )
        return bool((~same & ~(gap <= allowed)).any())
