"""A pair of values as the lines of code that make them give them.

A framework may transpose, take the softmax over the last axis and transpose back, all in one call:
the axes that its user knows are those of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from parity.matching.axis_order import Order, orders
from parity.matching.match import Match
from parity.tape import Array, Tape


class WrittenLayout:
    """Lays what is like the reference's value out as either line of code gives it.

    Attributes:
        shapes: of what the reference's and the candidate's line give.
    """

    def __init__(self, match: Match, values: tuple[int, int], order: Order | None) -> None:
        """`order` lays the reference's value out as the candidate's; None if none fits."""
        self._match, self._order = match, order
        self._made = values
        reference = _given(match.reference.tape, values[0], self._is_moved)
        partners = values[0], reference
        pairs = match.pairs
        candidate = _given(
            match.side.tape,
            values[1],
            lambda value: value in pairs and pairs[value].reference in partners,
        )
        self._given = reference, candidate
        tapes = match.reference.tape, match.side.tape
        self.shapes = tapes[0].values[reference].shape, tapes[1].values[candidate].shape

    def as_reference(self, array: Array) -> Array:
        return array if self._moves is None else self._moves.apply(array)

    def as_candidate(self, array: Array) -> Array:
        value = self._given[1]
        if value == self._made[1]:
            return array if self._order is None else self._order.apply(array)
        pair = self._match.pairs[value]
        return pair.order.apply(
            array if pair.reference == self._made[0] else self.as_reference(array)
        )

    @cached_property
    def order(self) -> Order | None:
        """How the axes of what the reference's line gives lie in what the candidate's gives."""
        if self._given == self._made or self._order is None:
            return self._order
        shape = self._match.reference.tape.values[self._made[0]].shape
        places = np.arange(np.prod(shape, dtype=int)).reshape(shape)
        return _order(self.as_reference(places), self.as_candidate(places))

    def _is_moved(self, value: int) -> bool:
        return self._order_of(value) is not None

    @cached_property
    def _moves(self) -> Order | None:
        """How the reference's value lies in what its line gives."""
        return self._order_of(self._given[0]) if self._given[0] != self._made[0] else None

    def _order_of(self, value: int) -> Order | None:
        """How the reference's value lies in another; None where it is no mere order of axes."""
        run = self._match.reference.run
        if value not in run:
            return None
        return _order(run.array(self._made[0]), run.array(value))


def _given(tape: Tape, value: int, known: Callable[[int], bool]) -> int:
    """The value, or what its line makes of it by putting its axes in another order."""
    maker = tape.producer(value)
    lengths = sorted(tape.values[value].shape)
    moved = maker is not None
    while moved:
        moved = False
        for index in tape.consumers[value]:
            op = tape.ops[index]
            if op.role != "move" or maker is None or op.site.frames != maker.site.frames:
                continue
            made = op.outputs[0]
            if known(made) and sorted(tape.values[made].shape) == lengths:
                value, moved = made, True
                break
    return value


def _order(a: Array, b: Array) -> Order | None:
    fitting = orders(a.shape, b.shape)
    return next((one for one in fitting if np.array_equal(one.apply(a), b, equal_nan=True)), None)
