"""JSON: what is written has no NaN and no infinity, and what is read may be of anyone."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
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


def written_fields(kind: Any) -> tuple[str, ...]:
    """The fields of a dataclass that are written; not those that its repr leaves out, as arrays."""
    return tuple(field.name for field in fields(kind) if field.repr)


def as_data(found: Any, keys: Callable[[Any], Sequence[str]] = written_fields) -> Any:
    """What `json.dumps(..., allow_nan=False)` takes: NaN is null, infinity a text.

    Args:
        found: a dataclass is an object of its fields in their order; what has no form is text.
        keys: the attributes of a dataclass that are written.
    """
    if is_dataclass(found):
        return {name: as_data(getattr(found, name), keys) for name in keys(type(found))}
    if isinstance(found, Mapping):
        return {name: as_data(one, keys) for name, one in found.items()}
    if isinstance(found, tuple | list):
        return [as_data(one, keys) for one in found]
    if isinstance(found, float) and not math.isfinite(found):
        return None if math.isnan(found) else str(found)  # "inf" or "-inf"
    return found if isinstance(found, bool | int | float | str) or found is None else str(found)
