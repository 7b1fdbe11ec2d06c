"""How far rounding moves the elements of a pair of outputs, in the reference's layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from parity.diagnosis.outputs import in_reference_layout
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replay_check import typed
from parity.errors import ParityError
from parity.matching.match import Match
from parity.numerics.rounding_noise import lost_in_kernels, moved_in_float64, moves
from parity.tape import Array, Op, Tape


def moved_outputs(
    matched: Match, pair: OutputPair, computed: Callable[[Tape, Op], bool] | None = None
) -> tuple[Array, Array] | None:
    """How far rounding moves both outputs of a pair.

    None where a replay fails on moved values, or one output alone is complex.

    Args:
        computed: see `moved_by_rounding`.
    """
    found = None
    try:
        for both in moving_outputs(matched, pair, computed):
            found = both
    except ParityError:
        return None
    return found


def moving_outputs(
    matched: Match, pair: OutputPair, computed: Callable[[Tape, Op], bool] | None = None
) -> Iterator[tuple[Array, Array]]:
    """The same after each replay, as far as elements have moved by then; see `moves`.

    Nothing where one output alone is complex.

    Raises:
        ParityError: a replay fails on moved values.
    """
    sides = zip(matched.tapes, pair.values, given_as_ran(matched), strict=True)
    runs = [moves(tape, [end], given, computed) for tape, end, given in sides]
    for reference, candidate in zip(*runs, strict=True):
        laid_out = in_reference_layout(matched, pair, candidate[pair.candidate])
        if laid_out is None or laid_out.shape != reference[pair.reference].shape:
            return
        yield reference[pair.reference], laid_out


def lost_in_outputs(matched: Match, pair: OutputPair, shape: tuple[int, ...]) -> Array | float:
    """How far elements of an output move by what frameworks' kernels lose, in either model."""
    sides = zip(matched.tapes, pair.values, given_as_ran(matched), strict=True)
    try:
        reference, candidate = (
            lost_in_kernels(tape, [end], given)[end] for tape, end, given in sides
        )
    except ParityError:  # moved values are outside what an operation takes
        return 0.0
    laid_out = in_reference_layout(matched, pair, candidate)
    if laid_out is not None and laid_out.shape == reference.shape:
        return np.maximum(reference, laid_out)
    return reference if reference.shape == shape else 0.0


def given_as_ran(matched: Match) -> tuple[Mapping[int, Array], Mapping[int, Array]]:
    """What replaces values of either tape in replays as recorded: the reference's samples."""
    return {}, typed(matched.side.tape, matched.draws)


def lost_in_float64(matched: Match, pairs: Sequence[OutputPair]) -> list[Array | float]:
    """For each pair of outputs, how far elements move by what float64 itself does not compute."""
    tapes = matched.tapes
    try:
        reference = moved_in_float64(tapes[0], [pair.reference for pair in pairs], {})
        candidate = moved_in_float64(tapes[1], [pair.candidate for pair in pairs], matched.given)
    except ParityError:  # moved values are outside what an operation takes
        return [0.0 for _ in pairs]
    found: list[Array | float] = []
    for pair, a, b in zip(pairs, reference, candidate, strict=True):
        laid_out = in_reference_layout(matched, pair, b)
        known = laid_out is not None and a.shape == laid_out.shape and a.dtype.kind == "f"
        found.append(a + laid_out if known else 0.0)
    return found
