"""Compares an entry's models, and says what of its expectations the report meets."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.corpus.gallery.entry import Entry
from parity.findings import FORMULA


@dataclass(frozen=True)
class Outcome:
    """What the report said of one entry, built with one seed.

    Attributes:
        detected: a divergence was found where one is (for a clean pair: none).
        placed: the first divergence is at the first fault's place.
        all_placed: every fault has a divergence at its place, and there are no others.
        cause: the first cause is the expected one, its parameters are right.
        all_causes: the same for every fault.
        confirmed: every cause that is reported is confirmed; or none, where none can be.
        wrong: an explanation that is not among the expected ones.
    """

    entry: Entry
    seed: int
    verdict: str
    detected: bool
    placed: bool
    all_placed: bool
    cause: bool
    all_causes: bool
    confirmed: bool
    unexplained: bool
    wrong: bool
    stated: str
    seconds: float


def check(entry: Entry, seed: int) -> Outcome:
    pair = entry.build(np.random.default_rng(seed))
    started = time.perf_counter()
    report = pair.compare()
    seconds = time.perf_counter() - started
    found = report.divergences
    if not entry.causes:
        fine = report.verdict == "parity"
        return Outcome(
            entry, seed, report.verdict, fine, fine, fine, fine, fine, fine, False, False,
            _statement(report), seconds,
        )  # fmt: skip
    at = [
        next((d for d in found if entry.is_at(number, d.reference, d.candidate)), None)
        for number in range(len(entry.causes))
    ]
    explained = [
        divergence is not None
        and divergence.cause is not None
        and entry.is_cause(number, divergence.cause.kind)
        and _states(entry, number, divergence.cause.parameters)
        for number, divergence in enumerate(at)
    ]
    causes = [divergence.cause for divergence in found if divergence.cause is not None]
    expected = {kind for cause in entry.causes for kind in (cause, *entry.also.get(cause, ()))}
    return Outcome(
        entry=entry,
        seed=seed,
        verdict=report.verdict,
        detected=report.verdict == "diverged",
        placed=bool(found) and at[0] is found[0],
        all_placed=None not in at and len(found) == len(at),
        cause=explained[0],
        all_causes=all(explained),
        confirmed=bool(causes) and all(cause.confirmed == entry.provable for cause in causes),
        # two formulas are true of whatever differs, and explain only what expects them
        unexplained=any(
            one.cause is None or not one.is_named and one.cause.kind not in expected
            for one in found
        ),
        wrong=any(cause.kind not in (FORMULA, *expected) for cause in causes),
        stated=_statement(report),
        seconds=seconds,
    )


def _states(entry: Entry, number: int, parameters: Any) -> bool:
    if number >= len(entry.parameters):
        return True
    return all(
        name in parameters and all(map(_equal, parameters[name], expected))
        for name, expected in entry.parameters[number].items()
    )


def _equal(stated: Any, expected: Any) -> bool:
    if isinstance(expected, float) and isinstance(stated, int | float):
        return math.isclose(stated, expected, rel_tol=0.01)
    return bool(stated == expected)


def _statement(report: Any) -> str:
    lines = [
        f"{d.reference.op} {d.reference.layer} [{d.reference.code}] | "
        f"{d.candidate.op} {d.candidate.layer} [{d.candidate.code}]; residual {d.residual:.1e}; "
        + (f"{d.cause.kind} {dict(d.cause.parameters)}" if d.cause is not None else "unexplained")
        for d in report.divergences
    ]
    return "\n".join(lines or [f"{report.verdict}: {'; '.join(report.worst.reasons)}"])
