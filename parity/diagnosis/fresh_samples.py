"""Fresh samples of a model's draws: of known laws, and by the frameworks' own kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parity.diagnosis import limits
from parity.draws.draw import Draw
from parity.draws.families import fresh, known
from parity.draws.units import Unit
from parity.frameworks import load
from parity.matching.match import Match
from parity.tape import Array, Op, Tape

_SINGLY = frozenset({"gamma", "poisson", "binomial", "log-normal", "geometric"})  # each by itself


def can_be_had(draw: Draw | None) -> bool:
    return known(draw) or (draw is not None and draw.name == "permutation")


def by_kernels(
    found: Match, turn: int, random: np.random.Generator | None = None
) -> dict[int, Array]:
    """Samples of the reference's draws of which only the framework's own kernel knows the law.

    Args:
        random: chooses which samples are from the ends of their laws; none are without it.
    """
    tape, samples = found.reference.tape, {}
    for unit in found.drawing.reference:
        if can_be_had(unit.draw):
            continue
        with load(tape.framework).other_random_state(turn):
            drawn = by_kernel(tape, unit)
            op = tape.producer(unit.value)
            if drawn is None or op is None:
                continue
            if random and unit.draw is not None and unit.draw.name in _SINGLY:
                most = limits.KERNEL_SAMPLES * 10 // max(turn, 10)
                drawn = as_drawn(tape, unit, _far(tape, unit, op, drawn, most, random))
        samples[unit.value] = drawn
    return samples


def by_kernel(tape: Tape, unit: Unit) -> Array | None:
    """Samples that a draw's own kernel gives for what it recorded, where its generator stands."""
    op = tape.producer(unit.value)
    if op is None or op.inputs == () and tape.framework == "numpy":
        return None
    try:
        drawn = _kernel(tape, unit, op)
    except Exception:  # a kernel that takes no more than it was given, as one of the host's
        return None
    fits = drawn.shape == tape.values[unit.value].shape
    return as_drawn(tape, unit, drawn) if fits else None


def _kernel(tape: Tape, unit: Unit, op: Op) -> Array:
    given = [tape.adapter.from_numpy(tape.recorded_array(value)) for value in op.inputs]
    drawn = tape.adapter.execute(op, given, None)[op.outputs.index(unit.value)]
    return tape.adapter.to_numpy(drawn)


def _far(
    tape: Tape, unit: Unit, op: Op, drawn: Array, most: int, random: np.random.Generator
) -> Array:
    """Samples of which half are the least or the largest of up to `most` others."""
    least, largest = drawn, drawn
    for _ in range(min(most, limits.KERNEL_SAMPLES_VALUES // max(unit.size, 1))):
        other = _kernel(tape, unit, op)
        least, largest = np.minimum(least, other), np.maximum(largest, other)
    end = np.where(random.random(drawn.shape) < 0.5, least, largest)
    return np.where(random.random(drawn.shape) < 0.5, drawn, end)


def fresh_samples(
    tape: Tape, units: Sequence[Unit], random: np.random.Generator, far: bool = False
) -> dict[int, Array]:
    """Samples for all draws of a tape of which any can be had.

    Args:
        far: whether many of them are from the ends of their distributions.
    """
    return {
        unit.value: as_drawn(tape, unit, fresh(unit.draw, unit.shape, random, far))
        for unit in units
        if unit.draw is not None and can_be_had(unit.draw)
    }


def as_drawn(tape: Tape, unit: Unit, array: Array) -> Array:
    dtype = tape.values[unit.value].dtype
    return array.astype(np.float64 if is_real(dtype) else dtype)


def is_real(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat", "complex"))
