"""Searches for an observation on which models diverge: hypothesis draws, the comparison judges.

Each example runs through the models plainly, which takes one forward pass. Only where their outputs
differ by more than rounding leaves does `parity.compare` judge it, and what it says decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unittest import SkipTest

from hypothesis import Phase, currently_in_test_context, given, settings, target
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from parity.errors import InputError, ParityError, UsageError
from parity.keeping import one_comparison
from parity.model import Inputs, Model, as_arrays, flatten_inputs
from parity.observations.batching import (
    ROWS,
    accompanied,
    companies,
    fingerprint,
    redrawn,
    sample,
)
from parity.observations.unrecorded import PlainRuns, plain_runs
from parity.report.report import Report

Compare = Callable[[Inputs], Report]

# Suspicious is what exceeds the rounding measured on a few observations by so much: it is judged.
# After so many that comparing cleared, only what exceeds it by the second number is; the rest is
# counted, and the outcome states it.
_SUSPICIOUS = 8.0
_SURELY = 64.0
_MOST_CLEARED = 64
# Rounding is nothing to climb: hypothesis would spend its examples and time on it.
_CLIMBED = _SUSPICIOUS / 2
_HIGHEST = 2.0**60  # for hypothesis, which takes no inf
# Values that a space's observations may well take and random ones do not.
_EDGES = ("sparse", "zeros", "one-hot", "ties", "constant-image", "saturating", "bytes")
_TARGET = "difference over rounding, in powers of two"
# A clip or a saturation gives no difference to climb before it is reached.
_REACH = "size of the outputs, over what is usual"


@dataclass(frozen=True)
class Found:
    """The outcome of a search.

    Attributes:
        observation: what the report is on where it is no `"parity"`: the smallest failing example,
            or several together where `alone` is false and no example diverges by itself.
        report: of the comparison that decides; None where a model raised.
        random: distinct random inputs of the same shapes, and `on_random` the report on them, None
            where a model raises on them.
        error: of a model that raised on the observation; there is no report then.
        examples: how many were run, `compared` how many of them in full; `first` the number of the
            first that failed, from 1, or 0.
        notes: what hypothesis adds, such as how to have the failing example again.
        unjudged: how many examples differed by more than rounding leaves and were not compared in
            full, `furthest` by how many times at most.
    """

    observation: Inputs | None
    report: Report | None
    random: Inputs | None = None
    on_random: Report | None = None
    error: ParityError | None = None
    examples: int = 0
    compared: int = 0
    first: int = 0
    notes: tuple[str, ...] = ()
    alone: bool = True
    unjudged: int = 0
    furthest: float = 0.0

    @property
    def caveat(self) -> str:
        """What was not judged, in the user's words; "" where all was."""
        if not self.unjudged:
            return ""
        return (
            f"of {self.examples} observations {self.unjudged} were not compared in full, though "
            f"their outputs differ by up to {self.furthest:.0f} times what rounding leaves: "
            f"{_MOST_CLEARED} such had been compared before, and agreed"
        )

    @property
    def verdict(self) -> str:
        """As of the report; `"diverged"` where a model raised."""
        return "diverged" if self.report is None else self.report.verdict


class Diverged(AssertionError):
    """An observation on which the models diverge; hypothesis shrinks it."""


def strategy_of(observations: Any) -> SearchStrategy[Any]:
    """A strategy as it is; of a space its observations in batches, single ones as often as others.

    Half of a space's are of different values, the others of zeros, ties and the like.

    Raises:
        ParityError: it is neither.
    """
    if isinstance(observations, SearchStrategy):
        return observations
    import parity

    build: Any = getattr(parity, "observations", None)
    sizes = getattr(build, "batch_sizes", None)
    if sizes is None:
        raise InputError(
            f"observations is {type(observations).__name__}; give a strategy of hypothesis."
        )
    batch = st.one_of(st.just(1), sizes(observations))
    edges = [edge for edge in _EDGES if _fits(build, observations, edge)]
    drawn: list[SearchStrategy[Any]] = [build(observations, batch=batch)]
    if edges:
        drawn.append(build(observations, batch=batch, edges=edges))
    return st.one_of(drawn)


def _fits(build: Any, space: Any, edge: str) -> bool:
    try:
        build(space, edges=[edge])
    except InputError:
        return False
    return True


def search(
    models: Sequence[Model],
    compare: Compare,
    observations: SearchStrategy[Any],
    max_examples: int | None = None,
    name: str = "observations",
    key: str = "",
    decorations: Mapping[str, Any] | None = None,
) -> Found:
    """Runs the property that models agree on every observation.

    Args:
        models: the reference and its candidates, wrapped.
        compare: the full comparison of these models.
        observations: a strategy of inputs, laid out as the reference takes them.
        max_examples: in place of the profile's.
        name: of the test, for hypothesis's messages.
        key: of this search in the database of examples.
        decorations: attributes that hypothesis's decorators left on the test: settings, a seed, a
            failure to reproduce, explicit examples.

    Raises:
        InputError: it is called inside a test that hypothesis runs.
        UsageError: the comparison was asked for something that is not there.
        HypothesisException: as hypothesis has it, such as for a strategy that gives nothing.
    """
    _check(models)
    with one_comparison():
        return _search(models, compare, observations, max_examples, name, key, decorations)


def _search(
    models: Sequence[Model],
    compare: Compare,
    observations: SearchStrategy[Any],
    max_examples: int | None,
    name: str,
    key: str,
    decorations: Mapping[str, Any] | None,
) -> Found:
    seen = sample(observations)
    run = _Search(models, compare, seen)
    property_ = _property(run, observations, max_examples, name, key, decorations or {})
    try:
        property_()
    except Diverged as failure:
        found = explained(run.failed, compare, seen)
        return replace(
            found,
            examples=run.examples,
            compared=run.compared,
            first=run.first,
            unjudged=run.unjudged,
            furthest=run.furthest,
            notes=tuple(
                note
                for note in getattr(failure, "__notes__", ())
                if not _shows_the_example(note, name)
            ),
        )
    except SkipTest:  # the settings of hypothesis run no example
        if run.on_company[0] is None or run.on_company[0].verdict == "parity":
            raise
    report, error = run.on_company
    if error is not None:
        raise error
    observation = None if report is None or report.verdict == "parity" else run.company
    if observation is None and run.undecided is not None:
        observation, report = run.undecided
    found = Found(
        observation,
        report,
        examples=run.examples,
        compared=run.compared,
        alone=False,
        unjudged=run.unjudged,
        furthest=run.furthest,
    )
    return replace(found, report=_with_caveat(report, found.caveat))


def _shows_the_example(note: str, name: str) -> bool:
    """Whether a note of hypothesis's prints the call that failed, which is shown anyway."""
    return f"{name}(" in note and "observation=" in note


def _with_caveat(report: Report | None, caveat: str) -> Report | None:
    if report is None or not caveat:
        return report
    comparisons = (replace(one, caveats=(*one.caveats, caveat)) for one in report.comparisons)
    return replace(report, comparisons=tuple(comparisons))


def explained(observation: Inputs, compare: Compare, seen: Sequence[Inputs]) -> Found:
    """The comparison on a failing observation, and on random inputs of the same shapes."""
    report, error = _tried(compare, observation)
    flat = flatten_inputs(observation).values()
    sizes = (ROWS, None) if all(array.ndim for array in flat) else (None,)
    drawn = [redrawn(observation, seen, rows) for rows in sizes]
    for random in drawn:
        on_random, _ = _tried(compare, random)
        if on_random is not None:
            return Found(observation, report, random, on_random, error)
    return Found(observation, report, drawn[0], None, error)


def _tried(compare: Compare, inputs: Inputs) -> tuple[Report | None, ParityError | None]:
    try:
        return compare(inputs), None
    except UsageError:  # of the call, such as a formula that raises: no model's fault
        raise
    except ParityError as error:
        return None, error


class _Search:
    """What is known while hypothesis draws."""

    def __init__(self, models: Sequence[Model], compare: Compare, seen: Sequence[Inputs]) -> None:
        self._compare = compare
        self._verdicts: dict[bytes, str] = {}
        self._cleared = self.unjudged = 0
        self.furthest = 0.0
        self.failed: Inputs = None
        self.undecided: tuple[Inputs, Report] | None = None  # an observation that proved nothing
        self.examples = self.compared = self.first = 0
        for self.company in companies(seen):
            self.on_company = _tried(compare, self.company)
            if self.on_company[0] is not None:
                break
        self._plain: PlainRuns | None = None
        if self.on_company[0] is not None:
            self._plain = plain_runs(models, self.company)

    def check(self, observation: Any) -> None:
        """One example of the property.

        Raises:
            Diverged: the models diverge on it, or one of them raises.
        """
        inputs = as_arrays(observation)
        self.examples += 1
        excess = float("inf") if self._plain is None else self._plain.excess(inputs)
        if self._plain is not None and self.failed is None:  # once one is found, nothing is climbed
            target(self._plain.reach, label=_REACH)
            if not excess <= _CLIMBED:
                target(math.log2(min(excess, _HIGHEST)), label=_TARGET)
        key = fingerprint(inputs)
        verdict = self._verdicts.get(key)
        if verdict is None:
            # not (a <= b): a NaN is suspicious
            suspicious = not excess <= _SUSPICIOUS
            if not suspicious and self.compared:
                return
            if suspicious and excess <= _SURELY and self._cleared >= _MOST_CLEARED:
                self._verdicts[key] = "unjudged"
                self.unjudged += 1
                self.furthest = max(self.furthest, excess)
                return
            verdict = self._verdicts[key] = self._judged(inputs, suspicious)
            self._cleared += verdict == "parity" and suspicious and self._plain is not None
        if verdict == "diverged":
            self.failed = inputs
            self.first = self.first or self.examples
            raise Diverged("the models diverge on this observation")

    def _judged(self, inputs: Inputs, suspicious: bool) -> str:
        """The verdict of the full comparison; where it cannot decide, that on a batch with others.

        An observation of zeros, say, proves nothing by itself.
        """
        self.compared += 1
        report, _ = _tried(self._compare, inputs)
        if report is None:
            return "diverged"
        if report.verdict != "unverified" or not suspicious:
            return report.verdict
        batch = accompanied(inputs, self.company)
        again = None if batch is None else _tried(self._compare, batch)[0]
        if again is None or again.verdict == "unverified":
            self.undecided = self.undecided or (inputs, report)
            return "unverified"
        return again.verdict


def _check(models: Sequence[Model]) -> None:
    if currently_in_test_context():
        raise InputError(
            "observations= runs hypothesis itself, and this test is under @given. Take @given off "
            "the test, or pass what it draws: assert_parity(..., inputs=observation)."
        )
    for model in models:
        if model.inputs is not None:
            raise InputError(
                f"{model.name} is wrapped with inputs of its own, and observations= draws inputs "
                "for all models. Leave one of them out."
            )


def _property(
    run: _Search,
    observations: SearchStrategy[Any],
    max_examples: int | None,
    name: str,
    key: str,
    decorations: Mapping[str, Any],
) -> Callable[[], None]:
    """The test that hypothesis runs, with the settings of the profile or of the user's test."""

    def property_(observation: Any) -> None:
        run.check(observation)

    property_.__name__ = property_.__qualname__ = name
    for attribute, found in decorations.items():
        setattr(property_, attribute, found)
    chosen = decorations.get("_hypothesis_internal_use_settings") or settings()
    adapted = settings(
        chosen,
        deadline=None,  # it would watch how long comparing takes
        report_multiple_bugs=False,  # two ways to diverge are one failure: the smallest
        # explaining traces what runs, which here is the comparison
        phases=[phase for phase in chosen.phases if phase is not Phase.explain],
        max_examples=max_examples or chosen.max_examples,
    )
    property_._hypothesis_internal_use_settings = adapted  # type: ignore[attr-defined]
    property_._hypothesis_internal_add_digest = key.encode()  # type: ignore[attr-defined]
    tested: Callable[[], None] = given(observation=observations)(property_)
    return tested
