"""Tables made beforehand: what one model holds in float32 and the other computes as it runs.

As the cosines of rotary positions, or the schedule of a diffusion. No input reaches either, so that
the table that ran is all that there ever is: were it computed in float64 it would be another one
wherever float32 loses digits of it, and the model that computes it would differ there from the
model that holds it. In float64 both have the one that is held.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from parity.errors import ParityError
from parity.matching import limits
from parity.matching.axis_order import without_ones
from parity.matching.match import Indexed
from parity.numerics.accounting import allowance
from parity.numerics.difference import squared_distance, squared_norm
from parity.tape import Array, Replay, Tape


def with_tables(reference: Indexed, candidate: Tape) -> tuple[Indexed, Tape]:
    """Both models, each computing in float64 the tables that the other one made beforehand."""
    tables = _tables(reference.tape, candidate), _tables(candidate, reference.tape)
    if tables[0]:
        tape = replace(reference.tape, tables=tables[0])
        reference = Indexed(tape, tape.replay("float64"), sharp=reference.sharp)
    return reference, replace(candidate, tables=tables[1]) if tables[1] else candidate


def _tables(tape: Tape, other: Tape) -> dict[int, Array]:
    """By value what a model computes of no input and the other holds, as that one holds it."""
    others = Replay(other, None, other.recorded)  # keeps its arrays
    made = _made_of_no_input(tape)
    held, known = (_by_lengths(other, of(other)) for of in (_held, _made_of_no_input))
    near: dict[int, list[Array]] = {}
    for value in made if held else ():
        computed = tape.recorded_array(value)
        tables = _near(computed, others, held) if computed.dtype.kind == "f" else []
        if tables and not _near(computed, others, known):  # which that one computes itself
            near[value] = tables
    if not near:
        return {}
    try:
        exact = tape.replay("float64", only=tape.graph.ancestors(near))
    except ParityError:
        return {}
    found: dict[int, Array] = {}
    for value, tables in near.items():
        own, wide = tape.recorded_array(value).astype(np.float64), exact.array(value)
        if own.shape != wide.shape:  # a list of what rounding decides: as long as it ran
            found.update((value, held) for held in tables if _is_made_so(own, held, held))
        elif not any(_is_equal(wide, held) for held in tables):
            found.update((value, held) for held in tables if _is_made_so(own, wide, held))
    return found


def _by_lengths(tape: Tape, values: list[int]) -> dict[tuple[int, ...], list[int]]:
    found: dict[tuple[int, ...], list[int]] = {}
    for value in values:
        found.setdefault(without_ones(tape.values[value].shape), []).append(value)
    return found


def _near(computed: Array, others: Replay, values: dict[tuple[int, ...], list[int]]) -> list[Array]:
    """The other model's values that come near, in float64."""
    found = []
    for value in values.get(without_ones(computed.shape), ()):
        other = others.array(value).reshape(computed.shape)
        with np.errstate(all="ignore"):
            if squared_distance(computed, other) <= limits.NEAR_TABLE * squared_norm(other):
                found.append(other.astype(np.float64))
    return found


def _is_equal(exact: Array, held: Array) -> bool:
    """Whether a table is what the computation gives in float64, so that nothing is amiss."""
    return bool((np.abs(held - exact) <= limits.SAME_ELEMENT * np.abs(exact)).all())


def _is_made_so(ran: Array, exact: Array, held: Array) -> bool:
    """Whether a table is what a computation gave as it ran, but for the rounding of it."""
    if not (np.isfinite(ran).all() and np.isfinite(exact).all() and np.isfinite(held).all()):
        return False
    allowed = allowance((ran.astype(np.float32), exact), (held.astype(np.float32), held))
    return bool((np.abs(held - ran) <= limits.TABLE_ROUNDINGS * allowed).all())


def _made_of_no_input(tape: Tape) -> list[int]:
    """What is computed of no input and leads to an output; moved parameters are no tables."""
    computed: set[int] = set()
    for op in tape.ops:
        if not op.static or tape.is_baked(op) or len(op.outputs) != 1:
            continue
        if op.role == "compute" or not computed.isdisjoint(op.inputs):
            computed.update(op.outputs)
    return [
        value
        for value in sorted(computed)
        if tape.values[value].size >= limits.LEAST_TABLE and tape.values[value].op in tape.used
    ]


def _held(tape: Tape) -> list[int]:
    """Parameters and constants that outputs are made of, and parts of them that are cut out."""
    held = {
        value.id
        for value in tape.values
        if value.op < 0 and value.kind != "input" and not value.written
    } - tape.baked_leaves
    for op in tape.ops:
        if op.role == "move" and held.issuperset(op.inputs):
            held.update(op.outputs)
    read = {value for index in tape.used for value in tape.ops[index].inputs}
    return [
        value
        for value in sorted(held & read)
        if tape.values[value].size >= limits.LEAST_TABLE and tape.values[value].dtype == "float32"
    ]
