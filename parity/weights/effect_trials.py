"""A model whose weights hold what is asked for, and what its outputs are then, in float64."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from parity.matching.axis_order import Order, orders
from parity.tape import Array, Replay, Tape
from parity.weights.pairing import Side

_SAME = 1e-5  # of an output: in float64 two models may have other constants, rounded to float32
_ORDERS = 24
_DRAWN = 0.3  # what any random number is: in whatever order they lie they are the same
_PER_OPERATION = 5000  # elements that take as long as to run an operation


class OutOfRuns(Exception):
    """As much was run as may be."""


@dataclass
class Runs:
    """How much may still be run.

    Attributes:
        left: operations, with so many more for large values.
    """

    left: float

    def take(self, tape: Tape) -> None:
        """Counts a run of a tape.

        Raises:
            OutOfRuns: nothing is left.
        """
        self.left -= len(tape.ops) + sum(value.size for value in tape.values) / _PER_OPERATION
        if self.left < 0:
            raise OutOfRuns


def can_be_filled(side: Side) -> bool:
    """Whether every tensor that a model reads is known, and all that it draws."""
    held = (value for value in side.tape.values if value.kind in ("parameter", "buffer"))
    return not side.tape.lost_draws and all(value.id in side.leaves for value in held)


class Point:
    """A model with contents for each of its tensors that operations read.

    Args:
        contents: of each tensor, by its number.
        outputs: ids of the values that are looked at.
        runs: what may be run.
    """

    def __init__(
        self, side: Side, contents: Mapping[int, Array], outputs: Sequence[int], runs: Runs
    ) -> None:
        self._tape = side.tape
        self._runs = runs
        self._leaves: dict[int, list[int]] = defaultdict(list)
        for value, number in side.leaves.items():
            self._leaves[number].append(value)
        self._outputs = outputs
        self.contents = dict(contents)
        self._laid_out: Sequence[Order | None] = [None] * len(outputs)
        drawn = {
            value: np.full(self._tape.values[value].shape, _DRAWN)
            for op in self._tape.ops
            for value in (op.outputs if op.role == "random" else ())
            if self._tape.values[value].dtype.startswith(("float", "bfloat"))
        }
        self._run = self._replay(self._values(contents) | drawn)

    @property
    def in_float64(self) -> bool:
        return not self._run.fallbacks

    def arrays(self) -> list[Array]:
        return [self._run.array(value) for value in self._outputs]

    def outputs(self, changed: Mapping[int, Array] | None = None) -> list[Array]:
        """The outputs, flat and laid out alike in both models, with other contents somewhere."""
        run = self._replay(self._values(changed), self._run) if changed else self._run
        arrays = (run.array(value) for value in self._outputs)
        both = zip(self._laid_out, arrays, strict=True)
        found = [array if order is None else order.apply(array) for order, array in both]
        return [np.asarray(one, np.float64).ravel() for one in found]

    def effect(self, changed: Mapping[int, Array]) -> list[Array]:
        """How far other contents in some tensors move the outputs."""
        both = zip(self.outputs(changed), self.outputs(), strict=True)
        return [after - before for after, before in both]

    def settle(self, changed: Mapping[int, Array]) -> None:
        """Leaves other contents in some tensors."""
        self._run = self._replay(self._values(changed), self._run)
        self.contents.update(changed)

    def lay_out_as(self, other: Point) -> bool:
        """Lays its outputs out as the other's, and says whether they are the same."""
        found = [_order(*both) for both in zip(self.arrays(), other.arrays(), strict=True)]
        self._laid_out = found
        return bool(found) and None not in found

    def _replay(self, replaced: Mapping[int, Array], base: Replay | None = None) -> Replay:
        self._runs.take(self._tape)
        return self._tape.replay("float64", replaced, base)

    def _values(self, contents: Mapping[int, Array]) -> dict[int, Array]:
        return {
            value: array for number, array in contents.items() for value in self._leaves[number]
        }


def _order(one: Array, other: Array) -> Order | None:
    for order in islice(orders(one.shape, other.shape), _ORDERS):
        if _same(order.apply(one), other):
            return order
    return None


def _same(one: Array, other: Array) -> bool:
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        return False
    scale = np.linalg.norm(np.asarray(one, np.float64))
    return bool(np.linalg.norm(np.subtract(one, other, dtype=np.float64)) <= _SAME * scale)
