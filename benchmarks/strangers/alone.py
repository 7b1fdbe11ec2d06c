"""One pair in a process of its own: a crash, or a lack of memory, costs one row."""

from __future__ import annotations

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.strangers.pair import Pair, pairs

_GIGABYTE = 2**30
_ROUNDS = 3


def run(pair: Pair, seconds: float, gigabytes: float) -> dict[str, Any]:
    """What a process says of a pair; why it says nothing, where it ended or was ended."""
    if pair.missing:
        return {"outcome": "skipped", "reason": f"not installed: {', '.join(pair.missing)}"}
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "TF_USE_LEGACY_KERAS": "1" if pair.keras_2 else "0",
        "TRANSFORMERS_VERBOSITY": "error",
    }
    command = [sys.executable, "-m", "benchmarks.strangers", "--job", pair.name]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        until = time.monotonic() + seconds
        while True:
            try:
                printed, errors = process.communicate(timeout=0.5)
                break
            except subprocess.TimeoutExpired:
                limit = _limit_reached(process.pid, until, gigabytes)
                if limit:
                    process.kill()
                    process.communicate()
                    return {"outcome": "ended", "reason": limit.format(seconds, gigabytes)}
    if process.returncode:
        reason = f"exit code {process.returncode}: {_error(errors)}"
        return {"outcome": "crashed", "reason": reason}
    said: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return said


def _error(printed: str) -> str:
    """The line that names the error; Keras adds more lines behind it."""
    lines = printed.strip().splitlines() or [""]
    named = [one for one in lines if re.match(r"[\w.]*(Error|Exception)\b", one)]
    return (named or lines)[-1][:200].replace("|", "/")


def _limit_reached(process: int, until: float, gigabytes: float) -> str:
    if time.monotonic() > until:
        return "after {0:.0f} s"
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):  # it has just ended, or the system has no such file
        return ""
    return "at {1:.0f} GB" if pages * resource.getpagesize() > gigabytes * _GIGABYTE else ""


# --- in the new process ---------------------------------------------------------------------------


def job(name: str) -> int:
    """Compares a pair, and prints what was found as one line of JSON."""
    print(json.dumps(measured(pairs()[name])))
    return 0


def measured(pair: Pair) -> dict[str, Any]:
    """What the report says, and what the comparison cost beside plain passes of both models."""
    import parity
    from benchmarks.strangers.judge import said_of
    from parity.inputs.preprocessing import plain

    built = pair.build()
    models = [parity.wrap(model) for model in (built.reference, built.candidate)]
    rounds, outputs = [], []
    for _ in range(_ROUNDS + 1):
        started = time.perf_counter()
        outputs = [
            plain(model)(built.inputs if model.inputs is None else model.inputs) for model in models
        ]
        rounds.append(time.perf_counter() - started)
    started = time.perf_counter()
    report = parity.compare(*models, inputs=built.inputs)
    seconds = time.perf_counter() - started
    return {
        **said_of(report),
        "seconds": seconds,
        "passes": seconds / statistics.median(rounds[1:]),  # the first builds and caches
        "gigabytes": _peak() / _GIGABYTE,
        "apart": apart(*(list(one.values()) for one in outputs)),
    }


def apart(reference: Sequence[Any], candidate: Sequence[Any]) -> float | None:
    """The largest difference of any output over its scale; None where they cannot be subtracted.

    It shows, without parity, that a fault does something. Images may have their channels last in
    the reference alone.
    """
    candidate = [
        one.transpose(0, 2, 3, 1) if one.ndim == 4 and one.shape != other.shape else one
        for one, other in zip(candidate, reference, strict=False)
    ]
    if [one.shape for one in reference] != [one.shape for one in candidate]:
        return None
    return max(
        float(abs(one - other).max() / max(abs(one).max(), 1e-30))
        for one, other in zip(reference, candidate, strict=True)
    )


def _peak() -> float:
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kibibytes
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
