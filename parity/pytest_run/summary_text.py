"""A run's comparisons in words: what was compared, what came of it, what stands out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isnan

from parity.format import count
from parity.pytest_run.summary_data import Compared
from parity.report.sentences import values_matched

VERDICTS = ("parity", "diverged", "unverified")
_MOST = 3  # of the slowest, and of the worst layers
_SLOW = 0.1  # seconds; below it nobody waits

Tested = tuple[str, Compared]  # with the test's id


def lines(found: Sequence[Tested], verbosity: int = 0) -> Iterator[str]:
    """The section's lines: below 0 the first alone, from 1 one for each comparison before it."""
    if verbosity > 0:
        for test, one in found:
            yield f"{test}: {_line(one)}"
    yield f"{'parity: ' if verbosity < 0 else ''}{_headline(found)}"
    if verbosity < 0:
        return
    yield from _coverage([one for _, one in found])
    slowest = sorted(found, key=lambda item: item[1].seconds, reverse=True)[:_MOST]
    for test, one in slowest:
        if len(found) > 1 and one.seconds >= _SLOW:
            yield f"slowest: {one.seconds:.1f} s, {test}: {one.models or 'no comparison'}"
    layers = [(layer, test) for test, one in found for layer in one.layers if layer.badness[1]]
    layers.sort(key=lambda item: item[0].badness, reverse=True)
    for layer, test in layers[:_MOST]:
        verb = "diverges by" if layer.verdict == "diverged" else "differs by"
        amount = _amount(layer.difference, layer.rounding)
        yield f"worst layer: {layer.name} {verb}{amount}, {test}"


def _headline(found: Sequence[Tested]) -> str:
    counts: Counter[str] = Counter()
    for _, one in found:
        counts[one.verdict] += one.times
    accepted = sum(one.times for _, one in found if one.accepted)
    run = counts.total() - counts["error"]
    verdicts = [f"{counts[word]} {word}" for word in VERDICTS if counts[word]]
    tests = len({test for test, _ in found})
    line = f"{count(run, 'comparison')} in {count(tests, 'test')}"
    line += f": {', '.join(verdicts)}" if verdicts else ""
    line += f"; {counts['error']} could not be run" if counts["error"] else ""
    return f"{line}; {accepted} of them accepted" if accepted else line


def _coverage(found: Sequence[Compared]) -> Iterator[str]:
    outputs, values = sum(one.outputs for one in found), sum(one.values for one in found)
    if outputs:
        compared = sum(one.compared for one in found)
        share = sum(one.matched for one in found) / values if values else 0.0
        yield (
            f"coverage: {compared} of {count(outputs, 'output')} compared, {values_matched(share)}"
        )
    examples = sum(one.examples for one in found)
    if examples:
        yield f"hypothesis: {count(examples, 'example')} run"


def _line(one: Compared) -> str:
    """A comparison on one line."""
    if one.verdict == "error":
        return f"could not be run: {one.reason}"
    parts = [f"{one.models}: {one.verdict}{', accepted' if one.accepted else ''}"]
    if one.times > 1:
        parts.append(f"{one.times} times")
    if one.layers:
        layer = one.layers[0]
        where = f" at {layer.name}" if layer.badness[1] else ""
        parts.append(f"largest difference{_amount(layer.difference)}{where}")
    if one.values:
        parts.append(f"coverage {one.matched / one.values:.0%}")
    return ", ".join([*parts, f"{one.seconds:.2f} s"])


def _amount(difference: float, rounding: float = float("nan")) -> str:
    if isnan(difference):
        return " NaN"
    text = f" {difference:.1e} of its scale" if difference else " 0"
    return text if isnan(rounding) else f"{text} (rounding {rounding:.1e})"


def properties(found: Sequence[Compared]) -> list[tuple[str, str]]:
    """A test's comparisons as properties for the file of `--junit-xml`."""
    shown: list[tuple[str, str]] = []
    for number, one in enumerate(found, 1):
        facts = {
            "models": one.models,
            "verdict": one.verdict,
            "reason": one.reason,
            "coverage": f"{one.matched / one.values:.3f}" if one.values else "",
            "difference": f"{one.layers[0].difference:.1e}" if one.layers else "",
            "layer": one.layers[0].name if one.layers else "",
            "reference": one.places[0].reference if one.places else "",
            "candidate": one.places[0].candidate if one.places else "",
        }
        shown += [(f"parity.{number}.{name}", fact) for name, fact in facts.items() if fact]
    return shown
