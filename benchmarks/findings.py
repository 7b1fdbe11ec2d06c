"""What comparisons find in the corpora, written to a file and held against an earlier one.

    python -m benchmarks.findings FILE [--jobs 2] [--only PART] [--pairs 100] [--every 8]
    python -m benchmarks.findings --diff BEFORE AFTER

A change of design must not change what is found: run it before, run it after, and look at each
difference. It takes every entry of the gallery, every so many of the ports with their faults, and
generated pairs; of each it keeps the verdict, and of each divergence its place, cause, parameters
and whether it is confirmed. Exits with 1 if two files differ.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's; it must be set before torch is imported
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

Job = tuple[str, str]  # the corpus, and the name in it


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.findings",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", nargs="?", type=Path, help="where the findings are written")
    parser.add_argument("--diff", nargs=2, type=Path, metavar=("BEFORE", "AFTER"))
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--only", default="", metavar="PART", help="of a name")
    parser.add_argument("--pairs", type=int, default=100, help="how many generated pairs")
    parser.add_argument("--every", type=int, default=8, help="of the ports, one in so many")
    options = parser.parse_args(arguments)
    if options.diff:
        return _differences(*(json.loads(path.read_text()) for path in options.diff))
    if options.file is None:
        parser.error("a FILE is needed, or --diff BEFORE AFTER")
    jobs = [
        job for job in _jobs(options.pairs, options.every) if options.only in f"{job[0]} {job[1]}"
    ]
    context = multiprocessing.get_context("spawn")  # frameworks do not survive a fork
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        found = dict(pool.map(_found, jobs, chunksize=4))
    options.file.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    print(f"{len(found)} comparisons written to {options.file}")
    return 0


def _jobs(pairs: int, every: int) -> Iterator[Job]:
    from benchmarks.corpus.gallery.__main__ import load
    from benchmarks.corpus.gallery.entry import ENTRIES
    from benchmarks.ports.port import ports

    load()
    yield from (("gallery", name) for name in ENTRIES)
    yield from (("pairs", str(seed)) for seed in range(pairs))
    for port in ports()[::every] if every else ():
        yield from (("ports", f"{port.name} {fault}") for fault in ["", *port.faults])


def _found(job: Job) -> tuple[str, Any]:
    """One comparison's findings; what it raises is one of them."""
    try:
        found = _stated(_RUN[job[0]](job[1]))
    except Exception as error:
        found = [f"{type(error).__name__}: {error}"]
    return " ".join(job), found


def _gallery(name: str) -> Any:
    import numpy as np

    from benchmarks.corpus.gallery.__main__ import load
    from benchmarks.corpus.gallery.entry import ENTRIES

    load()
    return ENTRIES[name].build(np.random.default_rng(0)).compare()


def _pair(seed: str) -> Any:
    from benchmarks.corpus.pairs.cases import built, case_of_seed, compare

    with built(case_of_seed(int(seed))) as pair:
        return compare(pair)


def _port(name: str) -> Any:
    from benchmarks.ports.port import ports

    folder, _, fault = name.partition(" ")
    return next(port for port in ports() if port.name == folder).compared(fault)


_RUN = {"gallery": _gallery, "pairs": _pair, "ports": _port}


def _stated(report: Any) -> list[str]:
    lines = [report.verdict]
    for one in report.divergences:
        cause = one.cause
        explained = (
            f"{cause.kind} {dict(cause.parameters)} confirmed={cause.confirmed}" if cause else "-"
        )
        lines.append(f"{_place(one.reference)} | {_place(one.candidate)} | {explained}")
    # Keras numbers its layers by what was built before in the process
    return [re.sub(r"_\d+\b", "", line) for line in lines]


def _place(site: Any) -> str:
    return f"{site.op} {site.layer} {Path(site.source).name}"


def _differences(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Prints what is not the same; the exit code."""
    common = sorted(before.keys() & after.keys())
    changed = [name for name in common if before[name] != after[name]]
    for name in changed:
        print(name)
        print("\n".join(f"  - {line}" for line in before[name] if line not in after[name]))
        print("\n".join(f"  + {line}" for line in after[name] if line not in before[name]))
    print(f"{len(common)} compared, {len(changed)} differ")
    return int(bool(changed) or not common)


if __name__ == "__main__":
    sys.exit(main())
