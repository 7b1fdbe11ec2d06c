"""Draws that are no chance: a fixed seed makes the same samples whenever the model runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from parity.draws.draw import Array, Gave, Transform
from parity.draws.host import far_out
from parity.draws.unread import standing_in
from parity.errors import ParityError
from parity.numerics.difference import residual
from parity.tape import Op, Tape

# Bits of information from which on draws are not repeated by chance.
BITS = 40.0
_TURNS = 8
_OF_A_FLOAT = 20.0
_OFF = 1e-2  # of its size, by which an output is another: more than a decision within rounding
# Of the state of a generator that is the same again, however little was drawn by it: its seed may
# itself be drawn from a few. All turns together are enough.
_OF_A_STATE = BITS / _TURNS


def settle(tape: Tape, again: Callable[[int], Tape]) -> Tape:
    """The tape, in which a draw that repeats itself is a constant like any other.

    Args:
        again: records the model anew, at each turn from another random state.
    """
    return _held_far_out(_settled(_without_unread(tape, again), again), again)


def _without_unread(tape: Tape, again: Callable[[int], Tape]) -> Tape:
    """The tape; where all draws that are not followed are numbers that the model never reads, none.

    It gives the same when it is recorded with things in their place that can be no number.
    """
    if not tape.lost_draws:
        return tape
    try:
        with standing_in():
            other = again(_TURNS + 1)
    except ParityError:  # it reads one
        return tape
    same = [op.kind for op in tape.ops] == [op.kind for op in other.ops]
    if not same or other.lost_draws or _not_followed(tape, other):
        return tape
    return replace(tape, lost_draws=[])


def _settled(tape: Tape, again: Callable[[int], Tape]) -> Tape:
    draws = [op for op in tape.ops if op.role == "random"]
    counting = _seeded_by_state(tape) if draws else set()
    known_bits = {
        at: 0.0
        for at, op in enumerate(draws)
        if op.index not in counting and _information(tape, op)
    }
    for turn in range(_TURNS):
        if all(bits >= BITS for bits in known_bits.values()):
            break
        try:
            other = again(turn)
        except ParityError:  # it does not take the numbers that it may draw
            return tape
        others = [op for op in other.ops if op.role == "random"]
        if [op.kind for op in draws] != [op.kind for op in others]:
            return tape
        if not turn and not tape.lost_draws:
            tape = replace(tape, unseen=_not_followed(tape, other))
        known_bits = {
            at: bits + _information(tape, draws[at])
            for at, bits in known_bits.items()
            if state_of(draws[at]) == state_of(others[at])
            if all(map(np.array_equal, _given(tape, draws[at]), _given(other, others[at])))
        }
    settled = {draws[at].index for at, bits in known_bits.items() if bits >= BITS}
    return replace(tape, ops=_with_constants(tape, settled)) if settled else tape


def _held_far_out(tape: Tape, again: Callable[[int], Tape]) -> Tape:
    """The tape, in which draws are lost of which NumPy makes a multiple near the middle alone.

    An array that is a multiple of a draw is known by the values of one run. What a clip cuts off,
    or a loop draws again, shows only in samples that are far out.
    """
    made = _by_numpy(tape)
    if not made or tape.lost_draws:
        return tape
    try:
        with far_out(sum(op.role == "random" for op in tape.ops)):
            other = again(_TURNS)
    except ParityError:  # it does not take the numbers that it may draw
        return tape
    if len(_by_numpy(other)) >= len(made) and not other.lost_draws:
        if not _not_followed(tape, other):
            return tape
    lost = (
        f"{tape.model} draws with {made[0]} and computes with it outside its framework: of samples "
        "that are far out it makes something else than of these, as a clip does. Pass the samples "
        "in as inputs, or compute with them in the framework."
    )
    return replace(tape, lost_draws=[lost])


def _by_numpy(tape: Tape) -> list[str]:
    """What NumPy drew that came into the framework as an array, by the functions' names."""
    given = (tape.producer(op.inputs[0]) for op in tape.ops if op.kind == "from_numpy")
    return [op.kind for op in given if op is not None and op.role == "random"]


def _not_followed(tape: Tape, other: Tape) -> str:
    """Says so where the draws on a tape do not account for what the model gave another time."""
    if [op.kind for op in tape.ops] != [op.kind for op in other.ops]:
        return ""  # another program: what follows draws there is reported elsewhere
    recorded = other.as_recorded()
    pairs = [both for both in zip(tape.ops, other.ops, strict=True) if both[0].role == "random"]
    try:
        given = {
            value: recorded.array(its)
            for op, same in pairs
            for value, its in zip(op.outputs, same.outputs, strict=True)
        }
        again = tape.outputs_of(None, given)
    except (ParityError, ValueError):  # it draws as many numbers as it likes
        return ""
    for name in again.keys() - tape.by_value:
        gave = recorded.array(other.outputs[name]) if name in other.outputs else None
        if gave is None or gave.shape != again[name].shape or gave.dtype.kind not in "biuf":
            continue
        if residual(gave.astype(np.float64), again[name].astype(np.float64)) > _OFF:
            return (
                f"output {name!r} of {tape.model} is not what its random draws make of it: it also "
                "draws random numbers that cannot be seen. Draw in the framework, or pass the "
                "samples in as inputs."
            )
    return ""


def _arrays(tape: Tape, op: Op) -> list[Array]:
    return list(map(tape.as_recorded().array, op.outputs))


def _given(tape: Tape, op: Op) -> list[Array]:
    """What a draw gave: of a kernel that transforms it, the result and not the noise behind it."""
    return [op.call.result] if isinstance(op.call, Gave) else _arrays(tape, op)


def _information(tape: Tape, op: Op) -> float:
    """About how many bits of information the samples of an operation have.

    Noise with more information than its result was made up beside it and has none. A kernel may
    give the same by what it reads alone; then the generator's state has all of it.
    """
    noise, given = (sum(map(bits_of, found)) for found in (_arrays(tape, op), _given(tape, op)))
    if noise > given:
        return _OF_A_STATE if state_of(op) else 0.0
    return max(given, _OF_A_STATE) if state_of(op) else given


def state_of(op: Op) -> bytes:
    """The state of the generator that a draw was made by; empty where it is not known."""
    return bytes(getattr(op.call, "state", b""))


def bits_of(array: Array) -> float:
    """About how many bits of information an array of random numbers has."""
    _, counts = np.unique(array, return_counts=True)
    if array.dtype.kind == "f" and len(counts) == array.size:
        return _OF_A_FLOAT * array.size
    return float(-np.sum(counts * np.log2(counts / max(array.size, 1))))


def _seeded_by_state(tape: Tape) -> set[int]:
    """Draws by a seed that is made of what a run changes, as a count of its calls, which is put
    back. A seed is a whole number: what else a draw reads states how it is shaped or distributed.
    """
    held = {value.id for value in tape.values if value.written}
    recorded = tape.as_recorded()
    before = [recorded.array(value) for value in held]
    counting: set[int] = set()  # handles of generators that go on from where they were
    found = set()
    for op in tape.ops:
        variables = getattr(op.call, "variables", None) or ()
        for handle, contents in variables:  # what the run itself sets, by a fixed seed, is no count
            array = tape.adapter.to_numpy(contents)
            if any(np.array_equal(array, one) for one in before):
                counting.add(id(handle))
        reads = any(id(handle) in counting for handle, _ in variables)
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
