"""Outputs that differ as the models ran and agree in float64: is it rounding that does it?

Rounding is what the float64 replay is off by; but a model may be another function there: an epsilon
that follows the dtype, a large constant that absorbs what is added to it in float32 alone, a sum of
large terms that cancel. So rounding is measured, of each model by itself, where all that it
computes moves by one unit in the last place; and outputs are held to the model that loses fewer
digits. What both lose, as chaotic models do, is rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.moved_outputs import lost_in_outputs, moved_outputs, moving_outputs
from parity.diagnosis.outputs import laid_out
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replay_check import Outputs, PlainRuns, as_they_ran, nudged_run, typed
from parity.errors import ParityError
from parity.matching.match import Match
from parity.numerics.accounting import (
    at_least_usual,
    in_reals,
    largest_beside,
    lower_quartile,
    of_one_kind,
    rounding,
)
from parity.numerics.difference import blocks, mask_sentinels
from parity.numerics.limits import U32
from parity.numerics.rounding_noise import (
    gives_narrow,
    is_curve,
    most_lost,
    rounds,
)
from parity.tape import Array

_Both = tuple[Array, Array]


def precision_decides(
    matched: Match,
    pairs: Sequence[OutputPair],
    plain: PlainRuns,
    exact: Outputs,
    narrow: Mapping[str, float],
    half: Mapping[str, float],
) -> list[str]:
    """Outputs that differ as they ran by more than rounding explains; what is said of each.

    Args:
        exact: the candidate's outputs in float64, by itself.
        narrow: by name of an output the unit roundoff of the narrowest format in which one of the
            models computes it; none if that is no news, as where both are in half precision.
        half: the same of all outputs that one of them, or both, compute in such a format.
    """
    ran = as_they_ran(matched, plain)
    found = []
    for pair in pairs:
        arrays = laid_out(matched, pair, *ran)
        if arrays is None or pair.name not in half and _is_small(*arrays):
            continue
        runs = _comparable(*arrays)
        gap, large = _gap(*runs, half.get(pair.name, 0.0))
        if pair.name in half and pair.name not in narrow and (gap > 0).any():
            large = np.minimum(large, _of_narrow_places(matched, pair))
        if not (gap > large).any():
            continue
        whole = runs[0].dtype.kind != "f"
        narrowest = narrow.get(pair.name)
        unit = max(limits.TIES, narrowest or 0.0) if whole else narrowest
        if whole:  # both models turn at a tie; where one alone turns by much, it lost digits
            moved = _moved(matched, pair, plain, runs, unit)
            allowed = limits.STEPS_MOVED * np.minimum(*moved)
        elif pair.name in half:  # of a narrow format it is noted that the one model rounds more
            moved = _moved(matched, pair, plain, runs, unit)
            allowed = np.maximum(large, _of_narrow(matched, pair, moved, narrowest))
        else:
            allowed = large
            for of_rounding in _of_float32(matched, pair, plain, exact, runs):
                allowed = np.maximum(allowed, of_rounding)
                if (gap <= allowed).all():
                    break
        over = gap > allowed
        if over.any():
            index = tuple(int(i) for i in np.unravel_index(int((gap * over).argmax()), gap.shape))
            shown = (f"{one[index]:.9g}" for one in runs)
            found.append(
                f"element {list(index)} of output {pair.name!r} is {next(shown)} in the "
                f"reference and {next(shown)} in the candidate as they ran; in float64 they "
                "agree, but the rounding of the model that loses fewer digits does not account for "
                "it: the other one loses digits that this one keeps, as where large terms cancel "
                "or a large constant absorbs what is added to it, or what it computes depends on "
                f"the precision, as by an epsilon of the dtype or a cast{_where(matched)}"
            )
    return found


def _of_narrow(
    matched: Match, pair: OutputPair, moved: Sequence[Array], narrowest: float | None
) -> Array:
    """What rounding explains of an output that is computed in half precision."""
    sizes = [_usual(one, np.median) for one in moved]
    if narrowest is None:  # both are in it, and lose as much
        sizes = [np.minimum(*sizes)]
    curves = moved_outputs(matched, pair, is_curve)
    if curves is not None:
        sizes.append(_usual(np.maximum(*curves), np.median))
    times = limits.TIMES_MOVED if narrowest is None else limits.TIMES_MOVED_NARROW
    found: Array = times * np.maximum.reduce(sizes)
    return found


def _of_float32(
    matched: Match, pair: OutputPair, plain: PlainRuns, exact: Outputs, runs: _Both
) -> Iterator[Array | float]:
    """What rounding explains of an output in float32, what is measured at no cost first.

    What follows allows no less: it is asked for only where that is not enough.
    """
    reference = {pair.name: matched.reference.array(pair.reference)}
    wide = _numbers_of(matched, pair, reference, exact)
    is_wide = _is_wide(matched, pair, runs, wide)
    errors = None
    if wide is not None:
        first, second = (rounding(*both) for both in zip(runs, wide, strict=True))
        errors = first, second
        yield _in_float32(errors, runs, is_wide)
    moved = False
    try:
        for units in moving_outputs(matched, pair, rounds):
            moved = True
            if errors is not None:
                units = np.maximum(units[0], errors[0]), np.maximum(units[1], errors[1])
            yield _in_float32(units, runs, is_wide)
    except ParityError:  # moved values are outside what an operation takes
        moved = False
    if not moved:
        yield _in_float32(_moved(matched, pair, plain, runs, None), runs, is_wide)
    yield limits.STEPS_MOVED * lost_in_outputs(matched, pair, runs[0].shape)


def _in_float32(units: _Both, runs: _Both, wide: bool) -> Array:
    """What rounding explains of an output, by how far it moves the elements of each model.

    A step may be swallowed in one place and not in another: what is usual of an element's size
    counts everywhere, as a median: a few noisy elements excuse no other.

    Args:
        units: how far each model's rounding moves its elements.
        wide: whether one of the models computes in float64.
    """
    sizes = [_fairly(one, np.abs(run)) for one, run in zip(units, runs, strict=True)]
    allowed: Array = limits.TIMES_MOVED * np.minimum(*sizes)
    if wide:
        usual = _usual(np.abs(np.nan_to_num(runs[0])), _upper_quartile)
        # where numbers of about 1 cancel, as in a divergence of nearly one distribution
        most = np.maximum(limits.LOST_BESIDE_FLOAT64 * usual, limits.TIMES_MOVED * U32)
        lost = np.minimum(limits.TIMES_MOVED * np.maximum(*sizes), most)
        allowed = np.maximum(allowed, lost)
    return allowed


def _where(matched: Match) -> str:
    """The operation at which most digits are lost, in words; "" if there is none."""
    tapes = matched.tapes
    found = []
    for tape, given in zip(tapes, ({}, typed(tapes[1], matched.draws)), strict=True):
        try:
            lost = most_lost(tape, given)
        except ParityError:  # moved values are outside what an operation takes
            continue
        if lost is not None:
            found.append((lost[0], f"{lost[1].site.described} of {tape.model}"))
    return f". Most digits are lost by {max(found)[1]}" if found else ""


def _is_small(reference: Array, candidate: Array) -> bool:
    """Whether no element differs by what is worth a look; it takes no array of their size."""
    if {reference.dtype.kind, candidate.dtype.kind} != {"f"}:
        return False
    equal = whole = True
    with np.errstate(all="ignore"):
        for block in blocks(reference, candidate):
            a, b = (one.astype(np.float64) for one in block)
            large = np.abs(a - b) > limits.OWN_ROUNDING * np.abs(a)
            if (large & np.isfinite(a) & np.isfinite(b)).any():
                return False
            equal = equal and bool((a == b).all())
            whole = whole and _are_whole(a) and _are_whole(b)
    return equal or not whole  # of whole numbers every unit counts


def _gap(reference: Array, candidate: Array, narrow: float) -> tuple[Array, Array]:
    """By how much elements differ as the models ran, and how much is not to be looked at."""
    if reference.dtype.kind != "f":
        gap = np.abs(reference.astype(np.float64) - candidate.astype(np.float64))
        return gap, np.zeros(gap.shape)
    with np.errstate(all="ignore"):
        gap = np.abs(reference - candidate)
    gap = np.where(np.isfinite(gap), gap, 0.0)
    finite = np.where(np.isfinite(reference), np.abs(reference), 0.0)
    if narrow:
        return gap, limits.TIMES_MOVED_NARROW * narrow * _usual(finite, np.median)
    usual = limits.NEIGHBOURS_ROUNDING * _usual(finite, _upper_quartile)
    least = np.maximum(usual, limits.OWN_ROUNDING * finite)
    # a column beside a larger one, or a sample, has its own
    flushed = np.maximum(limits.FLUSHED_ANYWHERE, limits.FLUSHED * largest_beside(finite))
    return gap, np.maximum(least, flushed)


def _upper_quartile(sizes: Array, **options: Any) -> Array:
    """Of sizes of which half may be next to nothing, as behind a ReLU, and a few very large."""
    found: Array = np.quantile(sizes, 0.75, **options)
    return found


def _usual(sizes: Array, usual_of: Callable[..., Array]) -> Array:
    """What is usual along some axis; of a few values, among all of them."""
    found = at_least_usual(sizes, usual_of)
    pooled = found is not sizes or not sizes.size
    return found if pooled else np.maximum(sizes, usual_of(sizes))


def _fairly(moved: Array, size: Array) -> Array:
    """How far rounding moves elements, or what is usual nearby for their size."""
    with np.errstate(all="ignore"):
        share = np.where((size > 0) & np.isfinite(size), moved / size, 0.0)
        # of a few values that columns do not distinguish, most may be noisy, and excuse no other
        few = at_least_usual(moved, np.median) is moved
        middle = lower_quartile if few else np.median
        usual = np.minimum(_usual(moved, middle), _usual(share, middle) * size)
    found: Array = np.fmax(moved, usual)
    return found


def _moved(
    matched: Match,
    pair: OutputPair,
    plain: PlainRuns,
    runs: tuple[Array, Array],
    unit: float | None,
) -> tuple[Array, Array]:
    """How far moved inputs move each element of both models, at most."""
    largest = np.zeros(runs[0].shape), np.zeros(runs[1].shape)
    for seed in range(limits.ROUNDING_TURNS):
        try:
            nudged = (
                nudged_run(plain[0], {}, seed, unit),
                nudged_run(plain[1], matched.draws, seed, unit),
            )
        except ParityError:  # outside what an operation takes
            continue
        both = _numbers_of(matched, pair, *nudged)
        for before, after, most in zip(runs, both or (), largest, strict=False):
            with np.errstate(all="ignore"):
                step = np.abs(before.astype(np.float64) - after.astype(np.float64))
            np.maximum(most, np.where(np.isfinite(step), step, np.inf), out=most)
    return largest


def _is_wide(matched: Match, pair: OutputPair, runs: _Both, wide: _Both | None) -> bool:
    """Whether a model computes in float64, as a NumPy function may that rounds its result alone."""
    dtypes = [
        tape.values[tape.before_moves(value)].dtype  # a cast of the result alone computes nothing
        for tape, value in zip(matched.tapes, pair.values, strict=True)
    ]
    if "float64" in dtypes or wide is None:
        return "float64" in dtypes
    return any(
        tape.framework == "numpy" and (rounding(ran, own) <= 2 * U32 * np.abs(own)).all()
        for tape, ran, own in zip(matched.tapes, runs, wide, strict=True)
    )


def _of_narrow_places(matched: Match, pair: OutputPair) -> Array | float:
    """What the narrow format leaves at least in both models: either may use it in more places."""
    moved = moved_outputs(matched, pair, gives_narrow)
    return np.inf if moved is None else limits.TIMES_MOVED * _usual(np.minimum(*moved), np.median)


def _numbers_of(
    matched: Match, pair: OutputPair, reference: Outputs, candidate: Outputs
) -> tuple[Array, Array] | None:
    """A pair of outputs as `laid_out` and `_comparable` give them."""
    arrays = laid_out(matched, pair, reference, candidate)
    return None if arrays is None else _comparable(*arrays)


def _comparable(a: Array, b: Array) -> tuple[Array, Array]:
    """Two outputs as values of one kind, every complex number as two; integers are both or none."""
    kinds = {one.dtype.kind for one in (a, b)}
    floats = [one for one in (a, b) if one.dtype.kind == "f"]
    if kinds <= set("biuf") and all(map(_are_whole, floats)):
        # bins, flags or whole seconds, whatever holds them
        return a.astype(np.float64).astype(np.int64), b.astype(np.float64).astype(np.int64)
    if "c" in kinds and len(kinds) > 1:
        a, b = (_without_rounded_parts(one) for one in of_one_kind(a, b))
    wide = (in_reals(one).astype(np.float64) for one in (a, b))
    return mask_sentinels(next(wide)), mask_sentinels(next(wide))


def _without_rounded_parts(array: Array) -> Array:
    """Complex numbers that should be real, without imaginary parts that are rounding alone."""
    size = np.abs(array)
    least = limits.TIMES_MOVED * U32 * at_least_usual(size, _upper_quartile)
    imaginary = np.where(np.abs(array.imag) <= least, 0.0, array.imag)
    found: Array = array.real + 1j * imaginary
    return found


def _are_whole(array: Array) -> bool:
    """Whether floating numbers are whole, and not because they are too large for digits behind."""
    with np.errstate(invalid="ignore"):
        whole = (array == np.rint(array)) & (np.abs(array) < limits.WHOLE_NUMBERS)
    return bool(whole.all())
