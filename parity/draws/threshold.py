"""At which of its values a draw is cut in two: what a comparison with noise amounts to."""

from __future__ import annotations

import numpy as np

from parity.draws.draw import Draw
from parity.draws.families import FAMILIES, known
from parity.draws.units import Origins, Unit
from parity.errors import ReplayError
from parity.tape import Op, Replay, Tape

_HALVINGS = 40


def meant(tape: Tape, run: Replay, unit: Unit, origins: Origins) -> Draw | None:
    """What a draw amounts to: a Bernoulli one where the noise is only compared with a number.

    The number is found by halving: noise alone that is the same in all elements is either above it
    in all of them or below.
    """
    if unit.draw is None or not known(unit.draw) or FAMILIES[unit.draw.name].discrete:
        return unit.draw
    chain: list[Op] = []
    made = {unit.value}
    for op in tape.ops:
        if op.role == "random" or made.isdisjoint(op.inputs):
            continue
        if any(origins.mixed(value) for value in op.outputs):
            continue
        chain.append(op)
        made.update(op.outputs)
        end = op.outputs[0]
        if tape.values[end].dtype == "bool":
            break
    else:
        return unit.draw
    try:
        p = _share(tape, run, unit, chain, end)
    except ReplayError:
        return unit.draw
    return unit.draw if p is None else Draw("bernoulli", {"p": float(f"{p:.7g}")})


def _share(tape: Tape, run: Replay, unit: Unit, chain: list[Op], end: int) -> float | None:
    """The probability of True; None where elements are cut at different places."""
    draw = unit.draw
    assert draw is not None

    def cut(p: float) -> float:
        place = np.array(p), np.array(1 - p)
        sample = FAMILIES[draw.name].quantile(place, draw.parameters)
        noise = {unit.value: np.full(unit.shape, float(sample))}
        indices = {op.index for op in chain}
        return float(tape.replay("float64", noise, run, only=indices).array(end).mean())

    low, high = 1e-12, 1 - 1e-12
    ends = cut(low), cut(high)
    if sorted(ends) != [0.0, 1.0]:
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        found = cut(middle)
        if found not in (0.0, 1.0):
            return None
        low, high = (middle, high) if found == ends[0] else (low, middle)
    return low if ends[0] == 1.0 else 1 - low
