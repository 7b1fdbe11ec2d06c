"""The result of a comparison as plain data. Renderers are in report/; nothing here knows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from parity.escape import on_one_line
from parity.findings import Divergence, Note, StructuralDifference
from parity.format import SEVERITY
from parity.numerics.difference import Difference
from parity.rl.decisions import Decisions
from parity.tape import Array

Right = Literal["both", "reference", "candidate", "neither", "unknown"]


@dataclass(frozen=True)
class ModelSummary:
    name: str
    framework: str
    operations: int


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
            the scale; no difference that is rounding alone is larger. At and after a divergence
            the reference's alone.
        verdict: `same`, `diverged`, `inherited`, `unmatched`, or the kind of a note.
    """

    reference: str
    candidate: str
    reference_shape: tuple[int, ...] | None
    candidate_shape: tuple[int, ...] | None
    order: str
    difference: Difference | None
    verdict: str
    rounding: float | None = None
    local: float | None = None
    inherited: float | None = None

    @property
    def amplified(self) -> float | None:
        """The difference over that of the layer's inputs; None where they have none."""
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
    is_gradient: bool = False


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
class Trunk:
    """Tensors that lead to the same outputs.

    Attributes:
        outputs: names of all outputs that they lead to.
        layers: that read them, in the order of the data flow.
        tensors: parameters, by their names in the model.
    """

    outputs: tuple[str, ...]
    layers: tuple[str, ...]
    tensors: tuple[str, ...]


@dataclass(frozen=True)
class Heads:
    """What the heads of one model share.

    Attributes:
        trunks: with several outputs first; () of a model with one output or without tensors.
        equal: how many tensors of one head alone have an equal in another head alone, which is
            not the same tensor.
    """

    trunks: tuple[Trunk, ...]
    equal: int = 0

    @property
    def shared(self) -> tuple[Trunk, ...]:
        return tuple(trunk for trunk in self.trunks if len(trunk.outputs) > 1)


@dataclass(frozen=True)
class Held:
    """An output of one model, compared with the formula's.

    Attributes:
        shape: the model's.
        residual: root mean square of the difference over that of the formula, in float64; inf where
            one is NaN or infinite and the other is not; None where the shapes differ.
        as_ran: the same of the output in the precision in which the model ran.
        right: whether no more than rounding is between them; None where the shapes differ.
    """

    shape: tuple[int, ...]
    residual: float | None
    as_ran: float | None
    right: bool | None


@dataclass(frozen=True)
class FormulaRow:
    """One output of the formula, beside both models'.

    Attributes:
        name: of the reference's output.
        shape: the formula's.
        candidate: None where the candidate has no such output.
    """

    name: str
    shape: tuple[int, ...]
    reference: Held
    candidate: Held | None


@dataclass(frozen=True)
class ByFormula:
    """Which of two models is right by a formula. It changes no verdict.

    Attributes:
        formula: its name.
        right: `"both"`, `"reference"`, `"candidate"`, `"neither"`, or `"unknown"` where outputs
            could not be compared with the formula's.
        outputs: those that the formula gives.
        problems: what could not be compared, in sentences.
    """

    formula: str
    right: Right
    outputs: tuple[FormulaRow, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """One candidate against the reference.

    Attributes:
        reasons: why it is not parity, the most important first.
        notes: differences that are no fault.
        caveats: what could not be seen of the models.
        structure: differences in structure, found without values; () on parity.
        by_formula: which model is right by the formula; None where none was given.
        heads: what the outputs of each model share, the reference's first.
    """

    candidate: ModelSummary
    verdict: str
    reasons: tuple[str, ...]
    divergences: tuple[Divergence, ...]
    notes: tuple[Note, ...]
    caveats: tuple[str, ...]
    structure: tuple[StructuralDifference, ...]
    layers: tuple[LayerRow, ...]
    outputs: tuple[OutputRow, ...]
    heads: tuple[Heads, Heads]
    by_formula: ByFormula | None
    coverage: Coverage
    final_values: Mapping[str, Array] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Result:
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
        return max(self.comparisons, key=lambda comparison: SEVERITY[comparison.verdict])

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
