"""`parity demo`: three frameworks, one fault, its line."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from parity.cli import main


@pytest.fixture(autouse=True)
def frameworks():
    for name in ("torch", "tensorflow"):
        pytest.importorskip(name)


def test_it_names_keras_the_odd_one_out_and_shows_both_lines(capsys):
    from parity.frameworks.chainer_numpy import import_chainer

    pytest.importorskip("pkg_resources")
    import_chainer()
    assert main(["demo"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("diverged")
    assert "the odd one out is Keras" in out
    assert "probabilities = F.softmax(logits, dim=-1)" in out
    assert "probabilities = ops.softmax(logits, axis=1)" in out
    assert "examples/c51_dueling/keras_net.py:41" in out
    assert "parity: Chainer" in out
    assert err == ""


def test_it_works_from_any_folder_and_says_nothing_else(tmp_path):
    code = "import sys; from parity.cli import main; sys.exit(main(['demo']))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert "keras_net.py:41" in done.stdout
    assert os.listdir(tmp_path) == []


def test_without_chainer_it_compares_the_other_two(capsys, monkeypatch):
    import parity.frameworks.chainer_numpy as shim
    from parity.errors import FrameworkMissing

    def absent():
        raise FrameworkMissing("Chainer needs chainer, which is not installed.", "chainer")

    monkeypatch.setattr(shim, "import_chainer", absent)
    assert main(["demo"]) == 1
    out, err = capsys.readouterr()
    assert "axis=1" in out
    assert "parity: Chainer" not in out
    assert err == "parity demo: without Chainer. Chainer needs chainer, which is not installed.\n"


@pytest.mark.parametrize("name", ["torch", "tensorflow"])
def test_without_the_others_it_says_what_to_install(capsys, monkeypatch, name):
    import parity.frameworks

    missing = replace(parity.frameworks.FRAMEWORKS[name], module=f"not_{name}")
    monkeypatch.setitem(parity.frameworks.FRAMEWORKS, name, missing)
    assert main(["demo"]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"parity: {name} is not installed. Install it with: pip install")
