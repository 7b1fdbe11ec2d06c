"""What formulas share: arrays in float64, checked shapes, sums of exponentials."""

from __future__ import annotations

from typing import Any

import numpy as np

from parity.errors import InputError
from parity.tape import Array


def floats(name: str, given: Any) -> Array:
    """An array in float64.

    Raises:
        InputError: what was given holds no real numbers.
    """
    array = np.asarray(given)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} has dtype {array.dtype}; give real numbers.")
    return array.astype(np.float64)


def integers(name: str, given: Any, below: int) -> Array:
    """Whole numbers of 0 .. below - 1, which may be stored as floats, as int64.

    Raises:
        InputError: a number is not whole, or none of the choices.
    """
    array = floats(name, given)
    whole = array.astype(np.int64) if np.isfinite(array).all() else None
    if whole is None or (whole != array).any() or (whole < 0).any() or (whole >= below).any():
        raise InputError(f"{name} must hold whole numbers from 0 to {below - 1}.")
    return whole


def expect_shape(name: str, array: Array, shape: tuple[int, ...], meaning: str) -> None:
    """Raises an InputError unless `array` has `shape`; `meaning` names its axes."""
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}; expected {shape}, which is {meaning}.")


def expect_axes(name: str, array: Array, least: int, meaning: str) -> None:
    """Raises an InputError unless `array` has `least` axes or more, none of them empty."""
    if array.ndim < least or 0 in array.shape:
        raise InputError(f"{name} has shape {array.shape}; expected {meaning}, with no empty axis.")


def log_sum_exp(array: Array, axis: int = -1) -> Array:
    """log(sum(exp(x))) without overflow; -inf where all are -inf."""
    high = array.max(axis, keepdims=True)
    shift = np.where(np.isfinite(high), high, 0.0)
    with np.errstate(divide="ignore"):
        found: Array = np.log(np.exp(array - shift).sum(axis)) + shift.squeeze(axis)
    return found


def log_softmax(logits: Array, axis: int = -1) -> Array:
    """Logarithms of probabilities along `axis`; -inf where a logit is."""
    found: Array = logits - np.expand_dims(log_sum_exp(logits, axis), axis)
    return found


def softplus(x: Array) -> Array:
    """log(1 + exp(x)) without overflow, to the last digit for large and small x."""
    found: Array = np.logaddexp(0.0, x)
    return found
