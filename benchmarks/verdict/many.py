"""The verdict alone, on very many comparisons: right pairs, and pairs with a fault.

    python -m benchmarks.verdict.many FOLDER --clean 100000 --mutated 120000 --jobs 2
    python -m benchmarks.verdict.many FOLDER --generated 10000
    python -m benchmarks.verdict.many FOLDER --shard 3/8 ...    # on the third of eight machines
    python -m benchmarks.verdict.many FOLDER --tables [--write FILE]  # of what is in FOLDER so far

`--clean` are pairs of a catalogue on new inputs, `--mutated` random programs with one mutation
whose effect is measured in NumPy (`benchmarks.attacks.mutations`; one of seven changes an output by
less than is judged), `--generated` networks with one fault of a kind (`benchmarks.pairs`).

The work comes in units, each a right pair on fifty inputs or a hundred seeds. A unit that is done
is a line in FOLDER, with its commit; a run that is started again does what is missing. Where parity
passes a fault, or reports a right pair, the line has the seed or the input that repeats it.
Explanations take most of the time and decide no verdict: a fault is compared without them, and once
more with the usual budget where that is not enough to call it `diverged`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.pages import cell, printed_by
from benchmarks.pairs import wilson
from benchmarks.verdict import jobs
from parity import budget
from parity.history.run import commit

os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's; it must be set before torch is imported

INPUTS = 50  # of a right pair in a unit
FAULTS = 100  # seeds in a unit
SECONDS = 0.001  # of a budget that is spent before anything is explained
FIRST_SEED = 200_000_000  # of pairs with a fault; no other benchmark runs those from here on
TASKS = 10  # after which a process is replaced: frameworks keep what they once compiled


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.verdict.many",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clean", type=int, default=0, help="comparisons of right pairs")
    parser.add_argument("--mutated", type=int, default=0, help="seeds of mutated programs")
    parser.add_argument("--generated", type=int, default=0, help="seeds of networks with a fault")
    parser.add_argument("--shard", default="1/1", help="which of how many parts, as 3/8")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--tables", action="store_true", help="print what is there, run nothing")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the tables here as well")
    options = parser.parse_args(arguments)
    part, parts = (int(number) for number in options.shard.split("/"))
    if not 1 <= part <= parts:
        parser.error("--shard takes a part from 1 on, and how many there are: 3/8")
    options.folder.mkdir(parents=True, exist_ok=True)
    if not options.tables:
        units = clean_units(options.clean)
        units += [one for kind in FAULTY for one in faulty_units(kind, getattr(options, kind))]
        _run(options.folder / f"{part}-of-{parts}.jsonl", units[part - 1 :: parts], options)
    text = "\n".join(tables(finished(options.folder)))
    print(text)
    if options.write:
        command = f"python -m benchmarks.verdict.many {options.folder} --tables"
        page = ("# The verdict, on very many comparisons", f"{printed_by(command)}.", text)
        options.write.write_text("\n\n".join(page) + "\n")
    return 0


def clean_units(comparisons: int) -> list[tuple[str, str, int]]:
    """Every right pair on its first inputs, then every one on the next."""
    if not comparisons:
        return []
    from benchmarks.verdict.clean.catalogue import pairs

    names = [one.name for one in pairs()]
    rounds = -(-comparisons // (INPUTS * len(names)))
    return [("clean", name, at * INPUTS) for at in range(rounds) for name in names]


def faulty_units(kind: str, seeds: int) -> list[tuple[str, str, int]]:
    return [(kind, "", at * FAULTS) for at in range(-(-seeds // FAULTS))]


def _run(path: Path, units: Sequence[tuple[str, str, int]], options: Any) -> None:
    done = {tuple(one["unit"]) for one in finished(options.folder)}
    left = [unit for unit in units if unit not in done]
    started = time.perf_counter()
    context = multiprocessing.get_context("spawn")  # frameworks do not survive a fork
    with (
        path.open("a") as lines,
        # an executor that replaces its processes hangs in Python 3.11 (its issue 115634)
        context.Pool(options.jobs, maxtasksperchild=TASKS) as pool,
    ):
        for number, found in enumerate(pool.imap_unordered(work, left), 1):
            print(json.dumps({**found, "commit": commit()[:8]}), file=lines, flush=True)
            taken = time.perf_counter() - started
            print(f"{number} of {len(left)} units, {taken:.0f} s", file=sys.stderr, flush=True)


def finished(folder: Path) -> list[dict[str, Any]]:
    """The units that are done, each once; a line that was cut off by an interruption is none."""
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            try:
                one = json.loads(line)
            except json.JSONDecodeError:
                continue
            found[tuple(one["unit"])] = one
    return list(found.values())


def work(unit: tuple[str, str, int]) -> dict[str, Any]:
    """What was said of each comparison of a unit, counted, and which are to be looked at."""
    jobs.quieten()
    kind, name, start = unit
    results = list(FAULTY[kind](start) if kind in FAULTY else _clean(name, start))
    fine = {"diverged" if kind in FAULTY else "parity", *_LEFT_OUT}
    return {
        "unit": list(unit),
        "said": dict(Counter(verdict for _, verdict, _ in results)),
        "others": [list(one) for one in results if one[1] not in fine],
    }


def _clean(name: str, start: int) -> Iterator[tuple[str, str, str]]:
    from dataclasses import replace
    from itertools import islice

    from benchmarks.verdict.clean.catalogue import pairs
    from benchmarks.verdict.inputs import draw
    from benchmarks.verdict.measure import seed_draws

    clean = next(one for one in pairs() if one.name == name)
    pair = clean.build()
    drawn = enumerate(draw(pair.inputs, start + INPUTS, clean.styles))
    for number, (style, inputs) in islice(drawn, start, None):
        here = replace(pair, inputs=inputs)
        seed_draws(number)
        verdict, first = _verdict(lambda here=here: here.compare())
        yield f"{name}, input {number} ({style})", verdict, first


def _mutated(start: int) -> Iterator[tuple[str, str, str]]:
    from benchmarks.attacks.mutations.judge import pair, report, truth

    for seed in range(FIRST_SEED + start, FIRST_SEED + start + FAULTS):
        named = f"benchmarks.attacks --show --seed {seed}"
        given = pair(seed)
        found = "broken" if given is None else truth(given)[0]
        if given is None or found.startswith("broken"):
            yield named, "not built", ""
        elif found != "fault":
            yield named, "below rounding", ""
        else:
            compare = partial(report, given, given.mutation.program)
            yield named, *_verdict_first(compare)


def _generated(start: int) -> Iterator[tuple[str, str, str]]:
    from benchmarks.corpus.pairs.cases import built, case_of_seed, compare
    from benchmarks.corpus.pairs.faults import FAULTS as kinds

    for number in range(start, start + FAULTS):
        seed = FIRST_SEED + number
        case = case_of_seed(seed, list(kinds)[number % len(kinds)])
        named = f"benchmarks.pairs --case {seed}"
        named += f" --kind {case.fault.kind}" if case.fault else ""
        try:
            with built(case) as pair:
                if case.fault is None or not pair.faithful:
                    yield named, "not built", ""
                    continue
                below = case.effect <= pair.rounding
                verdict, first = _verdict_first(partial(compare, pair))
                yield named, "below rounding" if below and verdict == "parity" else verdict, first
        except Exception as error:  # no pair to judge
            yield named, "not built", f"{type(error).__name__}: {error}".split("\n")[0]


FAULTY = {"mutated": _mutated, "generated": _generated}


def _verdict_first(compare: Callable[[], Any]) -> tuple[str, str]:
    """A verdict without explanations; with them where it is not `diverged`."""
    with budget.limits(SECONDS, None):
        said = _verdict(compare)
    return said if said[0] == "diverged" else _verdict(compare)


def _verdict(compare: Callable[[], Any]) -> tuple[str, str]:
    try:
        report = compare()
    except Exception as error:  # a crash is a result, to be counted and fixed
        return "error", f"{type(error).__name__}: {error}".split("\n")[0]
    return report.verdict, "; ".join(report.comparisons[0].reasons)[:300]


# --- tables --------------------------------------------------------------------------------------


def tables(units: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What was said, in Markdown: of right pairs, of faults, and what is to be looked at."""
    commits = Counter(one["commit"] for one in units)
    yield "Units by commit: " + ", ".join(f"{n} at {name}" for name, n in commits.items()) + "."
    for kind, title in _TITLES.items():
        of = [one for one in units if one["unit"][0] == kind]
        if of:
            yield from _table(kind, title, of)


_LEFT_OUT = ("below rounding", "not built")
_TITLES = {
    "clean": "Right pairs",
    "mutated": "Mutated programs",
    "generated": "Generated networks with a fault",
}


def _table(kind: str, title: str, units: Sequence[dict[str, Any]]) -> Iterator[str]:
    said: Counter[str] = Counter()
    for one in units:
        said.update(one["said"])
    left_out = {name: said.pop(name, 0) for name in _LEFT_OUT}
    total = sum(said.values())
    starts = [one["unit"][2] for one in units]
    size = INPUTS if kind == "clean" else FAULTS
    low, high = min(starts), max(starts) + size - 1
    if kind == "clean":
        which = f"{len({one['unit'][1] for one in units})} pairs, inputs {low} to {high}"
    else:
        which = f"seeds {FIRST_SEED + low} to {FIRST_SEED + high}"
    yield from ("", f"## {title}", "", f"{total} comparisons: {which}.", "")
    yield from ("| said | of | share | 95% interval (Wilson) |", "|---|---|---|---|")
    for verdict in ("parity", "diverged", "unverified", "error"):
        count = said[verdict]
        least, most = wilson(count, total) if total else (0.0, 1.0)
        share = count / total if total else 0.0
        yield f"| {verdict} | {count} of {total} | {share:.3%} | {least:.3%} to {most:.3%} |"
    if kind in FAULTY:
        yield ""
        yield (
            f"Not counted: {left_out['below rounding']} whose fault changes the outputs by no more "
            f"than rounding may, {left_out['not built']} that the generator got wrong."
        )
    others = [one for unit in units for one in unit["others"]]
    wrong = ("parity" if kind in FAULTY else "diverged", "error")
    looked_at = [one for one in others if one[1] in wrong]
    if looked_at:
        yield from ("", "To be looked at:", "")
        yield from (
            f"- {name}: {verdict}. {cell(first)[:200]}" for name, verdict, first in looked_at
        )


if __name__ == "__main__":
    sys.exit(main())
