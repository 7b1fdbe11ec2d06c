"""What weights do not show, and what running both models does not prove.

Epsilons are no weights, nor is how fast running statistics move in training. Torch states that by
the share of the new batch, 0.1; Keras and Chainer by that of the old value, 0.9. Both are one thing
here.

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
from parity.weights.tensors import Tensor, same_tensors, varied


def other_epsilons(source: Side, target: Side, found: Pairing, fold: bool) -> None:
    """Notes norms with another epsilon; a batch norm can take it up.

    Args:
        fold: whether to add the difference to the variance, where it stays positive.
    """
    for pair in found.pairs:
        if pair.source is None or not pair.target.in_norm:
            continue
        steps = source.program.steps[pair.source.step], target.program.steps[pair.target.step]
        source_epsilon, target_epsilon = (step.parameters.get("epsilon") for step in steps)
        if (
            source_epsilon is None
            or target_epsilon is None
            or abs(source_epsilon - target_epsilon) <= 1e-6 * source_epsilon
        ):
            continue
        note = f"epsilon: {source_epsilon:.6g} in the source, {target_epsilon:.6g} in the target"
        if pair.role == "running variance" and fold:
            pair.shift = source_epsilon - target_epsilon
            found.notes.append(f"{note}: added to {' + '.join(pair.target_names)}")
        elif pair.role == "running variance" or steps[0].kind != "batch_norm":
            found.notes.append(f"{note}, at {' + '.join(pair.target_names)}")


def other_momenta(source: Side, target: Side, found: Pairing) -> list[str]:
    """Sentences on norms that compute the same in inference and differ in training."""
    notes = []
    kept = [{t.name: t.kept for t in side.tensors} for side in (source, target)]
    for pair in found.pairs:
        if pair.role != "running mean" or pair.source is None:
            continue
        source_kept, target_kept = kept[0][pair.source_names[0]], kept[1][pair.target_names[0]]
        if source_kept is None or target_kept is None or abs(source_kept - target_kept) < 1e-6:
            continue
        words = [
            f"{old:g} ({side.tape.adapter.TRAITS.weights.momentum(old)} in {side.tape.framework})"
            for old, side in ((source_kept, source), (target_kept, target))
        ]
        notes.append(
            f"momentum: of its old value a batch leaves {words[0]} in the source, {words[1]} in "
            f"the target, at {' + '.join(pair.target_names)}; in inference it plays no part"
        )
    return notes


def unproved(target: Side, found: Pairing) -> list[str]:
    """A sentence on the recurrent weights of the target that no value of the run went through."""
    names = [
        name
        for pair in found.pairs
        if pair.role == "recurrent kernel" and not _proved(target, pair.target_names)
        for name in pair.target_names
    ]
    text = (
        f"{', '.join(names)}: written by role and not proved, as the state they multiply is zero "
        "at the only step; give inputs of two steps or more, or a state"
    )
    return [text] if names else []


def unmoved(source: Side, target: Side, found: Pairing) -> str:
    """A sentence on what was left on both sides; "" where the target has the values already.

    What was set to do nothing counts as left where the source has one of its size: `1 + scale` does
    nothing either, as long as that scale is zero.
    """
    bare = {name for pair in found.pairs if pair.source is None for name in pair.target_names}
    left, right = (
        [tensor for tensor in side.tensors if tensor.name in names and tensor.is_floating]
        for side, names in ((source, found.left[0]), (target, {*found.left[1], *bare}))
    )
    sizes = {tensor.size for tensor in left}
    right = [one for one in right if one.name not in bare or one.size in sizes]
    same_tensors(left, right, _same_values)
    if not left or not right:
        return ""
    source_names, target_names = (", ".join(tensor.name for tensor in own) for own in (left, right))
    return (
        f"{source_names} of the source and {target_names} of the target were not moved: the two "
        "agree only as long as these hold what they hold now"
    )


def own_buffers(source: Side, target: Side, found: Pairing) -> list[str]:
    """Sentences on buffers that one model alone holds, which are then no longer left over.

    Of two models that agree, where the other has nothing left that might belong there: a mask or a
    table that the other computes, or holds outside its state.
    """
    notes = []
    sides = [("source", source, found.left[0]), ("target", target, found.left[1])]
    for (what, side, left), (_, _, others) in (sides, sides[::-1]):
        tensors = [side.tensors[side.numbers[name]] for name in left]
        if left and not others and all(tensor.kind == "buffer" for tensor in tensors):
            notes.append(f"{', '.join(left)}: buffers that the {what} alone holds")
            left.clear()
    return notes


def _same_values(one: Tensor, other: Tensor) -> bool:
    """In whatever order; of one value throughout that says nothing."""
    if one.size != other.size or not varied(one):
        return False
    source, target = (np.sort(own.read(), axis=None) for own in (one, other))
    return np.array_equal(source, target)


def _proved(side: Side, names: tuple[str, ...]) -> bool:
    """Whether some operation multiplies by the weights what is not zero throughout."""
    numbers = {side.numbers[name] for name in names}
    leaves = {leaf for leaf, number in side.leaves.items() if number in numbers}
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
