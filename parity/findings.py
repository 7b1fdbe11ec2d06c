"""What was found of two models, piece by piece: divergences and their causes, notes, structure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from parity.tape import Array, Site


@dataclass(frozen=True)
class LeafDifference:
    """A parameter or constant that a divergence reads and that differs: names, and how.

    Attributes:
        relation: `"arranged"` (the same values in another order), `"near"`, or `"other"`.
    """

    reference: str
    candidate: str
    relation: str

    def __str__(self) -> str:
        how = {
            "arranged": "has the same values as {} in another order",
            "near": "is close to {}, not equal",
            "other": "has no equal in the reference" if not self.reference else "differs from {}",
        }[self.relation]
        return f"{self.candidate} {how.format(self.reference)}"


FORMULA = "different-formula"  # the kind that says what is computed, and not what is wrong


@dataclass(frozen=True)
class Cause:
    """Why two models diverge, with its proof.

    Attributes:
        kind: a kind of docs/causes.md.
        summary: one line.
        parameters: name to (reference's, candidate's).
        confirmed: whether the fix alone makes everything that depends on the place reconverge with
            the reference, measured on the user's inputs, and holds on generated inputs too.
        residual_before, residual_after: of the value at the divergence, in float64, without the
            change that the cause names and with it; the latter is the worst over all inputs.
        inputs: the number of inputs on which it was tried; all but the first are generated.
        evidence: further facts that can be checked by eye.
        edit: how to fix the candidate's line: (the call as it is, the call as it should be).
        alternatives: kinds of causes that explain it as well and assume no more.
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
    alternatives: tuple[str, ...] = ()
    unproved: str = ""


@dataclass(frozen=True)
class Guess:
    """The proposal that comes closest where nothing explains a divergence.

    Attributes:
        share: of the residual that it removes, in 0..1.
        evidence: of a formula that is not proved both formulas, and what the letters in it are.
    """

    kind: str
    summary: str
    share: float
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class Capture:
    """The inputs of a divergence and the outputs of both models, in float64.

    Attributes:
        inputs: in the reference's layout.
        candidate: in the reference's layout where it has one.
    """

    inputs: tuple[Array, ...]
    reference: Array
    candidate: Array


@dataclass(frozen=True)
class Divergence:
    """A place where the candidate diverges from the reference for a reason of its own.

    Attributes:
        reference, candidate: where: operation, layer, line.
        residual: relative root mean square of the difference, in float64, with the reference's own
            values as inputs on both sides; inf where they cannot be subtracted.
        reference_region, candidate_region: all operations between the last values that agree and
            the first that agree again.
        shapes: of the values with which the regions end, as the lines of code there return them.
        order: how the axes of the reference's lie in the candidate's: `same`, `NHWC`, `acb`; ""
            where that is not known.
        leaves: parameters and constants there that differ.
        reconverges: whether everything downstream agrees once this is repaired, up to the next
            divergence.
        random: whether random numbers are drawn there, in each model.
        detail: what else is known of it, in a sentence.
        cause: why, if it could be proved.
        closest: what comes closest, where nothing explains it.
        output_before, output_after: relative difference of the outputs in float64 as the models
            are, and with the reference's value alone substituted; None where they cannot be
            subtracted.
        times: how often it occurs at these two sites, as in a loop or for each reader, and at
            `places`; the other fields are those of the first.
        places: where else the same cause is confirmed with the same parameters: the reference's and
            the candidate's site.
        capture: the arrays, for `Report.save_divergences`.
    """

    reference: Site
    candidate: Site
    residual: float
    reference_region: tuple[Site, ...] = ()
    candidate_region: tuple[Site, ...] = ()
    shapes: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    order: str = ""
    leaves: tuple[LeafDifference, ...] = ()
    reconverges: bool = True
    random: tuple[bool, bool] = (False, False)
    detail: str = ""
    cause: Cause | None = None
    closest: Guess | None = None
    output_before: float | None = None
    output_after: float | None = None
    times: int = 1
    places: tuple[tuple[Site, Site], ...] = ()
    capture: Capture | None = field(default=None, repr=False, compare=False)

    @property
    def is_named(self) -> bool:
        """Whether a cause says what is wrong: two formulas can be stated of all that differs."""
        return self.cause is not None and self.cause.kind != FORMULA


@dataclass(frozen=True)
class Note:
    """Something that is shown and is no alarm, such as a constant baked in float32.

    Attributes:
        kind: `constant-precision`, `parameter-differs`, `rounding`, `low-precision`, `no-effect`,
            `host-decided`, `tie` or `random`.
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
    """A step in which the structure of the models differs, whatever their weights are.

    Attributes:
        kind: `"parameter"`, `"missing"` (in the candidate), `"extra"`, or `"other"` (another step
            in its place).
        step: `batch norm`, `convolution`, ...
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
