"""Holds what a run found against what was accepted: what is worse, where, was and now."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date

from parity.baseline.entry import Entry, Layer
from parity.errors import UsageError
from parity.escape import on_one_line
from parity.format import SEVERITY, count

FACTOR = 4.0
# Rounding below this many halves of float32's last digit is luck: few numbers, or exact ones.
_LEAST_ROUNDING = 8 * 2.0**-24
# So is rounding that was this much less than it is now. More is another precision, or another sum.
_LUCK = 16.0
_SHARE = 1e-6  # below what one row or value of any comparison is


def factor_of(given: str | float | None, option: str) -> float:
    """By how much a difference may exceed what it was or its rounding.

    Raises:
        UsageError: it is no number from 1.
    """
    try:
        factor = float(given) if given or given == 0 else FACTOR
    except ValueError:
        factor = 0.0
    if not 1 <= factor < float("inf"):
        shown = f"{given:g}" if isinstance(given, float) else repr(given)
        raise UsageError(f"{option}: {shown} is no factor; give 1 or more.")
    return factor


_FILE = "FILE"  # in the advice, until the file is known
_UPDATE = f"if it is meant, `pytest --parity-baseline {_FILE} --parity-update` accepts it"
_FIND = "the test's own report, or `parity compare`, shows the layers"


@dataclass(frozen=True)
class Failure:
    """Something that is worse than what was accepted.

    Attributes:
        entry: the entry's name.
        where: the layer or output; "" for all of it.
        what: the rule that is broken, in a few words.
        was, now: what was accepted and what is found, in words.
        advice: what to do.
    """

    entry: str
    where: str
    what: str
    was: str
    now: str
    advice: str

    def __str__(self) -> str:
        return "\n  ".join(map(on_one_line, (self.entry, self.change, self.advice)))

    @property
    def change(self) -> str:
        return f"{self.what}{self.place}: was {self.was}, now {self.now}"

    @property
    def place(self) -> str:
        return f" at {self.where}" if self.where else ""


def worse(
    name: str,
    was: Entry,
    now: Entry,
    factor: float = FACTOR,
    today: date | None = None,
    file: str = _FILE,
) -> list[Failure]:
    """How a comparison is worse than its entry of the baseline.

    Args:
        factor: by how much a difference may exceed what it was or its rounding.
        today: for acceptances; without it none expires.
        file: the baseline, for the advice.
    """
    found = [*_verdict(was, now)]
    if not now.generated and not was.generated:
        found += [*_vanished(was, now), *_diverged_layers(was, now)]
        found += [*_coverage(was, now), *_decisions(was, now)]
        if not elsewhere(was, now):
            found += _grown(was, now, factor)
    if today is not None:
        found += _expired(was, now, today)
    return [
        Failure(name, *facts[:-1], facts[-1].replace(_FILE, shlex.quote(file))) for facts in found
    ]


_Facts = tuple[str, str, str, str, str]  # a Failure without its entry


def _verdict(was: Entry, now: Entry) -> Iterator[_Facts]:
    if SEVERITY[now.verdict] > SEVERITY[was.verdict]:
        yield (
            *("", "the verdict is worse", was.verdict, now.verdict),
            f"{_FIND} and the line; what cannot be fixed yet may stay for a while: "
            "`parity baseline accept`",
        )


def _vanished(was: Entry, now: Entry) -> Iterator[_Facts]:
    for layer in was.layers:
        if layer not in now.layers:
            yield (
                *(layer, "a layer has vanished", "matched", "without a partner, or not there"),
                f"{_FIND}; {_UPDATE}",
            )


def _diverged_layers(was: Entry, now: Entry) -> Iterator[_Facts]:
    """Where the verdict is what it was, and the models diverge at another layer."""
    for layer, before in was.layers.items():
        after = now.layers.get(layer)
        if after and after.verdict == "diverged" != before.verdict:
            yield (
                *(layer, "the models diverge", before.verdict, after.verdict),
                f"{_FIND} and the line; {_UPDATE}",
            )


def _grown(was: Entry, now: Entry, factor: float) -> Iterator[_Facts]:
    for layer, before in was.layers.items():
        after = now.layers.get(layer)
        if after is None or before.difference is None or after.difference is None:
            continue
        bound = factor * max(before.difference, _floor(before, after))
        if not after.difference <= bound:
            yield (
                *(layer, "the difference has grown", _size(before), _size(after)),
                f"at most {bound:.1e} is let pass, {factor:g} times the larger of what it was "
                f"and its rounding; {_FIND}; {_UPDATE}",
            )


def _floor(before: Layer, after: Layer) -> float:
    """What rounding may come to: as it was, or as it is now where that can be luck."""
    least = max(before.rounding, _LEAST_ROUNDING)
    return max(least, min(after.rounding, _LUCK * least))


def _size(layer: Layer) -> str:
    """A difference, and how often the rounding of its layer goes into it."""
    assert layer.difference is not None
    if not layer.difference or not layer.rounding:
        return f"{layer.difference:.1e}"
    return f"{layer.difference:.1e} ({layer.difference / layer.rounding:.2g} times its rounding)"


def _coverage(was: Entry, now: Entry) -> Iterator[_Facts]:
    for name, what in (("values", "values"), ("outputs", "outputs")):
        if name == "values" and elsewhere(was, now):
            continue  # other versions take other steps
        if not now.coverage[name] >= was.coverage[name] - _SHARE:
            yield (
                *("", f"fewer {what} are compared"),
                *(_percent(was.coverage[name]), _percent(now.coverage[name])),
                f"{_FIND} without a partner; {_UPDATE}",
            )


def _decisions(was: Entry, now: Entry) -> Iterator[_Facts]:
    for output, before in was.decisions.items():
        after = now.decisions.get(output)
        if after is None:
            yield (
                *(f"output {output}", "no greedy actions are compared"),
                *(_percent(before), "no table of choices, or no such output"),
                f"{_FIND}; {_UPDATE}",
            )
        elif not after >= before - _SHARE:
            yield (
                *(f"output {output}", "fewer greedy actions agree"),
                *(_percent(before), _percent(after)),
                f"{_FIND}; {_UPDATE}",
            )


def _expired(was: Entry, now: Entry, today: date) -> Iterator[_Facts]:
    if was.accepted and now.verdict != "parity" and was.accepted.expired(today):
        yield (
            *("", "an acceptance has expired"),
            *(f"accepted until {was.accepted.until} ({was.accepted.reason})", now.verdict),
            f"fix it, or accept it anew: `parity baseline accept {_FILE} ENTRY --reason WHY "
            "--until DATE`",
        )


def _percent(share: float) -> str:
    return f"{100 * share:.4g}%"


# --- environments --------------------------------------------------------------------------------


def elsewhere(was: Entry, now: Entry) -> list[str]:
    """In what the environments differ, of the facts that both have; [] if in nothing."""
    return [
        f"{framework if fact == framework else f'{framework} {fact}'}: {old} -> {after[fact]}"
        for framework, before in was.environment.items()
        for after in (now.environment.get(framework, {}),)
        for fact, old in before.items()
        if fact in after and old != after[fact]
    ]


def differing(pairs: Iterable[tuple[Entry, Entry]]) -> list[str]:
    """The lines about entries that were made in another environment; [] if none was."""
    others = [found for was, now in pairs if (found := elsewhere(was, now))]
    if not others:
        return []
    facts = dict.fromkeys(fact for found in others for fact in found)
    return [
        f"{count(len(others), 'comparison')} of the baseline "
        f"{'was' if len(others) == 1 else 'were'} made in another environment:",
        *(f"  {fact}" for fact in facts),
        "  compared there: verdicts, matched layers, outputs, decisions; not compared: differences "
        "relative to rounding, the share of values",
    ]


# --- updating ------------------------------------------------------------------------------------


def updated(was: Entry | None, now: Entry, factor: float) -> Entry:
    """What is to be written: the entry as it was where nothing but rounding has changed it.

    An acceptance stays as long as nothing is worse than what it was given for.
    """
    if was is None:
        return now
    if (
        not elsewhere(was, now)
        and _shape(was) == _shape(now)
        and not worse("", was, now, factor)
        and not worse("", now, was, factor)
    ):
        return was
    keeps = was.accepted and now.verdict != "parity" and not worse("", was, now, factor)
    return replace(now, accepted=was.accepted if keeps else None)


def _shape(entry: Entry) -> Mapping[str, object]:
    """All of an entry but its numbers and its acceptance."""
    return {
        **{name: value for name, value in vars(entry).items() if name != "accepted"},
        "layers": [(name, layer.verdict) for name, layer in entry.layers.items()],
        "environment": {name: set(facts) for name, facts in entry.environment.items()},
    }
