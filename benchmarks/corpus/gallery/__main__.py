"""Runs entries of the gallery and prints what was reported.

python -m benchmarks.corpus.gallery [--only PART] [--seeds 1] [--bad]
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import benchmarks.corpus.gallery  # noqa: E402
from benchmarks.corpus.gallery.check import check  # noqa: E402
from benchmarks.corpus.gallery.entry import ENTRIES  # noqa: E402


def load() -> None:
    """Imports every module of the gallery, which registers its entries."""
    for module in pkgutil.iter_modules(benchmarks.corpus.gallery.__path__):
        if not module.name.startswith(("_", "test_")):
            importlib.import_module(f"benchmarks.corpus.gallery.{module.name}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corpus.gallery")
    parser.add_argument("--only", default="", help="part of a name or a family")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--bad", action="store_true", help="only what falls short")
    options = parser.parse_args()
    load()
    chosen = [e for e in ENTRIES.values() if options.only in e.name or options.only in e.family]
    good = total = 0
    for entry in chosen:
        for seed in range(options.seeds):
            total += 1
            try:
                outcome = check(entry, seed)
            except Exception as error:
                print(f"ERROR {entry.name} seed {seed}: {type(error).__name__}: {error}")
                continue
            fine = outcome.detected and outcome.all_placed and outcome.all_causes
            good += fine
            if fine and options.bad:
                continue
            state = " ".join(
                f"{name}={'yes' if getattr(outcome, name) else 'NO'}"
                for name in ("detected", "all_placed", "all_causes", "confirmed")
            )
            print(f"{'ok ' if fine else 'BAD'} {entry.family} {entry.name} seed {seed}: {state}")
            print("    " + outcome.stated.replace("\n", "\n    "), flush=True)
    print(f"{good} of {total} as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
