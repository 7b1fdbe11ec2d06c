"""What a baseline keeps of a comparison: an entry, made from the report's JSON.

It keeps what can be compared in a later run. So an entry's names hold neither line numbers, which
an edit above moves, nor Keras's running numbers, which depend on what else was built before.
"""

from __future__ import annotations

import platform
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from parity import __version__
from parity.format import SEVERITY
from parity.frameworks import FRAMEWORKS
from parity.safe_json import as_data

_THREADS = "threads"  # change the order of sums, which is rounding, and rounding is allowed for
_DIGITS = 2
_LINE = re.compile(r":\d+$")
_NUMBER = re.compile(r"(.+?)(?:_(\d+))?$")


@dataclass(frozen=True)
class Layer:
    """A layer that has a partner.

    Attributes:
        verdict: as in the report's row.
        difference: the largest, over the layer's scale; inf where NaN or infinity stand in one
            model only; None where shapes differ.
        rounding: what both models are off from their own float64 replays, likewise.
    """

    verdict: str
    difference: float | None
    rounding: float


@dataclass(frozen=True)
class Acceptance:
    """Why a divergence may stay, and until when (the last day, as 2026-12-31)."""

    reason: str
    until: str

    def expired(self, today: date) -> bool:
        return date.fromisoformat(self.until) < today


@dataclass(frozen=True)
class Entry:
    """One candidate against the reference, in one test.

    Attributes:
        source: pytest's id of the test, or the id of the shared fixture that compared.
        shared: whether `source` is a fixture, which runs for whichever test comes first.
        generated: whether the inputs are drawn anew in every run, as hypothesis does. Then the
            worst verdict of all calls is kept, and nothing else, for it would change as well.
        coverage: shares of values and of outputs compared, in 0..1.
        decisions: by output the share of rows with the same greedy action, in 0..1.
        environment: the machine's traits, and the versions and flags of each framework.
        layers: by name; in the order of the data flow.
    """

    source: str
    shared: bool
    verdict: str
    accepted: Acceptance | None = None
    generated: bool = False
    coverage: Mapping[str, float] = field(default_factory=dict)
    decisions: Mapping[str, float] = field(default_factory=dict)
    environment: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    layers: Mapping[str, Layer] = field(default_factory=dict)

    def accepts(self, today: date) -> bool:
        """Whether what is no parity may stay today."""
        return self.accepted is not None and not self.accepted.expired(today)

    def to_dict(self) -> dict[str, Any]:
        """As it stands in the file; what is usual is left out."""
        data = as_data(self)
        shared, source = data.pop("shared"), data.pop("source")
        usual = {"accepted": None, "generated": False}
        return {
            "fixture" if shared else "test": source,
            **{name: one for name, one in data.items() if name not in usual or one != usual[name]},
        }


def merged(one: Entry, other: Entry) -> Entry:
    """Two calls of one comparison as one: that with the worse verdict."""
    return max(one, other, key=lambda entry: SEVERITY[entry.verdict])


# --- from a report -------------------------------------------------------------------------------


def entries_of(
    report: Mapping[str, Any], source: str, shared: bool = False, generated: bool = False
) -> dict[str, Entry]:
    """The entries of a report, by `source: reference -> candidate`.

    Args:
        report: what `Report.to_dict` gives.
        source, shared, generated: as in `Entry`.
    """
    found = {}
    for comparison in report["comparisons"]:
        reference, candidate = report["reference"], comparison["candidate"]
        frameworks = list(dict.fromkeys((reference["framework"], candidate["framework"])))
        found[f"{source}: {reference['name']} -> {candidate['name']}"] = Entry(
            source=source,
            shared=shared,
            verdict=comparison["verdict"],
            **({} if generated else _details(comparison, reference["framework"])),
            environment={
                "machine": _machine(),
                **{name: _facts(report["versions"][name]) for name in frameworks},
            },
            generated=generated,
        )
    return found


def _details(comparison: Mapping[str, Any], reference: str) -> dict[str, Any]:
    """What inputs that stay the same leave the same."""
    coverage, candidate = comparison["coverage"], comparison["candidate"]["framework"]
    return {
        "coverage": {name: round(coverage[name], 4) for name in ("values", "outputs")},
        "decisions": {
            row["name"]: round(row["decisions"]["greedy"], 6)
            for row in comparison["outputs"]
            if row["decisions"]
        },
        "layers": _layers(comparison["layers"], reference, candidate),
    }


def _facts(versions: Mapping[str, str]) -> dict[str, str]:
    return {name: fact for name, fact in versions.items() if name != _THREADS}


def _machine() -> dict[str, str]:
    """What chooses the kernels of sums and products, and who measured them."""
    import numpy as np

    built: Any = np.show_config(mode="dicts") or {}
    extensions = built.get("SIMD Extensions", {}).get("found", [])
    return {
        "parity": __version__,
        "processor": platform.machine(),
        "instructions": extensions[-1] if extensions else "",
    }


def _layers(rows: Sequence[Mapping[str, Any]], reference: str, candidate: str) -> dict[str, Layer]:
    """The rows that have a partner; those of one name get a number."""
    names = [
        _stable((row[side] for row in rows), framework)
        for side, framework in (("reference", reference), ("candidate", candidate))
    ]
    seen: Counter[str] = Counter()
    found = {}
    for row in rows:
        if not row["reference"] or not row["candidate"]:
            continue
        name = f"{names[0][row['reference']]} | {names[1][row['candidate']]}"
        seen[name] += 1
        found[name if seen[name] == 1 else f"{name} ({seen[name]})"] = Layer(
            row["verdict"], _difference(row["difference"]), _rounded(row["rounding"]) or 0.0
        )
    return found


def _stable(names: Iterable[str], framework: str) -> dict[str, str]:
    """Names without what changes from run to run, by the names as they are."""
    plain = {name: _LINE.sub("", name) for name in names}
    known = FRAMEWORKS.get(framework)
    if known is None or not known.numbers_layers:
        return plain
    numbers: dict[str, set[int]] = {}
    for name in plain.values():
        for part in name.split("/"):
            base, number = _split(part)
            numbers.setdefault(base, set()).add(number)

    def renumbered(part: str) -> str:
        base, number = _split(part)
        if len(numbers[base]) == 1:
            return base
        return f"{base}#{sorted(numbers[base]).index(number) + 1}"

    return {
        name: "/".join(renumbered(part) for part in short.split("/"))
        for name, short in plain.items()
    }


def _split(part: str) -> tuple[str, int]:
    """`dense_3` as `dense` and 3; Keras gives the first of its kind no number."""
    found = _NUMBER.match(part)
    return (found[1], int(found[2] or 0)) if found else (part, 0)


def _difference(found: Mapping[str, Any] | None) -> float | None:
    if found is None:
        return None
    return float("inf") if found["nonfinite_differ"] else _rounded(found["relative"])


def _rounded(number: float | str | None) -> float | None:
    """To two digits: what is written is what is compared, and more digits are noise."""
    return None if number is None else float(f"{float(number):.{_DIGITS - 1}e}")


def add(found: Mapping[str, Entry], entries: dict[str, Entry]) -> list[str]:
    """Adds a report's entries to its test's; a second call with the same models gets a number.

    Returns:
        Their names.
    """
    names = []
    for name, entry in found.items():
        own, number = name, 1
        while own in entries and not entry.generated:
            number += 1
            own = f"{name} ({number})"
        entries[own] = merged(entries[own], entry) if own in entries else entry
        names.append(own)
    return names
