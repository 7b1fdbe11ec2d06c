"""What parity says of models that draw random numbers: right pairs, and wrong ones.

    python -m benchmarks.random --seeds 20 [--batches 1,5,64] [--subject NAME] [--part 1/2]

Each pair is compared with the candidate right, and with each of its faults, on inputs of several
batch sizes. A right pair must not be `diverged`; a wrong one must be, at a line of the fault.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.random",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=2, help="of weights, inputs and draws")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--batches", default="1,5,64", help="sizes, with commas between")
    parser.add_argument("--subject", default="", help="only those whose name has this in it")
    parser.add_argument("--fault", default=None, help='only this fault; "" is none')
    parser.add_argument("--part", default="1/1", help="K/N: every N-th pair from the K-th")
    parser.add_argument("--show", action="store_true", help="print each result that is not wanted")
    options = parser.parse_args(arguments)
    from .cases import cases, outcome

    started = time.perf_counter()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    unwanted: Counter[tuple[str, str]] = Counter()
    for case in cases(options):
        result = outcome(case)
        counts[case.kind][result.verdict] += 1
        if result.verdict not in ("parity" if not case.fault else "diverged",):
            unwanted[f"{case.label}: {result.verdict}", result.told] += 1
            if options.show:
                print(f"{case}: {result.verdict}: {result.told}", flush=True)
    for line in _table(counts, unwanted):
        print(line)
    print(
        f"{sum(map(sum, (c.values() for c in counts.values())))} comparisons in "
        f"{time.perf_counter() - started:.0f} s"
    )
    alarms = sum(c["diverged"] + c["error"] for k, c in counts.items() if k.startswith("right"))
    passes = sum(c["parity"] for k, c in counts.items() if k.startswith("wrong"))
    return int(bool(alarms or passes))


def _table(counts: dict[str, Counter[str]], unwanted: Counter[tuple[str, str]]) -> Iterator[str]:
    heads = ("parity", "unverified", "diverged", "diverged elsewhere", "error")
    yield f"{'':44}" + "".join(f"{head:>20}" for head in heads)
    for side in ("right", "wrong"):
        total: Counter[str] = Counter()
        for kind, found in sorted(counts.items()):
            if kind.startswith(side):
                total += found
                yield f"{kind:44}" + "".join(f"{found[head]:20}" for head in heads)
        count = sum(total.values()) or 1
        yield f"{'all ' + side:44}" + "".join(
            f"{f'{total[head]} ({total[head] / count:.1%})':>20}" for head in heads
        )
    for (label, told), count in unwanted.most_common(120):
        yield f"{count:5} {label}: {told[:300]}"


if __name__ == "__main__":
    raise SystemExit(main())
