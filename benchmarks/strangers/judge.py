"""Whether what a report says of a pair is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.strangers.pair import Fault, Pair

FORMULA = "different-formula"  # two formulas are true of whatever differs, and name nothing

RAN = ("parity", "diverged", "unverified")


@dataclass(frozen=True)
class Row:
    """What came of one pair.

    Attributes:
        outcome: the verdict; `crashed`, `ended` (at a limit) or `skipped`.
        reason: why there is no verdict, or what the verdict rests on.
        placed: whether the first divergence is at the fault's place.
        named: whether the cause of the first divergence is a right one.
        confirmed: whether that one is also confirmed.
        wrong: causes that were reported anywhere and are not right, with how sure they are.
        place, cause: what is said of the first divergence.
        passes: the comparison's time in plain passes of both models.
        apart: the largest difference of plainly run outputs over their scale, where they have
            one layout.
    """

    name: str
    package: str
    fault: Fault | None
    outcome: str
    reason: str = ""
    placed: bool = False
    named: bool = False
    confirmed: bool = False
    wrong: tuple[str, ...] = ()
    place: str = ""
    cause: str = ""
    seconds: float = 0.0
    passes: float = 0.0
    gigabytes: float = 0.0
    apart: float | None = None

    @property
    def right(self) -> bool:
        """Whether the verdict is right; what did not run is not."""
        return self.outcome == ("diverged" if self.fault else "parity")

    @property
    def alarm(self) -> bool:
        return self.fault is None and self.outcome == "diverged"


def judged(pair: Pair, said: Mapping[str, Any]) -> Row:
    """The row of a pair, from what its process printed."""
    outcome = said["outcome"]
    found = said.get("divergences", ())
    row = {
        "name": pair.name,
        "package": pair.package,
        "fault": pair.fault,
        "outcome": outcome,
        "reason": said.get("reason", ""),
        "apart": said.get("apart"),
        **{key: said.get(key, 0.0) for key in ("seconds", "passes", "gigabytes")},
    }
    if not found or outcome not in RAN:
        return Row(**row)
    first, right = found[0], pair.fault.causes if pair.fault else ()
    named = first["cause"] in right
    return Row(
        **row,
        placed=_is_placed(pair.fault, first),
        named=named,
        confirmed=named and first["confirmed"],
        wrong=tuple(
            dict.fromkeys(
                _stated(one) for one in found if one["cause"] not in ("", FORMULA, *right)
            )
        ),
        place=f"{first['words'][0]} at {first['layers'][0] or first['lines'][0]}",
        cause=_stated(first) + _later(found[1:], right),
    )


def said_of(report: Any) -> dict[str, Any]:
    """What the judgement reads of a report, as plain data."""
    return {
        "outcome": report.verdict,
        "reason": "; ".join(report.worst.reasons[:1]),
        "divergences": [
            {
                "layers": [one.reference.layer, one.candidate.layer],
                "words": [one.reference.op, one.candidate.op],
                "lines": [_line(one.reference), _line(one.candidate)],
                "cause": one.cause.kind if one.cause is not None else "",
                "confirmed": one.cause is not None and bool(one.cause.confirmed),
            }
            for one in report.divergences
        ],
    }


def _is_placed(fault: Fault | None, one: Mapping[str, Any]) -> bool:
    return fault is not None and any(
        place in one["words"] or any(place in where for where in (*one["layers"], *one["lines"]))
        for place in fault.places
    )


def _stated(one: Mapping[str, Any]) -> str:
    if not one["cause"]:
        return "unexplained"
    return f"{one['cause']} ({'confirmed' if one['confirmed'] else 'not proved'})"


def _later(rest: Any, right: tuple[str, ...]) -> str:
    """The first right cause of a later divergence, where there is one."""
    later = next((_stated(one) for one in rest if one["cause"] in right), "")
    return f"; later {later}" if later else ""


def _line(site: Any) -> str:
    return str(site.source).rsplit("/", 1)[-1]
