"""The values of weights in order of size, which are the same in any layout."""

from __future__ import annotations

import numpy as np

from parity.diagnosis.view import LeafView
from parity.numerics.limits import ALIKE
from parity.tape import Array


def bag(array: Array) -> Array:
    """An array's values in order of size: the same in any layout."""
    return np.sort(array, axis=None)


class Bags(dict[int, Array]):
    """The bags of weights, each sorted once: they are held against each other."""

    def of(self, leaf: LeafView) -> Array:
        if id(leaf) not in self:
            self[id(leaf)] = bag(leaf.array)
        return self[id(leaf)]


def unlike(own: Array, other: Array) -> float:
    """The distance of two bags of values; 0 for the same values in another order."""
    differing = float(np.abs(own - other).max())
    return differing if differing > ALIKE * np.abs(own).max() else 0.0
