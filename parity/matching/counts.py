"""Counts that rounding decides: how many values an operation picks, in float32 and in float64.

As `nonzero` of values that are equal but for rounding. Where a later line holds the number of them,
as `torch.zeros(len(picked))` does, a model cannot be replayed in float64. What it picks is then
what it picked as it ran, and nothing is verified with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from parity.errors import ReplayError
from parity.tape import Adapter, Native, Op, Precision, Tape


def with_counts_as_ran(tape: Tape, error: ReplayError) -> Tape:
    """A tape that failed in float64, in which as many values are picked as when it ran.

    Args:
        error: how it failed.

    Raises:
        ReplayError: that error, where no such count is the reason.
    """
    held = replace(tape, adapter=cast(Adapter, _AsRan(tape)))
    try:
        held.replay("float64")
    except ReplayError:
        raise error from None
    doubt = (
        f"{tape.model}: how many values it picks may be decided by rounding, and a later line "
        f"holds their number ({error}). It was replayed with those that it picked as it ran; "
        "compare on inputs that are not on the edge of being picked, or do not hold the number"
    )
    return replace(held, doubts=[*tape.doubts, doubt])


class _AsRan:
    """An adapter whose operations pick as many values in any replay as they did when they ran."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._adapter = tape.adapter

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._adapter, verb)

    def execute(self, op: Op, arguments: Sequence[Native], precision: Precision) -> list[Native]:
        results = self._adapter.execute(op, arguments, precision)
        if self._fits(op, results):
            return results
        # the mask or the indices that pick are what they were; where there are none, as of
        # `nonzero` and `unique`, all that it gave
        values = self._tape.values
        picks = [values[one].dtype.startswith(("bool", "int", "uint")) for one in op.inputs]
        given = [
            self._tape.recorded[value] if picked else argument
            for value, picked, argument in zip(op.inputs, picks, arguments, strict=True)
        ]
        results = self._adapter.execute(op, given, precision)
        if self._fits(op, results):
            return results
        return [self._adapter.cast(self._tape.recorded[one], precision) for one in op.outputs]

    def _fits(self, op: Op, results: Sequence[Native]) -> bool:
        shapes = [self._adapter.to_numpy(one).shape for one in results]
        return shapes == [self._tape.values[one].shape for one in op.outputs]
