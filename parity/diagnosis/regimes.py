"""Outputs that differ as the models ran and agree in float64: is it rounding that does it?

Rounding is what the float64 replay is off by; but a model may be another function there: an epsilon
that follows the dtype, a large constant that absorbs what is added to it in float32 alone, a sum of
large terms that cancel. So rounding is measured, of each model by itself, where all that it
computes moves by one unit in the last place. What the model that loses fewer digits does not
account for is not rounding alone: the other loses more, or is another function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from parity.diagnosis.outputs import in_reference_layout
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replayed import Outputs, PlainRun, as_ran, nudged_run, typed
from parity.errors import ParityError
from parity.matching.match import Match
from parity.numerics.accounting import in_reals, rounding
from parity.numerics.difference import mask_sentinels
from parity.numerics.moving import moved_by_rounding
from parity.numerics.rounding import U32
from parity.tape import Array

_DRAWS = 8
# Of 380 correct pairs written apart, one left more than 14 times what rounding moves: by a formula
# that cancels.
_TIMES = 32.0
_TIMES_NARROW = 8.0  # in a narrow format, where a unit is as large as all that
_TINY = 2.0**-126  # what is smaller has fewer digits
_POOL = 4  # fewer elements do not tell what is typical of them
# Whole numbers are rounded once: what so many units in the last place do not turn was no tie.
_TIES = 16.0 * U32
_STEPS = 4.0  # times what they turn by


def precision_decides(
    matched: Match,
    pairs: Sequence[OutputPair],
    plain: tuple[PlainRun, PlainRun],
    exact: Outputs,
    narrow: float | None = None,
    half: bool = False,
) -> list[str]:
    """Outputs that differ as they ran by more than rounding explains; what is said of each.

    Args:
        exact: the candidate's outputs in float64, by itself.
        narrow: the unit roundoff of the narrowest format in which one of the models computes, if
            that is not float32; None if that is no news, as where both are in half precision.
        half: whether one of them computes in such a format.
    """
    ran = as_ran(plain[0], {}), as_ran(plain[1], matched.draws)
    found = []
    for pair in pairs:
        runs = _laid_out(matched, pair, *ran)
        if runs is None:
            continue
        gap, least = _apart(*runs)
        times = _TIMES_NARROW if half else _TIMES
        if not (gap > times * least).any():
            continue
        if runs[0].dtype.kind != "f":
            moved = _moved(matched, pair, plain, runs, max(_TIES, narrow or 0.0))
            over = gap > _STEPS * np.minimum(*moved)
        else:
            units = moved_outputs(matched, pair, everywhere=True)
            if units is None:
                units = _moved(matched, pair, plain, runs, narrow)
            errors = _errors(matched, pair, runs, exact)
            ours, theirs = (
                _typical(np.maximum(*one)) + least for one in zip(units, errors, strict=True)
            )
            # in half precision one of the models rounds more than the other, and that is noted
            loose = half or _is_hidden(matched, errors)
            allowed = np.maximum(ours, theirs) if loose else np.minimum(ours, theirs)
            over = gap > times * allowed
        if over.any():
            index = tuple(int(i) for i in np.unravel_index(int((gap * over).argmax()), gap.shape))
            shown = (f"{one[index]:.9g}" for one in runs)
            found.append(
                f"element {list(index)} of output {pair.name!r} is {next(shown)} in the "
                f"reference and {next(shown)} in the candidate as they ran; in float64 they "
                "agree, but rounding of the model that loses fewer digits does not account for "
                "it: the other loses digits that this one keeps, as where large terms cancel, or "
                "what it computes depends on the precision, as by an epsilon of the dtype, a "
                "cast, or a large constant that absorbs what is added to it"
            )
    return found


def _apart(reference: Array, candidate: Array) -> tuple[Array, Array]:
    """How far elements are apart as the models ran, and the least that rounding does."""
    if reference.dtype.kind != "f":
        gap = np.abs(reference.astype(np.float64) - candidate.astype(np.float64))
        return gap, np.zeros(gap.shape)
    with np.errstate(all="ignore"):
        gap = np.abs(reference - candidate)
    gap = np.where(np.isfinite(gap), gap, 0.0)
    sizes = [np.where(np.isfinite(one), np.abs(one), 0.0) for one in (reference, candidate)]
    return gap, U32 * np.minimum(*sizes) + _TINY


def _errors(
    matched: Match, pair: OutputPair, runs: tuple[Array, Array], exact: Outputs
) -> list[Array]:
    """How far each model is from its own float64, which sees into what is one operation."""
    laid_out = _laid_out(matched, pair, _in_float64(matched), exact)
    if laid_out is None:
        return [np.zeros(run.shape) for run in runs]
    return [rounding(*one) for one in zip(runs, laid_out, strict=True)]


def _is_hidden(matched: Match, errors: Sequence[Array]) -> bool:
    """Whether a user's function, all one operation, computes in float32 whatever it is given."""
    tapes = matched.reference.tape, matched.side.tape
    return any(
        not error.any() and any(tape.adapter.is_foreign(op) for op in tape.ops)
        for tape, error in zip(tapes, errors, strict=True)
    )


def _in_float64(matched: Match) -> Outputs:
    reference = matched.reference
    return {name: reference.array(value) for name, value in reference.tape.outputs.items()}


def _typical(sizes: Array) -> Array:
    """Each number, or if it is larger what is typical of its neighbours along some axis.

    An element may be right by luck. The median counts, so that few noisy elements excuse no other.
    """
    typical: Array | None = None
    for axis in range(sizes.ndim):
        if sizes.size >= _POOL * sizes.shape[axis]:
            others = tuple(i for i in range(sizes.ndim) if i != axis)
            along = np.median(sizes, axis=others, keepdims=True)
            typical = along if typical is None else np.minimum(typical, along)
    if typical is None:
        typical = np.asarray(np.median(sizes)) if sizes.size else sizes
    found: Array = np.maximum(sizes, typical)
    return found


def _moved(
    matched: Match,
    pair: OutputPair,
    plain: tuple[PlainRun, PlainRun],
    runs: tuple[Array, Array],
    unit: float | None,
) -> tuple[Array, Array]:
    """How far moved inputs move each element of both models, at most."""
    largest = np.zeros(runs[0].shape), np.zeros(runs[1].shape)
    draws: tuple[Mapping[int, Array], ...] = {}, matched.draws
    for seed in range(_DRAWS):
        try:
            nudged = [nudged_run(*one, seed, unit) for one in zip(plain, draws, strict=True)]
        except ParityError:  # outside what an operation takes
            continue
        if nudged[0] is None or nudged[1] is None:
            continue
        laid_out = _laid_out(matched, pair, nudged[0], nudged[1])
        for before, after, most in zip(runs, laid_out or (), largest, strict=False):
            with np.errstate(all="ignore"):
                step = np.abs(before.astype(np.float64) - after.astype(np.float64))
            np.maximum(most, np.where(np.isfinite(step), step, np.inf), out=most)
    return largest


def moved_outputs(
    matched: Match, pair: OutputPair, everywhere: bool = False
) -> tuple[Array, Array] | None:
    """How far rounding moves both outputs of a pair; None where a replay fails on moved numbers.

    Args:
        everywhere: see `moved_by_rounding`.
    """
    tapes, values = (matched.reference.tape, matched.side.tape), (pair.reference, pair.candidate)
    draws = typed(tapes[1], matched.draws)
    try:
        ours, theirs = (
            moved_by_rounding(tape, [value], given, everywhere)[value]
            for tape, value, given in zip(tapes, values, ({}, draws), strict=True)
        )
    except ParityError:
        return None
    laid_out = in_reference_layout(matched, pair, theirs)
    return None if laid_out is None else (ours, laid_out)


def _laid_out(
    matched: Match, pair: OutputPair, reference: Outputs, candidate: Outputs
) -> tuple[Array, Array] | None:
    """A pair of outputs in the reference's layout, every complex number as two.

    None where they are no numbers of one kind.
    """
    tapes = matched.reference.tape, matched.side.tape
    names = [{value: name for name, value in tape.outputs.items()} for tape in tapes]
    name, other = names[0][pair.reference], names[1][pair.candidate]
    if name not in reference or other not in candidate:
        return None
    a, b = reference[name], in_reference_layout(matched, pair, candidate[other])
    if b is None or a.shape != b.shape:
        return None
    kinds = {one.dtype.kind for one in (a, b)}
    if kinds <= set("fc") and len(kinds) == 1:
        wide = (in_reals(one).astype(np.float64) for one in (a, b))
        return mask_sentinels(next(wide)), mask_sentinels(next(wide))
    floats = [one for one in (a, b) if one.dtype.kind == "f"]
    if all(np.isfinite(one).all() and (one == np.rint(one)).all() for one in floats):
        if kinds <= set("biuf"):  # bins or flags, in one of the models as floating numbers
            return a.astype(np.float64).astype(np.int64), b.astype(np.float64).astype(np.int64)
    return None
