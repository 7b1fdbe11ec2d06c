"""What the attacks came to, as text."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.attacks.run import Result


def line(result: Result) -> str:
    """One attack that broke something, or that is broken."""
    said = [
        "WRONG PASS" * result.wrong_pass,
        "ALARM on the twin" * result.alarm,
        result.problem,
        *(v for v in (result.faulty, result.twin) if v.startswith("crash")),
    ]
    what = "; ".join(filter(None, said))
    return f"{result.name} ({result.rule}, round {result.round}): {what}. {result.about}"


def summary(results: Sequence[Result]) -> list[str]:
    """A table with a row for each rule."""
    heads = ("rule", "attacks", "WRONG", "unverified", "diverged", "refused")
    twins = ("parity", "unverified", "ALARM", "refused")
    lines = [
        f"{'':26} {'':7} | {'faulty':^37} | twin",
        f"{heads[0]:26} {heads[1]:>7} | "
        + " ".join(f"{head:>10}" for head in heads[2:])
        + " | "
        + " ".join(f"{head:>10}" for head in twins),
    ]
    rules = list(dict.fromkeys(result.rule for result in results))
    for rule in (*rules, "all"):
        these = [result for result in results if rule in (result.rule, "all")]
        faulty = [_count(these, "faulty", v) for v in ("parity", "unverified", "diverged")]
        twin = [_count(these, "twin", v) for v in ("parity", "unverified", "diverged")]
        lines.append(
            f"{rule:26} {len(these):7} | "
            + " ".join(f"{n:10}" for n in (*faulty, len(these) - sum(faulty)))
            + " | "
            + " ".join(f"{n:10}" for n in (*twin, len(these) - sum(twin)))
        )
    broken = sum(bool(result.problem) for result in results)
    lines.append(f"{broken} errors of the corpus; {sum(r.seconds for r in results):.0f} s of work")
    return lines


def _count(results: Sequence[Result], side: str, verdict: str) -> int:
    return sum(getattr(result, side) == verdict for result in results)
