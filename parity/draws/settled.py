"""Draws that are no chance: a fixed seed makes the same numbers whenever the model runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from parity.draws.draw import Array, Gave, Transform
from parity.errors import ParityError
from parity.tape import Op, Replay, Tape

# Bits of information from which on draws are not repeated by chance.
_BITS = 40.0
_TURNS = 8
_OF_A_FLOAT = 20.0
# Of the state of a generator that is the same again, however little was drawn by it: its seed may
# itself be drawn from a few. All turns together are enough.
_OF_A_STATE = _BITS / _TURNS


def settle(tape: Tape, again: Callable[[int], Tape]) -> Tape:
    """The tape, in which a draw that repeats itself is a constant like any other.

    Args:
        again: records the model anew, at each turn from another random state.
    """
    draws = [op for op in tape.ops if op.role == "random"]
    counting = _seeded_by_state(tape) if draws else set()
    told = {
        at: 0.0
        for at, op in enumerate(draws)
        if op.index not in counting and _information(tape, op)
    }
    for turn in range(_TURNS):
        if all(bits >= _BITS for bits in told.values()):
            break
        try:
            other = again(turn)
        except ParityError:  # it does not take the numbers that it may draw
            return tape
        others = [op for op in other.ops if op.role == "random"]
        if [op.kind for op in draws] != [op.kind for op in others]:
            return tape
        told = {
            at: bits + _information(tape, draws[at])
            for at, bits in told.items()
            if _state(draws[at]) == _state(others[at])
            if all(map(np.array_equal, _given(tape, draws[at]), _given(other, others[at])))
        }
    settled = {draws[at].index for at, bits in told.items() if bits >= _BITS}
    return replace(tape, ops=_with_constants(tape, settled)) if settled else tape


def _arrays(tape: Tape, op: Op) -> list[Array]:
    recorded = Replay(tape, None, tape.recorded)
    return [recorded.array(value) for value in op.outputs]


def _given(tape: Tape, op: Op) -> list[Array]:
    """What a draw gave: of a kernel that transforms it, the result and not the noise behind it."""
    return [op.call.result] if isinstance(op.call, Gave) else _arrays(tape, op)


def _information(tape: Tape, op: Op) -> float:
    """About how many bits the numbers tell that an operation drew.

    Noise that tells more than the result that it was made of was made up beside it: it tells none.
    A kernel may give the same by what it reads alone; then the generator's state tells all.
    """
    noise, given = (sum(map(bits_of, found)) for found in (_arrays(tape, op), _given(tape, op)))
    if noise > given:
        return _OF_A_STATE if _state(op) else 0.0
    return max(given, _OF_A_STATE) if _state(op) else given


def _state(op: Op) -> bytes:
    """The state of the generator that a draw was made by; empty where it is not known."""
    found: bytes = getattr(op.call, "state", b"")
    return found


def bits_of(array: Array) -> float:
    """About how many bits an array of random numbers tells."""
    _, counts = np.unique(array, return_counts=True)
    if array.dtype.kind == "f" and len(counts) == array.size:
        return _OF_A_FLOAT * array.size
    return float(-np.sum(counts * np.log2(counts / max(array.size, 1))))


def _seeded_by_state(tape: Tape) -> set[int]:
    """Draws by a seed that is made of what a run changes, as a count of its calls, which is put
    back. A seed is a whole number: what else a draw reads says how it is shaped or distributed.
    """
    held = {value.id for value in tape.values if value.written}
    found = set()
    for op in tape.ops:
        reads = bool(getattr(op.call, "variables", None))
        if not reads and held.isdisjoint(op.inputs):
            continue
        held.update(op.outputs)
        seeds = [one for one in op.inputs if one in held and "int" in tape.values[one].dtype]
        if reads or seeds:
            found.add(op.index)
    return found


def _with_constants(tape: Tape, settled: set[int]) -> list[Op]:
    """The operations, those that are settled giving what they gave."""
    live: set[int] = set(tape.inputs.values())
    ops = []
    for op in tape.ops:
        if op.index in settled:
            arrays = _arrays(tape, op)
            call = Transform(lambda *_, arrays=arrays: arrays)
            op = replace(op, role="compute", call=call, draw=None)
        static = op.role != "random" and live.isdisjoint(op.inputs)
        live.update(() if static else op.outputs)
        ops.append(replace(op, static=static))
    return ops
