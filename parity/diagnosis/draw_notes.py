"""What a verdict of parity says of random draws: how they were paired, and what was not shown."""

from __future__ import annotations

from dataclasses import replace

from parity.diagnosis.closing_checks import weaker
from parity.diagnosis.redraw_check import Redrawn
from parity.diagnosis.verdict import Verdict
from parity.draws.pairing import Choice, alike
from parity.draws.units import Unit
from parity.findings import Note
from parity.matching.match import Match
from parity.tape import Site


def with_draws(verdict: Verdict, matched: Match, found: Redrawn) -> Verdict:
    """Adds to a verdict of parity how the draws were paired, and what was not shown of them."""
    reasons = [
        f"random draws could not be paired, and no fresh samples can be had: {unit}. Pass the "
        "samples in as inputs, or run the models in eval mode."
        for unit in found.unknown
    ]
    if found.differing is not None:
        reasons.append(
            "on fresh samples, the same for both models, the outputs differ, and no operation was "
            "found that makes them differ: decisions that depend on the draws differ there"
        )
    elif found.refused:
        reasons.append(
            "the models do not run on fresh samples, as where draws decide how many rows there "
            "are: they were compared on the samples that they drew alone, which are few"
        )
    elif found.weak:
        reasons.append(
            f"decisions are made of random draws, and only {found.decisions} could be compared: "
            "too few to distinguish distributions; compare more samples at once"
        )
    paired: dict[tuple[Site, Site], Note] = {}  # the first of those between two lines
    for value, choice in matched.drawing.chosen.items():
        unit = matched.drawing.candidate[value]
        sites = choice.reference.op.site, unit.op.site
        note = Note("random", *sites, 0.0, _paired(choice, unit, found))
        paired.setdefault(sites, note)
    verdict = replace(verdict, notes=(*verdict.notes, *paired.values()))
    return weaker(verdict, "unverified", reasons, [*verdict.outputs]) if reasons else verdict


def _paired(choice: Choice, unit: Unit, found: Redrawn) -> str:
    how = "draws paired exactly: the reference's samples are substituted"
    if not alike(choice.reference.draw, unit.draw):
        how = (
            f"draws paired exactly: {choice.reference.draw} and {unit.draw} at the same "
            "probabilities"
        )
    if found.needed and found.differing is None:
        how += (
            f"; {found.decisions} decisions made of draws agree, a difference in "
            f"{5 / found.decisions:.1%} of them would have been seen"
        )
    return how
