"""What random draws have to do with a divergence: other distributions, other numbers of samples."""

from __future__ import annotations

from collections.abc import Sequence

from parity.diagnosis.region import Parting, Region
from parity.draws.draw import Draw
from parity.draws.pairing import alike
from parity.draws.threshold import meant
from parity.draws.units import Unit
from parity.matching.match import Match


def of_draws(repaired: Match, parting: Parting) -> tuple[str, str] | None:
    """The kind of a divergence in whose operations random numbers are drawn, with a sentence.

    Returns:
        None where the draws are paired: then it is judged as any other.
    """
    drawing = repaired.drawing
    ours = _inside(parting.reference, drawing.reference)
    theirs = _inside(parting.candidate, list(drawing.candidate.values()))
    free = [unit for unit in ours if unit in drawing.free]
    left = [unit for unit in theirs if unit.value not in drawing.chosen]
    shared = next(((a, b) for a in free for b in left if _is_shared(a, b)), None)
    if shared is not None:
        a, b = shared
        return "divergence", (
            f"the reference draws {a.size} numbers, {a}; the candidate {b.size}, {b}: one of them "
            "uses the same noise several times"
        )
    lost = [*parting.reference.tape.lost_draws, *parting.candidate.tape.lost_draws]
    if lost:
        return "unpaired-random", lost[0]
    if left and (free or drawing.free) or free and drawing.unpaired:
        return "unpaired-random", _why(left or drawing.unpaired, free or drawing.free)
    if left:
        return "divergence", f"the candidate draws {left[0]}; the reference draws nothing for it"
    if free:
        return "divergence", f"the reference draws {free[0]}; the candidate draws nothing for it"
    return None


def other_distributions(repaired: Match, parting: Parting) -> str:
    """What is to be said of a divergence where the models draw from different distributions."""
    drawing = repaired.drawing
    for unit in _inside(parting.candidate, list(drawing.candidate.values())):
        choice = drawing.chosen.get(unit.value)
        if choice is None or alike(choice.reference.draw, unit.draw):
            continue
        sides = (repaired.reference, choice.reference), (repaired.side, unit)
        ours, theirs = (
            meant(side.tape, side.run, drawn, origins)
            for (side, drawn), origins in zip(sides, drawing.origins, strict=True)
        )
        if ours is None or theirs is None or alike(ours, theirs) or _opposite(ours, theirs):
            continue
        return f"the reference draws {ours}, the candidate {theirs}"
    return ""


def _opposite(a: Draw, b: Draw) -> bool:
    """Whether one is what is dropped where the other is what is kept."""
    if not a.name == b.name == "bernoulli":
        return False
    return alike(a, Draw("bernoulli", {"p": 1 - b.parameters["p"]}))


def _why(left: Sequence[Unit], free: Sequence[Unit]) -> str:
    """Why draws have no counterpart, and what to do."""
    return (
        f"random draws could not be paired: the candidate draws {left[0]}, the reference "
        f"{free[0]}. "
        "Draw from the same distribution with the same number of samples in both models, pass the "
        "samples in as inputs, or run the models in eval mode."
    )


def _inside(region: Region, units: Sequence[Unit]) -> list[Unit]:
    inside = {op.index for op in region.ops}
    return [unit for unit in units if unit.op.index in inside]


def _is_shared(a: Unit, b: Unit) -> bool:
    """Whether one of two draws of one family is the other with some axes of length 1."""
    if a.draw is None or b.draw is None or a.draw.name != b.draw.name or a.size == b.size:
        return False
    small, large = sorted((a, b), key=lambda unit: unit.size)
    lengths = [length for length in large.shape if length > 1]
    for length in small.shape:
        if length > 1:
            if length not in lengths:
                return False
            lengths.remove(length)
    return True
