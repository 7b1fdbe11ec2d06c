"""What models compute of weights alone, as the neighbours' mean of embeddings, or their norm.

No input reaches it, and for most comparisons it is one weight more. Where models differ in it, it
is looked into as what is computed of the inputs.
"""

from __future__ import annotations

from dataclasses import replace

from parity.arrays import varies
from parity.matching.match import Match
from parity.operations import CONVOLUTIONS, LOOK_UPS, PRODUCTS, SOFTMAXES
from parity.tape import Op, Tape

_LAYERS = PRODUCTS | CONVOLUTIONS | LOOK_UPS | SOFTMAXES


def differ_in_weights_alone(matched: Match, layers: bool) -> bool:
    """Whether a model computes something of weights alone that the other does not.

    Args:
        layers: whether only layers count, and no arithmetic, as of a folded norm.
    """
    known = {pair.reference for pair in matched.pairs.values()}
    sides = (matched.reference, known), (matched.side, {*matched.pairs})
    return any(
        op.index in side.tape.used
        and op.role == "compute"
        and not paired.issuperset(op.outputs)
        and (op.word in _LAYERS or not layers)
        for side, paired in sides
        for op in _computed(side.tape)
    )


def as_of_inputs(tape: Tape) -> Tape:
    """The tape on which what is computed of weights alone counts as computed of the inputs."""
    ops, computed = list(tape.ops), _computed(tape)
    for op in computed:
        ops[op.index] = replace(op, static=False)
    return replace(tape, ops=ops) if computed else tape


def with_learned_inputs(tape: Tape) -> Tape:
    """The tape on which weights that are data count as an input, with all that is made of them.

    As the queries that a decoder learns, or seeds that attend to the inputs: they are repeated for
    each example of the batch, and then multiplied by other weights.
    """
    repeated: dict[int, frozenset[int]] = {}  # by a value the weights in it that are repeated
    found: list[tuple[Op, frozenset[int]]] = []
    data = set[int]()
    for op in (op for op in tape.ops if op.static):
        own = frozenset().union(*(repeated.get(value, ()) for value in op.inputs))
        own = own or frozenset(op.outputs if _repeats_weights(tape, op) else ())
        if own:
            found.append((op, own))
            repeated.update(dict.fromkeys(op.outputs, own))
        if op.word in PRODUCTS | CONVOLUTIONS:
            data |= own
    ops = list(tape.ops)
    for op, own in found:
        ops[op.index] = replace(op, static=own.isdisjoint(data))
    return replace(tape, ops=ops) if data else tape


def has_learned_inputs(tape: Tape) -> bool:
    """Whether some of its weights are data."""
    return with_learned_inputs(tape) is not tape


def _repeats_weights(tape: Tape, op: Op) -> bool:
    """Whether an operation repeats a parameter as it is held, or moved."""
    if op.role != "move" or op.word in LOOK_UPS:
        return False
    leaves = {tape.before_moves(value) for value in op.inputs}
    weights = [leaf for leaf in leaves if tape.values[leaf].kind == "parameter"]
    repeated = tape.values[op.outputs[0]].size > sum(tape.values[leaf].size for leaf in leaves)
    return len(weights) == len(leaves) == 1 and repeated


def _computed(tape: Tape) -> list[Op]:
    """Operations that compute of weights, or move what these give, which no input reaches."""
    found, made, weighty = [], set[int](), set[int]()
    for op in tape.ops:
        if not op.static or op.role == "random":
            continue
        weights = (one for one in op.inputs if tape.values[one].op < 0 or one in weighty)
        if all(tape.values[one].size < 2 for one in weights):
            continue  # made of nothing, as positions are
        if any(_is_uniform(tape, one) for one in op.inputs):
            continue  # a layer's first step, by its state of zeros
        weighty.update(op.outputs)
        if op.role == "compute" or not made.isdisjoint(op.inputs):
            made.update(op.outputs)
            found.append(op)
    return found


def _is_uniform(tape: Tape, value: int) -> bool:
    return tape.values[value].size > 1 and not varies(tape.recorded_array(value))
