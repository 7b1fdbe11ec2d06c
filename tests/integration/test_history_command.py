"""parity history add | show: with git and without, and as git bisect runs it."""

import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import parity
from parity.cli import main

FILE = "parity-history.sqlite"
TEST = "test_a.py::test_port"
NAME = f"{TEST}: net -> port"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder outside any git repository."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    return tmp_path


def call(capsys, *words):
    code = main(["history", *words])
    said = capsys.readouterr()
    return code, said.out + said.err


def run_of(*factors, name="run.json", test=TEST):
    """Writes a run as --parity-report does: a comparison for each factor of the port's output."""
    x = np.random.default_rng(0).normal(size=(5, 7)).astype("float32")
    weight = np.random.default_rng(1).normal(size=(7, 3)).astype("float32")
    found = []
    for at, factor in enumerate(factors):
        report = parity.compare(
            parity.wrap(lambda x: np.tanh(x @ weight), name="net"),
            parity.wrap(lambda x, by=factor: np.tanh(x @ weight) * np.float32(by), name="port"),
            inputs=x,
        )
        entry = f"{test}: net -> port" + (f" ({at + 1})" if at else "")
        found.append({"test": test, "error": None, "entries": [entry], "report": report.to_dict()})
    run = {"schema": 2, "parity": parity.__version__, "comparisons": found}
    Path(name).write_text(json.dumps(run))
    return run


def add(capsys, *factors, commit):
    run_of(*factors)
    code, said = call(capsys, "add", "run.json", "--commit", commit)
    assert code == 0, said
    return said


def test_runs_are_added_and_shown_with_the_first_that_moved(capsys):
    assert add(capsys, 1, commit="v1") == f"{FILE}: 1 comparison of v1 (run 1) added\n"
    for at, factor in enumerate((1, 1.5, 1.5), 2):
        add(capsys, factor, commit=f"v{at}")
    code, said = call(capsys, "show")
    assert code == 1
    assert f"{NAME}\n  4 runs, v1 (run 1) to v4 (run 4): parity, now diverged\n" in said
    assert "  the verdict is worse: was parity, then diverged; first in v3 (run 3)\n" in said
    [row] = [line for line in said.splitlines() if "▁▁██" in line]
    assert row.endswith("v3 (run 3)") and "5.0e-01" in row
    assert said.endswith("v4 (run 4) against v1 (run 1): 1 of 1 comparison moved\n")


def test_what_did_not_move_is_0_and_what_came_back_is_reported(capsys):
    for at, factor in enumerate((1, 1.5, 1), 1):
        add(capsys, factor, commit=f"v{at}")
    code, said = call(capsys, "show")
    assert code == 0
    assert "first in v2 (run 2), and no longer is" in said
    assert "0 of 1 comparison moved" in said
    assert call(capsys, "show", "--against", "v2")[0] == 0  # better is not worse


def test_against_chooses_the_run_by_the_beginning_of_its_commit(capsys):
    for commit, factor in (("abc1", 1), ("abd2", 1.5), ("abd2", 1.5), ("xyz", 1.5)):
        add(capsys, factor, commit=commit)
    assert call(capsys, "show")[0] == 1
    code, said = call(capsys, "show", "--against", "abd")
    assert code == 0 and "xyz (run 4) against abd2 (run 3)" in said
    for against, why in (
        ("ab", "'ab' begins several commits: abc1, abd2."),
        ("q", "no run is of a commit 'q'."),
        ("", "no run is of a commit ''."),
    ):
        code, said = call(capsys, "show", "--against", against)
        assert code == 125 and f"parity: --against: {why}" in said


def test_a_layer_is_shown_run_by_run_and_judged_alone(capsys):
    for factor in (1, 1.5):
        add(capsys, factor, commit=f"by {factor}")
    code, said = call(capsys, "show", "--layer", "net")
    assert code == 1
    assert "by 1.5" in said and "█" * 20 in said and "verdict is worse" not in said
    [exact] = [line for line in said.splitlines() if line.split()[:3] == ["1", "by", "1"]]
    assert "0.0e+00" in exact and "█" not in exact
    code, said = call(capsys, "show", "--layer", "nothing")
    assert code == 125 and "by 1.5 (run 2) has none with 'nothing' in its name" in said


def test_a_comparison_is_shown_and_judged_alone(capsys):
    add(capsys, 1, 1, commit="v1")
    add(capsys, 1, 1.5, commit="v2")
    code, said = call(capsys, "show")
    assert code == 1 and "1 of 2 comparisons moved" in said
    code, said = call(capsys, "show", "--comparison", "(2)")
    assert code == 1 and said.count("test_port") == 1
    add(capsys, 1, commit="v3")
    code, said = call(capsys, "show", "--comparison", "nothing")
    assert code == 125 and "has one with 'nothing' in its name" in said


def test_what_cannot_be_decided_is_125(capsys):
    add(capsys, 1, 1, commit="v1")
    code, said = call(capsys, "show")
    assert code == 125 and "it is the only one" in said
    add(capsys, 1, commit="v2")
    code, said = call(capsys, "show")
    assert code == 125
    assert f"{NAME} (2)\n  in v1 (run 1), and not in v2 (run 2)" in said and ", 1 gone" in said
    add(capsys, 1.5, commit="v3")
    assert call(capsys, "show")[0] == 1  # what moved is certain


def test_another_environment_is_125_unless_something_is_worse_all_the_same(capsys):
    add(capsys, 1, commit="v1")
    for factor, expected in ((1, 125), (1.5, 1)):
        run = run_of(factor)
        for versions in run["comparisons"][0]["report"]["versions"].values():
            versions["numpy"] = "9.9"
        Path("run.json").write_text(json.dumps(run))
        assert call(capsys, "add", "run.json", "--commit", "v2")[0] == 0
        code, said = call(capsys, "show")
        assert code == expected and "-> 9.9" in said


def test_a_new_comparison_is_compared_with_the_first_run_that_has_it(capsys):
    add(capsys, 1, commit="v1")
    add(capsys, 1, 1, commit="v2")
    code, said = call(capsys, "show")
    assert code == 0 and "1 run, v2 (run 2): parity" in said
    add(capsys, 1, 1.5, commit="v3")
    code, said = call(capsys, "show")
    assert code == 1 and "2 runs, v2 (run 2) to v3 (run 3): parity, now diverged" in said


def test_of_inputs_drawn_anew_the_verdict_is_kept(capsys):
    for factors in ((1, 1, 1), (1, 1.5)):
        run = run_of(*factors)
        for one in run["comparisons"]:
            one["entries"] = [NAME]
        Path("run.json").write_text(json.dumps(run))
        assert call(capsys, "add", "run.json", "--commit", "c")[0] == 0
    code, said = call(capsys, "show")
    assert code == 1 and "the verdict is worse" in said and "over the runs" not in said


def test_a_test_that_broke_is_not_in_the_run(capsys):
    add(capsys, 1, commit="v1")
    run = run_of(1, test="test_b.py::test_it")
    broken = {"test": TEST, "error": "it raised", "entries": [], "report": None}
    run["comparisons"].append(broken)
    Path("run.json").write_text(json.dumps(run))
    assert call(capsys, "add", "run.json", "--commit", "v2")[0] == 0
    assert call(capsys, "show")[0] == 125


# --- what goes wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "run.json cannot be read: No such file"),
        ("{", "run.json is no JSON"),
        ("[" * 100_000, "run.json is no JSON"),
        ("[]", "run.json is no report of a run"),
        ('{"schema": 2, "reference": {}, "comparisons": []}', "run.json is no report of a run"),
        ('{"schema": 9, "comparisons": []}', "its schema is 9, and this parity reads up to 2"),
        ('{"schema": 2, "comparisons": [7]}', "run.json cannot be used (TypeError"),
        ('{"schema": 2, "comparisons": [{"report": {}}]}', "run.json cannot be used (KeyError"),
        ('{"schema": 2, "comparisons": []}', "run.json has no comparisons: nothing is added"),
    ],
)
def test_what_is_no_run_is_reported_and_nothing_is_added(capsys, text, why):
    if text is not None:
        Path("run.json").write_text(text)
    code, said = call(capsys, "add", "run.json", "--commit", "v1")
    assert code == 125 and why in said
    assert not Path(FILE).exists()


def test_a_history_that_cannot_be_used_is_reported(capsys):
    assert call(capsys, "show") == (
        125,
        f"parity: There is no history {FILE}. `parity history add RUN.json` makes it, of what "
        "`pytest --parity-report RUN.json` wrote.\n",
    )
    Path(FILE).write_text("not a database" * 100)
    run_of(1)
    for words in (("show",), ("add", "run.json", "--commit", "v1")):
        code, said = call(capsys, *words)
        assert code == 125 and "is no history" in said
    code, said = call(capsys, "show", "--factor", "0.5")
    assert code == 125 and "--factor: 0.5 is no factor" in said


def test_runs_or_comparisons_that_are_gone_are_reported(capsys):
    add(capsys, 1.0, commit="one")
    with sqlite3.connect(FILE) as database:
        database.execute("DELETE FROM comparisons")
    code, said = call(capsys, "show")
    assert code == 125 and "one (run 1): no comparisons. Add a run: " in said
    add(capsys, 1.0, commit="two")
    with sqlite3.connect(FILE) as database:
        database.execute("DELETE FROM runs")
    code, said = call(capsys, "show")  # comparisons of no run
    assert code == 125 and f"{FILE} has no runs. Add one: `parity history add RUN.json`" in said
    with sqlite3.connect(FILE) as database:
        database.execute("DELETE FROM comparisons")
    code, said = call(capsys, "show")
    assert code == 125 and "has no runs" in said and "fault of parity" not in said


def test_a_fault_of_parity_itself_is_125_too(capsys, monkeypatch):
    from parity.history import store

    def broken(path):
        raise ZeroDivisionError

    monkeypatch.setattr(store, "reading", broken)
    code, said = call(capsys, "show")
    assert code == 125 and "fault of parity itself" in said


# --- git -----------------------------------------------------------------------------------------


@pytest.fixture
def git(folder, monkeypatch):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "a")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "a@example.invalid")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)

    def run(*words, check=True):
        done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.strip()

    run("init", "-q")
    return run


def test_without_git_or_its_commits_the_commit_has_to_be_named(capsys, monkeypatch):
    run_of(1)
    code, said = call(capsys, "add", "run.json")
    assert code == 125 and "name it with --commit" in said
    monkeypatch.setenv("PATH", "")
    assert call(capsys, "add", "run.json")[0] == 125
    assert call(capsys, "add", "run.json", "--commit", " ")[0] == 125
    assert not Path(FILE).exists()


def test_the_commit_is_gits_head_and_says_what_is_not_in_it(capsys, git):
    run_of(1)
    assert call(capsys, "add", "run.json")[0] == 125  # there is no commit yet
    Path("net.py").write_text("one")
    git("add", "net.py")
    git("commit", "-qm", "one")
    head = git("rev-parse", "HEAD")
    assert f"of {head[:9]} (run 1) added" in call(capsys, "add", "run.json")[1]
    Path("net.py").write_text("two")
    assert f"of {head[:9]}-dirty (run 2) added" in call(capsys, "add", "run.json")[1]


NETS = """
import numpy as np

FACTOR = {factor}

def test_port(assert_parity):
    x = np.random.default_rng(0).normal(size=(5, 7)).astype("float32")
    assert_parity(np.tanh, lambda x: np.tanh(x) * np.float32(FACTOR), inputs=x)
"""


def bisecting():
    """The script of docs/history.md, with this interpreter's pytest and parity."""
    page = (Path(__file__).parents[2] / "docs" / "history.md").read_text()
    [line] = [line for line in page.splitlines() if line.startswith("git bisect run ")]
    words = shlex.split(line)
    assert words[:5] == ["git", "bisect", "run", "sh", "-c"]
    python = shlex.quote(sys.executable)
    command = words[5].replace("pytest tests", f"{python} -m pytest tests")
    parity = f"{python} -c 'import sys; from parity.cli import main; sys.exit(main())'"
    return command.replace("parity history", f"{parity} history").replace("v1.2", "good")


def test_git_bisect_finds_the_commit_and_skips_what_does_not_run(capsys, git, monkeypatch):
    root = str(Path(parity.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]))
    Path("tests").mkdir()
    factors = ["1", "1.0", "broken(", "1.000", "1.5", "1.50"]
    for at, factor in enumerate(factors):
        Path("tests/test_port.py").write_text(NETS.format(factor=factor))
        git("add", "tests")
        git("commit", "-qm", f"commit {at}")
        if at == 0:
            git("tag", "good")
    branch = git("symbolic-ref", "--short", "HEAD")
    git("checkout", "-q", "good")
    script = bisecting()
    subprocess.run(["sh", "-c", script.partition(" && ")[0]], check=True, capture_output=True)
    git("bisect", "start", branch, "good")
    said = git("bisect", "run", "sh", "-c", script)
    assert "is the first" in said
    assert git("log", "-1", "--format=%s", "refs/bisect/bad") == "commit 4"
    skipped = git("for-each-ref", "--format=%(subject)", "refs/bisect/skip-*")
    assert skipped == "commit 2"
