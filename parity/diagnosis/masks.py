"""Outputs that hold large negative constants: are these a mask's, where the two models' differ?

What a mask hides is hidden by any large constant: -1e9 in one model, `float32.min` in the other. A
loss of 25 million is as large, and is a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.outputs import in_reference_layout
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replay_check import PlainRuns, as_ran
from parity.errors import ParityError
from parity.matching.match import Match
from parity.numerics.limits import SENTINEL, SENTINEL_SPREAD
from parity.numerics.rounding_noise import hidden, masks_are_constant
from parity.tape import Array, Tape


def are_masks(matched: Match, pair: OutputPair, reference: Array, candidate: Array) -> bool:
    """Whether what looks like a mask's constants is constant, where the two models' differ."""
    given: tuple[Mapping[int, Array], ...] = {}, matched.given
    differ = _differ(reference, candidate)
    sides = zip((reference, candidate), matched.tapes, pair.values, given, strict=True)
    for array, tape, value, supplied in sides:
        if (hidden(array) & differ).any():
            try:
                if not masks_are_constant(tape, value, supplied):
                    return False
            except ParityError:  # other inputs are outside what an operation takes
                continue
    return True


def unwritten_masks(matched: Match, pairs: Sequence[OutputPair], plain: PlainRuns) -> list[str]:
    """Outputs that differ in what may be a mask's constant or a number; what is said of each.

    A mask's constant is one number that somebody wrote down, or that plus a logit. What a model
    computes may be as constant: three times a penalty, or whole shares at whole prices.
    """
    ran = as_ran(plain[0], {}), as_ran(plain[1], matched.draws)
    found = []
    for pair in pairs:
        name, other = pair.names
        reference, candidate = ran[0][name], in_reference_layout(matched, pair, ran[1][other])
        if candidate is None or candidate.shape != reference.shape:
            continue
        if not any(map(_may_be_masked, (reference, candidate))):
            continue
        differ = _differ(reference, candidate)
        sides = zip((reference, candidate), matched.tapes, pair.values, strict=True)
        for array, tape, value in sides:
            large = hidden(array) & differ
            whole = large & _of_whole_rows(array)
            if not large.any():
                continue
            if whole.any():
                large = whole
                why = "a mask leaves some of a row, and these fill one"
            elif not _is_written(tape, value):
                why = (
                    f"{tape.model} is not seen to hold this one as masks are written (a power of "
                    "ten or of two, the lowest of a dtype)"
                )
            else:
                continue
            index = tuple(int(i) for i in np.argwhere(large)[0])
            found.append(
                f"element {list(index)} of output {pair.name!r} is {reference[index]:.9g} in "
                f"the reference and {candidate[index]:.9g} in the candidate: a mask may use "
                f"any large number, but {why}, so that it may be a number that is meant"
            )
            break
    return found


def _may_be_masked(array: Array) -> bool:
    """Whether there is a number that is large enough; quick, and nearly never so."""
    return array.dtype.kind == "f" and bool(array.size) and not array.min() >= -SENTINEL


def _of_whole_rows(array: Array) -> Array:
    """Which elements lie in a row, along the last axis, of which nothing is left."""
    if not array.ndim:
        return np.ones((), bool)
    return np.broadcast_to(hidden(array).all(-1, keepdims=True), array.shape)


def _differ(reference: Array, candidate: Array) -> Array:
    if reference.dtype.kind != "f" or candidate.dtype.kind != "f":
        return np.zeros(reference.shape, bool)
    with np.errstate(invalid="ignore"):
        near = np.abs(reference - candidate) <= limits.SAME_MASK * np.abs(reference)
    found: Array = ~(near & np.isfinite(reference)) & (reference != candidate)
    return found


def _is_written(tape: Tape, value: int) -> bool:
    """Whether a model holds a mask's constant: as a setting, or before any input is known."""
    sizes = -tape.recorded_array(_before_scaling(tape, value)).astype(np.float64)
    large = float(sizes[np.isfinite(sizes)].max(initial=0.0))
    return any(
        size <= SENTINEL_SPREAD * large and large <= SENTINEL_SPREAD * size and _is_round(size)
        for size in _written(tape)
    )


def _is_round(size: float) -> bool:
    """Whether a large number says no more than that it is large."""
    lowest = (float(np.finfo(dtype).max) for dtype in (np.float16, np.float32, np.float64))
    powers = (float(base) ** round(np.log(size) / np.log(base)) for base in (2, 10))
    # half of the lowest, and JAX's mask in attention, leave room to add to them
    halves = (share * one for one in lowest for share in (1.0, 0.5, 0.7))
    return any(abs(size - one) <= limits.SAME_MASK * one for one in (*powers, *halves))


def _before_scaling(tape: Tape, value: int) -> int:
    """The first of a chain of values, each made of the last alone, that hide the same elements."""
    places = hidden(tape.recorded_array(value))
    while (op := tape.producer(value)) is not None:
        live = [one for one in op.inputs if tape.is_live(one)]
        if len(live) != 1 or tape.values[live[0]].shape != places.shape:
            break
        if not np.array_equal(hidden(tape.recorded_array(live[0])), places):
            break
        value = live[0]
    return value


def _written(tape: Tape) -> Iterator[float]:
    """The sizes of all large values that a model holds."""
    for op in tape.ops:
        if op.index not in tape.baked_ops:
            settings = op.attributes.values()
            yield from (abs(float(one)) for one in settings if isinstance(one, (int, float)))
    for value in tape.values:
        if tape.is_live(value.id) or value.id in tape.baked_leaves:
            continue
        array = tape.recorded_array(value.id)
        if array.dtype.kind == "f":
            sizes = np.abs(array[np.isfinite(array)].astype(np.float64))
            yield from np.unique(sizes[sizes > SENTINEL]).tolist()
