"""What running both models does not prove: weights that multiplied only zeros, and what was left.

What neither side's partner was found for may be equal by chance, as untrained scales of ones are:
the two then agree, and would not once the source is trained.

One time step from a state of zeros is how an acting policy is often called. What is written there
is right by its role; whether it is shows only with a state among the inputs, or at a second step.
"""

from __future__ import annotations

import math

import numpy as np

from parity.architecture.step import DENSE
from parity.tape import Op
from parity.weights.pairing import Pairing, Side
from parity.weights.tensors import Tensor, varied


def unproved(target: Side, found: Pairing) -> list[str]:
    """A sentence on the recurrent weights of the target that no number of the run went through."""
    names = [
        name
        for pair in found.pairs
        if pair.role == "recurrent kernel" and not _proved(target, pair.target_names)
        for name in pair.target_names
    ]
    if not names:
        return []
    return [
        f"{', '.join(names)}: written by role and not proved, as the state they multiply is zero "
        "at the only step; give inputs of two steps or more, or a state"
    ]


def unmoved(source: Side, target: Side, found: Pairing) -> str:
    """A sentence on what was left on both sides; "" where the target has the numbers already.

    What was set to do nothing counts as left where the source has one of its size: `1 + scale` does
    nothing either, as long as that scale is zero.
    """
    bare = {name for pair in found.pairs if pair.source is None for name in pair.target_names}
    left = [
        [tensor for tensor in side.addresses.tensors if tensor.name in names and _is_weight(tensor)]
        for side, names in ((source, found.left[0]), (target, {*found.left[1], *bare}))
    ]
    sizes = {math.prod(tensor.shape) for tensor in left[0]}
    left[1] = [one for one in left[1] if one.name not in bare or math.prod(one.shape) in sizes]
    for one in list(left[0]):
        other = next((other for other in left[1] if _same_numbers(one, other)), None)
        if other is not None:
            left[0].remove(one)
            left[1].remove(other)
    if not all(left):
        return ""
    source_names, target_names = (", ".join(tensor.name for tensor in own) for own in left)
    return (
        f"{source_names} of the source and {target_names} of the target were not moved: the two "
        "agree only as long as these hold what they hold now"
    )


def _is_weight(tensor: Tensor) -> bool:
    return tensor.dtype.startswith(("float", "bfloat"))


def _same_numbers(one: Tensor, other: Tensor) -> bool:
    """In whatever order; of one number throughout that says nothing."""
    if math.prod(one.shape) != math.prod(other.shape) or not varied(one):
        return False
    source, target = (np.sort(own.read(), axis=None) for own in (one, other))
    return np.array_equal(source, target)


def _proved(side: Side, names: tuple[str, ...]) -> bool:
    """Whether some operation multiplies by the weights what is not zero throughout."""
    numbers = {n for n, tensor in enumerate(side.addresses.tensors) if tensor.name in names}
    leaves = {leaf for leaf, number in side.addresses.leaves.items() if number in numbers}
    walks = side.tape.graph
    own = walks.moved(*leaves)
    return any(_meets(side, op, own) for op in walks.computing_readers(own))


def _meets(side: Side, op: Op, own: set[int]) -> bool:
    """Whether an operation multiplies by the weights, and by what."""
    values = side.tape.values
    if op.word == "recurrence":  # of a fused one the later steps have a state of their own
        x, *others = op.inputs
        states = [v for v in others if v not in own and values[v].kind != "parameter"]
        steps = [math.prod(values[v].shape[:-1]) for v in (x, *states[:1])]
        return len(set(steps)) > 1 or not all(_is_zero(side, v) for v in states)
    product = side.tape.product(op)
    if op.word not in DENSE:
        return False
    factors = product.factors if product is not None else op.inputs[:2]
    return not any(_is_zero(side, v) for v in factors if v not in own)


def _is_zero(side: Side, value: int) -> bool:
    tape = side.tape
    return value in tape.recorded and not tape.adapter.to_numpy(tape.recorded[value]).any()
