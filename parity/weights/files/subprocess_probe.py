"""Looks at an HDF5 file in a process of its own.

The HDF5 library trusts a file's structure: one that is damaged or made to harm can hang it, or have
it write where it must not. What a file holds is therefore read by a child, as JSON; this process
then reads no more than plain datasets.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from parity.errors import FileError, ParityError
from parity.weights.files.safe_io import guarded

CPU_SECONDS = 60  # the structure of a file of 10,000 tensors takes about six
_WALL_SECONDS = 300
_BYTES = 4 * 2**30  # of addresses, most of which the libraries take and never use


def survey(module: str, path: Path, part: str) -> dict[str, Any]:
    """What `survey(path, part)` of a module of this package returns, in a child.

    Raises:
        FileError: of the module; or the child hung, or was killed.
    """
    command = [sys.executable, "-m", __name__, module, str(path), part]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        child = subprocess.run(
            command, capture_output=True, timeout=_WALL_SECONDS, env=environment, check=False
        )
        found: dict[str, Any] = json.loads(child.stdout)
    except (subprocess.TimeoutExpired, ValueError) as error:
        raise FileError(
            f"{path} cannot be read: the HDF5 library hangs or fails on it. It is damaged, or made "
            "to do harm; copy or save it again."
        ) from error
    if "error" in found:
        raise FileError(found["error"])
    return found


def _main(module: str, path: str, part: str) -> None:
    _limit()
    try:
        with guarded(Path(path), "cannot be read"):
            found = importlib.import_module(f"parity.weights.files.{module}").survey(
                Path(path), part
            )
    except ParityError as error:
        found = {"error": str(error)}
    sys.stdout.write(json.dumps(found))
    sys.stdout.flush()
    os._exit(0)  # the library may fail once more when it closes a damaged file


def _limit() -> None:
    """Has the system end this process when it spins, and refuse it memory without end."""
    try:
        import resource
    except ImportError:  # not on Windows; there the time on the clock ends it
        return
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":  # elsewhere it is not kept to, or cannot be set
        resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))


if __name__ == "__main__":
    _main(*sys.argv[1:])
