"""How far rounding moves values: all that a tape starts from is moved by one unit in the last place.

An element of one run may be right by luck. Where inputs, parameters and constants move, everything
between is rounded otherwise too, and the luck is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from parity.numerics.accounting import in_reals
from parity.numerics.rounding import U32, UNITS
from parity.tape import Array, Replay, Tape

_DRAWS = 4
_FEW_BITS = 2.0**12


def moved_by_rounding(
    tape: Tape, values: Collection[int], given: Mapping[int, Array] | None = None
) -> dict[int, Array]:
    """How far each element of `values` moves at most, over a few replays as recorded.

    Args:
        given: what replaces values of the tape in all of these, such as random draws.
    """
    given = {} if given is None else given
    recorded = Replay(tape, None, tape.recorded)
    leaves = [one for one in tape.values if tape.producer(one.id) is None]
    floating = [one for one in leaves if recorded.array(one.id).dtype.kind == "f"]
    base = tape.replay(None, given)
    random = np.random.default_rng(0)
    found = {value: np.zeros(in_reals(base.array(value)).shape) for value in values}
    for _ in range(_DRAWS):
        moved = {
            one.id: _moved(recorded.array(one.id), UNITS.get(one.dtype, U32), random)
            for one in floating
        }
        again = tape.replay(None, {**moved, **given})
        for value, largest in found.items():
            np.fmax(largest, _step(base.array(value), again.array(value)), out=largest)
    return found


def _moved(array: Array, unit: float, random: np.random.Generator) -> Array:
    """Numbers one unit in the last place up, down, or where they are; what has few bits is exact."""
    wide = array.astype(np.float64)
    with np.errstate(all="ignore"):
        exact = wide * _FEW_BITS == np.round(wide * _FEW_BITS)
        step = 2 * unit * random.integers(-1, 2, array.shape)
        found: Array = np.where(exact, array, wide * (1 + step)).astype(array.dtype)
    return found


def _step(before: Array, after: Array) -> Array:
    """The difference of each element; infinite where it alone is finite in one of them."""
    before, after = in_reals(before), in_reals(after)
    if before.shape != after.shape:
        return np.full(before.shape, np.inf)
    with np.errstate(all="ignore"):
        step = np.abs(before.astype(np.float64) - after.astype(np.float64))
        same = (before == after) | ((before != before) & (after != after))
    found: Array = np.where(same, 0.0, np.where(np.isnan(step), np.inf, step))
    return found
