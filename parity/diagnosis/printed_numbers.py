"""Numbers that the host computed, in arrays or written into texts, bytes, times and sets.

They have no history on a tape. What rounding does to them is seen where the inputs move by one unit
in the last place: what does not change then has no rounding, and is equal or not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Literal

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.other_outputs import equal
from parity.numerics.accounting import in_reals, lower_quartile, usually_moved
from parity.numerics.limits import U32, UNITS
from parity.tape import Array

Found = Literal["equal", "unclear", "differ"]

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class _Reading:
    """What a leaf holds: numbers, and all that lies between them.

    Attributes:
        rest: what has to be equal; of an array its shape, as a tuple.
        written: each number as it is written; two that are written alike are the same.
        numbers: in float64.
        steps: between one number that can be written and the next.
    """

    rest: Any
    written: tuple[Any, ...]
    numbers: Array
    steps: Array


def compare_arrays(
    reference: Array, candidate: Array, again: Sequence[Sequence[Array | None]]
) -> Found:
    """Compares numbers that the host computed; whether rounding is what they differ by.

    Args:
        reference, candidate: of one shape.
        again: those of either model where its inputs were moved, run by run.
    """
    readings = _of_array(reference), _of_array(candidate)
    moved = [[None if one is None else _of_array(one) for one in runs] for runs in again]
    return _compare(readings, moved)


def compare_leaves(reference: Any, candidate: Any, again: Sequence[Sequence[Any]]) -> Found:
    """The same of texts, bytes, times and sets that are not equal."""
    sides = zip((reference, candidate), again, strict=True)
    if all(equal(one, mine) for mine, runs in sides for one in runs):
        return "unclear" if equal_but_for_digits(reference, candidate) else "differ"
    if isinstance(reference, bytes) and isinstance(candidate, bytes) and not _is_text(reference):
        return _compare_bytes(reference, candidate, again)
    readings = _reading(reference), _reading(candidate)
    return _compare(readings, [[_reading(one) for one in runs] for runs in again])


def equal_but_for_digits(a: Any, b: Any) -> bool:
    """Whether two leaves may hold the same but for the last digits of computed numbers."""
    if isinstance(a, bytes) and isinstance(b, bytes) and len(a) == len(b) and not _is_text(a):
        dtype = _format(a, b)
        return dtype is not None and _may_be_rounded((_of_bytes(a, dtype), _of_bytes(b, dtype)))
    return _may_be_rounded((_reading(a), _reading(b)))


def _may_be_rounded(readings: tuple[_Reading | None, _Reading | None]) -> bool:
    reference, candidate = readings
    if reference is None or candidate is None or reference.rest != candidate.rest:
        return False
    a, b = reference.numbers, candidate.numbers
    near = np.abs(a - b) <= limits.SAME_COMPUTATION * np.maximum(np.abs(a), np.abs(b))
    return bool(reference.written) and bool((near | ~_differ(reference, candidate)).all())


def _compare(
    readings: tuple[_Reading | None, _Reading | None],
    again: Sequence[Sequence[_Reading | None]],
    rounded: bool = True,
) -> Found:
    """What two readings differ by.

    Args:
        rounded: whether what never moves may be rounded, as what saturates: bytes may be no number.
    """
    reference, candidate = readings
    if reference is None or candidate is None or reference.rest != candidate.rest:
        return "unclear"  # as a number without a point, or a member that rounding makes two
    differ = _differ(reference, candidate)
    if not differ.any():
        return "equal"
    a, b = reference.numbers, candidate.numbers
    with np.errstate(all="ignore"):
        gap, size = np.abs(a - b), np.maximum(np.abs(a), np.abs(b))
    gap = np.where(np.isnan(gap), np.inf, gap)
    steps = np.maximum(reference.steps, candidate.steps)
    moved: Array = np.zeros(gap.shape)
    for mine, runs in zip(readings, again, strict=True):
        for one in runs:
            if mine is None or one is None or one.rest != mine.rest:
                return "unclear"
            with np.errstate(all="ignore"):
                moved = np.fmax(moved, np.abs(one.numbers - mine.numbers))
    if isinstance(reference.rest, tuple) and moved.size and np.prod(reference.rest) == moved.size:
        shaped = moved.reshape(reference.rest), size.reshape(reference.rest)
        # most of them may be noisy, as phases of many turns: they excuse no other
        moved = usually_moved(*shaped, lower_quartile).ravel()
    # a number that was rounded to few places moves by one of them, whatever it was
    times = np.where(moved >= limits.COARSE * steps, limits.ROUNDINGS_OF_A_NUMBER, 1.0)
    whole = (a == np.rint(a)) & (b == np.rint(b))
    digits = (size < limits.WHOLE_NUMBERS) & ~whole & (steps < limits.SAME_NUMBER * size)
    same = limits.SAME_KERNEL if moved.any() else limits.SAME_NUMBER
    least = np.where(digits & rounded, same * size, 0.0)
    covered = ~differ | (moved > 0) & (gap <= times * moved) | (gap > 0) & (gap <= least)
    if covered.all():
        # a hash is another one wherever anything is: that it moves as much excuses nothing
        jumps = whole & (moved > limits.NUMBER_JUMP * size) & (moved >= limits.COARSE * steps)
        return "unclear" if (differ & jumps).any() else "equal"
    if any(map(len, again)) and not moved.any():
        # a constant: it differs by no more than float32 rounds it, or is another one
        far = (gap > limits.SAME_COMPUTATION * size) & (gap > U32 * size.max(initial=0.0))
    else:
        far = (gap > limits.OTHER_NUMBER * size) | (moved > 0)
        far &= gap > limits.FAULTY_NUMBER * moved
        far &= gap > limits.NUMBER_TIE * steps * moved.any()
    return "differ" if (far & ~covered).any() else "unclear"


def _differ(reference: _Reading, candidate: _Reading) -> Array:
    written = zip(reference.written, candidate.written, strict=True)
    return np.array([a != b for a, b in written], bool)


# --- readings -------------------------------------------------------------------------------------


def _of_array(array: Array) -> _Reading:
    flat = in_reals(array).ravel()
    written = tuple(None if one != one else one for one in flat.tolist())  # NaN is NaN
    whole = flat.dtype.kind != "f"
    numbers = flat.astype(np.float64)
    return _Reading(in_reals(array).shape, written, numbers, np.full(numbers.shape, float(whole)))


def _reading(leaf: Any) -> _Reading | None:
    """The numbers in a leaf; None where there are none."""
    if isinstance(leaf, bytes) and _is_text(leaf):
        leaf = leaf.decode()
    if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "SU":
        leaf = "\0".join(map(str, leaf.ravel().tolist()))
    if isinstance(leaf, str):
        written = tuple(_NUMBER.findall(leaf))
        numbers = np.array([float(one) for one in written])
        steps = np.array(list(map(_step, written)))
        return _Reading(_NUMBER.sub("#", leaf), written, numbers, steps)
    if isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind in "mM":
        whole = np.asarray(leaf).astype(f"{leaf.dtype.kind}8[us]").astype(np.int64)
        return _of_array(whole)
    if isinstance(leaf, timedelta):
        return _of_array(np.array([leaf // _MICROSECOND]))
    if isinstance(leaf, datetime):
        since = leaf - datetime(1970, 1, 1, tzinfo=leaf.tzinfo)
        return _of_array(np.array([since // _MICROSECOND]))
    if isinstance(leaf, date):
        return _of_array(np.array([leaf.toordinal()]))
    if isinstance(leaf, (set, frozenset)):
        members = sorted(one for one in leaf if isinstance(one, (int, float)))
        rest = frozenset(one for one in leaf if not isinstance(one, (int, float)))
        steps = np.array([float(isinstance(one, int)) for one in members])
        return _Reading([rest, len(members)], tuple(members), np.array(members, float), steps)
    return None


def _is_text(given: bytes) -> bool:
    try:
        return given.decode().isprintable()
    except UnicodeDecodeError:
        return False


def _step(written: str) -> float:
    """One unit in the last place of a number that is written out."""
    digits, _, power = written.lower().partition("e")
    least, places = min(int(power or 0), limits.LARGEST_POWER), len(digits.partition(".")[2])
    return float(10.0 ** max(least - places, -limits.LARGEST_POWER))


# --- bytes ----------------------------------------------------------------------------------------


def _compare_bytes(reference: bytes, candidate: bytes, again: Sequence[Sequence[Any]]) -> Found:
    """Of bytes it is not known what numbers they hold: the first format in which they look like it.

    Halves look like float32, too: a difference of a unit or two of halves is not claimed to be one.
    """
    if len(reference) != len(candidate):
        return "differ"
    dtype = _format(reference, candidate, *(one for runs in again for one in runs))
    if dtype is None:
        return "unclear"
    moved = [[_of_bytes(one, dtype) for one in runs] for runs in again]
    pair = _of_bytes(reference, dtype), _of_bytes(candidate, dtype)
    found = _compare(pair, moved, rounded=False)  # it may be no number
    return "unclear" if found == "differ" and _are_near_halves(reference, candidate) else found


def _format(*given: Any) -> str | None:
    """The first format in which all look like numbers; None if there is none."""
    found = (one for one in _FORMATS if all(_look_like(item, one) for item in given))
    return next(found, None)


def _of_bytes(given: bytes, dtype: str) -> _Reading:
    return _of_array(np.frombuffer(given, dtype))


_FORMATS = ("<f4", ">f4", "<f8", ">f8", "<f2", ">f2")
_LEAST, _LARGEST = 2.0**-40, 2.0**40


def _look_like(given: Any, dtype: str) -> bool:
    """Whether bytes hold numbers of ordinary sizes, if they are of that format."""
    if not isinstance(given, bytes) or not given or len(given) % np.dtype(dtype).itemsize:
        return False
    with np.errstate(invalid="ignore"):
        size = np.abs(np.frombuffer(given, dtype).astype(np.float64))
    return bool(((size == 0) | (size > _LEAST) & (size < _LARGEST)).all())


def _are_near_halves(reference: bytes, candidate: bytes) -> bool:
    for dtype in _FORMATS[-2:] if not len(reference) % 2 else ():
        a, b = (np.frombuffer(one, dtype).astype(np.float64) for one in (reference, candidate))
        with np.errstate(all="ignore"):
            near = np.abs(a - b) <= 4 * UNITS["float16"] * np.maximum(np.abs(a), np.abs(b))
        if near.all():
            return True
    return False
