"""What parity says of models that nobody here wrote: right ports in public packages, and faults.

    make strangers [ARGS="--only PART --jobs 2 --write docs/strangers.md"]

Each pair is compared in a process of its own. Printed are a row per pair and the totals. A pair
whose package is missing is skipped, and never counts as passed. It exits with 1 where a clean pair
is not parity, a fault is not found, or a cause is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's; it must be set before torch is imported
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from benchmarks.strangers.alone import job, run  # noqa: E402
from benchmarks.strangers.judge import RAN, Row, judged  # noqa: E402
from benchmarks.strangers.pair import Pair, pairs  # noqa: E402
from benchmarks.strangers.tables import line, tables  # noqa: E402

_PACKAGES = ("transformers", "pytorchcv", "efficientnet_pytorch", "pfrl", "chainerrl",
             "torch", "tensorflow-cpu", "keras", "tf-keras", "chainer")  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.strangers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", metavar="PART", help="of a name or a package")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--seconds", type=float, default=300.0, help="that a process may take")
    parser.add_argument("--gigabytes", type=float, default=8.0, help="that a process may take")
    parser.add_argument("--list", action="store_true", help="only the names and the faults")
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="what was said of each pair; pairs in it are done"
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page here as well")
    parser.add_argument("--job", metavar="NAME", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.job:
        return job(options.job)
    chosen = [one for one in pairs().values() if options.only in f"{one.package}/{one.name}"]
    if options.list:
        for pair in chosen:
            print(f"{pair.name:34} {pair.fault.what if pair.fault else ''}")
        return 0
    rows = list(_rows(chosen, options))
    stated = "make strangers"
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given:
        stated += f' ARGS="{" ".join(given)}"'
    print("\n" + "\n".join(tables(rows)))
    if options.write:
        options.write.write_text("\n".join(page(rows, stated)) + "\n", encoding="utf-8")
    short = any(row.outcome != "skipped" and (not row.right or row.wrong) for row in rows)
    return int(short)


def _rows(chosen: Sequence[Pair], options: argparse.Namespace) -> Iterator[Row]:
    kept = _kept(options.keep)  # what did not run is tried again

    def one(pair: Pair) -> Row:
        said = kept.get(pair.name) or run(pair, options.seconds, options.gigabytes)
        if options.keep and pair.name not in kept:
            with options.keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps({pair.name: said}) + "\n")
        return judged(pair, said)

    with ThreadPoolExecutor(options.jobs) as pool:  # threads that wait for processes
        for row in pool.map(one, chosen):
            print(line(row), flush=True)
            yield row


def _kept(file: Path | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if file is not None and file.exists():
        for text in file.read_text(encoding="utf-8").splitlines():
            found.update(json.loads(text))
    return {name: said for name, said in found.items() if said["outcome"] in RAN}


def page(rows: Sequence[Row], command: str) -> Iterator[str]:
    commit = subprocess.run(
        ["git", "log", "-1", "--format=%h", "--", "parity"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    yield INTRODUCTION.strip()
    yield ""
    yield f"Printed by `{command}`, with parity as it is since commit {commit or 'unknown'},"
    yield f"{', '.join(_versions())}."
    yield ""
    yield from tables(rows)


def _versions() -> Iterator[str]:
    for name in _PACKAGES:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            yield f"no {name}"


INTRODUCTION = """
# How it does on models of public packages

`benchmarks/strangers` compares models that nobody here wrote: those that `transformers` has in
torch and in TensorFlow, those of `keras.applications` with those of `pytorchcv` and
`efficientnet_pytorch`, and ChainerRL's with PFRL's. They are small where a configuration allows it.
Nothing is downloaded: weights are drawn, moved off their initial values so that no bias is zero,
and brought into the other model by `transformers`' own conversion, by name (PFRL), or by
`parity.transfer` where that ends in parity.

About half of the pairs are right. In the others one thing is different: a setting of the
configuration, a mode, a mask that is not passed, or something in which the packages differ by
themselves. Each fault states its right causes and the place at which the first divergence is.

```sh
make strangers
```

The columns: the largest difference of the outputs over their scale, as the models run without
parity, where they have one layout; whether the first divergence is at the fault's place; the cause
that is reported there; seconds of the comparison, the same in plain passes of both models, and the
peak of the process' memory with its frameworks. What is not right is in bold.
"""


if __name__ == "__main__":
    sys.exit(main())
