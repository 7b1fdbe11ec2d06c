"""`parity doctor`: what can change values here: versions, threads, precision, determinism."""

from __future__ import annotations

import argparse
import os
import platform
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parity import __version__
from parity.commands.shared import put
from parity.errors import FrameworkMissing
from parity.escape import for_terminal
from parity.frameworks import FRAMEWORKS, load
from parity.frameworks.import_hooks import silence_imports

if TYPE_CHECKING:
    from parity.frameworks.protocol import Framework

# What libraries read at their start: how they split sums, round, or choose kernels.
_VARIABLES = (
    "OMP_NUM_THREADS MKL_NUM_THREADS OPENBLAS_NUM_THREADS MKL_CBWR ONEDNN_MAX_CPU_ISA "
    "NVIDIA_TF32_OVERRIDE CUBLAS_WORKSPACE_CONFIG CUDA_VISIBLE_DEVICES PYTHONHASHSEED"
).split()


def add(commands: Any) -> None:
    """Adds the command to the parser's."""
    doctor = commands.add_parser(
        "doctor", help="show what can change numbers here: versions, threads, flags"
    )
    doctor.set_defaults(run=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    """Shows the findings, a section for the machine and one for each framework."""
    silence_imports()
    sections = [_section("machine", _machine())]
    sections += [_section(name, _framework(name)) for name in FRAMEWORKS]
    put(for_terminal("\n\n".join(sections)))
    return 0


def _section(title: str, facts: Mapping[str, str]) -> str:
    return "\n".join([title, *(f"  {name:<28}{value}" for name, value in facts.items())])


def _machine() -> dict[str, str]:
    variables = [*_VARIABLES, *(name for one in FRAMEWORKS.values() for name in one.variables)]
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "parity": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": f"{usable} usable of {os.cpu_count()}",
    } | {name: os.environ[name] for name in variables if name in os.environ}


def _framework(name: str) -> dict[str, str]:
    """A framework's versions and switches, or why there are none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            adapter = load(name)
            facts = adapter.versions() | adapter.TRAITS.switches()
            return facts | {"subnormal numbers": _subnormals(adapter)}
    except FrameworkMissing as missing:
        return {"missing": str(missing)}
    except Exception as error:  # a broken installation is what a doctor is asked about
        return {"broken": f"{type(error).__name__}: {error}"}


def _subnormals(adapter: Framework) -> str:
    """What becomes of numbers below float32's smallest normal one, found by computing some."""
    import numpy as np

    tiny = np.full(1000, 1e-39, dtype=np.float32)
    halves = adapter.to_numpy(adapter.from_numpy(tiny) * 0.5)
    return "kept" if (halves > 0).all() else "flushed to zero"
