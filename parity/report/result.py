"""One summary of a comparison as plain data; every renderer reads it and nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parity.numerics.difference import Difference
from parity.report.atomic import write_json
from parity.report.escape import on_one_line
from parity.report.formula import ByFormula
from parity.report.heads import Heads
from parity.rl.decisions import Decisions
from parity.tape import Array, Site

SCHEMA = 1
_SEVERITY = {"parity": 0, "unverified": 1, "diverged": 2}


@dataclass(frozen=True)
class ModelSummary:
    name: str
    framework: str
    operations: int


@dataclass(frozen=True)
class LeafDifference:
    """A parameter or constant that enters a divergence and differs: names, and how.

    Attributes:
        relation: `"arranged"` (the same numbers in another order), `"near"`, or `"other"`.
    """

    reference: str
    candidate: str
    relation: str

    def __str__(self) -> str:
        how = {
            "arranged": "holds the same numbers as {} in another order",
            "near": "is close to {}, not equal",
            "other": "has no equal in the reference" if not self.reference else "differs from {}",
        }[self.relation]
        return f"{self.candidate} {how.format(self.reference)}"


@dataclass(frozen=True)
class Cause:
    """Why two models part, with its proof.

    Attributes:
        kind: a kind of docs/causes.md.
        summary: one line in the field's words.
        parameters: name to (reference's, candidate's).
        confirmed: whether the fix alone makes everything that depends on the place reconverge with
            the reference, measured on the user's inputs, and holds on generated inputs too.
        residual_before, residual_after: of the value at the divergence, in float64, without the
            change that the cause names and with it; the latter is the worst over all inputs.
        inputs: the number of inputs on which it was tried; all but the first are generated.
        evidence: further facts that can be checked by eye.
        edit: how to mend the candidate's line: (the call as it is, the call as it should be).
        equally: kinds of causes that explain it as well and assume no more.
        unproved: why it is consistent with the evidence and not proved; "" where it is confirmed.
    """

    kind: str
    summary: str
    parameters: Mapping[str, tuple[Any, Any]]
    confirmed: bool
    residual_before: float
    residual_after: float
    inputs: int
    evidence: tuple[str, ...] = ()
    edit: tuple[str, str] | None = None
    equally: tuple[str, ...] = ()
    unproved: str = ""


@dataclass(frozen=True)
class Guess:
    """The proposal that comes closest where nothing explains a divergence.

    Attributes:
        share: of the residual that it removes, in 0..1.
    """

    kind: str
    summary: str
    share: float


@dataclass(frozen=True)
class Capture:
    """What entered a divergence and what both models made of it, in float64.

    Attributes:
        inputs: in the reference's layout.
        candidate: in the reference's layout where it has one.
    """

    inputs: tuple[Array, ...]
    reference: Array
    candidate: Array


@dataclass(frozen=True)
class Divergence:
    """A place where the candidate parts from the reference for a reason of its own.

    Attributes:
        reference, candidate: where: operation, layer, line.
        residual: relative root mean square of the difference, in float64, with the reference's own
            values as inputs on both sides; inf where they cannot be subtracted.
        reference_region, candidate_region: all operations between the last values that agree and
            the first that agree again.
        shapes: of the values that end the regions, as the lines of code there give them.
        order: how the axes of the reference's lie in the candidate's: `same`, `NHWC`, `acb`; ""
            where that is not known.
        leaves: parameters and constants there that differ.
        met: whether all that follows agrees once this is repaired, up to the next divergence.
        random: whether random numbers are drawn there, in each model.
        detail: what else is known of it, in a sentence.
        cause: why, if it could be proved.
        closest: what comes closest, where nothing explains it.
        output_before, output_after: relative difference of the outputs in float64 as the models
            are, and with the reference's value alone put in here; None where they cannot be
            subtracted.
        times: how often it occurs at these two sites, as in a loop or for each reader; the other
            fields are those of the first.
        capture: the arrays, for `Report.save_divergences`.
    """

    reference: Site
    candidate: Site
    residual: float
    reference_region: tuple[Site, ...] = ()
    candidate_region: tuple[Site, ...] = ()
    shapes: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    leaves: tuple[LeafDifference, ...] = ()
    met: bool = True
    random: tuple[bool, bool] = (False, False)
    detail: str = ""
    cause: Cause | None = None
    closest: Guess | None = None
    output_before: float | None = None
    output_after: float | None = None
    times: int = 1
    order: str = ""
    capture: Capture | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Note:
    """Something that is shown and is no alarm, such as a constant baked in float32.

    Attributes:
        kind: `constant-precision`, `parameter-differs`, `rounding`, `low-precision`, `no-effect` or
            `random`.
        residual: relative root mean square of the difference in float64.
        detail: what else is known of it, in a sentence.
    """

    kind: str
    reference: Site
    candidate: Site
    residual: float
    detail: str = ""


@dataclass(frozen=True)
class StructuralDifference:
    """A step of which the models are made otherwise, whatever their weights are.

    Attributes:
        kind: `"parameter"`, `"missing"` (in the candidate), `"extra"`, or `"other"` (another step
            in its place).
        step: in the field's words: `batch norm`, `convolution`.
        name: of the parameter, or "".
        text: what differs, the reference's first: `epsilon: 1e-05 -> 0.001`.
        reference, candidate: where; on the side that lacks the step the one before it, or None.
    """

    kind: str
    step: str
    name: str
    text: str
    reference: Site | None
    candidate: Site | None

    @property
    def headline(self) -> str:
        """The text with the step that it is about."""
        return f"{self.step}, {self.text}" if self.kind == "parameter" else self.text

    def __str__(self) -> str:
        places = [
            (site.layer or site.source or site.op) if site is not None else "-"
            for site in (self.reference, self.candidate)
        ]
        return f"{self.headline} ({places[0]} | {places[1]})"


@dataclass(frozen=True)
class Structure:
    """What two models are made of, compared without their weights; see `parity.structure`."""

    reference: ModelSummary
    candidate: ModelSummary
    differences: tuple[StructuralDifference, ...]

    def __str__(self) -> str:
        names = f"{self.reference.name} and {self.candidate.name}"
        if not self.differences:
            return f"{names}: no structural difference is known"
        count = len(self.differences)
        lines = [f"{names}: {count} structural difference{'s' * (count != 1)}"]
        return "\n".join(map(on_one_line, [*lines, *(f"- {one}" for one in self.differences)]))


@dataclass(frozen=True)
class LayerRow:
    """A layer, or a line of code outside layers, on both sides.

    Attributes:
        reference, candidate: layer path or `file:line`; "" where the other side has no such stage.
        order: how the reference's axes lie in the candidate.
        difference: in the working precision, as the models ran.
        local: what the layer adds in the working precision when it gets the reference's own bits,
            over the layer's scale; `difference.relative` is what it has as the models ran.
        inherited: the largest `difference.relative` among the layers that it reads.
        rounding: what both models' values are off from their own float64 replays, added up, over
            the scale; no difference that is rounding alone is larger. Where they part or parted
            before, the reference's alone.
        verdict: `same`, `diverged`, `inherited`, `unmatched`, or the kind of a note.
    """

    reference: str
    candidate: str
    reference_shape: tuple[int, ...] | None
    candidate_shape: tuple[int, ...] | None
    order: str
    difference: Difference | None
    verdict: str
    local: float | None = None
    inherited: float | None = None
    rounding: float | None = None

    @property
    def amplified(self) -> float | None:
        """How much larger what comes in leaves the layer; None where nothing comes in."""
        if not self.inherited or self.difference is None:
            return None
        return self.difference.relative / self.inherited


@dataclass(frozen=True)
class OutputRow:
    """A pair of outputs, with the verdict on it alone."""

    name: str
    verdict: str
    reference_shape: tuple[int, ...]
    candidate_shape: tuple[int, ...]
    difference: Difference | None
    decisions: Decisions | None


@dataclass(frozen=True)
class Coverage:
    """How much was really compared: informative values that the inputs reach."""

    reference_values: int
    reference_matched: int
    candidate_values: int
    candidate_matched: int
    outputs_compared: int
    outputs_total: int

    @property
    def values(self) -> float:
        """Share of informative values of both models that have a partner."""
        total = self.reference_values + self.candidate_values
        return (self.reference_matched + self.candidate_matched) / total if total else 0.0

    @property
    def outputs(self) -> float:
        """Share of outputs that were compared."""
        return self.outputs_compared / self.outputs_total if self.outputs_total else 0.0


@dataclass(frozen=True)
class Comparison:
    """One candidate against the reference.

    Attributes:
        reasons: why it is not parity, the most important first.
        notes: what is told without being an alarm.
        caveats: what could not be seen of the models.
        structure: steps that are made otherwise, found without values; () on parity.
        by_formula: which model is right by the formula; None where none was given.
        heads: what the outputs of each model share, the reference's first.
    """

    candidate: ModelSummary
    verdict: str
    reasons: tuple[str, ...]
    divergences: tuple[Divergence, ...]
    notes: tuple[Note, ...]
    caveats: tuple[str, ...]
    layers: tuple[LayerRow, ...]
    outputs: tuple[OutputRow, ...]
    coverage: Coverage
    structure: tuple[StructuralDifference, ...] = ()
    by_formula: ByFormula | None = None
    heads: tuple[Heads, Heads] = (Heads(()), Heads(()))
    final_values: Mapping[str, Array] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Report:
    """What a comparison found. It has no truth value: read `verdict`.

    With several candidates, `divergences` and `layers` are those of the worst comparison;
    `comparisons` holds all.
    """

    reference: ModelSummary
    comparisons: tuple[Comparison, ...]
    odd_one_out: str | None
    versions: Mapping[str, Mapping[str, str]]
    seconds: float

    @property
    def worst(self) -> Comparison:
        return max(self.comparisons, key=lambda comparison: _SEVERITY[comparison.verdict])

    @property
    def verdict(self) -> str:
        """`"parity"`, `"diverged"` or `"unverified"`: the worst of the comparisons."""
        return self.worst.verdict

    @property
    def divergences(self) -> list[Divergence]:
        """Root causes in the order of the data flow; [] on parity."""
        return list(self.worst.divergences)

    @property
    def layers(self) -> list[LayerRow]:
        """A row per layer or matched stage, in the order of the data flow."""
        return list(self.worst.layers)

    @property
    def coverage(self) -> Coverage:
        return self.worst.coverage

    @property
    def by_formula(self) -> ByFormula | None:
        """Which model is right by the formula, where one was given; no part of the verdict."""
        return self.worst.by_formula

    @property
    def decisions(self) -> dict[str, Decisions]:
        """What a policy would decide from the outputs, by name; no part of the verdict."""
        return {row.name: row.decisions for row in self.worst.outputs if row.decisions is not None}

    def __bool__(self) -> bool:
        raise TypeError("A parity report is neither true nor false; read report.verdict.")

    def __str__(self) -> str:
        from parity.report.terminal import render

        return render(self)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data; see docs/report.md."""
        from parity.report.as_json import to_dict

        return to_dict(self)

    def save_divergences(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes what entered each divergence and what came out, with a script that shows it.

        Returns:
            The scripts, which need NumPy alone; none where the models agree.
        """
        from parity.report.saved import save_divergences

        return save_divergences(self, folder)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report as JSON, whole or not at all."""
        write_json(path, self.to_dict())

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Writes the report as one page that needs no network, whole or not at all."""
        from parity.report.html.render import save

        save(path, self.to_dict())
