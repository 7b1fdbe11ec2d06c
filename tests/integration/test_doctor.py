"""`parity doctor`: what can change values here, for each framework, and which are missing."""

import platform
from dataclasses import replace

import numpy as np
import pytest

import parity
from parity.cli import main


@pytest.fixture
def doctor(capsys):
    """Runs it, and gives the sections: name to facts."""

    def run():
        assert main(["doctor"]) == 0
        sections = {}
        for line in capsys.readouterr().out.splitlines():
            if line and not line.startswith(" "):
                facts = sections[line] = {}
            elif line:
                facts[line[2:30].strip()] = line[30:]
        return sections

    return run


def test_it_shows_the_machine(doctor, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    machine = doctor()["machine"]
    assert machine["python"] == platform.python_version()
    assert machine["parity"] == parity.__version__
    assert machine["OMP_NUM_THREADS"] == "3"


def test_numpy_keeps_subnormal_numbers(doctor):
    numpy = doctor()["numpy"]
    assert numpy["numpy"] == np.__version__
    assert numpy["subnormal numbers"] == "kept"


def test_tensorflow_flushes_them(doctor):
    tf = pytest.importorskip("tensorflow")
    tensorflow = doctor()["tensorflow"]
    assert tensorflow["tensorflow"] == tf.__version__
    assert tensorflow["subnormal numbers"] == "flushed to zero"
    assert {"keras", "threads", "TF32", "oneDNN", "deterministic operations"} <= set(tensorflow)


def test_torch_flushes_them_when_it_is_told_to(doctor):
    torch = pytest.importorskip("torch")
    assert doctor()["torch"]["subnormal numbers"] == "kept"
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush them")
    try:
        assert doctor()["torch"]["subnormal numbers"] == "flushed to zero"
    finally:
        torch.set_flush_denormal(False)


def test_it_shows_how_many_threads_torch_uses(doctor):
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert doctor()["torch"]["threads"] == "2"
    finally:
        torch.set_num_threads(before)


def test_a_missing_and_a_broken_framework_are_said_to_be_so(doctor, monkeypatch, tmp_path):
    import parity.frameworks

    (tmp_path / "adapter_that_breaks.py").write_text("raise OSError('libfast.so: not found')")
    monkeypatch.syspath_prepend(tmp_path)
    missing = replace(parity.frameworks.FRAMEWORKS["torch"], module="not_torch")
    broken = replace(
        parity.frameworks.FRAMEWORKS["chainer"], module="numpy", adapter="adapter_that_breaks"
    )
    monkeypatch.setitem(parity.frameworks.FRAMEWORKS, "torch", missing)
    monkeypatch.setitem(parity.frameworks.FRAMEWORKS, "chainer", broken)
    found = doctor()
    assert found["torch"]["missing"].startswith("torch is not installed.")
    assert found["chainer"] == {"broken": "OSError: libfast.so: not found"}
