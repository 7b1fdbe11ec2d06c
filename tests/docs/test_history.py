"""docs/history.md: its commands run and print what it shows; the bisection has its own test."""

import re
import shlex
from pathlib import Path

import pytest

from parity.cli import main

PAGE = (Path(__file__).parents[2] / "docs" / "history.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
NETS = """
import numpy as np

def port(x):
    return np.tanh(x) * {factor}

def test_port(assert_parity):
    assert_parity(np.tanh, port, inputs=np.arange(1.0, 15.0).reshape(2, 7))
"""


def test_the_first_commands_print_what_is_shown(pytester, capsys):
    (language, block), (_, shown) = BLOCKS[:2]
    assert language == "sh"
    test, add, show = [shlex.split(line)[1:] for line in block.splitlines()]
    pytester.mkdir("tests")
    for commit, factor in (("one", 1.0), ("two", 1.5)):
        (pytester.path / "tests" / "test_port.py").write_text(NETS.format(factor=factor))
        pytester.runpytest_subprocess(*test)
        assert main([*add, "--commit", commit]) == 0
    capsys.readouterr()
    assert main(show) == 1
    printed = capsys.readouterr().out
    [header] = [line.split("  ") for line in shown.splitlines() if line.startswith(" layer")]
    for words in (*(word.strip() for word in header if word.strip()), "the verdict is worse: was"):
        assert words in printed, words
    assert re.search(r"against .* \(run 1\): 1 of 1 comparison moved", shown)
    assert re.search(r"against .* \(run 1\): 1 of 1 comparison moved", printed)


def test_the_options_exist(capsys):
    said = ""
    for action in ("add", "show"):
        with pytest.raises(SystemExit):
            main(["history", action, "--help"])
        said += capsys.readouterr().out
    named = set(re.findall(r"(?<![\w-])--(?!parity-)[a-z]+", PAGE)) - {"--verify"}
    assert named >= {"--commit", "--file", "--against", "--layer", "--comparison", "--factor"}
    assert not [name for name in named if name not in said]
