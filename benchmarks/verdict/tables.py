"""Results as Markdown: by family and by kind, parity beside the other rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from benchmarks.pairs import wilson
from benchmarks.verdict.measure import ROUNDING, Result, Smallest
from benchmarks.verdict.methods import CRADLE, METHODS
from benchmarks.verdict.planted import Planted

KNOWN = ("parity", "diverged", "unverified")
# The rule's best case: its cut put where no clean pair of this run reaches it.
TUNED = "CRADLE, cut above every clean rate"


def clean_tables(results: Sequence[Result]) -> Iterator[str]:
    yield "## Clean pairs"
    yield ""
    pairs = len({result.name for result in results})
    yield f"{pairs} pairs, {len(results)} comparisons. 95% intervals are Wilson's."
    yield ""
    yield from _row("parity says", "of", "share", "interval")
    yield from _rule(4)
    for title, says in (
        ("parity", lambda r: r.verdict == "parity"),
        ("**diverged: a false alarm**", lambda r: r.verdict == "diverged"),
        ("unverified", lambda r: r.verdict == "unverified"),
        ("raised an error", lambda r: r.verdict not in KNOWN),
        ("parity, without the note that is called for", lambda r: not r.noted),
    ):
        yield from _row(title, *_rate(map(says, results)))
    yield ""
    yield "False alarms of each rule, of the comparisons that it could make:"
    yield ""
    yield from _row("family", "pairs", "runs", "parity", *METHODS)
    yield from _rule(4 + len(METHODS))
    for family, of in _groups(results, lambda r: r.family):
        alarms = [_count(r.said[name][0] for r in of if r.said) for name in METHODS]
        own = sum(r.verdict == "diverged" for r in of)
        yield from _row(family, len({r.name for r in of}), len(of), own, *alarms)
    rates = [_percent([r.said[name][0] for r in results if r.said]) for name in METHODS]
    own = _percent([r.verdict == "diverged" for r in results])
    yield from _row("all", pairs, len(results), own, *rates)
    yield ""
    yield "By the style of the inputs:"
    yield ""
    yield from _row("style", "runs", "parity", *METHODS)
    yield from _rule(3 + len(METHODS))
    for style, of in _groups(results, lambda r: r.style):
        alarms = [_count(r.said[name][0] for r in of if r.said) for name in METHODS]
        yield from _row(style, len(of), sum(r.verdict == "diverged" for r in of), *alarms)
    yield ""
    yield from _to_look_at(results)


def _to_look_at(results: Sequence[Result]) -> Iterator[str]:
    bad = [r for r in results if r.verdict != "parity" or not r.noted]
    if bad:
        yield "Not parity (`--only` with the name and `--show` with the number repeat one):"
        yield ""
    for name, of in _groups(bad, lambda r: r.name):
        for verdict, same in _groups(of, lambda r: r.verdict):
            numbers = ", ".join(str(r.number) for r in same[:6]) + (", ..." if same[6:] else "")
            yield f"- {name}: {verdict}, {len(same)} times ({numbers}). {same[0].first[:200]}"
    yield ""


def planted_tables(
    results: Sequence[Result],
    cut: float | None,
    found: Mapping[str, Sequence[Smallest | None]],
    kinds: Iterable[Planted],
) -> Iterator[str]:
    """What was found.

    Args:
        cut: the highest rate that CRADLE gave a clean pair; None if none was run.
        found: by kind, the smallest size found in each direction.
    """
    asked = [r for r in results if r.effect > ROUNDING]
    yield "## Planted faults"
    yield ""
    yield f"{len(results)} comparisons; in {len(asked)} of them the fault changes the outputs by"
    yield "more than one float32 rounding (2^-24 of their size, in float64), and is asked for."
    yield ""
    yield "Found, of those asked for:"
    yield ""
    tuned = [TUNED] * (cut is not None)
    yield from _row("fault", "asked for", "parity", "placed first", *METHODS, *tuned)
    yield from _rule(4 + len(METHODS) + len(tuned))
    for name, of in _groups(asked, lambda r: r.name):
        yield from _row(name, len(of), *_found(of, cut, _count))
    if asked:
        yield from _row("all", len(asked), *_found(asked, cut, _percent))
    yield ""
    yield "Placed by CRADLE's highest rate: " + _percent(
        [r.said[CRADLE][1] for r in asked if r.said]
    )
    yield "of those asked for; by Muffin: " + _percent(
        [r.said["Muffin"][1] for r in asked if r.said]
    )
    yield ""
    yield "The smallest that is found, in each of the directions, on one of three inputs; of a"
    yield "fault that is there or not, the smallest effect that was found:"
    yield ""
    yield from _row("fault", "planted", "smallest found", "effect on the outputs then", "size is")
    yield from _rule(5)
    for kind in kinds:
        if kind.name in found:
            sizes = [one for one in found[kind.name] if one]
            yield from _row(
                kind.name,
                f"{kind.size:.2g}",
                ", ".join(f"{one.size:.1e}" for one in sizes) or "none",
                ", ".join(f"{one.effect:.1e}" for one in sizes) or "none",
                kind.unit,
            )
        elif not kind.continuous:
            of = [r.effect for r in asked if r.name == kind.name and r.verdict == "diverged"]
            least = f"{min(of):.1e}" if of else "none"
            yield from _row(kind.name, "it is there", "", least, "")
    yield ""
    missed = [r for r in asked if r.verdict != "diverged"]
    misplaced = [r for r in asked if r.verdict == "diverged" and not r.placed]
    for title, some in (("Missed", missed), ("Found, placed elsewhere", misplaced)):
        if some:
            yield f"{title}:"
            yield ""
        for name, of in _groups(some, lambda r: r.name):
            one = of[0]
            where = f"{one.family}, input {one.number} ({one.style}), effect {one.effect:.1e}"
            yield f"- {name}: {len(of)} times, as {where}: {one.verdict}; {one.first[:200]}"
        if some:
            yield ""


def _found(
    of: Sequence[Result], cut: float | None, shown: Callable[[list[bool]], str]
) -> Iterator[str]:
    yield shown([r.verdict == "diverged" for r in of])
    yield shown([r.placed for r in of])
    for name in METHODS:
        yield shown([r.said[name][0] for r in of if r.said])
    if cut is not None:
        yield shown([r.rate > cut for r in of if r.said])


def _rate(hits: Iterable[bool]) -> tuple[str, str, str]:
    hits = list(hits)
    low, high = wilson(sum(hits), len(hits))
    return f"{sum(hits)} of {len(hits)}", f"{sum(hits) / len(hits):.2%}", f"{low:.2%} to {high:.2%}"


def _percent(hits: Sequence[bool]) -> str:
    return f"{sum(hits) / len(hits):.1%}" if hits else "none"


def _count(hits: Iterable[bool]) -> str:
    return str(sum(hits))


def _groups(
    results: Iterable[Result], key: Callable[[Result], str]
) -> Iterator[tuple[str, list[Result]]]:
    order: dict[str, list[Result]] = {}
    for result in results:
        order.setdefault(key(result), []).append(result)
    yield from order.items()


def _row(*cells: object) -> Iterator[str]:
    yield f"| {' | '.join(str(cell).replace('|', '/') for cell in cells)} |"


def _rule(columns: int) -> Iterator[str]:
    yield "|---" * columns + "|"
