"""JSON that anyone may have written: all numbers in it are numbers that can be computed with."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

_DIGITS = 300  # float64 ends at 1.8e308


def parsed(text: str, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """What a JSON text holds.

    Args:
        pairs: what makes an object of its pairs, where it is no dict.

    Raises:
        ValueError: it is no JSON, or a number in it is beyond float64.
        RecursionError: it is nested too deep.
    """
    return json.loads(text, parse_int=_whole, parse_float=_float, object_pairs_hook=pairs)


def _whole(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError(f"a number of {len(digits)} digits stands in it")
    return int(digits)


def _float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"a number stands in it that is too large: {digits[:40]}")
    return number
