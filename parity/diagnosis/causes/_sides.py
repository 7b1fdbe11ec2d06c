"""The two sides of a case in one form, for causes that may change either."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from parity.diagnosis.case import NOTHING, Case
from parity.diagnosis.causes import Explanation, as_it_is
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView
from parity.matching.match import Side
from parity.tape import Array


@dataclass(frozen=True, eq=False)
class CaseSide:
    """One side of a case."""

    case: Case
    is_candidate: bool
    view: RegionView
    entering: tuple[int, ...]
    model: Side  # the whole model that the region is a part of, on the user's inputs

    def values(
        self,
        given: Mapping[int, Array],
        ids: Collection[int],
        replaced: Mapping[int, Array] = NOTHING,
    ) -> list[Array]:
        """Values of the region on a trial's `given`, as they lie there, with some replaced."""
        case = self.case
        values = case.candidate_values if self.is_candidate else case.reference_values
        return values(given, ids, replaced)

    def run(self, given: Mapping[int, Array], replaced: Mapping[int, Array] = NOTHING) -> Array:
        """What the region gives, in the reference's layout, with values replaced."""
        case = self.case
        return (case.run_candidate if self.is_candidate else case.run_reference)(given, replaced)

    def end(self, trial: Trial) -> Array:
        """What the region gave in a trial."""
        return trial.candidate if self.is_candidate else trial.reference

    def changed(self, found: Explanation) -> Explanation:
        """An explanation by this side: with one thing changed it gives the other side's value."""
        if not self.is_candidate:
            return found
        return replace(found, candidate=as_it_is, reference=found.candidate)


def sides(case: Case) -> tuple[CaseSide, CaseSide]:
    found = case.repaired
    return (
        CaseSide(case, False, case.reference, case.entering, found.reference),
        CaseSide(case, True, case.candidate, case.candidate_entering, found.side),
    )
