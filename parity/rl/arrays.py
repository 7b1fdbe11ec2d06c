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
    _, log_total = _shifted(array, axis)
    found: Array = (array.max(axis, keepdims=True) + log_total).squeeze(axis)
    return found


def log_softmax(logits: Array, axis: int = -1) -> Array:
    """Logarithms of probabilities along `axis`; exact also for what is nearly certain."""
    below, log_total = _shifted(logits, axis)
    return below - log_total


def _shifted(array: Array, axis: int) -> tuple[Array, Array]:
    """What is below the maximum, and the log of the sum of its exponentials on an axis of 1."""
    high = array.max(axis, keepdims=True)
    below = array - np.where(np.isneginf(high), 0.0, high)
    others = np.exp(below)
    # the largest's own 1 is left to log1p, so that a sum of 1 + 1e-20 is more than 1
    np.put_along_axis(others, array.argmax(axis, keepdims=True), 0.0, axis)
    return below, np.log1p(others.sum(axis, keepdims=True))


def softplus(x: Array) -> Array:
    """log(1 + exp(x)) without overflow, to the last digit for large and small x."""
    with np.errstate(invalid="ignore"):  # NaN, which stays NaN
        found: Array = np.logaddexp(0.0, x)
    return found
