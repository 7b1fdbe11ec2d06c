"""Which arrays a model's own NumPy code makes of its inputs, as `ids[:, step]`.

Chainer's functions take arrays as they are, so that a recording sees only that an array is new. On
other inputs what is made of them is another array; what the code holds by itself is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from parity.arrays import varies
from parity.errors import ModelError
from parity.model import map_arrays
from parity.tape import Array, Tape

if TYPE_CHECKING:
    from parity.model import Inputs


def with_host_arrays(tape: Tape, inputs: Inputs, record: Callable[[Inputs], Tape]) -> Tape:
    """The tape, on which what the model's NumPy code makes of the inputs is an input as well.

    Args:
        inputs: those of the tape.
        record: records the model on other inputs.
    """
    made = [value.id for value in tape.values if _is_unknown(tape, value.id)]
    if not made or any(op.role == "random" for op in tape.ops):
        return tape
    try:
        again = record(map_arrays(_backwards, inputs))
    except ModelError:  # as of lengths that must be sorted
        return tape
    found = _that_differ(tape, again).intersection(made)
    return _as_inputs(tape, found) if found else tape


def _backwards(array: Array) -> Array:
    """The samples of a batch, or the elements of one sample, in the other order."""
    axis = next((axis for axis, length in enumerate(array.shape) if length > 1), None)
    return array if axis is None else np.flip(array, axis)


def _is_unknown(tape: Tape, value: int) -> bool:
    one = tape.values[value]
    if one.op >= 0 or one.kind != "constant" or one.name:
        return False
    return varies(tape.recorded_array(value))


def _that_differ(tape: Tape, again: Tape) -> set[int]:
    """What operations read first and other arrays in another run, up to where the runs diverge."""
    found: set[int] = set()
    for op, other in zip(tape.ops, again.ops, strict=False):
        if (op.kind, len(op.inputs)) != (other.kind, len(other.inputs)):
            break
        for value, elsewhere in zip(op.inputs, other.inputs, strict=True):
            if tape.values[value].op < 0 and again.values[elsewhere].op < 0:
                arrays = tape.recorded_array(value), again.recorded_array(elsewhere)
                if not np.array_equal(*arrays):
                    found.add(value)
    return found


def _as_inputs(tape: Tape, made: set[int]) -> Tape:
    """The tape with these leaves as inputs, and all that is made of them live."""
    live, ops = set(made), []
    for op in tape.ops:
        if op.static and not live.isdisjoint(op.inputs):
            op = replace(op, static=False)
            live.update(op.outputs)
        ops.append(op)
    values = [
        replace(one, kind="input", name=_name(tape, one.id)) if one.id in made else one
        for one in tape.values
    ]
    return replace(tape, ops=ops, values=values)


def _name(tape: Tape, value: int) -> str:
    reader = tape.ops[tape.consumers[value][0]]
    return f"made in NumPy for {reader.site.source.rsplit('/', 1)[-1]}"
