"""What the candidate's host decided by values that diverge: a consequence, and no divergence.

A winner that NumPy picks of scores that are wrong is a constant on the tape. Where the scores are
repaired, the reference picks another one, and the constant stays as it was.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from parity.arrays import varies
from parity.diagnosis import limits
from parity.diagnosis.proof import Proofs
from parity.diagnosis.region import Mismatch
from parity.errors import ReplayError
from parity.tape import Array, Replay


def decided_by_the_host(proofs: Proofs, mismatch: Mismatch) -> bool:
    """Whether constants of a mismatch are what the reference makes of the candidate's own values.

    The reference's operations get what the candidate has at their inputs as long as nothing is
    repaired. Each constant that differs from all that the reference computes must be among what
    they give then.
    """
    region, reference = mismatch.reference, proofs.repaired.reference.run
    computed = [value for op in region.ops if not op.static for value in op.outputs]
    held = _constants(proofs, mismatch)
    right = [reference.array(value) for value in computed]
    wrong = [one for one in held if not any(_same(one, other) for other in right)]
    own = _own_inputs(proofs, mismatch)
    if not wrong or not own:
        return False
    graph = region.tape.graph
    moves = graph.ancestors(region.boundary()) - graph.ancestors(own)
    inside = {op.index for op in region.ops}
    try:
        run: Replay = region.tape.replay("float64", own, reference, only=inside | moves)
    except ReplayError:  # outside what an operation takes
        return False
    made = [run.array(value) for value in computed]
    return all(any(_same(one, other) for other in made) for one in wrong)


def _constants(proofs: Proofs, mismatch: Mismatch) -> list[Array]:
    """The constants of several numbers that the candidate's operations read."""
    tape, run = mismatch.candidate.tape, proofs.repaired.side.run
    read = (value for op in mismatch.candidate.ops for value in op.inputs)
    arrays = [run.array(leaf) for leaf in tape.graph.leaves(read) if tape.is_from_host(leaf)]
    return [one for one in arrays if varies(one)]


def _own_inputs(proofs: Proofs, mismatch: Mismatch) -> Mapping[int, Array]:
    """What the candidate has for the inputs of the reference's operations, where it is other."""
    boundary, before = mismatch.reference.boundary(), mismatch.reference.tape.before_moves
    found, read = {}, {*boundary, *map(before, boundary)}
    for value, pair in proofs.repaired.pairs.items():
        if pair.reference in read:
            own, repaired = proofs.drawn.array(value), proofs.repaired.side.run.array(value)
            shape = proofs.repaired.reference.array(pair.reference).shape
            if own.shape == repaired.shape and not np.array_equal(own, repaired):
                found[pair.reference] = pair.order.revert(own, shape)
    return found


def _same(one: Array, other: Array) -> bool:
    """Whether two arrays hold the same numbers in the same order, but for float32's last bits."""
    if one.size != other.size:
        return False
    a, b = one.ravel(), other.ravel()
    if "f" not in (a.dtype.kind, b.dtype.kind):
        return bool(np.array_equal(a, b))
    return bool(np.allclose(a, b, rtol=limits.SAME_HOST_NUMBER, atol=0.0, equal_nan=True))
