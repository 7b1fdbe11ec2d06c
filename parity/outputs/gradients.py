"""Gradients as outputs: what they are called, and what outputs are weighted by to have them.

A gradient of an output with many elements is a vector-Jacobian product: the output's elements are
weighted by a fixed random array, its cotangent, and summed. Weights that are drawn leave no element
out, and a fault in one element's derivative cannot hide behind another's.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from parity.arrays import Array

NO_GRADIENT = "no_gradient"  # the kind of an operation that gives zeros in the place of one
# By an output's name and shape, what its elements are weighted by: float32 of that shape.
Cotangents = Callable[[str, tuple[int, ...]], Array]


# Says of a cotangent that is made, by what it is called, that a tape starts from it.
Noted = Callable[[str, Any], object]


def drawn(name: str, shape: tuple[int, ...]) -> Array:
    """The cotangent of an output: standard normal numbers that its name and shape decide."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    return random.standard_normal(shape).astype(np.float32)


def cotangent_of(name: str) -> str:
    """What the cotangent of an output is called among a tape's inputs."""
    return f"cotangent of {name}"


def of_input(path: str) -> str:
    """What the gradient with respect to an input is called."""
    return f"gradient of input {path}"


def is_continuous(array: Array) -> bool:
    """Whether an input is differentiated: what is 0 or 1 throughout is a mask, or a choice."""
    return array.dtype.kind in "fc" and bool(((array != 0) & (array != 1)).any())


def of_parameter(name: str) -> str:
    """What the gradient with respect to a parameter is called."""
    return f"gradient of {name}"
