"""What random draws have to do with a divergence: other distributions, other counts of samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.elementwise_noise import (
    differ_by_element,
    noise_differs_by_element,
    output_differs_by_element,
)
from parity.diagnosis.outputs import output_matches
from parity.diagnosis.region import Mismatch, OutputPair, Region
from parity.diagnosis.same_distribution import Distributed, distributed
from parity.draws.draw import Draw
from parity.draws.families import between
from parity.draws.pairing import alike, comparable
from parity.draws.threshold import meant, monotone
from parity.draws.units import Origins, Unit
from parity.findings import Divergence
from parity.matching.match import Match
from parity.tape import Array, Replay, Tape

T = TypeVar("T")

_DO = (
    "Draw from the same distribution with the same number of samples in both models, pass the "
    "samples in as inputs, or run the models in eval mode."
)


def of_draws(repaired: Match, mismatch: Mismatch) -> tuple[str, str] | None:
    """The kind of a divergence in whose operations random numbers are drawn, with a sentence.

    Returns:
        None where the draws are paired: then it is judged as any other.
    """
    drawing = repaired.drawing
    reference = _inside(mismatch.reference, drawing.reference)
    candidate = _inside(mismatch.candidate, list(drawing.candidate.values()))
    free = [unit for unit in reference if unit in drawing.free]
    left = [unit for unit in candidate if unit.value not in drawing.chosen]
    shared = next(((a, b) for a in free for b in left if _is_shared(a, b)), None)
    if shared is not None:
        a, b = shared
        return "unpaired-random", (
            f"the reference draws {a.size} values, {a}; the candidate {b.size}, {b}: one of them "
            f"uses the same noise several times. {_DO}"
        )
    lost = [*mismatch.reference.tape.lost_draws, *mismatch.candidate.tape.lost_draws]
    if lost:
        return "unpaired-random", lost[0]
    unsure = next(_unsure(repaired, candidate), None)
    if unsure is not None and not (_only_rises(repaired, *unsure) and not left and not free):
        a, b = unsure
        return "unpaired-random", _not_paired(
            f"the reference draws {a}, the candidate {b}, and nothing that follows agrees at the "
            "same probabilities"
        )
    if left and (free or drawing.free) or free and drawing.unpaired:
        a, b = (free or drawing.free)[0], (left or drawing.unpaired)[0]
        return "unpaired-random", _not_paired(f"the candidate draws {b}, the reference {a}")
    if left:
        said = f"the candidate draws {left[0]}; the reference draws nothing for it"
    elif free:
        said = f"the reference draws {free[0]}; the candidate draws nothing for it"
    else:
        return None
    if left and drawing.reference or free and drawing.candidate:
        return "unpaired-random", f"{said}. {_DO}"
    return "one-draws", said


def not_sure(repaired: Match, mismatch: Mismatch, outputs: Sequence[OutputPair]) -> str:
    """What is said of a divergence that reads draws which may not be each other's counterparts.

    The samples may have to be substituted otherwise: for another draw, in another order, or as
    those of another law. Then a difference shows nothing; "" where it does.
    """
    drawing = repaired.drawing
    if not drawing.candidate:
        return ""
    read = _draws_behind(repaired, mismatch) & drawing.chosen.keys()
    odd = [*drawing.free, *drawing.unpaired]
    unsure = [
        one
        for one in sorted(read)
        if not (drawing.chosen[one].evidence or _says_itself(drawing.candidate[one]))
        or one not in repaired.draws  # a kernel with other parameters
        or (drawing.chosen[one].evidence < 2 and (odd or _may_be_another(repaired, one)))
    ]
    if not unsure or not odd and differ_by_element(repaired, mismatch, outputs):
        return ""
    if odd:
        who = "reference" if drawing.free else "candidate"
        return _not_paired(
            f"the {who} draws {odd[0]}, for which the other model draws nothing, and none of the "
            "others is read alike"
        )
    a, b = drawing.chosen[unsure[0]].reference, drawing.candidate[unsure[0]]
    return _not_paired(
        f"the reference draws {a}, the candidate {b}, and nothing says how they pair"
    )


def _not_paired(why: str) -> str:
    return f"random draws could not be paired: {why}. {_DO}"


def behind_unsure_draws(
    matched: Match, repaired: Match, outputs: Sequence[OutputPair], mismatches: Sequence[Mismatch]
) -> str:
    """What is said where all that differs in the outputs hangs on draws that nothing speaks for.

    A factor of a covariance, a sign or an order may then be another and the law of it one: what
    differs before it meets the noise shows nothing by itself. "" where some output shows it.
    """
    drawing = matched.drawing
    unsure = {
        value
        for value, one in drawing.chosen.items()
        if not (one.evidence or _says_itself(drawing.candidate[value]))
    }
    if not unsure:
        return ""
    differing = [pair for pair in outputs if not output_matches(matched, pair)]
    graph = matched.side.tape.graph
    made = unsure.union(*map(graph.descendants, unsure))
    if not differing or not all(pair.candidate in made for pair in differing):
        return ""
    if any(output_differs_by_element(matched, pair) for pair in differing):
        return ""
    if _is_of_another_law(matched, repaired, outputs, mismatches):
        return ""
    value = min(unsure)
    return _not_paired(
        f"the reference draws {drawing.chosen[value].reference}, the candidate "
        f"{drawing.candidate[value]}, and what is computed with them differs, as it may where "
        "noise of one law is made otherwise"
    )


def one_in_law(
    matched: Match,
    repaired: Match,
    outputs: Sequence[OutputPair],
    divergences: Sequence[Divergence],
    mismatches: Sequence[Mismatch],
    laws: Callable[[], Distributed | None],
) -> str:
    """What is said of divergences that may be none in what the outputs are drawn from.

    Several may make up for each other, as where a Beta has its parameters exchanged and the sample
    is taken from 1, or a mean is taken over other samples of one law. One may lie where noise meets
    the model's data, of which the sign or the order is another. "" where one of them is proved,
    where an output that differs does not hang on draws, or where their laws are seen to differ.
    """
    drawing = matched.drawing
    if not divergences or not (drawing.reference or drawing.candidate):
        return ""
    if drawing.free or drawing.unpaired:  # what is behind them is on other samples
        if not all(_is_behind_noise(matched, one) for one in mismatches):
            return ""
    elif len(divergences) == 1 and not all(_takes_noise(matched, one) for one in mismatches):
        return ""
    if _is_of_another_law(matched, repaired, outputs, mismatches):
        return ""
    if any(one.is_named and one.cause and one.cause.confirmed for one in divergences):
        return ""
    # elements of their own size may differ where outputs as a whole agree
    differing = [pair for pair in outputs if not output_matches(matched, pair)] or outputs
    reference, candidate = (one.noise for one in drawing.origins)
    if not differing or not all(
        one.reference in reference or one.candidate in candidate for one in differing
    ):
        return ""
    seen = laws()
    if seen is None or seen.differ:
        return ""
    sites = " and ".join(dict.fromkeys(one.candidate.described for one in divergences[:2]))
    why = "may read noise otherwise" if len(mismatches) == 1 else "may make up for each other"
    return f"{sites} differ{'s' * (len(divergences) == 1)} and {why}: {seen}. {_DO}"


def _is_of_another_law(
    matched: Match, repaired: Match, outputs: Sequence[OutputPair], mismatches: Sequence[Mismatch]
) -> bool:
    """Whether the only place that differs, for which nothing makes up, gives another law."""
    return len(mismatches) == 1 and (
        differ_by_element(matched, mismatches[0], outputs)
        or noise_differs_by_element(matched, repaired)
    )


def _is_behind_noise(matched: Match, mismatch: Mismatch) -> bool:
    """Whether noise enters a divergence or is drawn in it, in one of the models."""
    sides = zip(mismatch.regions, matched.drawing.origins, strict=True)
    return any(
        not origins.noise.isdisjoint([*region.boundary(), *region.made])
        for region, origins in sides
    )


def _takes_noise(matched: Match, mismatch: Mismatch) -> bool:
    """Whether noise alone, not mixed with the model's data, enters a divergence in both models."""
    sides = zip(mismatch.regions, matched.drawing.origins, strict=True)
    return all(
        any(value in noise.noise and not noise.mixed(value) for value in region.boundary())
        for region, noise in sides
    )


def _says_itself(unit: Unit) -> bool:
    """Whether the parameters that a kernel reads of the model's values say which draw it is."""
    return unit.draw is not None and bool(unit.draw.reads)


def _may_be_another(repaired: Match, value: int) -> bool:
    """Whether a draw may as well be the counterpart of another that nothing speaks for."""
    drawing = repaired.drawing
    unit = drawing.candidate[value]
    return any(
        other != value
        and choice.evidence < 2
        and choice.reference.size == unit.size
        and comparable(choice.reference.draw, unit.draw)
        for other, choice in drawing.chosen.items()
    )


def _draws_behind(repaired: Match, mismatch: Mismatch) -> set[int]:
    """The candidate's draws of which the operations read what is made of noise alone."""
    drawing, tape = repaired.drawing, repaired.side.tape
    noise = drawing.origins[1].noise - drawing.origins[1].data | drawing.candidate.keys()
    near = {value for op in mismatch.candidate.ops for value in (*op.inputs, *op.outputs)}
    walk = tape.graph.backward(near, lambda value, op: value in near or value in noise)
    return {value for value, _ in walk} & drawing.candidate.keys()


def _unsure(repaired: Match, units: Sequence[Unit]) -> Iterator[tuple[Unit, Unit]]:
    """Draws of other families, paired with no evidence: the way between may not be monotone."""
    drawing = repaired.drawing
    for unit in units:
        choice = drawing.chosen.get(unit.value)
        if choice is None or choice.evidence or alike(choice.reference.draw, unit.draw):
            continue
        draws = _meant(repaired, choice.reference, unit)
        if not all(one is not None and one.name == "bernoulli" for one in draws):
            yield choice.reference, unit


def one_law(repaired: Match, mismatch: Mismatch) -> str:
    """What is said of noise that differs by next to nothing, as by an epsilon in a logarithm.

    How far a sample is off is measured in probability: by the law where the candidate draws by a
    known one, else by how many samples lie between.
    """
    if (
        mismatch.values is None
        or mismatch.order is None
        or mismatch.residual > limits.NEARLY_ONE_LAW
    ):
        return ""
    a, b = mismatch.values
    unit = repaired.drawing.candidate.get(b)
    if not _is_noise(repaired, a, b, drawn=True) or (unit is not None and b not in repaired.draws):
        return ""
    drawn = mismatch.order.apply(repaired.reference.array(a)).astype(np.float64).ravel()
    if unit is not None:
        off = between(unit.draw, drawn, repaired.draws[b].ravel())
    else:
        own = repaired.side.run.branch()  # in the repaired run the value is the reference's
        for op in mismatch.candidate.ops:
            if op.role != "random":
                own.step(op)
        off = _off_by_samples(drawn, own.array(b).astype(np.float64).ravel())
    return (
        f"noise of one distribution but for {off:.0e} of probability"
        if off <= limits.PROBABILITY_OFF
        else ""
    )


def _off_by_samples(drawn: Array, other: Array) -> float:
    """By how much probability noise is off, as far as many samples show how dense they lie."""
    order = np.argsort(drawn)
    drawn, other = drawn[order], other[order]
    if (
        drawn.size < limits.DENSITY_SAMPLES
        or drawn.size != other.size
        or not np.isfinite(drawn + other).all()
    ):
        return math.inf
    near = max(2, drawn.size // 16)
    at = np.clip(np.arange(drawn.size), near, drawn.size - 1 - near)
    density = (2 * near / drawn.size) / np.maximum(drawn[at + near] - drawn[at - near], 1e-300)
    return float(np.max(np.abs(drawn - other) * density))


def same_distribution(repaired: Match, mismatch: Mismatch) -> str:
    """What is said of noise made otherwise of the same draws, as by a sine where the other has a
    cosine: equal in distribution as far as many samples show. "" where a difference shows.
    """
    if mismatch.values is None or not _is_noise(repaired, *mismatch.values):
        return ""
    seen = distributed(repaired, [OutputPair("noise", *mismatch.values)])
    if seen is None or seen.differ:
        return ""
    return f"the same draws are made into noise in another way. {seen}. {_DO}"


def _is_noise(repaired: Match, a: int, b: int, drawn: bool = False) -> bool:
    """Whether two values are made of draws alone, and are no draws themselves or `drawn`."""
    reference, candidate = repaired.drawing.origins
    if a not in reference.noise - reference.data or b not in candidate.noise - candidate.data:
        return False
    return drawn or b not in repaired.drawing.candidate


def _only_rises(repaired: Match, a: Unit, b: Unit) -> bool:
    """Whether both models read monotone functions of a draw: equal laws would then agree."""
    return all(_of_both(repaired, a, b, monotone))


def _meant(repaired: Match, a: Unit, b: Unit) -> tuple[Draw | None, Draw | None]:
    reference, candidate = _of_both(repaired, a, b, meant)
    return reference, candidate


def _of_both(
    repaired: Match, a: Unit, b: Unit, seen: Callable[[Tape, Replay, Unit, Origins], T]
) -> list[T]:
    """What is seen of a draw of the reference and of one of the candidate."""
    sides = zip((repaired.reference, repaired.side), (a, b), repaired.drawing.origins, strict=True)
    return [seen(side.tape, side.run, unit, origins) for side, unit, origins in sides]


def other_distributions(repaired: Match, mismatch: Mismatch) -> str:
    """What is to be said of a divergence where the models draw from different distributions."""
    drawing = repaired.drawing
    for unit in _inside(mismatch.candidate, list(drawing.candidate.values())):
        choice = drawing.chosen.get(unit.value)
        if choice is None or alike(choice.reference.draw, unit.draw):
            continue
        a, b = _meant(repaired, choice.reference, unit)
        if a is None or b is None or alike(a, b):
            continue
        if a.name == b.name == "bernoulli":  # one may be what is dropped, and one what is kept
            if alike(a, Draw("bernoulli", {"p": 1 - b.parameters["p"]})):
                continue
        return f"the reference draws {a}, the candidate {b}"
    return ""


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
