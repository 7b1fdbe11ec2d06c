"""docs/ci.md: its recipes parse, and the commands and options that they name exist and do it."""

import configparser
import json
import re
import shlex
from pathlib import Path

import pytest

from parity.baseline.file import read
from parity.cli import parser

PAGE = (Path(__file__).parents[2] / "docs" / "ci.md").read_text()


def blocks(language):
    found = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    return found


def commands():
    """Every line of a shell, a workflow, a hook or tox that runs pytest or parity."""
    text = "\n".join([*blocks("sh"), *blocks("yaml"), *blocks("ini")])
    found = re.findall(
        r"^(?:\s|-|run:|entry:|\.venv/bin/)*((?:pytest|parity) .*)$", text, re.MULTILINE
    )
    return [
        [word for word in shlex.split(line, comments=True) if word != "{posargs}"] for line in found
    ]


def test_the_commands_are_found():
    assert {words[0] for words in commands()} == {"pytest", "parity"}
    assert len(commands()) >= 10


@pytest.mark.parametrize(
    "words", [words for words in commands() if words[0] == "parity"], ids=" ".join
)
def test_a_command_of_parity_parses(words):
    assert callable(parser().parse_args(words[1:]).run)


@pytest.mark.parametrize("words", [["parity", "baseline", "nothing"], ["parity", "gate"]])
def test_a_command_that_does_not_exist_would_be_seen(words):
    with pytest.raises(SystemExit):
        parser().parse_args(words[1:])


def test_the_options_exist(pytester):
    shown = pytester.runpytest("--help").stdout.str()
    named = set(re.findall(r"--parity-\w+", PAGE)) | {"parity_baseline_factor"}
    assert {"--parity-baseline", "--parity-update", "--parity-require"} <= named
    assert not [name for name in named if name not in shown]


def test_the_runs_of_pytest_do_what_the_page_says(pytester):
    """Each in turn, in a folder like a user's; a framework that takes no seconds to import."""
    folder = pytester.path / "tests"
    folder.mkdir()
    (folder / "test_port.py").write_text(
        "import numpy as np\n\n"
        "def test_port(assert_parity):\n"
        "    assert_parity(np.tanh, np.tanh, inputs=np.arange(1.0, 15.0).reshape(2, 7))\n"
    )
    runs = [words[1:] for words in commands() if words[0] == "pytest"]
    assert sum("--parity-update" in words for words in runs) == 1
    for words in runs:
        words = [word.replace("torch,tensorflow", "numpy") for word in words]
        pytester.runpytest(*words).assert_outcomes(passed=1)
    [name] = read(pytester.path / "parity-baseline.json")
    assert name == "tests/test_port.py::test_port: tanh #1 -> tanh #2"
    assert json.loads((pytester.path / "parity-report" / "run.json").read_text())["comparisons"]


def test_the_yaml_parses():
    yaml = pytest.importorskip("yaml")
    workflow, hooks = (yaml.safe_load(block) for block in blocks("yaml"))
    [job] = workflow["jobs"].values()
    steps = job["steps"]
    assert "pull_request" in workflow[True]  # YAML reads `on` so
    assert all(("run" in step) != ("uses" in step) for step in steps)
    uses = [step.get("uses", "").partition("@")[0] for step in steps]
    assert {"actions/cache", "actions/upload-artifact"} <= set(uses)
    identified = {step["id"] for step in steps if "id" in step}
    assert set(re.findall(r"steps\.(\w+)\.", blocks("yaml")[0])) == identified
    upload = steps[uses.index("actions/upload-artifact")]
    assert upload["if"] == "always()"  # a failing run is the one to look at
    [gate] = [step["run"] for step in steps if "--parity-baseline" in step.get("run", "")]
    assert f"--parity-report {upload['with']['path']}/" in gate
    [hook] = hooks["repos"][0]["hooks"]
    assert {"id", "name", "entry", "language"} <= set(hook)
    assert hook["pass_filenames"] is False


def test_the_ini_parses():
    parser = configparser.ConfigParser(interpolation=None)
    [block] = blocks("ini")
    parser.read_string(block)
    section = parser["testenv:parity"]
    assert {"deps", "setenv", "commands"} == set(section)
    assert len(section["commands"].strip().splitlines()) == 2


def test_the_entry_shown_is_one(tmp_path):
    [block] = blocks("json")
    path = tmp_path / "baseline.json"
    path.write_text('{"schema": 1, "entries": {' + block + "}}")
    [entry] = read(path).values()
    assert entry.layers and entry.environment["torch"]


def test_no_hosts_are_named():
    assert not re.findall(r"\w+://|\w+\.(?:org|com|io)\b", PAGE)
