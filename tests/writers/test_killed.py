"""Killing a writer leaves the old file or the new one; eight at once lose nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX forks and signals")


def run(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.writers.killing", name, str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("name", ["JSON", "HTML", "baseline", "history"])
def test_a_killed_writer_leaves_the_old_file_or_the_new_one(name: str, tmp_path: Path) -> None:
    done = run(name, tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["old"] > 10 and found["new"]  # the last was let live
    whole = [f"{own}.{at}" for own in range(8) for at in range(4)]
    if name in ("baseline", "history"):  # which keep what others bring
        assert found["crowd"] == sorted([*whole, "old"])
    else:
        assert len(found["crowd"]) == 1 and found["crowd"][0] in whole


def test_a_writer_that_leaves_half_a_file_is_seen(tmp_path: Path) -> None:
    done = run("in place", tmp_path)
    assert done.returncode != 0 and "JSONDecodeError" in done.stderr


TESTS = """
import os, signal, numpy as np

def test_agrees(assert_parity):
    assert_parity(np.tanh, np.tanh, inputs=np.arange(1.0, 15.0).reshape(2, 7))

def test_dies():
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    "words",
    [("--parity-report",), ("--parity-html",), ("--parity-update", "--parity-baseline")],
    ids=["JSON", "HTML", "baseline"],
)
def test_a_run_that_is_killed_leaves_the_file_of_the_run_before(
    pytester: pytest.Pytester, words: tuple[str, ...]
) -> None:
    pytester.makepyfile(TESTS)
    pytester.runpytest_subprocess(*words, "file", "-k", "agrees").assert_outcomes(passed=1)
    before = (pytester.path / "file").read_bytes()
    assert pytester.runpytest_subprocess(*words, "file").ret == -9
    assert (pytester.path / "file").read_bytes() == before
