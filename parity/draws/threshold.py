"""At which of its values a draw is cut in two: what a comparison with noise amounts to."""

from __future__ import annotations

import numpy as np

from parity.draws.draw import Array, Draw
from parity.draws.families import FAMILIES, known
from parity.draws.units import Origins, Unit
from parity.errors import ReplayError
from parity.tape import Op, Replay, Tape

_HALVINGS = 40


def meant(tape: Tape, run: Replay, unit: Unit, origins: Origins) -> Draw | None:
    """What a draw amounts to: a Bernoulli one where the noise is only compared with a number.

    The number is found by halving: noise that is the same in all elements is either above it in all
    of them or below. Functions that compare and go on in one, as dropout does, give one of two
    values for each element.
    """
    if unit.draw is None or not known(unit.draw) or FAMILIES[unit.draw.name].discrete:
        return unit.draw
    chain: list[Op] = []
    made = {unit.value}
    for op in tape.ops:
        if op.role == "random" or made.isdisjoint(op.inputs):
            continue
        chain.append(op)
        made.update(op.outputs)
        end = op.outputs[0]
        if tape.values[end].dtype == "bool" or origins.mixed(end):
            break
    else:
        return unit.draw
    try:
        p = _share(tape, run, unit, chain, end)
    except ReplayError:
        return unit.draw
    return unit.draw if p is None else Draw("bernoulli", {"p": float(f"{p:.7g}")})


def _share(tape: Tape, run: Replay, unit: Unit, chain: list[Op], end: int) -> float | None:
    """The probability of what large noise gives; None where elements are cut at several places."""
    draw = unit.draw
    assert draw is not None

    def cut(p: float) -> Array:
        place = np.array(p), np.array(1 - p)
        sample = FAMILIES[draw.name].quantile(place, draw.parameters)
        noise = {unit.value: np.full(unit.shape, float(sample))}
        indices = {op.index for op in chain}
        return tape.replay("float64", noise, run, only=indices).array(end)

    low, high = 1e-12, 1 - 1e-12
    below, above = cut(low), cut(high)
    told = below != above
    if not told.any():
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        found = cut(middle)[told]
        if np.array_equal(found, above[told]):
            high = middle
        elif np.array_equal(found, below[told]):
            low = middle
        else:
            return None
    return 1 - low if not below.dtype == bool or above[told].all() else low
