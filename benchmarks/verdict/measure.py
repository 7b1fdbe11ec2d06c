"""Runs the comparisons: parity's verdict and the other rules', on each pair and each input."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import tensorflow as tf
import torch

from benchmarks.corpus.scenarios.pair import Pair
from benchmarks.verdict import methods
from benchmarks.verdict.clean.subject import Clean
from benchmarks.verdict.inputs import draw
from benchmarks.verdict.planted import DIRECTIONS, Planted
from parity.tape import Tape

# One rounding of float32: what a fault's effect on the outputs must exceed to be asked for.
ROUNDING = 2.0**-24


@dataclass(frozen=True)
class Result:
    """What was said of one pair on one input.

    Attributes:
        verdict: parity's, or the name of what it raised.
        first: the first divergence, reason or message.
        placed: whether the first divergence is the planted fault.
        noted: whether the report carries the note that the pair calls for.
        effect: of the fault on the outputs in float64, relative; 0 for a clean pair.
        said: by rule, whether it says that the models differ, and whether it places the fault.
        rate: the highest of CRADLE's rates.
    """

    name: str
    family: str
    number: int
    style: str
    verdict: str
    first: str
    seconds: float
    placed: bool = False
    noted: bool = True
    effect: float = 0.0
    said: dict[str, tuple[bool, bool]] = field(default_factory=dict)
    rate: float = 0.0


def measure_clean(clean: Clean, count: int) -> Iterator[Result]:
    pair = clean.build()
    for number, (style, inputs) in enumerate(draw(pair.inputs, count, clean.styles)):
        here = replace(pair, inputs=inputs)
        seed_draws(number)
        verdict, first, report, seconds = said_by_parity(here)
        kinds = (
            {note.kind for comparison in report.comparisons for note in comparison.notes}
            if (report is not None)
            else set()
        )
        result = Result(
            clean.name, clean.family, number, style, verdict, first, seconds,
            noted=not clean.noted or clean.noted in kinds,
        )  # fmt: skip
        yield _with_rules(result, here, None)


def measure_planted(planted: Planted, count: int) -> Iterator[Result]:
    for two in DIRECTIONS:
        faulty, sound = (planted.build(*two, size) for size in (planted.size, 0.0))
        for number, (style, inputs) in enumerate(draw(faulty.inputs, count, planted.styles)):
            here = replace(faulty, inputs=inputs)
            verdict, first, report, seconds = said_by_parity(here)
            found = report.divergences if report is not None else []
            result = Result(
                planted.name, " to ".join(two), number, style, verdict, first, seconds,
                placed=bool(found) and planted.is_at(found[0].reference, found[0].candidate),
                effect=effect(here, replace(sound, inputs=inputs)),
            )  # fmt: skip
            yield _with_rules(result, here, planted)


def seed_draws(number: int) -> None:
    """What models draw is the same in every run of the benchmark."""
    torch.manual_seed(number)
    tf.random.set_seed(number)


def said_by_parity(pair: Pair) -> tuple[str, str, Any, float]:
    """Verdict, first reason, report, seconds."""
    started = time.perf_counter()
    try:
        report = pair.compare()
    except Exception as error:  # a crash is a result, to be counted and fixed
        message = str(error).split("\n")[0]
        return type(error).__name__, message, None, time.perf_counter() - started
    return report.verdict, _first(report), report, time.perf_counter() - started


def _first(report: Any) -> str:
    if report.divergences:
        first = report.divergences[0]
        where = [f"{s.op} {s.layer} {s.code}".strip() for s in (first.reference, first.candidate)]
        return f"{' | '.join(where)}; residual {first.residual:.1e}"
    return "; ".join(report.comparisons[0].reasons)


def _with_rules(result: Result, pair: Pair, planted: Planted | None) -> Result:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = methods.run(pair)
        except Exception:  # what keeps parity from comparing is counted there
            return result
        answers = {name: rule(found) for name, rule in methods.METHODS.items()}
    said = {
        name: (
            answer.differ,
            planted is not None and answer.sites is not None and planted.is_at(*answer.sites),
        )
        for name, answer in answers.items()
    }
    return replace(result, said=said, rate=answers[methods.CRADLE].rate)


def effect(faulty: Pair, sound: Pair) -> float:
    """How much the fault changes the candidate's outputs, in float64 and relative to their size.

    Infinite where it changes which of them are NaN or infinite.
    """
    wrong, right = (_outputs(methods.record(pair, True)) for pair in (faulty, sound))
    found = 0.0
    for a, b in zip(wrong, right, strict=True):
        if not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return float("inf")
        kept = np.isfinite(a)
        size = float(np.sqrt(np.mean(b[kept] ** 2)))
        gap = float(np.sqrt(np.mean((a[kept] - b[kept]) ** 2)))
        found = max(found, gap / size if size else float(gap > 0))
    return found


def _outputs(tape: Tape) -> list[np.ndarray]:
    replay = tape.replay("float64")
    return [replay.array(value) for value in tape.outputs.values()]


@dataclass(frozen=True)
class Smallest:
    """The smallest size of a fault that is found, and what it does to the outputs then."""

    size: float
    effect: float


def smallest(planted: Planted, two: tuple[str, str], inputs: int = 3) -> Smallest | None:
    """Halves the interval of sizes, on a scale of factors, down to a factor of 1.2.

    A size counts as found when parity finds it on one of a few inputs.
    """
    low, high = planted.size * 1e-7, planted.size
    found = _found(planted, two, high, inputs)
    if found is None:
        return None
    while high / low > 1.2:
        middle = (high * low) ** 0.5
        smaller = _found(planted, two, middle, inputs)
        if smaller is None:
            low = middle
        else:
            high, found = middle, smaller
    return found


def _found(planted: Planted, two: tuple[str, str], size: float, inputs: int) -> Smallest | None:
    faulty, sound = (planted.build(*two, one) for one in (size, 0.0))
    for _, drawn in draw(faulty.inputs, inputs, planted.styles):
        here = replace(faulty, inputs=drawn)
        if said_by_parity(here)[0] == "diverged":
            return Smallest(size, effect(here, replace(sound, inputs=drawn)))
    return None
