"""The sentences of a report, each written once; every renderer takes them from here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from parity.format import count, relative, share

if TYPE_CHECKING:
    from parity.result import ByFormula, Heads, OutputRow, Trunk

_LAYERS, _PLACES = 5, 3  # in a line
# Of a note, by its kind: why what differs is no divergence.
WHY_NO_FAULT = {
    "constant-precision": "as much as constants rounded to float32 explain",
    "rounding": "it shrinks with the precision: the operation is ill-conditioned",
    "low-precision": "as much as rounding to half precision explains",
    "no-effect": "no output changes with it on these inputs",
    "host-decided": "it was computed outside the framework, of values that differ before",
    "tie": "where two are equal, or on a kink, each framework chooses the derivative",
    "random": "the rest was compared on the same random samples",
}
NO_LINE = "no line of your code is known here"
RANDOM = "random numbers are drawn here"


def sentence(text: str) -> str:
    """A line of the report as a sentence of its own."""
    return f"{text[:1].upper()}{text[1:]}."


def place(layer: str, source: str, op: str, stage: str = "") -> str:
    """Where an operation is, in a few words."""
    where = layer or relative(source) or op
    return f"{where} ({stage})" if stage else where


def operation(reference: str, candidate: str) -> str:
    """The operation of a divergence: what both models call it, or what each does."""
    same = reference.lower() == candidate.lower()
    return candidate if same else f"{reference} against {candidate}"


def size(shape: Sequence[int]) -> str:
    """A shape or an index as it is written."""
    return f"({', '.join(map(str, shape))})"


def cause(confirmed: bool, summary: str) -> str:
    proof = "confirmed" if confirmed else "consistent with the evidence, not proved"
    return f"{proof}: {summary}"


def closest_cause(kind: str, summary: str, share: float, evidence: Sequence[str] = ()) -> str:
    """What comes closest, in a sentence; a formula that is not proved has lines of its own."""
    if evidence:
        return "what is computed there, which may not be what is wrong:"
    return f"closest is {kind} ({summary}), which removes {share:.0%} of the difference"


def as_likely(kind: str) -> str:
    return f"{kind} explains it as well"


def downstream(agrees: bool) -> str:
    """What comes after a divergence."""
    if agrees:
        return "with the reference's value substituted here, everything downstream agrees"
    return "nothing downstream agrees again, so this may be more than one difference"


def effect(before: float | None, after: float | None) -> str:
    """What one divergence of several does to the outputs; "" where they cannot be subtracted."""
    if before is None or after is None or isnan(before) or isnan(after):
        return ""
    return f"with that value alone substituted {_effect(before, after)}"


def _effect(before: float, after: float) -> str:
    """What the reference's value alone does to the outputs, substituted at one divergence.

    It also undoes what earlier divergences have done to that value.
    """
    if share(before) == share(after):
        return f"the outputs differ as they did, {share(before)}"
    if after > before:
        return f"the outputs differ more, {share(after)} instead of {share(before)}"
    return f"the outputs differ {share(after)} instead of {share(before)}"


def outputs_compared(compared: int, total: int) -> str:
    return f"{compared} of {total} outputs compared"


def values_matched(share: float) -> str:
    return f"{share:.0%} of informative values matched"


def formula_lines(found: ByFormula, reference: str, candidate: str) -> Iterator[str]:
    """Which model is right by the formula, then each output's distance from it."""
    yield (
        f"by the formula {found.formula} "
        + {
            "both": "both models are right, within rounding",
            "reference": f"{reference} is right and {candidate} is not",
            "candidate": f"{candidate} is right and {reference} is not",
            "neither": f"neither {reference} nor {candidate} is right",
            "unknown": "which model is right is not known",
        }[found.right]
    )
    for row in found.outputs:
        for model, held in ((reference, row.reference), (candidate, row.candidate)):
            if held is not None and held.residual is not None and held.as_ran is not None:
                yield (
                    f"  output {row.name!r}: {model} is off by {held.residual:.1e} of its size in "
                    f"float64, by {held.as_ran:.1e} as it ran"
                )
    for problem in found.problems:
        yield f"  {problem}"


def gradients_line(rows: Sequence[OutputRow]) -> str:
    """How many gradients agree, and the one that differs most of these; "" where there are none."""
    agree = [(row, row.difference) for row in rows if row.verdict == "parity" and row.difference]
    if not agree:
        return ""
    worst, most = max(agree, key=lambda one: one[1].relative)
    return (
        f"{len(agree)} of {count(len(rows), 'gradient')} agree; largest difference, of its size: "
        f"{most.relative:.1e}, {worst.name}"
    )


def heads_lines(
    pair: tuple[Heads, Heads], names: tuple[str, str], verdicts: Mapping[str, str]
) -> Iterator[str]:
    """The lines of a report; none where no model has several heads made of tensors.

    Args:
        names: of the models.
        verdicts: of the outputs, by name.
    """
    if not any(heads.trunks for heads in pair):
        return
    yield "heads: " + ", ".join(f"{name} {verdict}" for name, verdict in verdicts.items())
    for heads, model in zip(pair, names, strict=True):
        for trunk in heads.trunks:
            several = len(trunk.outputs) > 1
            verb = "share" if several else "alone has"
            yield f"  {model}: {_and(trunk.outputs)} {verb} {_tensors(trunk)}"
        if heads.trunks and not heads.shared:
            equal = f"; equal, not shared: {heads.equal} tensors" if heads.equal else ""
            yield f"  {model}: the heads share no tensor{equal}"
    shared = [{trunk.outputs for trunk in heads.shared} for heads in pair]
    if shared[0] != shared[1] and all(heads.trunks for heads in pair):  # a function has none
        yield "  one model shares what the other does not: training will make them diverge"


def outputs_lines(heads: Heads, outputs: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """A table of one model's outputs, its headings first: what each has alone, what it shares.

    Nothing of a model with one output, or without tensors.
    """
    if not heads.trunks:
        return
    yield "output", "has alone", "shares"
    for name in outputs:
        own = [trunk for trunk in heads.trunks if name in trunk.outputs]
        alone = [_tensors(trunk) for trunk in own if len(trunk.outputs) == 1]
        shared = [
            f"{_tensors(trunk)} with {_and([one for one in trunk.outputs if one != name])}"
            for trunk in own
            if len(trunk.outputs) > 1
        ]
        yield name, "; ".join(alone) or "nothing", "; ".join(shared) or "nothing"


def _tensors(trunk: Trunk) -> str:
    return f"{count(len(trunk.tensors), 'tensor')} of {listed(trunk.layers, _LAYERS)}"


def _and(names: Sequence[str]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"


def listed(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def also_at(places: Sequence[str]) -> str:
    """Where else one cause holds."""
    return f"the same at {listed(places, _PLACES)}"


# --- equal texts about several places -------------------------------------------------------------


@dataclass(frozen=True)
class Fold:
    """A text and the places that it is about.

    Attributes:
        times: how often.
        places: of which, each once.
    """

    text: str
    times: int
    places: tuple[str, ...]

    @property
    def listed(self) -> str:
        """The first places, and how many more there are."""
        return listed(self.places, _PLACES)


def folded(texts: Iterable[tuple[str, str]]) -> Sequence[Fold]:
    """Groups places by their text, in the order of the first of each."""
    found: dict[str, list[str]] = {}
    for text, place in texts:
        found.setdefault(text, []).append(place)
    return [Fold(text, len(places), tuple(dict.fromkeys(places))) for text, places in found.items()]
