"""How often faults planted in generated model pairs are found and placed, and false alarms raised.

    python -m benchmarks.pairs -n 1000 [--seed 0] [--jobs 2] [--kind softmax_axis] [--keep FILE]
    python -m benchmarks.pairs --case 17 [--kind clean]

A fault counts as one to be found when it changes the outputs by more than the two models' own
rounding; the others are counted separately as masked. Rates come with Wilson's 95% intervals, and
what was missed with the seed that reproduces it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import multiprocessing
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from benchmarks.corpus.pairs.cases import built, case_of_seed, compare, placed
from benchmarks.corpus.pairs.faults import FAULTS


@dataclass(frozen=True)
class Result:
    """What became of one case."""

    seed: int
    kind: str  # of its fault, or "clean"
    models: str
    causes: tuple[str, ...]  # what the report may call the fault
    masked: bool  # the fault changes the outputs by no more than rounding
    verdict: str  # of the report, or the name of what was raised
    placed: bool
    cause: str  # of the first divergence; "" if it is unexplained
    first: str  # what the report named first, or the message of what was raised


UNBUILT = "not built"  # where the generator wrote no pair that computes what it describes
FORMULA = "different-formula"  # a cause that names nothing


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pairs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-n", type=int, default=100, help="how many pairs")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first pair")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--kind", choices=["any", "clean", *FAULTS], default="any")
    parser.add_argument("--case", type=int, metavar="SEED", help="show one pair and its report")
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="a line per result, so that a run can be taken up"
    )
    options = parser.parse_args(arguments)
    if options.case is not None:
        show(options.case, options.kind)
        return 0
    started = time.perf_counter()
    seeds = range(options.seed, options.seed + options.n)
    if options.keep is None:
        results = list(judge_all(seeds, options.kind, options.jobs))
    else:
        results = list(kept(options.keep, seeds, options.kind, options.jobs))
    print("\n".join(summary(results)))
    print(f"\n{len(results)} pairs in {time.perf_counter() - started:.0f} s")
    return 0


def kept(path: Path, seeds: Sequence[int], kind: str, jobs: int) -> Iterator[Result]:
    """Takes from a file what is in it, runs the rest, and adds that to the file one by one."""
    found = {}
    if path.exists():
        for line in path.read_text().splitlines():
            result = Result(**json.loads(line))
            found[result.seed] = result
    with path.open("a") as lines:
        for result in judge_all([seed for seed in seeds if seed not in found], kind, jobs):
            print(json.dumps(asdict(result)), file=lines, flush=True)
            found[result.seed] = result
    yield from (found[seed] for seed in seeds)


def judge_all(seeds: Sequence[int], kind: str, jobs: int) -> Iterator[Result]:
    if jobs == 1:
        yield from map(partial(judge, kind=kind), seeds)
        return
    context = multiprocessing.get_context("spawn")  # frameworks do not survive a fork
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        yield from pool.map(partial(judge, kind=kind), seeds, chunksize=10)


def judge(seed: int, kind: str) -> Result:
    """Compare the pair of a seed and hold the report against what was planted."""
    case = case_of_seed(seed, kind)
    models = " to ".join(f"{plan.flavour} {plan.layout}" for plan in case.plans)
    planted = case.fault.kind if case.fault else "clean"
    with contextlib.ExitStack() as stack:
        try:
            pair = stack.enter_context(built(case))
            wrong = "" if pair.faithful else "it computes something else"
        except Exception as error:  # no pair to judge, and no reason to lose the others
            wrong = f"{type(error).__name__}: {error}".split("\n")[0]
        if wrong:
            return Result(seed, planted, models, (), False, UNBUILT, False, "", wrong)
        masked = case.fault is not None and case.effect <= pair.rounding
        result = partial(Result, seed, planted, models, case.causes, masked)
        try:
            report = compare(pair)
        except Exception as error:  # a crash is a result, to be counted and fixed
            return result(type(error).__name__, False, "", str(error).split("\n")[0])
        right = placed(report, pair) if case.fault else False
        kinds = [found.cause.kind if found.cause else "" for found in report.divergences]
        return result(report.verdict, right, kinds[0] if kinds else "", first_of(report))


def first_of(report: object) -> str:
    if not report.divergences:
        return "; ".join(getattr(report, "reasons", ())) or "no divergence"
    first = report.divergences[0]
    sites = (first.reference, first.candidate)
    return " | ".join(
        f"{site.op} at {(site.code or site.layer or site.source or '?').strip()}"
        if site
        else "none"
        for site in sites
    )


def summary(results: Sequence[Result]) -> Iterator[str]:
    """The rates, then what was missed."""
    unbuilt = [r for r in results if r.verdict == UNBUILT]
    results = [r for r in results if r.verdict != UNBUILT]
    clean = [r for r in results if r.kind == "clean"]
    faulty = [r for r in results if r.kind != "clean" and not r.masked]
    masked = [r for r in results if r.masked]
    known = ("parity", "diverged", "unverified")
    yield f"{len(faulty)} pairs with a fault above rounding"
    yield rate("found", (r.verdict == "diverged" for r in faulty))
    yield rate("placed first", (r.placed for r in faulty))
    yield rate("cause first", (r.cause in r.causes for r in faulty))
    yield rate("unexplained", (r.verdict == "diverged" and not r.cause for r in faulty))
    yield rate("wrong cause", (wrongly_explained(r) for r in faulty))
    yield rate("unverified", (r.verdict == "unverified" for r in faulty))
    yield rate("raised", (r.verdict not in known for r in faulty))
    yield f"{len(clean)} correct pairs"
    yield rate("parity", (r.verdict == "parity" for r in clean))
    yield rate("false alarms", (r.verdict == "diverged" for r in clean))
    yield rate("unverified", (r.verdict == "unverified" for r in clean))
    yield rate("raised", (r.verdict not in known for r in clean))
    if masked:
        verdicts = Counter(r.verdict for r in masked)
        counted = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        yield f"{len(masked)} pairs with a fault below rounding: {counted}"
    if unbuilt:
        yield f"{len(unbuilt)} pairs that the generator got wrong, in no rate:"
        yield from (f"    --case {r.seed}  {r.models}: {r.kind}; {r.first}" for r in unbuilt)
    yield from missed("not found", (r for r in faulty if r.verdict != "diverged"), faulty)
    yield from missed(
        "found, placed elsewhere",
        (r for r in faulty if r.verdict == "diverged" and not r.placed),
        faulty,
    )
    yield from missed("wrongly explained", filter(wrongly_explained, faulty), faulty)
    yield from missed(
        "unexplained",
        (r for r in faulty if r.verdict == "diverged" and r.cause in ("", FORMULA)),
        faulty,
    )
    yield from missed("not parity", (r for r in clean if r.verdict != "parity"), clean)


def wrongly_explained(result: Result) -> bool:
    # two formulas are true of whatever differs, and no cause
    return result.cause not in ("", FORMULA, *result.causes)


def rate(name: str, hits: Iterable[bool]) -> str:
    hits = list(hits)
    if not hits:
        return f"  {name:<13} none to judge"
    low, high = wilson(sum(hits), len(hits))
    share = f"{sum(hits)}/{len(hits)}"
    return f"  {name:<13} {share:>9}  {sum(hits) / len(hits):7.2%}  [{low:.2%}, {high:.2%}]"


def wilson(hits: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's score interval of a rate (Wilson 1927), 95% at z = 1.96."""
    share, spread = hits / total, z * z / total
    middle = share + spread / 2
    half = z * math.sqrt(share * (1 - share) / total + spread / (4 * total))
    return max(0.0, (middle - half) / (1 + spread)), min(1.0, (middle + half) / (1 + spread))


def missed(title: str, results: Iterable[Result], among: Sequence[Result]) -> Iterator[str]:
    by_kind = defaultdict(list)
    for result in results:
        by_kind[result.kind].append(result)
    if by_kind:
        yield f"\n{title}, by kind:"
    for kind, found in sorted(by_kind.items(), key=lambda item: -len(item[1])):
        yield f"  {kind}: {len(found)} of {sum(r.kind == kind for r in among)}"
        for r in found:
            stated = r.cause or "unexplained"
            yield f"    --case {r.seed}  {r.models}: {r.verdict}; {stated}; {r.first}"


def show(seed: int, kind: str) -> None:
    """Print a pair's sources, the truth about it, and its report."""
    case = case_of_seed(seed, kind)
    with built(case) as pair:
        for model in (pair.reference, pair.candidate):
            print(f"--- {model.path.name}\n{model.path.read_text()}")
        print(f"{case}\nbatch {case.networks[0].batch}, input {case.networks[0].nodes[0].shape}")
        if case.fault:
            print(f"effect on the outputs {case.effect:.1e}, rounding {pair.rounding:.1e}")
        report = compare(pair)
        print(report)
        if case.fault:
            print("placed" if placed(report, pair) else "NOT placed")


if __name__ == "__main__":
    sys.exit(main())
