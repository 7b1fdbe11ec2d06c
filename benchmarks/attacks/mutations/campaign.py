"""Many random mutations, in worker processes, and what they came to."""

from __future__ import annotations

import json
import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.verdict.jobs import quieten

if TYPE_CHECKING:
    from benchmarks.attacks.mutations.judge import Judged

_BATCH = 50  # seeds that a worker gets at a time


def show(seed: int) -> int:
    """Prints a pair's truth and both reports."""
    quieten()
    from benchmarks.attacks.mutations import judge

    given = judge.pair(seed)
    if given is None:
        print(f"seed {seed}: nothing could be mutated")
        return 0
    for node in given.program.nodes:
        print(f"  {node.id}: {node.op}{node.reads} {_brief(node.p)}")
    print(f"outputs {given.program.outputs}; {given.reference} {given.candidate}")
    print(f"{given.mutation.kind}: {given.mutation.about}; truth: {judge.truth(given)}")
    for name, program in (("mutated", given.mutation.program), ("twin", given.program)):
        print(f"--- {name}\n{judge.report(given, program)}")
    return 0


def _brief(p: object) -> str:
    shown = {k: getattr(v, "shape", v) for k, v in p.items()}  # type: ignore[attr-defined]
    return " ".join(f"{key}={value}" for key, value in shown.items())


def run(seed: int, count: int, jobs: int, keep: Path | None) -> int:
    """Judges the mutations of `count` seeds from `seed` on; 1 if a verdict was wrong."""
    started = time.perf_counter()
    results = _kept(keep)
    todo = [one for one in range(seed, seed + count) if one not in results]
    batches = [todo[at : at + _BATCH] for at in range(0, len(todo), _BATCH)]
    file = keep.open("a") if keep else None
    for done in _spread(batches, jobs):
        for one in done:
            results[one.seed] = one
            if file:
                file.write(one.line + "\n")
            if one.wrong_pass or one.alarm or "crash" in one.faulty + one.twin:
                print(_line(one), flush=True)
        if file:
            file.flush()
    if file:
        file.close()
    these = [results[one] for one in range(seed, seed + count) if one in results]
    print("\n".join(summary(these)))
    print(f"{time.perf_counter() - started:.0f} s")
    return int(any(one.wrong_pass or one.alarm for one in these))


def batch(seeds: Sequence[int]) -> list[Judged]:
    """The results of some seeds."""
    quieten()
    from benchmarks.attacks.mutations import judge

    found = [judge.judged(seed) for seed in seeds]
    return [one for one in found if one is not None]


def _spread(batches: Sequence[Sequence[int]], jobs: int) -> Iterator[list[Judged]]:
    if jobs == 1:
        yield from map(batch, batches)
        return
    context = multiprocessing.get_context("spawn")  # frameworks do not survive a fork
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        yield from pool.map(batch, batches)


def _kept(keep: Path | None) -> dict[int, Judged]:
    if keep is None or not keep.exists():
        return {}
    quieten()
    from benchmarks.attacks.mutations.judge import Judged

    whole = keep.read_text().rpartition("\n")[0]  # what was stopped in the middle is no line
    keep.write_text(whole + "\n" if whole else "")
    found = [Judged(**json.loads(line)) for line in whole.splitlines()]
    return {one.seed: one for one in found}


def _line(one: Judged) -> str:
    what = "WRONG PASS" if one.wrong_pass else "ALARM" if one.alarm else "crash"
    return (
        f"{what}: seed {one.seed} ({one.sides}), {one.kind} at {one.about}; {one.times:.3g} times "
        f"rounding; faulty {one.faulty}, twin {one.twin}"
    )


def summary(results: Sequence[Judged]) -> list[str]:
    """A table with a row for each kind of mutation."""
    heads = (
        "faults,WRONG,unverified,diverged,refused,none,between,broken,twins,parity,unverified,ALARM"
    )
    lines = [f"{'kind':20}" + "".join(f"{head:>11}" for head in heads.split(","))]
    kinds = sorted({one.kind for one in results})
    for kind in (*kinds, "all"):
        these = [one for one in results if kind in (one.kind, "all")]
        truths = Counter(one.truth.partition(":")[0] for one in these)
        faulty = Counter(one.faulty.partition(":")[0] for one in these if one.truth == "fault")
        twins = Counter(one.twin.partition(":")[0] for one in these if one.twin)
        row = [
            truths["fault"],
            *(faulty[v] for v in ("parity", "unverified", "diverged")),
            faulty["refused"] + faulty["crash"],
            *(truths[v] for v in ("none", "between", "broken")),
            sum(twins.values()),
            *(twins[v] for v in ("parity", "unverified", "diverged")),
        ]
        lines.append(f"{kind:20}" + "".join(f"{n:11}" for n in row))
    causes = Counter(one.truth for one in results if one.truth.startswith("broken"))
    lines += [f"  {count} times {cause}" for cause, count in causes.most_common(5)]
    return lines
