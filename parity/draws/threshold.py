"""At which of its values a draw is cut in two: what a comparison with noise amounts to."""

from __future__ import annotations

import numpy as np

from parity.draws.draw import Array, Draw
from parity.draws.families import FAMILIES, known
from parity.draws.units import Origins, Unit
from parity.errors import ReplayError
from parity.tape import Op, Replay, Tape

_HALVINGS = 40
_PLACES = 41  # probabilities at which a function of noise is looked at


def meant(tape: Tape, run: Replay, unit: Unit, origins: Origins) -> Draw | None:
    """What a draw amounts to: a Bernoulli one where the noise is only compared with a number.

    The number is found by halving: noise that is the same in all elements is either above it in all
    of them or below. Functions that fuse a comparison and what follows, as dropout does, give one
    of two values for each element.
    """
    if not known(unit.draw) or FAMILIES[unit.draw.name].discrete:
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


def monotone(tape: Tape, run: Replay, unit: Unit, origins: Origins) -> bool:
    """Whether what meets the model's data is a monotone function of one draw and of no other."""
    made = {unit.value}
    chain: set[int] = set()
    cuts: set[int] = set()
    for op in tape.ops:
        read = made.intersection(op.inputs)
        if op.index not in tape.used or op.role == "random" or not read:
            continue
        if any(origins.mixed(value) for value in op.outputs):
            cuts |= read
            continue
        if any(one in origins.noise and one not in made for one in op.inputs):
            return False
        chain.add(op.index)
        made.update(op.outputs)
    cuts |= made.intersection(tape.outputs.values())
    places = np.linspace(0.002, 0.998, _PLACES)
    try:
        rows = [_at(tape, run, unit, float(p), chain) for p in places]
    except ReplayError:
        return False
    for cut_value in cuts:
        values = np.array([row.array(cut_value).astype(np.float64).ravel() for row in rows])
        steps = np.diff(values, axis=0)
        least = 1e-9 * np.abs(values).max()
        rises, falls = (steps >= -least).all(axis=0), (steps <= least).all(axis=0)
        if not bool((rises | falls).all()):
            return False
    return bool(cuts)


def _at(tape: Tape, run: Replay, unit: Unit, p: float, chain: set[int]) -> Replay:
    """A replay of some operations with noise of one probability in all elements."""
    assert unit.draw is not None
    place = np.array(p), np.array(1 - p)
    sample = FAMILIES[unit.draw.name].quantile(place, unit.draw.parameters)
    noise = {unit.value: np.full(unit.shape, float(sample))}
    return tape.replay("float64", noise, run, only=chain)


def _share(tape: Tape, run: Replay, unit: Unit, chain: list[Op], end: int) -> float | None:
    """The probability of what large noise gives; None where elements are cut at several places."""
    indices = {op.index for op in chain}

    def cut(p: float) -> Array:
        return _at(tape, run, unit, p, indices).array(end)

    low, high = 1e-12, 1 - 1e-12
    below, above = cut(low), cut(high)
    decided = below != above
    if not decided.any():
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        found = cut(middle)[decided]
        if np.array_equal(found, above[decided]):
            high = middle
        elif np.array_equal(found, below[decided]):
            low = middle
        else:
            return None
    return 1 - low if not below.dtype == bool or above[decided].all() else low
