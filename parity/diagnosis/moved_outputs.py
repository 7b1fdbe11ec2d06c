"""How far rounding moves the elements of a pair of outputs, in the reference's layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from parity.diagnosis.outputs import in_reference_layout
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replay_check import typed
from parity.errors import ParityError
from parity.matching.match import Match
from parity.numerics.rounding_noise import lost_in_kernels, moved_by_rounding, moved_in_float64
from parity.tape import Array, Op, Tape


def moved_outputs(
    matched: Match, pair: OutputPair, computed: Callable[[Tape, Op], bool] | None = None
) -> tuple[Array, Array] | None:
    """How far rounding moves both outputs of a pair.

    None where a replay fails on moved values, or one output alone is complex.

    Args:
        computed: see `moved_by_rounding`.
    """
    found = _of_both(matched, pair, partial(moved_by_rounding, computed=computed))
    if found is None or found[1] is None or found[0].shape != found[1].shape:
        return None
    return found[0], found[1]


def lost_in_outputs(matched: Match, pair: OutputPair, shape: tuple[int, ...]) -> Array | float:
    """How far elements of an output move by what frameworks' kernels lose, in either model."""
    found = _of_both(matched, pair, lost_in_kernels)
    if found is None:
        return 0.0
    reference, candidate = found
    if candidate is not None and candidate.shape == reference.shape:
        return np.maximum(reference, candidate)
    return reference if reference.shape == shape else 0.0


def _of_both(
    matched: Match,
    pair: OutputPair,
    measure: Callable[[Tape, list[int], Mapping[int, Array]], dict[int, Array]],
) -> tuple[Array, Array | None] | None:
    """What is measured of both outputs, as the models ran; None where a replay fails."""
    sides = zip(matched.tapes, pair.values, given_as_ran(matched), strict=True)
    try:
        reference, candidate = (measure(tape, [end], given)[end] for tape, end, given in sides)
    except ParityError:
        return None
    return reference, in_reference_layout(matched, pair, candidate)


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
