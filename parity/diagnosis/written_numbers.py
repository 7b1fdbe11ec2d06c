"""Numbers that are written into a text, into bytes, a duration or a set: equal but for rounding."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from parity.numerics.rounding import U32

# So far apart are numbers that two frameworks compute in float32, of their own size.
_COMPUTED = 64 * U32
_MICROSECOND = 1e-6  # the smallest step of a duration, in seconds
_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)")


def equal_but_for_digits(a: Any, b: Any) -> bool:
    """Whether two leaves hold the same but for the last digits of computed numbers."""
    if isinstance(a, str) and isinstance(b, str):
        ours, theirs = ([float(one) for one in _NUMBER.findall(text)] for text in (a, b))
        return _NUMBER.sub("", a) == _NUMBER.sub("", b) and _near(ours, theirs)
    if isinstance(a, bytes) and isinstance(b, bytes):
        return any(_near(_as_numbers(a, one), _as_numbers(b, one)) for one in ("<f4", "<f8"))
    if isinstance(a, timedelta) and isinstance(b, timedelta):
        return _near([a.total_seconds()], [b.total_seconds()], _MICROSECOND)
    sets = (set, frozenset)
    if isinstance(a, sets) and isinstance(b, sets):
        return all(isinstance(one, float) for one in a | b) and _near(sorted(a), sorted(b))
    return False


def _as_numbers(given: bytes, dtype: str) -> Sequence[float]:
    """The numbers that bytes hold, if they look like some: ordinary sizes."""
    if not given or len(given) % np.dtype(dtype).itemsize:
        return []
    found = np.frombuffer(given, dtype)
    size = np.abs(found)
    ordinary = np.isfinite(found) & ((size == 0) | (size > _LEAST) & (size < _LARGEST))
    return found.tolist() if ordinary.all() else []


_LEAST, _LARGEST = 1e-20, 1e20


def _near(ours: Sequence[float], theirs: Sequence[float], least: float = 0.0) -> bool:
    if len(ours) != len(theirs) or not ours:
        return False
    a, b = np.array(ours), np.array(theirs)
    size = np.maximum(np.abs(a), np.abs(b))
    allowed = _COMPUTED * size + 2 * U32 * size.max() + least
    return bool(((a == b) | (np.abs(a - b) <= allowed)).all())
