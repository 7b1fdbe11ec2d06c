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
from parity.matching.match import Indexed
from parity.tape import Adapter, Native, Op, Precision, Replay, Tape


class CountsMoved(ReplayError):
    """A model picks another number of values in float64 than as it ran, and the other may not."""


def check_counts(reference: Replay, candidate: Replay) -> None:
    """Refuses replays in which an operation gives more values than as it ran, or fewer.

    Models that pick the same by a comparison and by the host's numbers differ there, and only
    there: what the host computed is in every replay what it was.

    Raises:
        CountsMoved: there is one.
    """
    for run in (reference, candidate):
        ops = [run.tape.ops[index] for index in sorted(run.tape.used)]
        # what nobody reads, as what a kernel leaves for a backward pass, is as long as it likes
        read = {*run.tape.outputs.values(), *(one for op in ops for one in op.inputs)}
        for op in ops:
            values = [] if op.static else [one for one in op.outputs if one in read]
            if any(tuple(run.get(one).shape) != run.tape.values[one].shape for one in values):
                raise CountsMoved(f"{op.kind} at {op.site.source}")


def as_ran(reference: Indexed, candidate: Tape, error: ReplayError) -> tuple[Indexed, Tape]:
    """Both models after their comparison failed, with as many values picked as when they ran.

    Args:
        error: how it failed: of the candidate alone, or `CountsMoved`.

    Raises:
        ReplayError: that error, where no such count is the reason.
    """
    if not isinstance(error, CountsMoved):
        return reference, with_counts_as_ran(candidate, error)
    doubt = (
        f"how many values are picked is decided by rounding ({error}): in float64 there are more "
        "than as it ran, or fewer. The models were compared with those that they picked as they "
        "ran; compare on inputs that are not on the edge of being picked"
    )
    tape = _held(reference.tape, doubt)
    return Indexed(tape, tape.replay("float64")), _held(candidate, doubt)


def with_counts_as_ran(tape: Tape, error: ReplayError) -> Tape:
    """A tape that failed in float64, in which as many values are picked as when it ran.

    Args:
        error: how it failed.

    Raises:
        ReplayError: that error, where no such count is the reason.
    """
    doubt = (
        f"{tape.model}: how many values it picks may be decided by rounding, and a later line "
        f"holds their number ({error}). It was replayed with those that it picked as it ran; "
        "compare on inputs that are not on the edge of being picked, or do not hold the number"
    )
    held = _held(tape, doubt)
    try:
        held.replay("float64")
    except ReplayError:
        raise error from None
    return held


def _held(tape: Tape, doubt: str) -> Tape:
    adapter = cast(Adapter, _AsRan(tape))
    return replace(tape, adapter=adapter, doubts=[*tape.doubts, doubt])


class _AsRan:
    """An adapter whose operations pick as many values in any replay as they did when they ran.

    One that ever picked more or fewer picks the same ones from then on: where moved values make it
    as many by chance, they are others.
    """

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._adapter = tape.adapter
        self._picking: set[int] = set()

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._adapter, verb)

    def execute(self, op: Op, arguments: Sequence[Native], precision: Precision) -> list[Native]:
        if op.index not in self._picking:
            try:
                results = self._adapter.execute(op, arguments, precision)
                if self._fits(op, results):
                    return results
            except Exception:  # as many are assigned as were picked: what is raised next says so
                pass
        self._picking.add(op.index)
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
