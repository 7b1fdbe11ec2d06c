"""Conditions that forms share: in what networks a way to write a node down is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def symmetric(names: Mapping[str, Any]) -> bool:
    return names["top"] == names["bottom"] and names["left"] == names["right"]


def unpadded(names: Mapping[str, Any]) -> bool:
    return not any(names["pad"])


def ungrouped(names: Mapping[str, Any]) -> bool:
    return names["groups"] == 1


def padding_named(names: Mapping[str, Any]) -> bool:
    """Whether the padding is what TensorFlow and Keras call `valid` or `same`."""
    return bool(names["padding"])


def reflected(names: Mapping[str, Any]) -> bool:
    return names["border"] == "reflect"


def of_ones(names: Mapping[str, Any]) -> bool:
    return names["border"] == "ones"


def rounded_up(names: Mapping[str, Any]) -> bool:
    return names["ceil"]


def forwards(names: Mapping[str, Any]) -> bool:
    return not names["reverse"]


def read_off_one_way(names: Mapping[str, Any]) -> bool:
    """Not a sequence read backwards: Keras would give its results in the order of reading."""
    return not (names["reverse"] and names["sequence"])


def counted(names: Mapping[str, Any]) -> bool:
    return unpadded(names) or names["counts_padding"]


def uncounted(names: Mapping[str, Any]) -> bool:
    return unpadded(names) or not names["counts_padding"]


def last_axis(names: Mapping[str, Any]) -> bool:
    return names["axis"] == names["rank"] - 1


def channels_first(names: Mapping[str, Any]) -> bool:
    return not names["channels_last"]


def channels_last(names: Mapping[str, Any]) -> bool:
    return names["channels_last"]


def with_bias(names: Mapping[str, Any]) -> bool:
    return names["has_bias"]


def resets_after(names: Mapping[str, Any]) -> bool:
    return names["reset_after"]


def resets_before(names: Mapping[str, Any]) -> bool:
    return not names["reset_after"]


def causal(names: Mapping[str, Any]) -> bool:
    return names["causal"]


def sees_all(names: Mapping[str, Any]) -> bool:
    return not names["causal"]


def resized(method: str, coordinates: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda names: (names["method"], names["coordinates"]) == (method, coordinates)


def half_pixel(names: Mapping[str, Any]) -> bool:
    return names["coordinates"] == "half-pixel"


def align_corners(names: Mapping[str, Any]) -> bool:
    return names["coordinates"] == "align-corners"


def blocks_first(names: Mapping[str, Any]) -> bool:
    return names["blocks_first"]


def channels_before_blocks(names: Mapping[str, Any]) -> bool:
    return not names["blocks_first"]


def sixth_slope(names: Mapping[str, Any]) -> bool:
    return names["slope"] == 1 / 6
