"""The type of an array, and functions of arrays that several parts of parity compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Axes = int | tuple[int, ...]


def varies(array: Array) -> bool:
    """Whether an array holds more than one number: a constant fits too much."""
    return array.size > 1 and bool((array != array.flat[0]).any())


def softmax(x: Array, axes: Axes = -1) -> Array:
    """exp(x) / sum(exp(x)) over `axes`, in float64; 0 for what is masked."""
    e = np.exp(x - x.max(axis=axes, keepdims=True))
    return np.asarray(e / e.sum(axis=axes, keepdims=True))


def log_softmax(x: Array, axes: Axes = -1) -> Array:
    """Logarithm of softmax, x - log(sum(exp(x))) over `axes`, in float64."""
    shifted = x - x.max(axis=axes, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=axes, keepdims=True)))


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), in float64."""
    return np.asarray(0.5 * (1 + np.tanh(x / 2)))
