"""parity baseline show | diff | prune | accept."""

import json
from dataclasses import replace

import pytest

from parity.baseline.entry import Acceptance, Entry, Layer
from parity.baseline.file import changing, read
from parity.cli import main

PARITY = Entry(
    source="test_a.py::test_port",
    shared=False,
    verdict="parity",
    environment={"machine": {"processor": "x86_64"}, "torch": {"torch": "2.5.0"}},
    coverage={"values": 1.0, "outputs": 1.0},
    decisions={"q": 1.0},
    layers={"l1 | dense": Layer("same", 1e-7, 2e-7), "l2 | dense#2": Layer("same", 3e-6, 4e-6)},
)
DIVERGED = replace(PARITY, source="test_a.py::test_head", verdict="diverged")
PORT, HEAD = "test_a.py::test_port: net -> port", "test_a.py::test_head: net -> head"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("a.json", {PORT: PARITY, HEAD: DIVERGED})
    return tmp_path


def write(name, entries):
    from pathlib import Path

    with changing(Path(name)) as found:
        found.clear()
        found.update(entries)


def run(capsys, *words):
    code = main(["baseline", *words])
    captured = capsys.readouterr()
    return code, captured.out + captured.err


def test_show_lists_the_entries(capsys):
    write(
        "a.json", {PORT: PARITY, HEAD: replace(DIVERGED, accepted=Acceptance("bug", "2020-01-01"))}
    )
    code, said = run(capsys, "show", "a.json")
    assert code == 0
    assert (
        f"{PORT}\n  parity; 2 matched layers, the largest difference 3.0e-06 at l2 | dense#2"
        in said
    )
    assert "accepted until 2020-01-01, expired: bug" in said
    assert said.endswith("a.json: 2 entries\n")


def test_diff_of_a_file_with_itself_is_nothing(capsys):
    assert run(capsys, "diff", "a.json", "a.json") == (0, "0 regressions in 2 shared entries\n")


def test_diff_states_worse_better_added_gone_and_accepted(capsys):
    worse = {"l1 | dense": Layer("same", 1e-3, 2e-7), "l2 | dense#2": Layer("same", 3e-6, 4e-6)}
    accepted = replace(PARITY, layers=worse, accepted=Acceptance("bug", "2099-01-01"))
    write("b.json", {PORT: accepted, "new": PARITY})
    code, said = run(capsys, "diff", "a.json", "b.json")
    assert code == 1
    assert f"{HEAD}\n  only in a.json" in said
    assert "new\n  only in b.json" in said
    assert "worse: the difference has grown at l1 | dense: was 1.0e-07" in said
    assert f"{PORT}\n  accepted: was not, now until 2099-01-01 (bug)" in said
    assert said.endswith("1 regression in 1 shared entry\n")
    code, said = run(capsys, "diff", "b.json", "a.json")
    assert code == 0
    assert "better at l1 | dense: was 1.0e-03" in said
    assert run(capsys, "diff", "a.json", "b.json", "--factor", "1e6")[0] == 0


def test_diff_states_another_environment(capsys):
    write("b.json", {PORT: replace(PARITY, environment={"torch": {"torch": "2.6.0"}})})
    code, said = run(capsys, "diff", "a.json", "b.json")
    assert code == 0
    assert "torch: 2.5.0 -> 2.6.0" in said


def report(*comparisons):
    with open("run.json", "w") as file:
        json.dump({"comparisons": comparisons}, file)


def test_prune_drops_what_a_run_has_not_made(capsys, folder):
    report({"test": PARITY.source, "entries": [PORT], "report": {}})
    before = (folder / "a.json").read_bytes()
    dry = run(capsys, "prune", "a.json", "--report", "run.json", "--dry-run")
    assert dry == (0, f"{HEAD}\na.json: 1 entry would be dropped\n")
    assert (folder / "a.json").read_bytes() == before
    assert run(capsys, "prune", "a.json", "--report", "run.json") == (
        0,
        f"{HEAD}\na.json: 1 entry dropped\n",
    )
    assert set(read(folder / "a.json")) == {PORT}


def test_prune_keeps_the_entries_of_a_test_that_broke(capsys, folder):
    report(
        {"test": PARITY.source, "entries": [PORT], "report": {}},
        {"test": DIVERGED.source, "entries": [], "report": None},
    )
    assert (
        run(capsys, "prune", "a.json", "--report", "run.json")[1] == "a.json: 0 entries dropped\n"
    )


def test_prune_takes_the_report_that_pytest_writes(capsys, nets):
    nets.makepyfile(
        test_c="""
        import nets

        def test_one(assert_parity):
            assert_parity(nets.reference, nets.port, inputs=nets.inputs())

        def test_two(assert_parity):
            assert_parity(nets.reference, nets.port, inputs=nets.inputs())
        """
    )
    path = nets.path / "b.json"
    nets.runpytest("--parity-baseline", str(path), "--parity-update").assert_outcomes(passed=2)
    nets.runpytest("--parity-report", "run.json", "-k", "one")
    run(capsys, "prune", str(path), "--report", str(nets.path / "run.json"))
    assert list(read(path)) == ["test_c.py::test_one: reference -> port"]


UNTIL = ("--until", "2099-12-31")
REASON = ("--reason", "upstream bug")


@pytest.mark.parametrize("name", [HEAD, "test_head"])
def test_accept_writes_why_and_until_when(capsys, folder, name):
    code, said = run(capsys, "accept", "a.json", name, *REASON, *UNTIL)
    assert (code, said) == (0, f"{HEAD}\n  diverged, accepted until 2099-12-31: upstream bug\n")
    found = read(folder / "a.json")
    assert found[HEAD].accepted == Acceptance("upstream bug", "2099-12-31")
    assert found[PORT] == PARITY


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("show", "none.json"), 2, "There is no baseline none.json"),
        (("accept", "none.json", HEAD, *REASON, *UNTIL), 2, "There is no baseline none.json"),
        (("prune", "none.json", "--report", "good.json"), 2, "There is no baseline none.json"),
        (("accept", "a.json", "nothing", *REASON, *UNTIL), 2, "`parity baseline show a.json`"),
        (("accept", "a.json", "net", *REASON, *UNTIL), 2, "part of 2 entries of a.json; name one:"),
        (("accept", "a.json", PORT, *REASON, *UNTIL), 2, "is parity: there is nothing to accept"),
        (("accept", "a.json", HEAD, "--reason", " ", *UNTIL), 2, "--reason: say why"),
        (("accept", "a.json", HEAD, *REASON, "--until", "soon"), 2, "write it as 2026-12-31"),
        (("accept", "a.json", HEAD, *REASON, "--until", "2020-01-01"), 2, "2020-01-01 has passed"),
        (("prune", "a.json", "--report", "gone.json"), 2, "--report: there is no file gone.json"),
        (("prune", "a.json", "--report", "a.json"), 3, "is no report of a run (KeyError"),
        (("prune", "a.json", "--report", "empty.json"), 2, "empty.json has no comparisons"),
        (("diff", "a.json", "a.json", "--factor", "0"), 2, "--factor: 0 is no factor"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_reported_and_changes_nothing(capsys, folder, words, code, says):
    (folder / "empty.json").write_text('{"comparisons": []}')
    report({"test": PARITY.source, "entries": [PORT], "report": {}})
    (folder / "run.json").rename(folder / "good.json")
    before = (folder / "a.json").read_bytes()
    found, said = run(capsys, *words)
    assert found == code
    assert said.startswith("parity: ") and says in said
    assert (folder / "a.json").read_bytes() == before
    assert not (folder / "none.json").exists()
