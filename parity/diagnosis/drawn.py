"""What random draws have to do with a divergence: other distributions, other numbers of samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from parity.diagnosis.distributed import distributed
from parity.diagnosis.region import OutputPair, Parting, Region
from parity.draws.draw import Draw
from parity.draws.pairing import alike
from parity.draws.threshold import meant, monotone
from parity.draws.units import Unit
from parity.matching.match import Match

_DO = (
    "Draw from the same distribution with the same number of samples in both models, pass the "
    "samples in as inputs, or run the models in eval mode."
)
_FEW = 8  # samples by which no density is known
_NEXT_TO_NOTHING = 1e-3  # relative, that noises of nearly one law are apart
_OFF = 2e-6  # of probability, by which the laws of two noises may differ


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
        return "unpaired-random", (
            f"the reference draws {a.size} numbers, {a}; the candidate {b.size}, {b}: one of them "
            f"uses the same noise several times. {_DO}"
        )
    lost = [*parting.reference.tape.lost_draws, *parting.candidate.tape.lost_draws]
    if lost:
        return "unpaired-random", lost[0]
    unsure = next(_unsure(repaired, theirs), None)
    if unsure is not None and not (_only_rises(repaired, *unsure) and not left and not free):
        a, b = unsure
        return "unpaired-random", (
            f"random draws could not be paired: the reference draws {a}, the candidate {b}, and "
            f"nothing that follows agrees at the same probabilities. {_DO}"
        )
    if left and (free or drawing.free) or free and drawing.unpaired:
        return "unpaired-random", _why(left or drawing.unpaired, free or drawing.free)
    # where one model draws nothing at all, its outputs are fixed, and the other's are not
    if left:
        told = f"the candidate draws {left[0]}; the reference draws nothing for it"
        return ("unpaired-random", f"{told}. {_DO}") if drawing.reference else ("divergence", told)
    if free:
        told = f"the reference draws {free[0]}; the candidate draws nothing for it"
        return ("unpaired-random", f"{told}. {_DO}") if drawing.candidate else ("divergence", told)
    return None


def paired_by_order(repaired: Match, parting: Parting) -> str:
    """What is said where a divergence reads draws that may not be each other's counterparts.

    So where one of the models draws more often, and nothing that is made of these draws and of the
    model's data agrees. "" where they are.
    """
    drawing = repaired.drawing
    odd = [*drawing.free, *drawing.unpaired]
    read = _draws_behind(repaired, parting) if odd else set()
    if not any(drawing.chosen[one].evidence < 2 for one in read & drawing.chosen.keys()):
        return ""
    who = "reference" if drawing.free else "candidate"
    return (
        f"random draws could not be paired: the {who} draws {odd[0]}, for which the other model "
        f"draws nothing, and none of the others is read alike. {_DO}"
    )


def _draws_behind(repaired: Match, parting: Parting) -> set[int]:
    """The candidate's draws of which the operations read what is made of noise alone."""
    drawing, tape = repaired.drawing, repaired.side.tape
    noise = drawing.origins[1].noise - drawing.origins[1].data | drawing.candidate.keys()
    stack = [value for op in parting.candidate.ops for value in (*op.inputs, *op.outputs)]
    seen = set(stack)
    while stack:
        op = tape.producer(stack.pop())
        for value in op.inputs if op is not None else ():
            if value in noise and value not in seen:
                seen.add(value)
                stack.append(value)
    return seen & drawing.candidate.keys()


def _unsure(repaired: Match, units: Sequence[Unit]) -> Iterator[tuple[Unit, Unit]]:
    """Draws of other families that were paired with nothing that speaks for it.

    One may be made into the other in a way that is not monotone, or of several draws.
    """
    drawing = repaired.drawing
    for unit in units:
        choice = drawing.chosen.get(unit.value)
        if choice is None or choice.evidence or alike(choice.reference.draw, unit.draw):
            continue
        ours, theirs = _meant(repaired, choice.reference, unit)
        if ours is None or theirs is None or not ours.name == theirs.name == "bernoulli":
            yield choice.reference, unit


def one_law(repaired: Match, parting: Parting) -> str:
    """What is said of noise that differs by next to nothing, as by an epsilon in a logarithm.

    How far a sample is off is measured in probability: by how many samples lie between.
    """
    if parting.values is None or parting.order is None or parting.residual > _NEXT_TO_NOTHING:
        return ""
    a, b = parting.values
    if not _is_noise(repaired, a, b):
        return ""
    own = repaired.side.run.branch()  # in the repaired run the value is the reference's
    for op in parting.candidate.ops:
        if op.role != "random":
            repaired.side.tape.step(op, own)
    drawn = parting.order.apply(repaired.reference.array(a)).astype(np.float64).ravel()
    other = own.array(b).astype(np.float64).ravel()
    order = np.argsort(drawn)
    drawn, other = drawn[order], other[order]
    if drawn.size < _FEW or drawn.size != other.size or not np.isfinite(drawn + other).all():
        return ""
    near = max(2, drawn.size // 16)
    at = np.clip(np.arange(drawn.size), near, drawn.size - 1 - near)
    density = (2 * near / drawn.size) / np.maximum(drawn[at + near] - drawn[at - near], 1e-300)
    off = float(np.max(np.abs(drawn - other) * density))
    return f"noise of one distribution but for {off:.0e} of probability" if off <= _OFF else ""


def same_distribution(repaired: Match, parting: Parting) -> str:
    """What is said of noise made otherwise of the same draws, as by a sine where the other has a
    cosine: equal in distribution as far as many samples show. "" where a difference shows.
    """
    if parting.values is None or not _is_noise(repaired, *parting.values):
        return ""
    seen = distributed(repaired, [OutputPair("noise", *parting.values)])
    if seen is None or seen.differ:
        return ""
    return f"the same draws are made into noise in another way. {seen}. {_DO}"


def _is_noise(repaired: Match, a: int, b: int) -> bool:
    """Whether two values are made of draws alone, and are no draws themselves."""
    ours, theirs = repaired.drawing.origins
    if a not in ours.noise - ours.data or b not in theirs.noise - theirs.data:
        return False
    return b not in repaired.drawing.candidate


def _only_rises(repaired: Match, a: Unit, b: Unit) -> bool:
    """Whether both models read two draws by monotone functions of them alone.

    Then equal distributions would agree at the same probabilities, or at mirrored ones.
    """
    sides = (repaired.reference, a), (repaired.side, b)
    return all(
        monotone(side.tape, side.run, unit, origins)
        for (side, unit), origins in zip(sides, repaired.drawing.origins, strict=True)
    )


def _meant(repaired: Match, a: Unit, b: Unit) -> tuple[Draw | None, Draw | None]:
    ours, theirs = repaired.drawing.origins
    return (
        meant(repaired.reference.tape, repaired.reference.run, a, ours),
        meant(repaired.side.tape, repaired.side.run, b, theirs),
    )


def other_distributions(repaired: Match, parting: Parting) -> str:
    """What is to be said of a divergence where the models draw from different distributions."""
    drawing = repaired.drawing
    for unit in _inside(parting.candidate, list(drawing.candidate.values())):
        choice = drawing.chosen.get(unit.value)
        if choice is None or alike(choice.reference.draw, unit.draw):
            continue
        ours, theirs = _meant(repaired, choice.reference, unit)
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
        f"{_DO}"
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
