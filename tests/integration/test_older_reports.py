"""Files that an earlier parity wrote are read by the page, the history and the baseline."""

import json
import shutil
from pathlib import Path

import pytest

from parity.cli import main
from parity.report.html.render import render
from parity.report.schema import current

OLD = Path(__file__).parents[1] / "data" / "run-schema-1.json"
ENTRY = "test_nets.py::test_port: reference -> candidate"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(OLD, "run.json")


def test_the_page_shows_all_of_it(capsys):
    data = json.loads(OLD.read_text())
    assert main(["report", "run.json", "-o", "page.html"]) == 0
    assert Path("page.html").read_text() == render(current(data))
    Path("one.json").write_text(json.dumps(data["comparisons"][0]["report"]))
    assert main(["report", "one.json", "-o", "page.html"]) == 0
    page = Path("page.html").read_text()
    assert "softmax-axis" in page and "everything downstream agrees" in page and "40.0%" in page


def test_a_page_of_this_version_is_left_as_it_is():
    data = current(json.loads(OLD.read_text()))
    assert current(data) is data
    [divergence] = data["comparisons"][0]["report"]["comparisons"][0]["divergences"]
    assert divergence["reconverges"] is True and "met" not in divergence
    assert divergence["cause"]["alternatives"] == []


def test_the_history_adds_it(capsys):
    assert main(["history", "add", "run.json", "--commit", "v1"]) == 0
    assert main(["history", "show"]) == 125  # the only run
    assert f"{ENTRY}\n  1 run, v1 (run 1): diverged" in capsys.readouterr().out


def test_a_baseline_is_pruned_by_it(capsys):
    layers = {"l1 | l1": {"verdict": "same", "difference": 0.0, "rounding": 0.0}}
    entry = {
        "test": "test_nets.py::test_port",
        "verdict": "diverged",
        "coverage": {"values": 1.0, "outputs": 1.0},
        "decisions": {},
        "environment": {},
        "layers": layers,
    }
    entries = {ENTRY: entry, f"{ENTRY} (2)": entry}
    Path("base.json").write_text(json.dumps({"schema": 1, "entries": entries}))
    assert main(["baseline", "prune", "base.json", "--report", "run.json"]) == 0
    assert capsys.readouterr().out == f"{ENTRY} (2)\nbase.json: 1 entry dropped\n"
