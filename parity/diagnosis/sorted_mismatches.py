"""Mismatches sorted by what they are: divergences, notes, and what cannot be verified."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from parity import budget
from parity.diagnosis import limits
from parity.diagnosis.classify import MismatchKind, classify
from parity.diagnosis.divergences import site_of, sites_of
from parity.diagnosis.divergent_draws import behind_unsure_draws
from parity.diagnosis.final_check import beyond_rounding
from parity.diagnosis.region import Mismatch, OutputPair
from parity.diagnosis.same_distribution import Distributed, distributed
from parity.findings import Divergence, Note
from parity.matching.match import Match
from parity.tape import Site

_OTHER_WEIGHTS = ("weight-values", "weight-scale", "weight-swapped")
_MAY_DIFFER = "on other inputs they may not"
_UNVERIFIABLE = ("no-float64", "host-read", "other-length")


@dataclass(frozen=True)
class Evidence:
    """What mismatches are judged by.

    Attributes:
        matched: the match as the models are.
        repaired: the match after every mismatch was repaired.
    """

    matched: Match
    repaired: Match
    mismatches: Sequence[Mismatch]
    outputs: Sequence[OutputPair]

    def laws(self) -> Distributed | None:
        """Whether the outputs differ in distribution, where that is to be known."""
        return distributed(self.matched, self.outputs)

    def is_fault_anyway(self, mismatch: Mismatch) -> bool:
        """Whether a mismatch that there is no time to classify may be a fault, and one shows.

        The outputs show that there is one; it is at the first that may be one.
        """
        if not mismatch.residual > max(mismatch.explained, limits.DIVERGENT_ANYWAY):
            return False
        return not any(mismatch.random) and beyond_rounding(self.matched, self.outputs)

    def kind_of(self, mismatch: Mismatch, kind: MismatchKind) -> tuple[str, str]:
        """The kind, where draws that have no counterpart are a divergence if that can be seen.

        Where the budget ended the search for a place, the outputs have to show that it is one.
        """
        matched, outputs = self.matched, self.outputs
        if kind.name == "divergence" and mismatch.residual > limits.NEARLY_SAME:
            unsure = behind_unsure_draws(matched, self.repaired, outputs, self.mismatches)
            seen = self.laws() if unsure else None
            if seen is not None and not seen.differ:
                return "unpaired-random", f"{unsure} {seen}"
        if kind.name == "divergence" and mismatch.values is None:
            if not budget.current().all_places and not beyond_rounding(matched, outputs):
                return "unlocated", ""
        if kind.name == "one-draws":  # its outputs are fixed, and the other's are not
            seen = self.laws()
            if seen is None or seen.differ:
                return "divergence", kind.detail
            return "unpaired-random", f"{kind.detail}; {seen}"
        if kind.name != "unpaired-random":
            return kind.name, kind.detail
        seen = None if any(tape.lost_draws for tape in matched.tapes) else self.laws()
        if seen is None:
            return kind.name, kind.detail
        if seen.differ:
            return "divergence", f"{kind.detail.split('. ')[0]}; {seen}"
        return kind.name, f"{kind.detail} {seen}"


@dataclass
class SortedMismatches:
    """What was found, by what follows from it; see `Verdict`.

    Attributes:
        faults: divergences, with what else is known of each.
        unverified: reasons why something is not known.
        elsewhere: where other inputs than those that were given show a divergence.
        here: where these do.
    """

    faults: list[tuple[Mismatch, str]] = field(default_factory=list)
    noted: list[tuple[Mismatch, str]] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    unverified: list[str] = field(default_factory=list)
    ends: dict[int, str] = field(default_factory=dict)
    elsewhere: set[tuple[Site, Site]] = field(default_factory=set)
    here: set[tuple[Site, Site]] = field(default_factory=set)

    @classmethod
    def of(cls, evidence: Evidence) -> SortedMismatches:
        """Classifies every mismatch, as far as the budget lasts."""
        found = cls()
        for number, mismatch in enumerate(evidence.mismatches):
            try:
                with budget.until(budget.SORTING, 0.0 if number else budget.LEAST):
                    kind = classify(evidence.repaired, mismatch, evidence.outputs)
                    name, detail = evidence.kind_of(mismatch, kind)
            except budget.Spent:
                budget.current().miss(budget.KINDS)
                if found.faults or not evidence.is_fault_anyway(mismatch):
                    continue
                kind, name, detail = MismatchKind("divergence"), "divergence", ""
            found._add(mismatch, name, detail, kind.elsewhere)
        return found

    def _add(self, mismatch: Mismatch, kind: str, detail: str, elsewhere: bool) -> None:
        if mismatch.values is not None:
            self.ends[mismatch.values[1]] = kind
        if kind == "divergence":
            self.faults.append((mismatch, detail))
            (self.elsewhere if elsewhere else self.here).add(sites_of(mismatch))
        elif kind == "unpaired-random":
            self.unverified.append(detail)
        elif kind in _UNVERIFIABLE:
            self.unverified.append(_unverified(kind, mismatch))
        elif kind != "unlocated":
            self.notes.append(Note(kind, *sites_of(mismatch), mismatch.residual, detail))
            self.noted.append((mismatch, kind))

    def is_elsewhere(self, divergences: Sequence[Divergence]) -> bool:
        """Whether nothing explains them, and on the given inputs they are within rounding."""
        return all(not one.is_named and _is_at(one, self.elsewhere) for one in divergences)

    def without_small(self, divergences: Sequence[Divergence]) -> list[Divergence]:
        """The divergences of these inputs; what others alone would show is none beside them.

        Unless a cause is confirmed: then it comes last.
        """
        found = (one for one in divergences if _is_at(one, self.elsewhere))
        small = [one for one in found if not _is_at(one, self.here)]
        if len(small) == len(divergences):
            return [*divergences]
        proved = [one for one in small if one.cause is not None and one.cause.confirmed]
        for mismatch, _ in self.faults:
            sites = {sites_of(mismatch)}
            known = any(_is_at(one, sites) for one in small if one not in proved)
            if sites <= self.elsewhere and known and mismatch.values is not None:
                self.ends[mismatch.values[1]] = "constant-precision"
        self.notes += [
            Note("constant-precision", one.reference, one.candidate, one.residual, one.detail)
            for one in small
            if one not in proved
        ]
        return [*(one for one in divergences if one not in small), *proved]

    def note(self, mismatch: Mismatch, note: Note) -> None:
        """Makes a note of a divergence that changes nothing on these inputs."""
        self.notes.append(note)
        if mismatch.values is not None:
            self.ends[mismatch.values[1]] = note.kind

    def demote(self, divergences: Sequence[Divergence], whole: float) -> None:
        """Makes notes of divergences that no output shows."""
        self.notes += [_as_note(divergence, whole) for divergence in divergences]
        self.rename("divergence", self.notes[-1].kind)

    def rename(self, kind: str, instead: str) -> None:
        """Has another kind where a mismatch of one kind ended."""
        self.ends = {end: instead if one == kind else one for end, one in self.ends.items()}


def _is_at(divergence: Divergence, sites: Collection[tuple[Site, Site]]) -> bool:
    """Whether a divergence is at one of some pairs of sites, or around it."""
    around = (
        {divergence.reference, *divergence.reference_region},
        {divergence.candidate, *divergence.candidate_region},
    )
    return any(a in around[0] and b in around[1] for a, b in sites)


def _as_note(divergence: Divergence, whole: float) -> Note:
    """What is no divergence on these inputs; another weight is named as such."""
    kind = "constant-precision"
    detail = f"with nothing substituted the models' outputs agree to {whole:.0e} in float64"
    cause = divergence.cause
    if cause is not None and cause.kind in _OTHER_WEIGHTS:
        kind, detail = "parameter-differs", f"{cause.summary}; {detail}, {_MAY_DIFFER}"
    elif not divergence.residual <= limits.DIVERGENT_ANYWAY:
        kind, detail = "no-effect", f"{detail}, {_MAY_DIFFER}"
    return Note(kind, divergence.reference, divergence.candidate, divergence.residual, detail)


def _unverified(kind: str, mismatch: Mismatch) -> str:
    what = site_of(mismatch.candidate).described
    unclear = "rounding cannot be distinguished from a fault"
    if kind == "host-read":
        return (
            f"{what} computes with numbers that Python made of the model's values, "
            f"and differs by {mismatch.residual:.1e}: {unclear}. Keep them tensors"
        )
    if kind == "other-length":
        return (
            f"{what} gives more values in float64 than as it ran, or fewer, as of those above a "
            f"limit, and differs by {mismatch.residual:.1e}: {unclear}"
        )
    return f"{what} has no float64: {unclear} there"
