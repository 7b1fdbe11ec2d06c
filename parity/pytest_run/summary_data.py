"""What a comparison came to, in the few facts that the summary of a run shows.

They go through xdist as text, so they are plain; a whole report would be megabytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import isnan
from typing import TYPE_CHECKING

from parity.escape import on_one_line

if TYPE_CHECKING:
    from parity.findings import Divergence
    from parity.report.report import Report
    from parity.result import Comparison, LayerRow

_LAYERS = 3  # of one comparison; the run shows no more of all
_PLACES = 10  # GitHub shows ten annotations of a kind
_DIFFERENT = ("diverged", "inherited", "unmatched")


@dataclass(frozen=True)
class Layer:
    """A layer with its difference and its rounding, both over its scale; nan where unknown."""

    name: str
    difference: float
    rounding: float
    verdict: str

    @property
    def badness(self) -> tuple[bool, float]:
        """Where the models diverge first, then by the difference; NaN is the worst."""
        found = self.difference
        return self.verdict == "diverged", float("inf") if isnan(found) else found


@dataclass(frozen=True)
class Place:
    """Where models diverge: `file:line` of both, or "", and why, in a sentence."""

    reference: str
    candidate: str
    why: str


@dataclass(frozen=True)
class Compared:
    """One candidate against the reference, or why there was no comparison.

    Attributes:
        verdict: of the report, or `"error"`.
        reason: why it is not parity, in a sentence.
        matched, values: informative values of both models, and how many have a partner.
        compared, outputs: outputs, and how many of them were compared.
        seconds: that it took.
        accepted: whether the baseline lets it pass.
        examples: that hypothesis ran for it.
        times: comparisons that this stands for.
    """

    reference: str
    candidate: str
    verdict: str
    reason: str = ""
    matched: int = 0
    values: int = 0
    compared: int = 0
    outputs: int = 0
    seconds: float = 0.0
    layers: tuple[Layer, ...] = ()
    places: tuple[Place, ...] = ()
    accepted: bool = False
    examples: int = 0
    times: int = 1

    @property
    def models(self) -> str:
        return f"{self.candidate} against {self.reference}" if self.candidate else ""


def compared_of(report: Report, accepted: bool) -> list[Compared]:
    """A report's comparisons; the time is shared out among them."""
    return [
        Compared(
            reference=on_one_line(report.reference.name),
            candidate=on_one_line(one.candidate.name),
            verdict=one.verdict,
            reason=on_one_line(one.reasons[0]) if one.reasons else "",
            matched=one.coverage.reference_matched + one.coverage.candidate_matched,
            values=one.coverage.reference_values + one.coverage.candidate_values,
            compared=one.coverage.outputs_compared,
            outputs=one.coverage.outputs_total,
            seconds=report.seconds / len(report.comparisons),
            layers=_worst(one),
            places=tuple(map(_place, one.divergences[:_PLACES])),
            accepted=accepted and one.verdict != "parity",
        )
        for one in report.comparisons
    ]


def failed(error: str, seconds: float = 0.0) -> Compared:
    """A comparison that could not be run."""
    return Compared("", "", "error", on_one_line(error.partition("\n")[0]), seconds=seconds)


def _worst(comparison: Comparison) -> tuple[Layer, ...]:
    rows = [_layer(row) for row in comparison.layers if row.verdict not in _DIFFERENT[1:]]
    found = [row for row in rows if row is not None]
    return tuple(sorted(found, key=lambda row: row.badness, reverse=True)[:_LAYERS])


def _layer(row: LayerRow) -> Layer | None:
    nan = float("nan")
    if row.difference is None and row.verdict != "diverged":
        return None
    return Layer(
        on_one_line(row.candidate or row.reference),
        nan if row.difference is None else row.difference.relative,
        nan if row.rounding is None else row.rounding,
        row.verdict,
    )


def _place(divergence: Divergence) -> Place:
    op, cause = divergence.candidate.op, divergence.cause
    why = f"{cause.kind}: {cause.summary}" if cause is not None else "unexplained"
    return Place(
        divergence.reference.source,
        divergence.candidate.source,
        on_one_line(f"{op}: inputs agree, outputs differ; {why}"),
    )


def together(found: Iterable[Compared]) -> list[Compared]:
    """Comparisons of a test that hypothesis runs: those of the same models and verdict as one."""
    groups: dict[tuple[str, str, str], list[Compared]] = {}
    for one in found:
        groups.setdefault((one.reference, one.candidate, one.verdict), []).append(one)
    return [_joined(group) for group in groups.values()]


def _joined(group: Sequence[Compared]) -> Compared:
    layers = [layer for one in group for layer in one.layers]
    return replace(
        group[-1],  # the smallest example runs last
        matched=sum(one.matched for one in group),
        values=sum(one.values for one in group),
        compared=sum(one.compared for one in group),
        outputs=sum(one.outputs for one in group),
        seconds=sum(one.seconds for one in group),
        layers=tuple(sorted(layers, key=lambda one: one.badness, reverse=True)[:_LAYERS]),
        examples=len(group),
        times=len(group),
    )


def to_text(found: Sequence[Compared]) -> str:
    return json.dumps([asdict(one) for one in found])


def from_text(text: str) -> list[Compared]:
    return [
        Compared(
            **{
                **one,
                "layers": tuple(Layer(**layer) for layer in one["layers"]),
                "places": tuple(Place(**place) for place in one["places"]),
            }
        )
        for one in json.loads(text)
    ]
