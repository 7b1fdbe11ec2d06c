"""Outputs that differ as the models ran and agree in float64: is it rounding that does it?

Rounding is what the float64 replay is off by; but a model may be another function there: an epsilon
that follows the dtype, a large constant that absorbs what is added to it in float32 alone. Rounding
shows as well where the inputs move by one unit in the last place. What moves nothing is none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parity.diagnosis.outputs import in_reference_layout
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replayed import Outputs, PlainRun
from parity.matching.match import Match
from parity.numerics.difference import mask_sentinels
from parity.tape import Array

_DRAWS = 3
# Sums in another order leave several times what moved inputs do, constants inside as much again.
_TIMES = 64.0
# Of what is usual in the output: less may be rounding that moved inputs do not show, as behind a
# saturated layer, or in half precision.
_LARGE = 2.0**-6


def precision_decides(
    matched: Match, pairs: Sequence[OutputPair], plain: tuple[PlainRun, PlainRun]
) -> list[str]:
    """Outputs that differ as they ran by more than moved inputs explain; what is said of each."""
    found = []
    for pair in pairs:
        runs = _laid_out(matched, pair, plain[0].run(), plain[1].run())
        if runs is None:
            continue
        reference, candidate = runs
        with np.errstate(all="ignore"):
            gap = np.abs(reference - candidate)
            gap = np.where(np.isfinite(gap), gap, 0.0)
        large = _LARGE * _usual(reference)
        if not (gap > large).any():
            continue
        moved = _moved(matched, pair, plain, runs)
        # a step of the inputs may be swallowed here and not there: what is usual counts everywhere
        over = gap > np.maximum(large, _TIMES * np.maximum(moved, _usual(moved)))
        if over.any():
            index = tuple(int(i) for i in np.unravel_index(int((gap * over).argmax()), gap.shape))
            found.append(
                f"element {list(index)} of output {pair.name!r} is {reference[index]:.9g} in the "
                f"reference and {candidate[index]:.9g} in the candidate as they ran; in float64 "
                "they agree, but inputs moved by one unit in the last place do not account for it: "
                "what one of them computes depends on the precision, as by an epsilon of the "
                "dtype, a cast, or a large constant that absorbs what is added to it"
            )
    return found


def _usual(array: Array) -> float:
    """The root mean square of the finite numbers of an array."""
    finite = array[np.isfinite(array)]
    return float(np.sqrt(np.mean(np.square(finite)))) if finite.size else 0.0


def _moved(
    matched: Match,
    pair: OutputPair,
    plain: tuple[PlainRun, PlainRun],
    runs: tuple[Array, Array],
) -> Array:
    """How far moved inputs move each element of either model, at most."""
    largest = np.zeros(runs[0].shape)
    for seed in range(_DRAWS):
        nudged = [one.nudged(seed) for one in plain if one.nudged is not None]
        laid_out = _laid_out(matched, pair, *nudged) if len(nudged) == 2 else None
        for before, after in zip(runs, laid_out or (), strict=False):
            with np.errstate(all="ignore"):
                step = np.abs(before - after)
            largest = np.maximum(largest, np.where(np.isfinite(step), step, np.inf))
    return largest


def _laid_out(
    matched: Match, pair: OutputPair, reference: Outputs, candidate: Outputs
) -> tuple[Array, Array] | None:
    """A pair of floating outputs in the reference's layout; None where they are none."""
    tapes = matched.reference.tape, matched.side.tape
    names = [{value: name for name, value in tape.outputs.items()} for tape in tapes]
    name, other = names[0][pair.reference], names[1][pair.candidate]
    if name not in reference or other not in candidate:
        return None
    a, b = reference[name], in_reference_layout(matched, pair, candidate[other])
    if b is None or a.shape != b.shape or a.dtype.kind != "f" or b.dtype.kind != "f":
        return None
    return mask_sentinels(a.astype(np.float64)), mask_sentinels(b.astype(np.float64))
