"""The rows and the totals, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.strangers.judge import RAN, Row

_HEAD = ("pair", "outputs differ by", "verdict", "first place", "cause", "s", "passes", "GB")


def tables(rows: Sequence[Row]) -> Iterator[str]:
    yield "## Totals"
    yield ""
    yield from totals(rows)
    yield ""
    yield "## Pairs without a fault"
    yield ""
    yield from _table([row for row in rows if row.fault is None])
    yield ""
    yield "## Pairs with a fault"
    yield ""
    yield from _table([row for row in rows if row.fault is not None])
    yield ""
    yield "## The faults, and what was said where not all was right"
    yield ""
    yield from _faults(rows)


def totals(rows: Sequence[Row]) -> Iterator[str]:
    packages = sorted({row.package for row in rows})
    yield f"| | {' | '.join([*packages, 'all'])} |"
    yield "|---|" + "---:|" * (len(packages) + 1)
    for title, count in _COUNTS.items():
        parts = [[row for row in rows if row.package == name] for name in packages]
        yield f"| {title} | {' | '.join(str(count(part)) for part in [*parts, rows])} |"


def _faulty(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.fault is not None and row.outcome != "skipped"]


def _of(rows: Sequence[Row], name: str) -> str:
    return f"{sum(bool(getattr(row, name)) for row in _faulty(rows))} of {len(_faulty(rows))}"


_COUNTS = {
    "pairs": len,
    "skipped": lambda rows: sum(row.outcome == "skipped" for row in rows),
    "crashed, or ended at a limit": lambda rows: sum(
        row.outcome not in (*RAN, "skipped") for row in rows
    ),
    "clean pairs called parity": lambda rows: (
        f"{sum(row.right for row in rows if row.fault is None)} of "
        f"{sum(row.fault is None and row.outcome != 'skipped' for row in rows)}"
    ),
    "false alarms": lambda rows: sum(row.alarm for row in rows),
    "faults called diverged": lambda rows: _of(rows, "right"),
    "first place right": lambda rows: _of(rows, "placed"),
    "right cause named there": lambda rows: _of(rows, "named"),
    "and confirmed": lambda rows: _of(rows, "confirmed"),
    "wrongly explained": lambda rows: sum(bool(row.wrong) for row in rows),
}


def _table(rows: Sequence[Row]) -> Iterator[str]:
    yield f"| {' | '.join(_HEAD)} |"
    yield "|---|---:|---|---|---|---:|---:|---:|"
    for row in rows:
        yield line(row)


def line(row: Row) -> str:
    apart = "" if row.apart is None else f"{row.apart:.0e}"
    cells = [row.name, apart, row.outcome if row.right else f"**{row.outcome}**"]
    if row.outcome not in RAN:
        return f"| {' | '.join([*cells, row.reason, '', '', '', ''])} |"
    cells += [_place(row), _cause(row)]
    cells += [f"{row.seconds:.1f}", f"{row.passes:.0f}", f"{row.gigabytes:.1f}"]
    return f"| {' | '.join(cells)} |"


def _place(row: Row) -> str:
    if not row.place:
        return ""
    return "right" if row.placed else f"**{row.place}**"


def _cause(row: Row) -> str:
    if not row.cause:
        return ""
    stated = row.cause if row.confirmed else f"**{row.cause}**"
    beside = [one for one in row.wrong if one not in row.cause]
    return stated + (f"; **beside it {', '.join(beside)}**" if beside else "")


def _faults(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        if row.fault is not None:
            causes = ", ".join(row.fault.causes) or "none that parity knows"
            yield f"- {row.name}: {row.fault.what}. Right: {causes}."
        elif not row.right:
            yield f"- {row.name}: {row.outcome}: {' '.join(row.reason.split())}"
