"""Weights that a region reads and the other side reads elsewhere, or has not."""

from __future__ import annotations

from collections.abc import Iterable

from parity.diagnosis.cut_candidates import root
from parity.diagnosis.region import Region
from parity.matching.match import Side
from parity.operations import ADDITIONS, CONVOLUTIONS, PRODUCTS
from parity.tape import Op, Tape

Weights = dict[tuple[int, float], int]  # how many live operations read one, by size and norm


def readers_of_what_is_skipped(
    reference: Region, candidate: Region, known: Side, other: Side
) -> list[int]:
    """Of weights that one region alone reads, how many of the other side's operations do.

    Args:
        known, other: the models of the reference's and the candidate's region.
    """
    sides = known, other
    held = [_held(side) for side in sides]
    read = [
        _weights(side, (value for op in region.ops for value in op.inputs))
        for side, region in zip(sides, (reference, candidate), strict=True)
    ]
    skipped = [
        [held[other][one] for one in read[own].keys() - read[other] if one in held[other]]
        for own, other in ((0, 1), (1, 0))
    ]
    return [] if all(skipped) else skipped[0] or skipped[1]


def are_layers_of_other_weights(a: int, b: int, known: Side, other: Side) -> bool:
    """Whether two layers' results differ in weights of one size, and the candidate has not both.

    Args:
        a, b: values of the reference and the candidate.
    """
    first, second = _layer(known.tape, a), _layer(other.tape, b)
    if first is None or second is None or first.word != second.word:
        return False
    read = _weights(known, first.inputs), _weights(other, second.inputs)
    held = _held(other)
    lacking = {size for size, norm in read[0] if (size, norm) not in held}
    return any(one not in read[0] and one[0] in lacking for one in read[1])


def _layer(tape: Tape, value: int) -> Op | None:
    """The product that a value is, or is with a bias."""
    op = tape.producer(tape.before_moves(value))
    if op is not None and op.word in ADDITIONS:
        live = [one for one in op.inputs if tape.is_live(one)]
        op = tape.producer(tape.before_moves(live[0])) if len(live) == 1 else None
    return op if op is not None and op.word in PRODUCTS | CONVOLUTIONS else None


def _held(side: Side) -> Weights:
    return _weights(side, (value.id for value in side.tape.values if value.op < 0))


def _weights(side: Side, values: Iterable[int]) -> Weights:
    """The parameters and constants among values, with how many operations read them."""
    found: Weights = {}
    for leaf in {side.tape.before_moves(value) for value in values}:
        if side.tape.values[leaf].op >= 0 or side.tape.values[leaf].kind == "input":
            continue
        print_ = side.print(leaf)
        if print_.size > 1 and print_.informative:
            found[root(print_)] = found.get(root(print_), 0) + side.tape.graph.live_readers[leaf]
    return found
