"""Measures the verdict: false alarms on clean pairs, small planted faults, and others' rules.

    python -m benchmarks.verdict --jobs 2 --write docs/verdict-figures.md
    python -m benchmarks.verdict [--inputs 50] [--only NAME] [--quick]
    python -m benchmarks.verdict --only NAME --show 4

Prints Markdown. `--only` takes a part of a pair's, a family's or a fault's name.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.pages import printed_by
from benchmarks.verdict import jobs

os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's; it must be set before torch is imported


COMMAND = "python -m benchmarks.verdict --jobs 2 --write docs/verdict-figures.md"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.verdict",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--inputs", type=int, default=50, help="for each pair")
    parser.add_argument("--only", metavar="NAME", default="", help="pairs and faults named so")
    parser.add_argument("--quick", action="store_true", help="10 inputs; no smallest sizes")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--show", type=int, metavar="INPUT", help="print one input's reports")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the tables here as well")
    options = parser.parse_args(arguments)
    jobs.quieten()
    clean, planted = chosen(options.only)
    if options.show is not None:
        show(options.only, options.show)
        return 0
    from benchmarks.verdict.tables import clean_tables, planted_tables

    started = time.perf_counter()
    count = 10 if options.quick else options.inputs
    lines: list[str] = []
    cut = None
    if clean:
        results = [r for of in jobs.spread(jobs.clean, clean, count, options.jobs) for r in of]
        cut = max((r.rate for r in results), default=0.0)
        lines += _print(clean_tables(results))
    if planted:
        results = [r for of in jobs.spread(jobs.planted, planted, count, options.jobs) for r in of]
        kinds = [kind for kind in jobs.kinds() if kind.name in planted]
        sizes = {}
        if not options.quick:
            names = [kind.name for kind in kinds if kind.continuous]
            sizes = dict(
                zip(names, jobs.spread(jobs.smallest, names, 3, options.jobs), strict=True)
            )
        lines += _print(planted_tables(results, cut, sizes, kinds))
    lines += _print([f"{time.perf_counter() - started:.0f} s."])
    if options.write:
        title = ["# The verdict, measured", "", f"{printed_by(COMMAND)}.", ""]
        options.write.write_text("\n".join(title + lines) + "\n")
    return 0


def chosen(part: str) -> tuple[list[str], list[str]]:
    """The names of the clean pairs and of the planted kinds."""
    from benchmarks.verdict.clean.catalogue import pairs

    clean = [clean.name for clean in pairs() if part in clean.name or part in clean.family]
    return clean, [kind.name for kind in jobs.kinds() if part in kind.name or part == "planted"]


def show(part: str, number: int) -> None:
    """Print parity's report on one input of each chosen pair."""
    from benchmarks.verdict.clean.catalogue import pairs
    from benchmarks.verdict.inputs import draw
    from benchmarks.verdict.planted import DIRECTIONS

    built = [
        (one.name, one.build(), one.styles)
        for one in pairs()
        if part in one.name or part in one.family
    ]
    for kind in jobs.kinds():
        if part in kind.name:
            for two in DIRECTIONS:
                name = f"{kind.name}, {' to '.join(two)}"
                built.append((name, kind.build(*two, kind.size), kind.styles))
    for name, pair, styles in built:
        *_, (style, inputs) = draw(pair.inputs, number + 1, styles)
        print(f"--- {name}, input {number} ({style})")
        print(replace(pair, inputs=inputs).compare())


def _print(lines: Any) -> list[str]:
    kept = []
    for line in lines:
        print(line, flush=True)
        kept.append(line)
    return kept


if __name__ == "__main__":
    sys.exit(main())
