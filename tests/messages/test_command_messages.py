"""Errors of the command: one message on stderr with what, where and what to do; no traceback."""

import os
import sys

import numpy as np
import pytest

from parity.cli import main
from parity.errors import InputError
from parity.weights.inventory import inventory

FILES = {
    "nets.py": """
import numpy as np

WEIGHT = np.ones((7, 3))
NAMES = ["a"]


def reference(x):
    return np.tanh(x @ WEIGHT)


def broken(x):
    raise RuntimeError("the weights were never loaded")


def build_broken():
    return open("weights.pt")


def build_nothing():
    return None


class Sized:
    def __init__(self, size, *more, bias=True):
        self.size = size


class Whatever:
    def __init__(self, *sizes, **more):
        pass

    def __call__(self, x):
        return np.tanh(x)


def anything(*arrays):
    return np.tanh(arrays[0])
""",
    "needs_more.py": "import a_library_of_theirs",
    "stops.py": "import sys\nsys.exit(2)",
    "typo.py": "def net(x)\n    return x",
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    np.save(tmp_path / "x.npy", np.ones((5, 7)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in FILES:
        sys.modules.pop(name.removesuffix(".py"), None)


RANDOM = ("--random", "5,7")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        # the model
        (["nets:refrence", *RANDOM], 2, ["nets:refrence", "Did you mean 'reference'?"]),
        (["nets:reference.deep", *RANDOM], 2, ["nets:reference.deep", "no attribute 'deep'"]),
        (["nuts:reference", *RANDOM], 2, ["no module 'nuts'", os.sep, "nor installed"]),
        (["nets.deep:net", *RANDOM], 2, ["no module 'nets.deep'"]),
        (["nuts", *RANDOM], 2, ["'nuts' names no model", "package.module:attribute"]),
        (["nuts:", *RANDOM], 2, ["'nuts:' names no model", "package.module:attribute"]),
        (["nets", *RANDOM], 2, ["nets names a module", "Write nets:WEIGHT or nets:NAMES or "]),
        (["nets.py", *RANDOM], 2, ["nets.py names a module", " or nets:reference or "]),
        (["./nets.py:reference", *RANDOM], 2, ["Write nets:reference."]),
        (["no/nets.py:reference", *RANDOM], 2, ["there is no file no/nets.py"]),
        (["x.npy", *RANDOM], 2, ["x.npy names a file", "`parity transfer x.npy package."]),
        (["out.keras", *RANDOM], 2, ["out.keras names a file", "builds the model and loads"]),
        (["nets:reference@NWHC", *RANDOM], 2, ["stands 'NWHC'", "known are torch, ", "NHWC, eval"]),
        (["nets:reference@a-b", *RANDOM], 2, ["after @ stands 'a-b'", "NHWC, eval"]),
        (
            ["nets:Sized", *RANDOM],
            2,
            ["nets:Sized is a class that needs arguments: size."],
        ),
        (["nets:build_nothing", *RANDOM], 2, ["returned NoneType", "function of no arguments"]),
        (["nets:NAMES", *RANDOM], 3, ["list is no model", "Hand in"]),
        (["nets:build_broken", *RANDOM], 3, ["FileNotFoundError", "nets.py:17:", "weights.pt"]),
        (["needs_more:net", *RANDOM], 3, ["needs_more", "a_library_of_theirs", "needs_more.py:1"]),
        (["stops:net", *RANDOM], 3, ["stops: importing it raised SystemExit", "stops.py:2"]),
        (["typo:net", *RANDOM], 3, ["typo: importing it raised SyntaxError", "typo.py, line 1"]),
        (["nets:broken", *RANDOM], 3, ["never loaded", "nets.py:13: raise RuntimeError"]),
        # the inputs
        (["nets:reference"], 2, ["No inputs", "--inputs FILE.npz", "--random SHAPE"]),
        (["nets:reference", "--inputs", "y.npz"], 2, ["no file y.npz"]),
        (["nets:reference", "--inputs", "."], 2, ["The folder . holds neither .json nor .parquet"]),
        (["nets:reference", "--inputs", "nets.py"], 2, ["nets.py cannot be read", "numpy.savez"]),
        (["nets:reference", "--random", "5,8"], 3, ["reference #1 (numpy) raised", "nets.py:9"]),
        (["nets:reference", "--random", "5x7"], 2, ["'5x7' is no shape", "5,4,84,84"]),
        (["nets:reference", "--random", "5,0"], 2, ["'5,0' is no shape", "5,4,84,84"]),
        (["nets:reference", "--random", "5,"], 2, ["'5,' is no shape"]),
        (["nets:reference", "--random", "9" * 9 + ",9" * 9], 2, ["cannot be made"]),
        (["nets:reference", "--random", "x=5,7", "--random", "5,7"], 2, ["a name of its own"]),
        (["nets:reference", "--random", "x=5,7", "--random", "x=5,7"], 2, ["a name of its own"]),
        (["nets:reference", *RANDOM, "--seed", "-1"], 2, ["--seed", "0 or a positive number"]),
        # what is written
        (["nets:reference", *RANDOM, "--json", "no/r.json"], 2, ["--json", "no folder no"]),
        (["nets:reference", *RANDOM, "--json", "."], 2, ["--json", ". is a folder", "name a file"]),
    ],
)
def test_one_message_and_the_exit_code(capsys, words, code, says):
    assert main(["compare", "nets:reference", *words]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("parity: ")
    assert "Traceback" not in err
    for part in says:
        assert part in err, err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "COMMAND"),
        (["transmogrify"], "'transmogrify'"),
        (["compare", "nets:reference"], "CANDIDATE"),
        (["compare", "a:b", "c:d", *RANDOM, "--inputs", "x.npy"], "not allowed with"),
        (["compare", "a:b", "c:d", *RANDOM, "--seed", "x"], "invalid int value: 'x'"),
        (["compare", "a:b", "c:d", *RANDOM, "--speed", "3"], "--speed"),
    ],
)
def test_words_that_make_no_sense_show_the_usage(capsys, words, says):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: parity")
    assert says in err


def test_a_class_that_can_be_built_of_nothing_is_built():
    assert main(["compare", "nets:Whatever@numpy", "nets:anything", *RANDOM]) == 0


def test_a_script_elsewhere_is_reported_with_its_folder(capsys, folder):
    (folder / "there").mkdir()
    os.chdir(folder / "there")
    assert main(["compare", "../nets.py:reference", "nets:reference", *RANDOM]) == 2
    assert (
        f"Write nets:reference, and run parity in {folder.resolve()}.\n" in capsys.readouterr().err
    )


def test_a_word_that_names_no_model_is_reported_before_anything_is_imported(capsys):
    assert main(["compare", "needs_more:net", "nets.py", "--inputs", "none.npz"]) == 2
    assert "nets.py names a module" in capsys.readouterr().err


def test_a_name_that_no_format_is_written_to_is_reported_before_anything_is_imported(capsys):
    assert main(["transfer", "needs_more:net", "nets:reference", "-o", "out.xyz"]) == 2
    assert "'out.xyz' does not say which format to write" in capsys.readouterr().err


def test_inputs_that_no_model_states_are_asked_for_by_option(capsys):
    assert main(["weights", "nets:reference"]) == 2
    err = capsys.readouterr().err
    assert "reference (numpy) does not state the shape of its inputs: give --inputs FILE" in err
    with pytest.raises(InputError, match=r"give inputs=array\."):
        inventory(np.tanh)


def test_a_report_that_cannot_be_written_in_the_end_is_reported(capsys, monkeypatch):
    def full(report, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("parity.report.report.Report.save", full)
    assert main(["compare", "nets:reference", "nets:reference", *RANDOM, "--json", "r.json"]) == 3
    err = capsys.readouterr().err
    assert err.startswith("parity: --json: r.json could not be written: ")
    assert "No space left" in err


def test_ctrl_c_is_quiet(capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("parity.comparison.compare", interrupted)
    assert main(["compare", "nets:reference", "nets:reference", *RANDOM]) == 130
    assert capsys.readouterr() == ("", "")
