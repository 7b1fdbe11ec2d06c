"""Attacks the verdict: pairs written to break single rules, and random mutations of programs.

    python -m benchmarks.attacks [--only TEXT] [--draws 0] [--jobs 2] [--list]
    python -m benchmarks.attacks --only NAME --show
    python -m benchmarks.attacks --mutations 20000 [--seed 0] [--jobs 2] [--keep FILE]
    python -m benchmarks.attacks --seed 17 --show

Each attack is a faulty candidate that must not get `parity`, and its correct twin that must not be
`diverged`. Exit code 1 if either happens.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's; it must be set before torch is imported


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.attacks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", metavar="TEXT", default="", help="attacks or rules named so")
    parser.add_argument("--round", type=int, help="attacks of this round alone")
    parser.add_argument("--draws", type=int, default=0, help="seed of what the attacks draw")
    parser.add_argument("--list", action="store_true", help="name the attacks and end")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--mutations", type=int, metavar="N", help="so many random mutations")
    parser.add_argument("--seed", type=int, help="of the first mutation")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="goes on where it was stopped")
    parser.add_argument("--show", action="store_true", help="print the reports")
    options = parser.parse_args(arguments)
    if options.mutations is not None or options.seed is not None:
        from benchmarks.attacks.mutations import campaign

        if options.show:
            return campaign.show(options.seed or 0)
        count = 1 if options.mutations is None else options.mutations
        return campaign.run(options.seed or 0, count, options.jobs, options.keep)
    return _attacks(options)


def _attacks(options: argparse.Namespace) -> int:
    from benchmarks.attacks import run, tables
    from benchmarks.attacks.corpus import attacks
    from benchmarks.verdict.jobs import quieten

    quieten()
    chosen = [
        one
        for one in attacks().values()
        if (options.only in one.name or options.only in one.rule)
        and options.round in (None, one.round)
    ]
    if options.list:
        for one in chosen:
            print(f"{one.round} {one.rule:26} {one.name:40} {one.about}")
        print(f"{len(chosen)} attacks on {len({one.rule for one in chosen})} rules")
        return 0
    if options.show:
        for one in chosen:
            for side in ("faulty", "twin"):
                found = run.report(one, side, options.draws)
                print(f"--- {one.name}, {side}: {one.about}\n{found}")
        return 0
    results = []
    for result in run.run([one.name for one in chosen], options.jobs, options.draws):
        results.append(result)
        if result.fails:
            print(tables.line(result), flush=True)
    print("\n".join(tables.summary(results)))
    return int(any(result.fails for result in results))


if __name__ == "__main__":
    sys.exit(main())
