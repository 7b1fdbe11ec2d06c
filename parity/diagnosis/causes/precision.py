"""A constant with too few digits; half precision on one side.

`low-precision` is found where half precision begins (`parity/diagnosis/low_precision.py`): one
model casts to float16 or bfloat16 on the way, and in float64 the models agree.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause, of_x
from parity.diagnosis.causes._limits import ROUNDED_CONSTANT, SAME_CONSTANT
from parity.diagnosis.normalisation import plain
from parity.tape import Array

_BITS = {"float16": 11, "bfloat16": 8}


def _plus(x: Array, shape: tuple[int, ...], constant: float) -> Array:
    return x.reshape(shape) + constant


def _times(x: Array, shape: tuple[int, ...], constant: float) -> Array:
    return x.reshape(shape) * constant


@cause("constant-precision")
def constant_precision(case: Case) -> Iterator[Explanation]:
    """A constant is the reference's, written with fewer digits or rounded to half precision.

    Looks like: a small difference, the same everywhere or in proportion.
    Proof: x plus (or times) the reference's constant is the reference's value, with the rounded
        one the candidate's, and the one is the other rounded.
    """
    first = case.first
    if len(first.inputs) != 1 or not 2 <= first.x.size == first.reference.size:
        return
    x = first.x.reshape(first.reference.shape)
    if first.candidate.shape != x.shape:
        return
    for form, solve in ((_plus, _offset), (_times, _factor)):
        reference, candidate = solve(x, first.reference), solve(x, first.candidate)
        if (
            reference is None
            or candidate is None
            or not SAME_CONSTANT < abs(candidate / reference - 1) < ROUNDED_CONSTANT
        ):
            continue
        for one, other, side in (
            (reference, candidate, "candidate"),
            (candidate, reference, "reference"),
        ):
            how = _rounded_to(one, other)
            if how is None:
                continue
            a, b = plain(reference), plain(candidate)
            yield Explanation(
                "constant-precision",
                f"the constant is {b:.9g}, the reference's {a:.9g}: the {side}'s has {how}",
                of_x(form, x.shape, b),
                of_x(form, x.shape, a),
                {"constant": (a, b)},
                cost=-1,
            )
            return


def _offset(x: Array, y: Array) -> float | None:
    """The constant that is added to x."""
    gap = y - x
    constant = float(np.median(gap))
    size = float(np.abs(x).max()) + abs(constant)
    fits = np.abs(gap - constant).max() <= 1e-9 * size
    return constant if fits and abs(constant) > 1e-6 * size else None


def _factor(x: Array, y: Array) -> float | None:
    """The constant that x is multiplied by."""
    constant = float(np.vdot(x, y) / np.vdot(x, x))
    fits = np.abs(y - constant * x).max() <= 1e-9 * abs(constant) * np.abs(x).max()
    return constant if fits and constant else None


def _rounded_to(constant: float, other: float) -> str | None:
    """In what way the second is the first, rounded."""
    for name, narrow in to_half_precision(np.array([constant])):
        if narrow[0] == np.float32(other):
            return f"the {_BITS[name]} bits of {name}"
    for digits in range(2, 7):
        # cut off or rounded: either way within one unit of the last digit
        unit = 10.0 ** (np.floor(np.log10(abs(constant))) - digits + 1)
        written = round(other / unit) * unit
        near = abs(other - constant) < 0.999 * unit  # a whole unit away is another number
        if not near or abs(written - other) > 1e-7 * abs(other):
            continue
        if _digits(other) < digits:  # 0.7 is not 0.70
            return None
        # two digits may be alike by chance, as of 3 and 3.01: more of them have to be left out
        return f"{digits} digits" if digits > 3 or _digits(constant) > digits + 1 else None
    return None


def to_half_precision(array: Array) -> Iterator[tuple[str, Array]]:
    """An array rounded to either format of half precision, in float32, and the format's name."""
    single = array.astype(np.float32)
    with np.errstate(over="ignore"):
        yield "float16", single.astype(np.float16).astype(np.float32)
    bits = single.view(np.uint32).astype(np.uint64)
    nearest = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) << 16
    yield "bfloat16", nearest.astype(np.uint32).view(np.float32)


def _digits(number: float) -> int:
    """As how many digits a number is written, as far as float32 shows."""
    written = (float(f"{number:.{digits}g}") for digits in range(1, 8))
    alike = (abs(one - number) <= 1e-7 * abs(number) for one in written)
    return next((digits for digits, same in enumerate(alike, 1) if same), 8)
