"""What parity costs those who do not call it: seconds to import it, seconds its plugin adds.

Run ``python -m benchmarks.importing``. Each figure is the best of several fresh processes, the
two kinds of pytest run taken in turn, so that a busy machine touches both alike.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
TIMES = 9


def main() -> None:
    """Measure and print both figures, each with its aim."""
    imported = min(seconds_to_import("parity") for _ in range(TIMES))
    numpy = min(seconds_to_import("numpy") for _ in range(TIMES))
    plain, loaded = seconds_of_an_empty_run()
    print(f"import parity        {imported:7.3f} s   aim: below 0.150 (numpy alone: {numpy:.3f} s)")
    print(f"empty pytest run     {plain:7.3f} s   without the plugin")
    print(f"                     {loaded:7.3f} s   with it")
    print(f"the plugin adds      {loaded - plain:7.3f} s   aim: below 0.050")


def seconds_to_import(module: str) -> float:
    """Import a module in a fresh interpreter; the interpreter's own start is not counted."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    command = [sys.executable, "-c", code]
    return float(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)


def seconds_of_an_empty_run() -> tuple[float, float]:
    """Time pytest on one empty test, whole process, without the plugin and with it."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_empty.py").write_text("def test_nothing(): pass\n")
        plain, loaded = [], []
        for _ in range(TIMES):
            plain.append(seconds_of_pytest(folder))
            loaded.append(seconds_of_pytest(folder, "-p", "parity.pytest_plugin"))
    return min(plain), min(loaded)


def seconds_of_pytest(folder: str, *options: str) -> float:
    """Run pytest on a folder, other plugins left out, and return the seconds it took."""
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", *options, folder]
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
