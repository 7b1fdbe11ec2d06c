"""One set of inputs and what both sides of a case make of it; how inputs are drawn anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from parity.numerics.difference import residual
from parity.tape import Array

_NOTHING = np.empty(0)


@dataclass(frozen=True)
class Trial:
    """One set of inputs, and what both sides make of it.

    Attributes:
        number: 0 for the user's inputs, 1 and more for generated ones.
        given: inputs, by the reference's value id; see `Case.run_reference`.
        inputs: the floating arrays that enter the reference's region, as it reads them.
        reference: what the reference's region makes of them.
        candidate: what the candidate's makes of them, laid out as the reference's value.
    """

    number: int
    given: Mapping[int, Array]
    inputs: tuple[Array, ...]
    reference: Array
    candidate: Array

    @property
    def x(self) -> Array:
        """The largest input; empty where none enters."""
        return max(self.inputs, key=lambda array: array.size, default=_NOTHING)

    def differs_from(self, other: Trial) -> bool:
        """Whether it has other inputs than another trial: what is not redrawn proves nothing."""
        return any(
            not np.array_equal(array, other.given[value], equal_nan=array.dtype.kind == "f")
            for value, array in self.given.items()
        )

    @cached_property
    def gap(self) -> float:
        """The distance of the two values: relative root mean square, inf for other shapes."""
        if self.reference.shape != self.candidate.shape:
            return float("inf")
        return residual(self.reference, self.candidate)


Predict = Callable[[Trial], Array]  # what one side gives in a trial, by a formula


def _jittered(array: Array, random: np.random.Generator) -> Array:
    """Every number by a factor of its own: signs, zeros and masks stay."""
    return array * random.uniform(0.5, 1.5, array.shape)


def _redrawn(array: Array, random: np.random.Generator) -> Array:
    """Normal values as large as the array's, of both signs."""
    finite = array[np.isfinite(array)]
    size = float(np.sqrt(np.mean(finite * finite))) if finite.size else 1.0
    return random.standard_normal(array.shape) * (size or 1.0)


def _larger(array: Array, random: np.random.Generator) -> Array:
    return 5.0 * _redrawn(array, random)


def exchanged(array: Array, random: np.random.Generator) -> Array:
    """The array's own values in other places: none is outside what an operation takes."""
    return random.permutation(array.ravel()).reshape(array.shape)


DRAWS: Sequence[Callable[[Array, np.random.Generator], Array]] = (_jittered, _redrawn, _larger)
# Where an operation takes none of those, as the logarithm of probabilities.
LAST_DRAWS: Sequence[Callable[[Array, np.random.Generator], Array]] = (exchanged, exchanged)
