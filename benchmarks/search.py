"""How often, and how soon, assert_parity(observations=) finds what only some observations show.

python -m benchmarks.search [--quick] [--seeds N|FIRST-LAST] [--only faults|clean|NAME] [--jobs N]

All of it takes a quarter of an hour on one core. It can be run in parts: some of the pairs, some of
the seeds.

Prints for each fault in how many seeds the search finds it within 200 examples, and with how many
examples and seconds in the middle one; beside it the same for plain random search: uniform numbers
of the same shape and bounds, judged in the same way. Then the clean pairs, which must
stay green.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("OMP_NUM_THREADS", "1")

EXAMPLES, ON_CLEAN, SEEDS, ENOUGH = 200, 1000, 20, 19


@dataclass(frozen=True)
class Run:
    """One search: whether it found an observation, with how many examples, in what time (s).

    `green` is whether the test passed; `compared` how many examples were compared in full.
    """

    found: bool
    examples: int
    seconds: float
    green: bool = False
    compared: int = 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 seeds, and 100 examples on clean")
    parser.add_argument("--seeds", type=_seeds, metavar="N|FIRST-LAST")
    parser.add_argument("--only", metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    options = parser.parse_args(arguments)
    seeds = options.seeds or range(3 if options.quick else SEEDS)
    from benchmarks.search_pairs import CLEAN, FAULTS

    faults = [pair.name for pair in FAULTS if options.only in (None, "faults", pair.name)]
    clean = [pair.name for pair in CLEAN if options.only in (None, "clean", pair.name)]
    if not faults and not clean:
        parser.error(f"--only: there is no pair {options.only!r}")
    on_clean = partial(_on_clean, seeds=seeds, count=100 if options.quick else ON_CLEAN)
    short, alarms = [], []
    with _mapping(options.jobs) as mapping:
        print(f"{'fault':22} {'search':>28}   {'random':>28}")
        for name, (line, enough) in zip(
            faults, mapping(partial(_on_fault, seeds=seeds), faults), strict=True
        ):
            print(f"{name:22} {line}", flush=True)
            short += [] if enough else [name]
        for name, (line, green) in zip(clean, mapping(on_clean, clean), strict=True):
            print(f"{name:22} {line}", flush=True)
            alarms += [] if green else [name]
    print(f"found too seldom: {', '.join(short) or 'none'}; alarms: {', '.join(alarms) or 'none'}")
    return 1 if short or alarms else 0


def _seeds(text: str) -> range:
    """`20` for the first twenty, `5-9` for five of them."""
    first, _, last = text.rpartition("-")
    found = range(int(first), int(last) + 1) if first else range(int(last))
    if not found:
        raise argparse.ArgumentTypeError(f"{text} are no seeds")
    return found


@contextlib.contextmanager
def _mapping(jobs: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """`map`, in this process or over several; TensorFlow takes no fork."""
    if jobs < 2:
        yield map
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        yield pool.map


def _on_fault(name: str, seeds: range) -> tuple[str, bool]:
    """What is printed of a fault, and whether the search finds it often enough."""
    pair = _pair(name)
    runs = [searched(pair, seed, EXAMPLES) for seed in seeds]
    blind = [at_random(pair, seed, EXAMPLES) for seed in seeds]
    enough = sum(run.found for run in runs) * SEEDS >= ENOUGH * len(seeds)
    return f"{_line(runs)}   {_line(blind)}", enough


def _on_clean(name: str, seeds: range, count: int) -> tuple[str, bool]:
    """What is printed of a clean pair, and whether it stayed green."""
    runs = [searched(_pair(name), seed, count) for seed in seeds]
    each = 1000 * sum(run.seconds for run in runs) / sum(run.examples for run in runs)
    green = sum(run.green for run in runs)
    full = sum(run.compared for run in runs) / len(seeds)
    line = (
        f"green {green} of {len(seeds)}, {each:.1f} ms per example, "
        f"{full:.0f} of {count} compared in full"
    )
    return line, green == len(seeds)


def _pair(name: str) -> Any:
    from benchmarks.search_pairs import CLEAN, FAULTS

    return next(pair for pair in (*FAULTS, *CLEAN) if pair.name == name)


def searched(pair: Any, seed: int, examples: int) -> Run:
    """The search as the fixture runs it, without shrinking what it finds."""
    from hypothesis import Phase, settings

    import parity
    from parity.comparison import compare
    from parity.observations.search import search

    models = [parity.wrap(model, framework=framework) for model, framework in pair.models]
    chosen = settings(
        max_examples=examples, database=None, phases=[Phase.generate, Phase.target],
        print_blob=False,
    )  # fmt: skip
    decorations = {"_hypothesis_internal_use_seed": seed}
    decorations["_hypothesis_internal_use_settings"] = chosen
    started = time.perf_counter()
    found = search(models, partial(_full, compare, models), pair.observations,
                   decorations=decorations)  # fmt: skip
    seconds = time.perf_counter() - started
    alone = found.verdict == "diverged" and found.alone and found.first <= examples
    count = found.first if alone else found.examples
    return Run(alone, count, seconds, found.verdict == "parity", found.compared)


def at_random(pair: Any, seed: int, examples: int) -> Run:
    """Uniform numbers within what the strategy gives, judged as the search judges them."""
    import numpy as np

    import parity
    from parity.comparison import compare
    from parity.observations.batching import sample
    from parity.observations.search import _SUSPICIOUS
    from parity.observations.unrecorded import plain_runs

    models = [parity.wrap(model, framework=framework) for model, framework in pair.models]
    seen = sample(pair.observations)
    random = np.random.default_rng(seed)
    plain = None
    started = time.perf_counter()
    for count in range(1, examples + 1):
        inputs = _uniform(seen, random)
        plain = plain or plain_runs(models, inputs)
        if plain is not None and plain.excess(inputs) <= _SUSPICIOUS:
            continue
        try:
            differs = compare(*models, inputs=inputs).verdict == "diverged"
        except parity.ParityError:
            differs = True
        if differs:
            return Run(True, count, time.perf_counter() - started)
    return Run(False, examples, time.perf_counter() - started)


def _uniform(seen: Sequence[Any], random: Any) -> Any:
    """As a test writes it by hand: one shape, uniform floats, any of the whole numbers."""
    from parity.model import flatten_inputs, map_arrays

    largest = max(seen, key=lambda one: sum(a.size for a in flatten_inputs(one).values()))
    lows: dict[str, float] = {}
    highs: dict[str, float] = {}
    for one in seen:
        for path, array in flatten_inputs(one).items():
            lows[path] = min(lows.get(path, array.min()), array.min())
            highs[path] = max(highs.get(path, array.max()), array.max())
    paths = iter(flatten_inputs(largest))

    def drawn(array: Any) -> Any:
        path = next(paths)
        if path == "mask":
            mask = random.integers(0, 2, array.shape).astype(array.dtype)
            mask[:, 0] = 1
            return mask
        low, high = float(lows[path]), float(highs[path])
        if array.dtype.kind == "f":
            return random.uniform(low, high, array.shape).astype(array.dtype)
        return random.integers(int(low), int(high) + 1, array.shape).astype(array.dtype)

    return map_arrays(drawn, largest)


def _full(compare: Any, models: Sequence[Any], inputs: Any) -> Any:
    return compare(*models, inputs=inputs)


def _line(runs: Sequence[Run]) -> str:
    found = [run for run in runs if run.found]
    head = f"{len(found):2} of {len(runs)}"
    if not found:
        return f"{head:28}"
    count = statistics.median(run.examples for run in found)
    seconds = statistics.median(run.seconds for run in found)
    return f"{head}, {count:5.0f} ex., {seconds:5.1f} s".ljust(28)


if __name__ == "__main__":
    sys.exit(main())
