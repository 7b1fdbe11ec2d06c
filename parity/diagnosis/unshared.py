"""Models that share no weights: one thing to say, and nothing to be located or explained.

Behind the first layer all is different then, and each layer for itself would be a divergence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from parity.budget import check
from parity.diagnosis import limits
from parity.diagnosis.outputs import output_matches
from parity.diagnosis.region import Mismatch, OutputPair, Scene
from parity.findings import Cause, Divergence
from parity.matching.axis_order import orders
from parity.matching.match import Match, Side
from parity.result import Result
from parity.tape import Array, Tape

R = TypeVar("R", bound=Result)

UNSHARED = "weights-not-shared"  # the kind of its cause


def unshared(matched: Match, outputs: Sequence[OutputPair]) -> Mismatch | None:
    """The one place to report of models that share no weights; None where they share some.

    So it is where outputs differ, both models have several weight matrices, of as many elements, no
    matrix of the one is a matrix of the other in any arrangement, near it or a multiple of it, nor
    part of one, as a gate's may be, and nothing that is made with one has a partner: a weight may
    also be shared in another form, as a batch norm's is when it is folded into the layer before.
    """
    differing = [pair for pair in outputs if not output_matches(matched, pair)]
    if not differing:
        return None
    sides = matched.reference, matched.side
    reference, candidate = (list(_weights(side)) for side in sides)
    sizes = [
        sum(side.tape.values[value].size for value in weights)
        for side, weights in zip(sides, (reference, candidate), strict=True)
    ]
    if min(len(reference), len(candidate)) < limits.SEVERAL_WEIGHTS or sizes[0] != sizes[1]:
        return None
    if _any_shared(matched, reference, candidate):
        return None
    made = (value for value in _made_with(sides[1].tape, candidate) if value in matched.pairs)
    if any(map(matched.side.informative, made)):
        return None
    mismatch = Scene(matched, differing).up_to_the_outputs(with_leaves=False)
    return replace(mismatch, unshared=len(reference))


def cause_of(mismatch: Mismatch) -> Cause:
    """The cause of a divergence of models that share no weights."""
    names = mismatch.reference.tape.model, mismatch.candidate.tape.model
    return Cause(
        kind=UNSHARED,
        summary=f"the weights differ: none of the {mismatch.unshared} weight matrices of "
        f"{names[0]} is in {names[1]}. {_ADVICE}",
        parameters={},
        confirmed=False,
        residual_before=mismatch.residual,
        residual_after=mismatch.residual,
        inputs=1,
        unproved="models without shared weights cannot be compared by what they compute",
    )


_ADVICE = (
    "Transfer them (parity.transfer), or compare what the models are made of (parity.structure)"
)


def after_a_transfer(report: R) -> R:
    """A report that advises no transfer: one was tried."""

    def changed(one: Divergence) -> Divergence:
        if one.cause is None or one.cause.kind != UNSHARED:
            return one
        summary = one.cause.summary.replace(_ADVICE, "No tensor of them was paired")
        return replace(one, cause=replace(one.cause, summary=summary))

    comparisons = [
        replace(one, divergences=tuple(map(changed, one.divergences))) for one in report.comparisons
    ]
    return replace(report, comparisons=tuple(comparisons))


def _weights(side: Side) -> Iterator[int]:
    """The parameters and constants that operations on the way to outputs read as matrices.

    A constant without a name counts: a function over tensors has no others. What holds no numbers
    to know it by, as an initial state of zeros, does not.
    """
    tape = side.tape
    for value in tape.values:
        if value.op >= 0 or value.kind == "input" or not value.dtype.startswith(_FLOATING):
            continue
        read = (tape.values[one].shape for one in _read_as(tape, value.id))
        if _is_matrix(value.shape) and any(map(_is_matrix, read)) and side.informative(value.id):
            yield value.id


_FLOATING = ("float", "bfloat")


def _is_matrix(shape: Sequence[int]) -> bool:
    return sum(length > 1 for length in shape) >= limits.MATRIX_AXES


def _read_as(tape: Tape, leaf: int) -> Iterator[int]:
    """What operations on the way to outputs compute with: a leaf, its transpose, parts of it."""
    reading = tape.graph.readers(leaf, lambda op: op.static and op.role == "move")
    return (value for value, op in reading if op.index in tape.used)


def _any_shared(matched: Match, reference: Sequence[int], candidate: Sequence[int]) -> bool:
    """Whether a weight of one model is one of the other's; the first that is ends the search."""
    for value in candidate:
        if matched.reference.partner(matched.side.array(value), matched.side.print(value)):
            return True
    arrays = [matched.reference.array(value) for value in reference]
    others = [matched.side.array(value) for value in candidate]
    sizes = [Counter(array.size for array in held) for held in (arrays, others)]
    if sizes[0] != sizes[1]:  # gates are joined in one model alone
        joined = [array for array in arrays if array.size not in sizes[1]]
        if any(_is_inside(array, joined) for array in others if array.size not in sizes[0]):
            return True
        arrays, others = [*arrays, *_parts(arrays, sizes[1])], [*others, *_parts(others, sizes[0])]
    return _any_near(arrays, others)


def _is_inside(array: Array, joined: Sequence[Array]) -> bool:
    """Whether most of a weight's values are in others, however these are cut or joined."""
    flat = array.ravel()
    some = flat[_places(flat.size)]
    found = [np.isin(some, other.ravel()) & (some != 0) for other in joined]
    return bool(found) and float(np.any(found, axis=0).mean()) > limits.MOST_OF_A_WEIGHT


def _parts(arrays: Sequence[Array], sizes: Collection[int]) -> Iterator[Array]:
    """The parts of arrays that are as large as the other model's, as gates are of a joined one."""
    for array in arrays:
        for size in sizes:
            count, left = divmod(array.size, size)
            if left or not 1 < count <= limits.CELL_GATES:
                continue
            for axis, length in enumerate(array.shape):
                if length % count == 0:
                    yield from np.split(array, count, axis)
                    yield from (array.take(range(at, length, count), axis) for at in range(count))


def _any_near(arrays: Sequence[Array], others: Sequence[Array]) -> bool:
    """Whether a weight is another's but for its precision, a little noise, or a factor."""
    of_shape: dict[tuple[int, ...], list[Array]] = {}
    for array in arrays:
        of_shape.setdefault(array.shape, []).append(_picked(array))
    stacked = {shape: np.stack(found) for shape, found in of_shape.items()}
    for array in others:
        for shape, known in stacked.items():
            if np.prod(shape) != array.size:
                continue
            for order in orders(shape, array.shape):
                check()
                cosines = np.abs(known @ _picked(order.revert(array, shape)))
                if (cosines > limits.ALIKE_WEIGHTS).any():
                    return True
    return False


def _picked(array: Array) -> Array:
    """Some of an array's values as a vector of length one; zero where there are none but zeros."""
    flat = array.ravel()
    found: Array = flat[_places(flat.size)].astype(np.float64)
    return found / (float(np.sqrt(found @ found)) or 1.0)


def _places(size: int) -> Array:
    return (np.arange(min(limits.WEIGHT_PICKS, size)) * limits.PICK_STEP) % size


def _made_with(tape: Tape, weights: Sequence[int]) -> Iterator[int]:
    """What live operations make with weights, moved ones included."""
    read = set(weights)
    for op in tape.ops:
        if read.isdisjoint(op.inputs):
            continue
        made = [one for one in op.outputs if tape.values[one].dtype.startswith(_FLOATING)]
        if op.static:
            read.update(made)  # the length of a table of embeddings is none
        elif op.index in tape.used:
            yield from made
