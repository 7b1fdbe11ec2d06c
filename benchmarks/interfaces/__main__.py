"""Whether models with rich interfaces are carried over and compared as they are.

    python -m benchmarks.interfaces [--only NAME]

Each model of the corpus is written in two or three frameworks. For each two of them, both ways,
each with its own weights, `parity.transfer` and `parity.compare` are called once, and nothing is
wrapped. A pair that is not written and `parity` is printed; one that is `diverged`, raises or is
not written makes the exit code 1, unless it is known.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Sequence

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from benchmarks.interfaces.pair import Pair, pairs  # noqa: E402

_IN_NUMPY = "statistics that NumPy reads on Chainer's side, so that no operation has them"
# Right pairs that are not carried over, and why.
KNOWN = {
    Pair(name, *way): why
    for name, one, other, why in (
        ("diffusion_policy", "torch", "keras", "a network that a loop calls on constant times"),
        ("impala", "tensorflow", "chainer", "gates that are normalized, from one product or two"),
        (
            "pointer_policy",
            "torch",
            "chainer",
            "not looked into: a pointer in a loop",
        ),
        ("slate_bandit", "keras", "chainer", _IN_NUMPY),
        ("slate_bandit", "tensorflow", "chainer", _IN_NUMPY),
        (
            "world_planner",
            "tensorflow",
            "chainer",
            "one product over a state and an action, or two",
        ),
    )
    for way in ((one, other), (other, one))
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.interfaces",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", help="models whose name has this in it")
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    wrong = 0
    started = time.perf_counter()
    for pair in pairs():
        if options.only not in pair.name:
            continue
        outcome = pair.judged()
        counts["pairs"] += 1
        counts["transferred"] += outcome.written
        counts["parity"] += outcome.is_right
        wrong += outcome.is_wrong and pair not in KNOWN
        if not outcome.is_right:
            known = f" (known: {KNOWN[pair]})" if pair in KNOWN else ""
            print(f"{pair}: {outcome}{known}", flush=True)
        elif pair in KNOWN:
            print(f"{pair}: is known no longer", flush=True)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    print(f"{time.perf_counter() - started:.0f} s")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
