"""Divergences on disk."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

import parity

X = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)


def reference(x):
    return torch.tanh(x) * 2


def candidate(x):
    return torch.tanh(x * 1.5) * 2


def compare(a, b):
    return parity.compare(*(parity.wrap(f, framework="torch") for f in (a, b)), inputs=X)


def test_the_arrays_are_what_entered_and_what_came_out(tmp_path):
    report = compare(reference, candidate)
    (script,) = report.save_divergences(tmp_path / "new")
    saved = np.load(script.with_suffix(".npz"), allow_pickle=False)
    np.testing.assert_allclose(saved["input_0"], X)
    difference = np.abs(saved["reference"] - saved["candidate"])
    assert difference.max() > 0.01


def test_the_script_runs_outside_the_tool(tmp_path):
    (script,) = compare(reference, candidate).save_divergences(tmp_path)
    run = subprocess.run([sys.executable, "-I", str(script)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "largest difference" in run.stdout
    assert len(script.read_text().splitlines()) <= 20


def test_nothing_is_written_on_parity(tmp_path):
    assert compare(reference, reference).save_divergences(tmp_path / "none") == []
    assert not (tmp_path / "none").exists()
    assert list(tmp_path.iterdir()) == []


def test_a_hostile_line_stays_text(tmp_path):
    source = tmp_path / "net.py"
    source.write_text(
        "import torch\ndef net(x):\n"
        '    return torch.tanh(x * 3)  # """; raise SystemExit(9) \\\\ "\n'
    )
    names: dict = {}
    exec(compile(source.read_text(), str(source), "exec"), names)
    (script,) = compare(reference, names["net"]).save_divergences(tmp_path / "out")
    run = subprocess.run([sys.executable, "-I", str(script)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    report = compare(reference, candidate)

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        report.save_divergences(tmp_path)
    assert list(tmp_path.iterdir()) == []
