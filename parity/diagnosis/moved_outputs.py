"""How far rounding moves the elements of a pair of outputs, in the reference's layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from parity.diagnosis.outputs import in_reference_layout
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replay_check import typed
from parity.errors import ParityError
from parity.matching.match import Match
from parity.numerics.rounding_noise import lost_in_kernels, moved_by_rounding, moved_in_float64
from parity.tape import Array, Op, Tape


def moved_outputs(
    matched: Match,
    pair: OutputPair,
    computed: Callable[[Tape, Op], bool] | None = None,
) -> tuple[Array, Array] | None:
    """How far rounding moves both outputs of a pair.

    None where a replay fails on moved numbers, or one output alone is complex.

    Args:
        computed: see `moved_by_rounding`.
    """
    tapes, values = (matched.reference.tape, matched.side.tape), (pair.reference, pair.candidate)
    draws = typed(tapes[1], matched.draws)
    try:
        reference, candidate = (
            moved_by_rounding(tape, [value], given, computed)[value]
            for tape, value, given in zip(tapes, values, ({}, draws), strict=True)
        )
    except ParityError:
        return None
    laid_out = in_reference_layout(matched, pair, candidate)
    known = laid_out is not None and laid_out.shape == reference.shape  # one alone may be complex
    return (reference, laid_out) if known and laid_out is not None else None


def lost_in_float64(matched: Match, pairs: Sequence[OutputPair]) -> list[Array | float]:
    """For each pair of outputs, how far elements move by what float64 itself does not compute."""
    tapes = matched.reference.tape, matched.side.tape
    try:
        reference = moved_in_float64(tapes[0], [pair.reference for pair in pairs], {})
        candidate = moved_in_float64(tapes[1], [pair.candidate for pair in pairs], matched.given)
    except ParityError:  # moved numbers are outside what an operation takes
        return [0.0 for _ in pairs]
    found: list[Array | float] = []
    for pair, a, b in zip(pairs, reference, candidate, strict=True):
        laid_out = in_reference_layout(matched, pair, b)
        known = laid_out is not None and a.shape == laid_out.shape and a.dtype.kind == "f"
        found.append(a + laid_out if known else 0.0)
    return found


def lost_in_outputs(matched: Match, pair: OutputPair, shape: tuple[int, ...]) -> Array | float:
    """How far elements of an output move by what frameworks' kernels lose, in either model."""
    tapes, values = (matched.reference.tape, matched.side.tape), (pair.reference, pair.candidate)
    draws = typed(tapes[1], matched.draws)
    try:
        reference, candidate = (
            lost_in_kernels(tape, [value], given)[value]
            for tape, value, given in zip(tapes, values, ({}, draws), strict=True)
        )
    except ParityError:
        return 0.0
    laid_out = in_reference_layout(matched, pair, candidate)
    if laid_out is not None and laid_out.shape == reference.shape:
        return np.maximum(reference, laid_out)
    return reference if reference.shape == shape else 0.0
