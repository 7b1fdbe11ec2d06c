"""The cases of the benchmark, and what becomes of each."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import parity
from benchmarks.seeds import seed_all

from . import subjects
from .subject import SUBJECTS, Subject

__all__ = ["Case", "Outcome", "cases", "outcome", "subjects"]


@dataclass(frozen=True)
class Case:
    """One comparison."""

    subject: Subject
    pair: tuple[str, str]
    fault: str
    batch: int
    seed: int

    @property
    def kind(self) -> str:
        return f"{'wrong' if self.fault else 'right'} {self.subject.name}"

    @property
    def label(self) -> str:
        return f"{self.subject.name} {' / '.join(self.pair)} {self.fault or 'right'} ({self.batch})"

    def __str__(self) -> str:
        return f"{self.label} seed {self.seed}"


@dataclass(frozen=True)
class Outcome:
    """The verdict, `diverged elsewhere` where no line of the fault is named; the first reason."""

    verdict: str
    told: str
    report: Any = None


def cases(options: Namespace) -> Iterator[Case]:
    part, parts = map(int, options.part.split("/"))
    pairs = [(subject, pair) for subject in SUBJECTS for pair in subject.pairs]
    for subject, pair in pairs[part - 1 :: parts]:
        if options.subject not in subject.name:
            continue
        for fault in ("", *subject.faults):
            if options.fault is not None and fault != options.fault:
                continue
            for batch in map(int, options.batches.split(",")):
                for seed in range(options.first, options.first + options.seeds):
                    yield Case(subject, pair, fault, batch, seed)


def outcome(case: Case) -> Outcome:
    """Builds and compares a case; the generators of all frameworks start from its seed."""
    subject = case.subject
    reference = subject.built(case.pair[0], case.seed, case.batch)
    candidate = subject.built(case.pair[1], case.seed, case.batch, case.fault)
    seed_all(1000 * case.seed + case.batch)
    try:
        report = parity.compare(reference, candidate, inputs=subject.inputs(case.seed, case.batch))
    except Exception as error:
        return Outcome("error", f"{type(error).__name__}: {error}")
    (comparison,) = report.comparisons
    if report.verdict != "diverged":
        return Outcome(report.verdict, "; ".join(comparison.reasons), report)
    opaque = any(form.startswith("numpy") for form in case.pair)  # one operation, one line
    placed = opaque or any(map(_is_here, comparison.divergences))
    told = "; ".join(
        f"{one.candidate.op} at {one.candidate.source}: {one.detail}"
        for one in comparison.divergences
    )
    wanted = placed or not case.fault or not comparison.divergences
    return Outcome("diverged" if wanted else "diverged elsewhere", told, report)


def _is_here(divergence: Any) -> bool:
    """Whether a divergence is at a line of the fault, in either model."""
    return any(
        frame.code.endswith("# here")
        for site in (divergence.candidate, divergence.reference)
        for frame in site.frames
    )
