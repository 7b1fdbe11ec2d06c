"""Values that hold the same samples in another order: bookkeeping, where models go in and come out.

`pack_padded_sequence` sorts a batch by length before a recurrent layer and undoes it behind it. Put
into a model that does not sort, such a value gives a sample what is another's, and what is reported
of it - that a sort is missing - is no fault.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.region import Mismatch, OutputPair
from parity.errors import ReplayError
from parity.matching.limits import SAME
from parity.matching.match import Match
from parity.numerics.difference import residual, same_elements
from parity.numerics.limits import UNITS
from parity.tape import Array, Replay, Tape


def without_sorted(
    matched: Match, repaired: Match, mismatches: Sequence[Mismatch], outputs: Sequence[OutputPair]
) -> list[Mismatch]:
    """The mismatches but those that are only another order of the samples, made or undone.

    A sample is followed by changing it, nothing substituted. Where both models give it in one place
    of the outputs, values that hold the same samples in other places are no fault; nor is what puts
    them back. All mismatches are kept where nothing else would be left to report, or where the
    models agree but for rounding.

    Args:
        matched: the match as the models are.
        repaired: the match in which every mismatch is repaired.
        mismatches: that are divergences.
    """
    try:
        order = _in_another_order(matched, repaired, mismatches, outputs)
    except ReplayError:  # outside what an operation takes
        order = []
    kept = [mismatch for mismatch in mismatches if not any(mismatch is one for one in order)]
    return kept or [*mismatches]


def _in_another_order(
    matched: Match, repaired: Match, mismatches: Sequence[Mismatch], outputs: Sequence[OutputPair]
) -> list[Mismatch]:
    if len(mismatches) < 2:
        return []
    own = matched.side.tape.replay("float64", matched.given)
    moved = [
        mismatch
        for mismatch in mismatches
        if _only_order(matched, mismatch, own)
        or _only_order(matched, mismatch, _fed_by_the_reference(repaired, own, mismatch))
    ]
    if not moved or not _differ(matched, own, outputs):
        return []
    followed = _followed(matched, own)
    if not followed or not _come_out_alike(followed, outputs):
        return []
    return [one for one in moved if _makes_or_undoes_an_order(followed, repaired, one)]


def _only_order(matched: Match, mismatch: Mismatch, run: Replay) -> bool:
    """Whether a mismatch's value in a run is the reference's, its samples in another order."""
    if mismatch.values is None or mismatch.order is None:
        return False
    reference = np.squeeze(mismatch.order.apply(matched.reference.array(mismatch.values[0])))
    candidate = np.squeeze(run.array(mismatch.values[1]))
    if reference.shape != candidate.shape or not reference.ndim:
        return False
    if not _same_total(reference, candidate):  # to sort takes longer
        return False
    equal = residual(reference, candidate) <= SAME
    return not equal and residual(_sorted(reference), _sorted(candidate)) <= SAME


def _same_total(a: Array, b: Array) -> bool:
    """Whether the sums of two arrays allow for the same numbers in another order."""
    with np.errstate(all="ignore"):
        a, b = a.astype(np.float64), b.astype(np.float64)
        return not abs(a.sum() - b.sum()) > 2 * SAME * a.size**0.5 * float(np.linalg.norm(a))


def _sorted(array: Array) -> Array:
    """Its samples by their values, rounded so that what is equal but for rounding stays so."""
    rows = array.reshape(len(array), -1)
    wide = rows if rows.dtype.kind in "fc" else rows.astype(np.float64)
    return np.asarray(rows[np.lexsort(np.round(wide, 9).T[::-1])])


def _fed_by_the_reference(repaired: Match, own: Replay, mismatch: Mismatch) -> Replay:
    """The candidate's operations of a mismatch on their inputs once all before is repaired."""
    region = mismatch.candidate
    entering = {value: repaired.side.array(value) for value in region.boundary()}
    return own.tape.replay("float64", entering, own, only={op.index for op in region.ops})


def _differ(matched: Match, own: Replay, outputs: Sequence[OutputPair]) -> bool:
    """Whether an output differs by more than float32 rounding."""
    for pair in outputs:
        reference, candidate = matched.reference.array(pair.reference), own.array(pair.candidate)
        if reference.shape != candidate.shape or residual(reference, candidate) > UNITS["float32"]:
            return True
    return False


Changed = tuple[tuple[Replay, Replay], tuple[Replay, Replay]]  # as it is and changed; both sides


def _followed(matched: Match, own: Replay) -> list[Changed]:
    """Replays of both models with one sample changed, for each of the first samples."""
    tape = matched.reference.tape
    run = tape.replay("float64")
    lengths = {len(array) for array in map(run.array, tape.given.values()) if array.ndim}
    if len(lengths) != 1:
        return []
    (count,) = lengths
    found = []
    for sample in range(min(count, limits.MOVED_SAMPLES)):
        reference = tape.replay("float64", _with_changed(tape, run, sample), run)
        candidate = own.tape.replay("float64", _with_changed(own.tape, own, sample), own)
        found.append(((run, reference), (own, candidate)))
    return found


def _with_changed(tape: Tape, run: Replay, sample: int) -> Mapping[int, Array]:
    """Every floating input with one sample moved."""
    changed = {}
    for value in tape.given.values():
        array = run.array(value)
        if array.dtype.kind == "f" and array.ndim and sample < len(array):
            changed[value] = array.copy()
            changed[value][sample] += limits.SAMPLE_NUDGE
    return changed


def _come_out_alike(followed: Sequence[Changed], outputs: Sequence[OutputPair]) -> bool:
    """Whether every changed sample shows at the same places of both models' outputs."""
    for sides in followed:
        places = [tuple(map(_places, sides, pair.values)) for pair in outputs]
        if any(a != b for a, b in places) or not any(a for a, _ in places):
            return False
    return True


def _makes_or_undoes_an_order(
    followed: Sequence[Changed], repaired: Match, mismatch: Mismatch
) -> bool:
    """Whether samples are in other places in a mismatch's values, or in what it reads."""
    assert mismatch.values is not None
    moved = _are_in_other_places(followed, mismatch.values)
    if moved is not False:
        return bool(moved)
    read = [repaired.pairs.get(value) for value in mismatch.candidate.boundary()]
    return any(pair and _are_in_other_places(followed, pair.values) for pair in read)


def _are_in_other_places(followed: Sequence[Changed], values: tuple[int, int]) -> bool | None:
    """Whether some sample is in another place of two values; None if one is not one row."""
    places = [tuple(map(_places, sides, values)) for sides in followed]
    if any(len(rows) != 1 for both in places for rows in both):
        return None
    return any(a != b for a, b in places)


def _places(runs: tuple[Replay, Replay], value: int) -> set[int]:
    """Rows of a value, along its first axis that has several, at which two replays differ."""
    before, after = (np.squeeze(run.array(value)) for run in runs)
    if before.shape != after.shape or not before.ndim:
        return set()
    differ = ~same_elements(before, after).reshape(len(before), -1)
    return {int(row) for row in np.flatnonzero(differ.any(1))}
