"""What a comparison costs where models are long, large, chaotic or wrong throughout.

    python -m benchmarks.sizes [--list] [--seconds 60] [--gigabytes 4] [NAME ...]

Each case runs in a process of its own that is ended at its limits. Printed are the time and the
peak of resident memory of both plain passes and of the comparison, frameworks and models included;
the processors' time, which a busy machine does not stretch, and that of the first match, in which
the candidate is replayed and each value looked up; then the verdict and the first place,
held against what is right. It exits with 1 where a case is wrong, or beyond the limits.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.sizes_cases import CASES

_GIGABYTE = 2**30
_GRACE = 3.0  # times the limit, after which a case is ended: until then its time is worth knowing


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sizes", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases; all where none is named")
    parser.add_argument("--list", action="store_true", help="only the names, with what they are")
    parser.add_argument("--seconds", type=float, default=60.0, help="that a comparison may take")
    parser.add_argument("--gigabytes", type=float, default=4.0, help="that its process may take")
    parser.add_argument("--job", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(CASES))
    if unknown:
        parser.error(f"there is no case {unknown[0]!r}; there are {', '.join(CASES)}")
    if options.job:
        print(json.dumps(measured(options.names[0])))
        return 0
    if options.list:
        for name, case in CASES.items():
            print(f"{name:24} {case.title}")
        return 0
    print("| case | plain | comparison | of it computing | matching | verdict | first place | |")
    print("|---|---|---|---|---|---|---|---|")
    done = [
        run(name, options.seconds, options.gigabytes * _GIGABYTE) for name in options.names or CASES
    ]
    return 0 if all(done) else 1


def run(name: str, seconds: float, most: float) -> bool:
    """Runs a case in a process of its own and prints its line; whether all is as it should be."""
    found = _in_new_process(name, _GRACE * seconds, _GRACE * most)
    if isinstance(found, str):
        print(f"| {name} | | {found} | | | | | **failed** |", flush=True)
        return False
    case = CASES[name]
    wrong = []
    if found["verdict"] != case.verdict:
        wrong.append(f"it is {case.verdict}")
    if found["layer"] != case.layer and not case.code:
        wrong.append(f"it is at {case.layer}")
    if case.code not in found["code"]:
        wrong.append(f"it is at {case.code}")
    if case.reported not in (0, found["reported"]):
        wrong.append(f"it is {case.reported} divergences")
    if case.places not in (0, found["places"]):
        wrong.append(f"it has {case.places} places, {found['places']} are reported")
    if found["seconds"] > seconds:
        wrong.append("too long")
    if found["memory"] > most:
        wrong.append("too much memory")
    print(
        f"| {name} | {found['plain_seconds']:.2f} s, {_gigabytes(found['plain_memory'])} "
        f"| {found['seconds']:.1f} s, {_gigabytes(found['memory'])} | {found['worked']:.1f} s "
        f"| {found['matching']:.1f} s "
        f"| {found['verdict']} | {found['place']} | {', '.join(wrong) or 'ok'} |",
        flush=True,
    )
    return not wrong


def _gigabytes(count: float) -> str:
    return f"{count / _GIGABYTE:.1f} GB"


def _in_new_process(name: str, seconds: float, most: float) -> Any:
    """What `measured` gives of a case; in words why it gave nothing."""
    command = [sys.executable, "-m", "benchmarks.sizes", "--job", name]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        until = time.monotonic() + seconds
        while process.poll() is None:
            if time.monotonic() > until:
                process.kill()
                return f"ended after {seconds:.0f} s"
            if _resident(process.pid) > most:
                process.kill()
                return f"ended at {_gigabytes(most)}"
            try:
                process.wait(0.2)
            except subprocess.TimeoutExpired:
                continue
        printed, errors = process.communicate()
    if process.returncode:
        lines = errors.strip().splitlines()
        return f"exit code {process.returncode}: {lines[-1] if lines else ''}"
    return json.loads(printed.splitlines()[-1])


def _resident(process: int) -> float:
    """Bytes of memory that a process has at this moment; 0 where that cannot be read."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0.0


# --- in the new process ---------------------------------------------------------------------------


def measured(name: str) -> dict[str, Any]:
    import parity
    from parity.inputs.preprocessing import plain

    reference, candidate, inputs = CASES[name].build()
    models = [parity.wrap(model) for model in (reference, candidate)]
    started = time.perf_counter()
    for model in models:
        plain(model)(inputs)
    plain_seconds, plain_memory = time.perf_counter() - started, _peak()
    started, worked = time.perf_counter(), time.process_time()
    with _timed_matches() as matches:
        report = parity.compare(*models, inputs=inputs)
    seconds, worked = time.perf_counter() - started, time.process_time() - worked
    return {
        "plain_seconds": plain_seconds,
        "plain_memory": plain_memory,
        "seconds": seconds,
        "worked": worked,
        "matching": matches[0],
        "memory": _peak(),
        "verdict": report.verdict,
        "reported": len(report.divergences),
        "places": sum(1 + len(one.places) for one in report.divergences),
        "place": _first_place(report),
        **_first_line(report),
    }


@contextmanager
def _timed_matches() -> Iterator[list[float]]:
    """The processors' time of each match that is made within it."""
    from parity import candidate
    from parity.patching import patched

    own, times = candidate.match, list[float]()

    def match(*args: Any, **kwargs: Any) -> Any:
        started = time.process_time()
        found = own(*args, **kwargs)
        times.append(time.process_time() - started)
        return found

    with patched(candidate, match=match):
        yield times


def _first_place(report: Any) -> str:
    """The layer or line of the first divergence, with its operation and cause; "" if none."""
    found = report.divergences
    if not found:
        return ""
    site, cause = found[0].candidate, found[0].cause
    where = site.layer or site.source.rsplit("/", 1)[-1]
    stated = cause.kind if cause is not None else "unexplained"
    return f"{site.op} at {where}: {stated} ({len(found)} reported)"


def _first_line(report: Any) -> dict[str, str]:
    """The layer and the code of the first divergence."""
    site = report.divergences[0].candidate if report.divergences else None
    return {"layer": site.layer if site else "", "code": site.code if site else ""}


def _peak() -> float:
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kibibytes
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


if __name__ == "__main__":
    sys.exit(main())
