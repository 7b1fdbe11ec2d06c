"""Runs of the two regions of a case on inputs of a trial."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from parity.diagnosis import limits
from parity.diagnosis.case_inputs import CaseInputs
from parity.diagnosis.view import RegionView
from parity.matching.match import Match
from parity.tape import Array, Precision, Replay

NO_ARRAYS: Mapping[int, Array] = {}


class CaseRuns:
    """Runs either region of a case; the last few runs are kept, as causes ask for them again."""

    def __init__(
        self, repaired: Match, views: tuple[RegionView, RegionView], inputs: CaseInputs
    ) -> None:
        self._repaired, self._views, self._inputs = repaired, views, inputs
        self._bases: tuple[Replay, Replay] = repaired.reference.run, repaired.side.run
        self._kept: deque[tuple[int, Mapping[int, Array], Replay]] = deque(maxlen=limits.RUNS_KEPT)

    def replay(
        self,
        side: int,
        given: Mapping[int, Array],
        leaves: Mapping[int, Array] = NO_ARRAYS,
        precision: Precision = "float64",
    ) -> Replay:
        """A run of the reference's region (0) or the candidate's (1) on a trial's `given`."""
        if leaves or precision is None:
            return self._run(side, given, leaves, precision)
        for of, asked, run in self._kept:
            if of == side and asked is given:
                return run
        run = self._run(side, given, leaves, precision)
        self._kept.append((side, given, run))
        return run

    def _run(
        self,
        side: int,
        given: Mapping[int, Array],
        leaves: Mapping[int, Array],
        precision: Precision,
    ) -> Replay:
        bases = self._bases
        if precision is None:
            bases = self._recorded
            given = {root: _like(array, bases[0].array(root)) for root, array in given.items()}
        view = self._views[side]
        indices = {op.index for op in view.ops}
        if leaves:
            indices |= view.tape.graph.static_before(view.ops)
        if not side:
            indices |= self._inputs.moves
            return view.tape.replay(precision, {**given, **leaves}, bases[0], only=indices)
        moved = self._views[0].tape.replay(precision, given, bases[0], only=self._inputs.moves)
        read = {
            value: self._inputs.pairs[value].order.apply(moved.array(partner))
            for value, partner in (*self._inputs.partners.items(), *self._inputs.exact.items())
        }
        kept = {}
        if precision is None:
            read = {value: _like(array, bases[1].array(value)) for value, array in read.items()}
        else:  # the base holds substituted values: all that is not given must run anew
            kept = {leaf.id: leaf.array for leaf in view.leaves if leaf.id not in leaves}
        return view.tape.replay(precision, {**kept, **read, **leaves}, bases[1], only=indices)

    @property
    def _recorded(self) -> tuple[Replay, Replay]:
        """Both models as they were recorded, the candidate with the reference's samples."""
        reference, candidate = (view.tape for view in self._views)
        native = candidate.recorded
        drawn = {
            value: candidate.adapter.from_numpy(
                array.astype(candidate.adapter.to_numpy(native[value]).dtype)
            )
            for value, array in self._repaired.draws.items()
        }
        run = Replay(reference, None, dict(reference.recorded))
        return run, Replay(candidate, None, {**native, **drawn})


def _like(array: Array, recorded: Array) -> Array:
    return array.astype(recorded.dtype, copy=False)
