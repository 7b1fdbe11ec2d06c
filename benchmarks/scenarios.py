"""Prints how each planted fault of users' situations is reported: `python -m benchmarks.scenarios`.

Rows are faults, columns the frameworks of reference and candidate. A cell has the verdict, whether
the first divergence stands on the faulty line (or layer) on both sides, the operation named in the
candidate, the cause, the number of divergences where it is not one, and the seconds taken.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.corpus.scenarios import c51, layered, nature_dqn
from benchmarks.corpus.scenarios.pair import Pair
from benchmarks.pages import printed_by

Judge = Callable[[Any], bool]
COMMAND = "python -m benchmarks.scenarios --write docs/scenarios.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", metavar="FILE", type=Path, help="write the tables here as well")
    arguments = parser.parse_args()
    lines = []
    for line in tables():
        print(line, flush=True)
        lines.append(line)
    placed = sum(line.count(", yes, ") for line in lines)
    cells = sum(line.count(" s |") + line.count("**error**") for line in lines)
    planted = cells - 1  # the last conversion is right
    lines += ["", f"Placed first on both sides: {placed} of {planted}."]
    print("\n".join(lines[-2:]))
    if arguments.write:
        arguments.write.write_text("\n".join(lines) + "\n")


def tables() -> Iterator[str]:
    yield "# Planted faults, and where they are located"
    yield ""
    yield f"{printed_by(COMMAND)}. Each cell has the verdict;"
    yield "whether the first divergence is at the faulty line, or layer, on both sides; the"
    yield "operation named in the candidate; the cause; seconds, one thread."
    yield ""
    yield "## A C51 dueling DQN on images: convolutions, two streams, the head; batch 5"
    yield ""
    yield from fault_table(c51.network_pair, batch=5)
    yield ""
    yield "## Its dueling head alone: logits (32, 6, 51)"
    yield ""
    yield from fault_table(c51.head_pair, batch=32)
    yield ""
    yield "## A softmax layer over another axis of (batch, actions, atoms)"
    yield ""
    yield from layer_table()
    yield ""
    yield "## Nature DQN weights from ChainerRL to Keras"
    yield ""
    yield from conversion_table()


def fault_table(build: Callable[..., Pair], batch: int) -> Iterator[str]:
    yield from _header("fault", [" to ".join(two) for two in c51.FRAMEWORK_PAIRS])
    rows = [(fault, fault.name, batch) for fault in c51.FAULTS.values()]
    rows.append((c51.FAULTS["softmax-axis-0"], "softmax-axis-0, batch 1", 1))
    for fault, title, size in rows:
        cells = []
        for two in c51.FRAMEWORK_PAIRS:
            pair = build(*two, fault.name, batch=size)
            cells.append(reported(pair, partial(_is_at, fault, two)))
        yield _row(title, cells)


def layer_table() -> Iterator[str]:
    yield from _header("axis", [" to ".join(two) for two in layered.PAIRS])
    for axis in (0, 1):
        pairs = (layered.softmax_layer_pair(*two, axis) for two in layered.PAIRS)
        yield _row(str(axis), [reported(pair, layered.is_at_softmax) for pair in pairs])


def conversion_table() -> Iterator[str]:
    yield from _header("conversion", ["chainer to keras"])
    for name, conversion in nature_dqn.CONVERSIONS.items():
        pair = nature_dqn.conversion_pair(name)
        yield _row(name, [reported(pair, partial(nature_dqn.is_first_wrong_layer, conversion))])


def reported(pair: Pair, is_placed: Judge) -> str:
    """One cell: what a comparison of the pair says."""
    start = time.perf_counter()
    try:
        report = pair.compare()
    except Exception as error:  # a table with a hole says more than no table
        return f"**error**: {type(error).__name__}"
    seconds = time.perf_counter() - start
    parts = [report.verdict]
    if report.divergences:
        first = report.divergences[0]
        parts += ["yes" if is_placed(first) else "**no**", f"`{first.candidate.op}`"]
        parts += [first.cause.kind if first.cause else "unexplained"]
    if len(report.divergences) > 1:
        parts.append(f"1 of {len(report.divergences)}")
    return ", ".join([*parts, f"{seconds:.2f} s"])


def _is_at(fault: c51.Fault, frameworks: tuple[str, str], divergence: Any) -> bool:
    return fault.is_at(divergence, *frameworks)


def _header(first: str, columns: list[str]) -> Iterator[str]:
    yield _row(first, columns)
    yield "|---" * (len(columns) + 1) + "|"


def _row(first: str, cells: list[str]) -> str:
    return f"| {' | '.join([first, *cells])} |"


if __name__ == "__main__":
    main()
