"""Whether two inputs are one: what a model takes in a narrower format, correctly rounded."""

from __future__ import annotations

import numpy as np

from parity.matching.axis_order import Order
from parity.tape import Array, Tape


def rounded_alike(reference: Tape, other: int, candidate: Tape, value: int, order: Order) -> bool:
    """Whether two inputs as recorded are one, the narrower rounded as a cast rounds the wider.

    Both may have been rounded from something wider still: a number in the middle between two of
    the narrower format may then have gone either way.
    """
    wide = order.apply(reference.adapter.to_numpy(reference.recorded[other]))
    narrow, tape, dtype = candidate.adapter.to_numpy(candidate.recorded[value]), candidate, value
    if wide.dtype.kind != "f" or narrow.dtype.kind != "f":
        return False
    if np.finfo(wide.dtype).nmant < np.finfo(narrow.dtype).nmant or _is_bfloat16(reference, other):
        wide, narrow, tape, dtype = narrow, wide, reference, other

    def cast(array: Array) -> Array:
        if _is_bfloat16(tape, dtype):
            return tape.adapter.to_numpy(tape.native(array, "bfloat16"))
        with np.errstate(over="ignore"):
            return array.astype(narrow.dtype)

    low, high = (np.nextafter(wide, np.array(end, wide.dtype)) for end in (-np.inf, np.inf))
    same = np.isnan(wide) & np.isnan(narrow)
    for one in (wide, low, high):
        same |= cast(one) == narrow
    return bool(same.all())


def _is_bfloat16(tape: Tape, value: int) -> bool:
    return tape.values[value].dtype == "bfloat16"
