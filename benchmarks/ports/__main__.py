"""What parity says of ports that were written without sight of it: right ones, and faults.

    python -m benchmarks.ports [--only NAME] [--show]
    python -m benchmarks.ports --transfer [--only NAME]

A fault is found if its port is `diverged`, and placed if its line or the reference's is among the
lines of a divergence. A confirmed cause that nobody has judged true of its fault is listed:
`true_causes` in `corpus/*/*/faults.json` is where a judgement is written down.

With --transfer the weights of each reference are moved into its port in one call. Ports that keep
their weights in NumPy arrays or in closures have no tensors that could be written, and some have no
weights before they are copied by hand; they are counted apart.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import parity  # noqa: E402
from benchmarks.ports.port import Fault, Port, ports  # noqa: E402

_NEAR = 1  # lines


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ports",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", help="ports whose name has this in it")
    parser.add_argument("--show", action="store_true", help="print each report of a fault")
    parser.add_argument("--transfer", action="store_true", help="move the weights instead")
    options = parser.parse_args(arguments)
    if options.transfer:
        return _transfers([port for port in ports() if options.only in port.name])
    twins: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    started = time.perf_counter()
    for port in ports():
        if options.only not in port.name:
            continue
        verdict = port.compared().verdict
        twins[verdict] += 1
        if verdict != "parity":
            print(f"{port.name}: {verdict}", flush=True)
        for name, fault in port.faults.items():
            report = port.compared(name)
            if options.show:
                print(f"{port.name} {name}: {fault.what}\n{report}\n", flush=True)
            for line in _counted(port, name, fault, report, faults):
                print(line, flush=True)
    print(f"right ports: {dict(twins)}")
    print(f"faults: {dict(faults)}")
    print(f"{time.perf_counter() - started:.0f} s")
    return int(bool(twins["diverged"] or faults["parity"]))


def _transfers(tried: Sequence[Port]) -> int:
    """Moves weights into each port, and prints what does not end in parity."""
    verdicts: Counter[str] = Counter()
    seconds: list[float] = []
    for port in tried:
        started = time.perf_counter()
        found = port.transferred()
        took = time.perf_counter() - started
        if found is None:
            verdicts["no weights before they are copied"] += 1
            continue
        pairing = found.pairing
        if found.verdict != "parity" and not (pairing.pairs or pairing.left[1]):
            verdicts["no tensors that can be written"] += 1
            continue
        verdicts[found.verdict] += 1
        verdicts["by effect"] += any(pair.role == "by effect" for pair in pairing.pairs)
        seconds.append(took)
        if found.verdict != "parity":
            left = "; ".join(", ".join(names[:4]) or "none" for names in pairing.left)
            print(f"{port.name}: {found.verdict} in {took:.1f} s, left over {left}", flush=True)
    print(f"transfers: {dict(verdicts)}")
    if seconds:
        print(f"{median(seconds):.1f} s (median), {max(seconds):.1f} s at most")
    return 0


def _counted(
    port: Port, name: str, fault: Fault, report: parity.Report, faults: Counter[str]
) -> Iterator[str]:
    """Counts what was said of a fault; what a person has to look at."""
    faults["all"] += 1
    faults[report.verdict] += 1
    if report.verdict != "diverged":
        yield f"{port.name} {name}: {report.verdict}"
    causes = [
        divergence.cause
        for comparison in report.comparisons
        for divergence in comparison.divergences
        if divergence.cause is not None
    ]
    faults["placed"] += any(
        _is_at(site.source, "port.py", fault.line)
        or _is_at(site.source, "ref.py", fault.reference_line)
        for comparison in report.comparisons
        for one in comparison.divergences
        for site in (*one.reference_region, *one.candidate_region, one.reference, one.candidate)
    )
    faults["explained"] += bool(causes)
    confirmed = {cause.kind: cause.summary for cause in causes if cause.confirmed}
    faults["confirmed"] += bool(confirmed)
    for kind, summary in confirmed.items():
        if kind not in fault.true_causes:
            faults["not judged"] += 1
            yield f"{port.name} {name}: to be judged: {kind}: {summary}; the fault: {fault.what}"


def _is_at(source: str, file: str, line: int) -> bool:
    path, _, number = source.rpartition(":")
    return path.endswith(file) and number.isdigit() and abs(int(number) - line) <= _NEAR


if __name__ == "__main__":
    raise SystemExit(main())
