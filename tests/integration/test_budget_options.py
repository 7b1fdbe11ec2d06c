"""The budget of a comparison, given to the command and to pytest."""

import numpy as np
import pytest

from parity.cli import main

NETS = """
import torch

torch.manual_seed(0)
reference = torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.Tanh(), torch.nn.Softmax(dim=1))
port = torch.nn.Sequential(reference[0], torch.nn.Tanh(), torch.nn.Softmax(dim=0))
"""
TEST = """
import nets_of_budget as nets
import numpy as np

INPUTS = np.random.default_rng(0).normal(size=(3, 7)).astype("float32")

def test_the_option(assert_parity):
    assert_parity(nets.reference, nets.port, inputs=INPUTS)

def test_what_the_call_says_goes_before_it(assert_parity):
    assert_parity(nets.reference, nets.port, inputs=INPUTS, seconds=60)
"""
SPENT = "the budget of 1e-09 s and 4 GB was spent"


@pytest.fixture
def written(pytester, monkeypatch):
    pytest.importorskip("torch")
    pytester.makepyfile(nets_of_budget=NETS)
    monkeypatch.syspath_prepend(pytester.path)
    return pytester


def test_the_command(written, capsys):
    models = "nets_of_budget:reference", "nets_of_budget:port"
    assert main(["compare", *models, "--random", "3,7", "--seconds", "1e-9"]) == 1
    assert SPENT in " ".join(capsys.readouterr().out.split())
    assert main(["compare", *models, "--random", "3,7"]) == 1
    assert "softmax-axis, confirmed" in capsys.readouterr().out


def test_pytest(written):
    written.makepyfile(test_of_budget=TEST)
    result = written.runpytest("--parity-seconds", "1e-9")
    result.assert_outcomes(failed=2)
    first, second = result.stdout.str().split("test_what_the_call_says_goes_before_it", 1)
    assert SPENT in " ".join(first.split())
    assert "softmax-axis, confirmed" in second


@pytest.mark.parametrize("option", ["--parity-seconds", "--parity-gigabytes"])
@pytest.mark.parametrize("value", ["0", "-1", "nan"])
def test_what_is_no_budget_stops_the_run(written, option, value):
    written.makepyfile("def test_nothing(): pass")
    result = written.runpytest(option, value)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{option}: give a positive number."])


def test_inputs_are_not_read_for_a_budget_that_is_none(written, capsys):
    np.save(written.path / "x.npy", np.zeros((3, 7)))
    assert main(["compare", "a:b", "c:d", "--inputs", "x.npy", "--seconds", "0"]) == 2
    assert "--seconds: give a positive number." in capsys.readouterr().err
