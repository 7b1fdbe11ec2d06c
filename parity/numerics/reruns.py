"""Do two runs of one model differ by no more than rounding does?

A graph is not run as its code is: constants are folded, factors reordered, operations fused. That
rounds otherwise and changes nothing else, so two runs may differ by what all roundings can do. That
is measured: by what the tape's replay in float64 differs by, and, as an element may be right by
luck there, by how far elements move where all that is computed moves by a rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from parity.errors import ParityError
from parity.numerics import limits
from parity.numerics.accounting import at_least_usual, excess, in_reals, rounding
from parity.numerics.rounding_noise import moved_by_rounding, rounds
from parity.tape import Array, Tape


class Reruns:
    """What rounding can do to the outputs of a tape's model, measured once it is asked for."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    @property
    def replayed(self) -> Mapping[str, Array]:
        """The outputs that the tape gives in the recorded precision."""
        return self._tape.replayed

    @cached_property
    def _exact(self) -> Mapping[str, Array]:
        return self._tape.outputs_of("float64")

    @cached_property
    def _moved(self) -> Mapping[int, Array]:
        try:
            return moved_by_rounding(self._tape, set(self._tape.outputs.values()), None, rounds)
        except ParityError:  # an operation does not take moved values
            return {}

    def agree(self, name: str, one: Array, other: Array) -> bool:
        """Whether two runs differ in an output by no more than rounding does."""
        replayed, exact = self.replayed[name], self._exact[name]
        if not one.shape == other.shape == replayed.shape == exact.shape:
            return False
        if one.dtype.kind not in "fc":
            differ = one != other  # rounding decides there, or may
            decided = replayed != exact
            return bool(decided[differ].all() or (decided | (self._moves(name) > 0))[differ].all())
        own = rounding(replayed, exact)
        return _within(one, other, own) or _within(one, other, np.maximum(own, self._moves(name)))

    def _moves(self, name: str) -> Array:
        """How far rounding moves the elements of an output; 0 where that is not known."""
        value = self._tape.outputs[name]
        return self._moved.get(value, np.zeros(in_reals(self.replayed[name]).shape))


def _within(one: Array, other: Array, rounded: Array) -> bool:
    a, b = in_reals(one), in_reals(other)
    size = np.abs(np.nan_to_num(b.astype(np.float64), posinf=0.0, neginf=0.0))
    allowed = at_least_usual(rounded) + np.finfo(b.dtype).eps / 2 * size
    a, b = a.astype(np.float64), b.astype(np.float64)
    if excess(b, a, allowed).ratio > limits.ORDER_OF_SUMMATION:
        return False
    with np.errstate(all="ignore"):
        shares = np.square((a - b) / allowed)
    shares = shares[np.isfinite(shares)]
    return bool(shares.sum() <= limits.RERUN_AS_A_WHOLE**2 * (shares.size + limits.RERUN_PRIOR))
