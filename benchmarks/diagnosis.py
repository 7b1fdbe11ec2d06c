"""How the gallery's faults are found, placed and explained, and what its clean pairs are called.

    python -m benchmarks.diagnosis [--seeds 3] [--jobs 2] [--only PART] [--write FILE]

Prints Markdown: a row per family of causes, then everything that fell short, with the command that
shows it. Every seed draws other sizes, weights and inputs.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's; it must be set before torch is imported
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


@dataclass(frozen=True)
class Row:
    """What was said of one entry with one seed; plain data, to travel between processes."""

    name: str
    family: str
    clean: bool
    seed: int
    detected: bool = False
    placed: bool = False
    cause: bool = False
    confirmed: bool = False
    unexplained: bool = False
    wrong: bool = False
    error: str = ""
    stated: str = ""
    seconds: float = 0.0

    @property
    def short(self) -> bool:
        """Whether something is not as expected."""
        if self.clean:
            return not self.detected
        return not (self.detected and self.placed and self.cause and self.confirmed) or self.wrong


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.diagnosis",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=3, help="for each entry")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", default="", metavar="PART", help="of a name or a family")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the tables here as well")
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    jobs = [
        (name, seed)
        for name in _names(options.only)
        for seed in range(options.first, options.first + options.seeds)
    ]
    rows = list(_run(jobs, options.jobs))
    lines = list(_tables(rows))
    lines.append(f"\n{len(rows)} comparisons in {time.perf_counter() - started:.0f} s.")
    print("\n".join(lines))
    if options.write:
        options.write.write_text("\n".join(lines) + "\n")
    return 0


def _names(part: str) -> list[str]:
    from benchmarks.corpus.gallery.__main__ import load
    from benchmarks.corpus.gallery.entry import ENTRIES

    load()
    return [e.name for e in ENTRIES.values() if part in e.name or part in e.family]


def _run(jobs: Sequence[tuple[str, int]], processes: int) -> Iterator[Row]:
    if processes == 1:
        yield from map(_judge, jobs)
        return
    context = multiprocessing.get_context("spawn")  # frameworks do not survive a fork
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        yield from pool.map(_judge, jobs, chunksize=10)


def _judge(job: tuple[str, int]) -> Row:
    from benchmarks.corpus.gallery.__main__ import load
    from benchmarks.corpus.gallery.check import check
    from benchmarks.corpus.gallery.entry import ENTRIES

    load()
    name, seed = job
    entry = ENTRIES[name]
    row = Row(name, entry.family, not entry.causes, seed)
    try:
        found = check(entry, seed)
    except Exception as error:  # a crash is a result, to be counted and fixed
        return Row(*job[:1], entry.family, not entry.causes, seed, error=repr(error))
    return Row(
        row.name, row.family, row.clean, seed, found.detected, found.placed, found.cause,
        found.confirmed, found.unexplained, found.wrong, "", found.stated, found.seconds,
    )  # fmt: skip


_HEAD = (
    "family", "faults", "detected", "placed first", "cause first", "confirmed", "unexplained",
    "wrongly explained", "clean", "false alarms", "s per case",
)  # fmt: skip


def _tables(rows: Sequence[Row]) -> Iterator[str]:
    yield f"| {' | '.join(_HEAD)} |"
    yield "|---|" + "---:|" * (len(_HEAD) - 1)
    for family in [*sorted({row.family for row in rows}), ""]:
        of = [row for row in rows if family in ("", row.family)]
        faults = [row for row in of if not row.clean]
        clean = [row for row in of if row.clean]
        cells = [
            family or "**all**",
            len(faults),
            *(
                _share(faults, name)
                for name in ("detected", "placed", "cause", "confirmed", "unexplained", "wrong")
            ),
            len(clean),
            sum(not row.detected for row in clean),
            f"{sum(row.seconds for row in of) / len(of):.2f}" if of else "",
        ]
        yield f"| {' | '.join(map(str, cells))} |"
    short = [row for row in rows if row.short or row.error]
    if short:
        yield "\nShort of what is expected (`python -m benchmarks.corpus.gallery --only NAME`):\n"
    for row in short:
        stated = (row.error or row.stated).replace("\n", "; ")
        yield f"- `{row.name}`, seed {row.seed}: {stated}"


def _share(rows: Sequence[Row], name: str) -> str:
    hits = sum(getattr(row, name) for row in rows)
    return f"{hits} ({hits / len(rows):.1%})" if rows else ""


if __name__ == "__main__":
    sys.exit(main())
