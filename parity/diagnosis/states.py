"""A recurrent layer's state, which has an axis of layers and directions in some frameworks alone.

torch's and Chainer's own layers give the state of one layer as (1, B, H), Keras's as (B, H). That
axis is the layer's and not the user's, and being the first it meets no other where values are
broadcast. An axis of length 1 that anything else makes stays a difference.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any, cast

from parity.diagnosis.output_pairs import pair_outputs
from parity.diagnosis.replay_check import Outputs, PlainRun
from parity.draws.draw import Transform
from parity.site import Site
from parity.tape import Array, Op, Tape, Value

Change = Callable[[Any], Any]  # of an array, or of a framework's tensor


def with_axes_of_states(reference: Tape, candidate: PlainRun) -> PlainRun:
    """The candidate, whose states have the axis of layers if the reference's have it."""
    changes, reported = _changes(reference, candidate.tape)
    if not changes:
        return candidate
    found = candidate.made(partial(_changed, changes=changes), partial(_of_a_run, changes=changes))
    return replace(found, tape=replace(found.tape, caveats=[*found.tape.caveats, *reported]))


def _changes(reference: Tape, candidate: Tape) -> tuple[dict[str, Change], list[str]]:
    """What is to be done to outputs of the candidate, by name; and what the report says of it."""
    changes: dict[str, Change] = {}
    reported = []
    pairs = {pair.candidate: pair for pair in pair_outputs(reference, candidate)[0]}
    for name, value in candidate.outputs.items():
        pair = pairs.get(value)
        if pair is None:
            continue
        shapes = reference.values[pair.reference].shape, candidate.values[value].shape
        if shapes[0] == (1, *shapes[1]) and pair.reference in reference.states:
            changes[name] = itemgetter(None)
        elif shapes[1] == (1, *shapes[0]) and value in candidate.states:
            changes[name] = itemgetter(0)
        else:
            continue
        reported.append(
            f"output {pair.name!r} is a state of shape {shapes[0]} in {reference.model} and "
            f"{shapes[1]} in {candidate.model}: the first axis is the recurrent layer's own, of "
            "its layers and directions, and is no difference"
        )
    return changes, reported


def _of_a_run(outputs: Outputs, changes: Mapping[str, Change]) -> Outputs:
    found = cast(dict[str, Array], copy.copy(outputs))  # with what it holds beside tensors
    found.update({name: change(found[name]) for name, change in changes.items() if name in found})
    return found


def _changed(tape: Tape, changes: Mapping[str, Change]) -> Tape:
    """The tape, which gives the outputs changed."""
    ops, values = list(tape.ops), list(tape.values)
    outputs, recorded = dict(tape.outputs), dict(tape.recorded)
    for name, change in changes.items():
        if name not in outputs:
            continue
        before = values[outputs[name]]
        call = Transform(partial(_one, change))
        native = change(recorded[before.id])
        shape = tape.adapter.to_numpy(native).shape
        made = Value(len(values), "computed", shape, before.dtype, op=len(ops))
        producer = tape.producer(before.id)
        site = Site("reshape", "") if producer is None else replace(producer.site, op="reshape")
        static = not tape.is_live(before.id)
        ids = (before.id,), (made.id,)
        ops.append(Op(len(ops), "reshape", *ids, site, "move", call=call, static=static))
        values.append(made)
        recorded[made.id] = native
        outputs[name] = made.id
    return replace(tape, ops=ops, values=values, outputs=outputs, recorded=recorded)


def _one(change: Change, array: Array) -> Sequence[Array]:
    return [change(array)]
