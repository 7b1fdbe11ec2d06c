"""Models that share no weights: one thing to say, and nothing to be located or explained.

Behind the first layer all is different then, and each layer for itself would be a divergence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from parity.budget import check
from parity.diagnosis.outputs import output_matches
from parity.diagnosis.region import OutputPair, Parting, Scene
from parity.matching.match import Match
from parity.matching.order import orders
from parity.report.summary import Cause
from parity.tape import Array, Tape

_SEVERAL = 2  # of a single weight its layer tells more
_PICKS = 256  # numbers by which a weight is held against others
_STEP = 104729 * 7  # shares no factor with usual lengths, so that every axis varies
_ALIKE = 0.9  # cosine of two weights of which one may be the other; of others it is near zero


def unshared(matched: Match, outputs: Sequence[OutputPair]) -> Parting | None:
    """The one place to tell of models that share no weights; None where they share some.

    So it is where outputs part, both models have several weight matrices, as many of each size, no
    matrix of the one is a matrix of the other in any arrangement, near it or a multiple of it, and
    nothing that is made with one has a partner: a weight may also be shared in another form, as a
    batch norm's is when it is folded into the layer before.
    """
    apart = [pair for pair in outputs if not output_matches(matched, pair)]
    if not apart:
        return None
    tapes = matched.reference.tape, matched.side.tape
    ours, theirs = (list(_weights(tape)) for tape in tapes)
    sizes = [
        sorted(tape.values[value].size for value in weights)
        for tape, weights in zip(tapes, (ours, theirs), strict=True)
    ]
    if len(ours) < _SEVERAL or sizes[0] != sizes[1] or _any_shared(matched, ours, theirs):
        return None
    if any(value in matched.pairs for value in _made_with(tapes[1], theirs)):
        return None
    parting = Scene(matched, apart).up_to_the_outputs(with_leaves=False)
    return replace(parting, unshared=len(ours))


def cause_of(parting: Parting) -> Cause:
    """What is told of models that share no weights."""
    names = parting.reference.tape.model, parting.candidate.tape.model
    return Cause(
        kind="weights-not-shared",
        summary=f"the weights differ: none of the {parting.unshared} weight matrices of {names[0]} "
        f"is in {names[1]}. Transfer them (parity.transfer), or compare what the models are made "
        "of (parity.structure)",
        parameters={},
        confirmed=False,
        residual_before=parting.residual,
        residual_after=parting.residual,
        inputs=1,
        unproved="models without shared weights cannot be compared by what they compute",
    )


def _weights(tape: Tape) -> Iterator[int]:
    """The parameters and constants of two axes or more that operations on the way to outputs read.

    A constant without a name counts: a function over tensors has no others.
    """
    for value in tape.values:
        if value.op >= 0 or value.kind == "input" or not value.dtype.startswith(_FLOATING):
            continue
        axes = [length for length in value.shape if length > 1]
        if len(axes) >= 2 and any(index in tape.used for index in tape.consumers[value.id]):
            yield value.id


_FLOATING = ("float", "bfloat")


def _any_shared(matched: Match, ours: Sequence[int], theirs: Sequence[int]) -> bool:
    """Whether a weight of one model is one of the other's; the first that is ends the search."""
    for value in theirs:
        print_ = matched.side.print(value)
        if print_.informative and matched.reference.partner(matched.side.array(value), print_):
            return True
    return _any_near(matched, ours, theirs)


def _any_near(matched: Match, ours: Sequence[int], theirs: Sequence[int]) -> bool:
    """Whether a weight is another's but for its precision, a little noise, or a factor."""
    of_shape: dict[tuple[int, ...], list[Array]] = {}
    for value in ours:
        array = matched.reference.array(value)
        of_shape.setdefault(array.shape, []).append(_picked(array))
    stacked = {shape: np.stack(found) for shape, found in of_shape.items()}
    for value in theirs:
        array = matched.side.array(value)
        for shape, known in stacked.items():
            if np.prod(shape) != array.size or not matched.side.informative(value):
                continue
            for order in orders(shape, array.shape):
                check()
                one = _picked(order.revert(array, shape))
                if (np.abs(known @ one) > _ALIKE).any():
                    return True
    return False


def _picked(array: Array) -> Array:
    """Some of an array's numbers as a vector of length one; zero where there are none but zeros."""
    flat = array.ravel()
    picks = (np.arange(min(_PICKS, flat.size)) * _STEP) % flat.size
    found: Array = flat[picks].astype(np.float64)
    return found / (float(np.sqrt(found @ found)) or 1.0)


def _made_with(tape: Tape, weights: Sequence[int]) -> Iterator[int]:
    """What live operations make with weights, moved ones included."""
    read = set(weights)
    for op in tape.ops:
        if read.isdisjoint(op.inputs):
            continue
        if op.static:
            read.update(op.outputs)
        elif op.index in tape.used:
            yield from op.outputs
