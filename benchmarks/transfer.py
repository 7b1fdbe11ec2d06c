"""How often weights of drawn architectures come into another framework, and back, bit by bit.

    python -m benchmarks.transfer -n 500 [--seed 0] [--jobs 1] [--negatives 100] [--files 50]
    python -m benchmarks.transfer --case 17

Each architecture goes in one of the six directions, in turn. `wrong` is a verdict of parity with
weights that are not the source's by the map that is known from how the architecture was drawn; it
must never happen. Negatives are transfers into an architecture that differs; files are the
source's weights written in each format and read into a fresh model.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from tests.weights.drawn.cases import DIRECTIONS, Result, judge, judge_files, judge_other
from tests.weights.drawn.nets import net_of_seed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.transfer",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-n", type=int, default=100, help="how many architectures")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--negatives", type=int, default=0, help="how many that differ")
    parser.add_argument("--files", type=int, default=0, help="how many through files")
    parser.add_argument("--case", type=int, metavar="SEED", help="one, in all directions")
    options = parser.parse_args(arguments)
    if options.case is not None:
        print(net_of_seed(options.case))
        print("\n".join(_line(judge(options.case, way)) for way in DIRECTIONS))
        return 0
    started = time.perf_counter()
    seeds = range(options.seed, options.seed + options.n)
    results = list(_each(_judge, seeds, options.jobs))
    print("\n".join(summary(results)))
    wrong = [result for result in results if result.wrong]
    for what, one, count in (
        ("differ", _judge_other, options.negatives),
        ("files", judge_files, options.files),
    ):
        answers = list(_each(one, seeds[:count], options.jobs))
        bad = {seed: text for seed, text in zip(seeds, answers, strict=False) if text}
        drawn = sum(text is not None for text in answers)
        print(f"{what}: {drawn} drawn, {len(bad)} not as they should be {bad or ''}")
        wrong += bad
    print(f"\n{len(results)} architectures in {time.perf_counter() - started:.0f} s")
    return 1 if wrong else 0


def _direction(seed: int) -> tuple[str, str]:
    return DIRECTIONS[seed % len(DIRECTIONS)]


def _judge(seed: int) -> Result:
    return judge(seed, _direction(seed))


def _judge_other(seed: int) -> str | None:
    return judge_other(seed, _direction(seed))


def _each(judged, seeds: Sequence[int], jobs: int) -> Iterator:
    if jobs == 1:
        yield from map(judged, seeds)
        return
    context = multiprocessing.get_context("spawn")  # frameworks do not survive a fork
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        yield from pool.map(judged, seeds, chunksize=10)


def summary(results: Sequence[Result]) -> Iterator[str]:
    """A table by direction and by kind of layer, then what did not come over."""
    titles = ("drawn", "parity", "exact", "wrong", "else", "seconds", "of a pass")
    yield f"{'':24}" + "".join(f"{title:>10}" for title in titles)
    for way in DIRECTIONS:
        yield _row(" to ".join(way), [one for one in results if one.direction == way])
    for kind in sorted({kind for one in results for kind in one.kinds}):
        yield _row(kind, [one for one in results if kind in one.kinds])
    yield _row("all", results)
    yield from (_line(one) for one in results if not one.good)


def _row(name: str, results: Sequence[Result]) -> str:
    if not results:
        return f"{name:24}{0:10}"
    parity = sum(one.verdict == "parity" for one in results)
    counts = (
        len(results),
        parity,
        sum(bool(one.exact) for one in results),
        sum(one.wrong for one in results),
        len(results) - parity,
    )
    seconds, ratio = (
        statistics.median(getattr(one, name) for one in results) for name in ("seconds", "ratio")
    )
    return f"{name:24}" + "".join(f"{n:10}" for n in counts) + f"{seconds:10.2f}{ratio:9.0f}x"


def _line(one: Result) -> str:
    exact = {None: "", True: ", exact there and back", False: ", not exact"}[one.exact]
    return f"case {one.seed}: {' to '.join(one.direction)}: {one.verdict}{exact} {one.reason}"


if __name__ == "__main__":
    sys.exit(main())
