"""What a reference formula says of two models: data, and the lines of the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Right = Literal["both", "reference", "candidate", "neither", "unknown"]


@dataclass(frozen=True)
class Held:
    """An output of one model, held against the formula's.

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


def formula_lines(found: ByFormula, reference: str, candidate: str) -> Iterator[str]:
    """The lines of a report, the first the judgement."""
    yield (
        f"by the formula {found.formula} "
        + {
            "both": "both models are right, within rounding",
            "reference": f"{reference} is right and {candidate} is not",
            "candidate": f"{candidate} is right and {reference} is not",
            "neither": f"neither {reference} nor {candidate} is right",
            "unknown": "it cannot be told which model is right",
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
