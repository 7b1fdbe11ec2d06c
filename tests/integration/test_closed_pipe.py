"""Whoever reads the first lines and goes, such as `head`, leaves no traceback behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import parity

ROOT = Path(__file__).parents[2]
NETS = """\
import numpy as np

def one(x):
    return np.tanh(x)

def other(x):
    return np.tanh(x) * np.float32(1.5)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "nets.py").write_text(NETS)
    x = np.random.default_rng(0).normal(size=(5, 7)).astype("f")
    report = parity.compare(parity.wrap(np.tanh), parity.wrap(lambda x: 2 * np.tanh(x)), inputs=x)
    found = {"test": "t", "error": None, "entries": ["t: tanh -> lambda"]}
    run = {"schema": 2, "parity": parity.__version__,
           "comparisons": [{**found, "report": report.to_dict()}]}  # fmt: skip
    (tmp_path / "run.json").write_text(json.dumps(run))
    assert _call(tmp_path, "history", "add", "run.json", "--commit", "a") == (0, "")
    return tmp_path


def _call(folder: Path, *words: str) -> tuple[int, str]:
    """The command with nobody at the other end of its pipe: its exit code, and its complaints."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "parity", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with os.fdopen(writer, "w") as closed:
        done = subprocess.run(
            command, stdout=closed, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment
        )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("--help", 0),
        ("history --help", 0),
        ("history show", 125),  # the only run decides nothing
        ("history add run.json --commit b", 0),
        ("doctor", 0),
        ("compare nets:one nets:one --random 5,7", 0),
        ("compare nets:one nets:other --random 5,7", 1),
        ("weights nets:one --random 5,7", 0),
    ],
)
def test_the_exit_code_is_as_ever_and_nothing_is_said(folder: Path, words: str, code: int) -> None:
    assert _call(folder, *words.split()) == (code, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device is full here")
@pytest.mark.parametrize("words", ["doctor", "history show", "compare nets:one nets:other"])
def test_a_full_disk_is_reported_in_words(folder: Path, words: str) -> None:
    more = ["--random", "5,7"] if words.startswith("compare") else []
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "parity", *words.split(), *more],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    assert done.returncode == (125 if words.startswith("history") else 3)
    assert "what is to be printed could not be written: " in done.stderr
    assert "Traceback" not in done.stderr and "fault of parity" not in done.stderr
