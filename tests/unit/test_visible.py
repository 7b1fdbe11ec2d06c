"""Hostile names: shown as their escapes, on their line, and never obeyed."""

from __future__ import annotations

import io
import json
import re

import numpy as np
import pytest
import torch

import parity
from parity.baseline.entry import entries_of
from parity.baseline.file import changing
from parity.cli import main
from parity.escape import for_terminal, on_one_line, visible
from parity.findings import StructuralDifference
from parity.progress import Step
from parity.pytest_run.asserting import NotParity
from parity.pytest_run.github import command, summary
from parity.pytest_run.summary_data import compared_of, failed
from parity.report.bar import _Bar
from parity.report.terminal import render
from parity.result import ModelSummary, Structure
from parity.weights.table import Row, Table

HOSTILE = "a\x1b[2Jb\x07c\nd\r\u202ee\n::error file=x::f##[group]g\x9b31m\u2066"
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2066]")
ORDER = re.compile(r"^\s*::(error|warning|set-output)|##\[", re.M)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("two\nlines\r\tand", "two\\nlines\\r\\tand"),
        ("\u202eab", "\\u202eab"),
        ("::error::x", "\\x3a:error::x"),
        ("x ::Set-Output name=a::b", "x \\x3a:Set-Output name=a::b"),
        ("##[add-mask]x", "\\x23#[add-mask]x"),
        ("::endgroup::", "\\x3a:endgroup::"),
        # what is no order stays
        ("aten::add and tests/test_a.py::test_error", "aten::add and tests/test_a.py::test_error"),
        ("ns::errors ::groups", "ns::errors ::groups"),
        ("## heading [1]", "## heading [1]"),
        ("é 👩\u200d🔬 שלום [b]", "é 👩\u200d🔬 שלום [b]"),
    ],
)
def test_a_name_is_on_one_line_and_gives_no_order(text, seen):
    assert on_one_line(text) == seen


def test_text_of_several_lines_stays_so():
    assert visible("a\n\tb\r\x1b") == "a\n\tb\r\\x1b"
    assert for_terminal("a\n\tb\r\x1b\n::error::c") == "a\n\tb\\r\\x1b\n\\x3a:error::c"


def hostile_report():
    """Everything that a user may name has a hostile name."""

    class Net(torch.nn.Module):
        def __init__(self, scale):
            super().__init__()
            self.add_module(f"layer{HOSTILE}".replace(".", ""), torch.nn.Linear(5, 4))
            self.scale = scale

        def forward(self, x):
            (layer,) = self.children()
            return {f"out{HOSTILE}": torch.softmax(layer(x) * self.scale, -1)}

    torch.manual_seed(0)
    net, port = Net(1.0), Net(1.5)
    port.load_state_dict(net.state_dict())
    with torch.no_grad():
        next(iter(port.parameters()))[0] += 0.1
    x = np.random.default_rng(0).standard_normal((6, 5)).astype("f")
    models = (parity.wrap(one, name=f"model{HOSTILE}") for one in (net, port))
    return parity.compare(*models, inputs=x)


def test_a_report_shows_names_as_escapes():
    report = hostile_report()
    assert report.verdict == "diverged"
    text = render(report)
    assert not RAW.search(text)
    assert not ORDER.search(text)
    assert "model" in text and "\\x1b[2J" in text and "\\u202e" in text
    assert len(text.splitlines()) < 60


def test_colours_are_parity_s_own():
    text = re.sub(r"\x1b\[[\d;]*m", "", render(hostile_report(), color=True))
    assert not RAW.search(text)


def test_data_keep_the_names_as_they_are():
    name = hostile_report().to_dict()["reference"]["name"]
    assert HOSTILE in name


def test_pytest_and_github_get_escapes():
    found = [("test_a.py::test_it", one) for one in compared_of(hostile_report(), False)]
    found.append(("test_a.py::test_it", failed(f"model{HOSTILE} raised")))
    (_, one), _ = found
    for text in (one.reference, one.candidate, one.reason, one.places[0].why, one.layers[0].name):
        assert on_one_line(text) == text
    line = command("error", (f"{HOSTILE}.py", 3), f"{HOSTILE} %0A::error::x")
    assert "\n" not in line and not RAW.search(line)
    assert "%250A" in line
    assert not RAW.search(summary([(f"test_a.py::test_it[{HOSTILE}]", one)]))


def test_a_failing_test_shows_escapes():
    text = str(NotParity(f"the model\nraised {HOSTILE}"))
    assert text.startswith("the model\nraised a\\x1b[2Jb")
    assert not RAW.search(text) and not ORDER.search(text)


def test_a_baseline_and_a_history_show_escapes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = {"schema": 2, "parity": parity.__version__, "comparisons": []}
    found = hostile_report().to_dict()
    found["reference"]["name"] = "net"
    run["comparisons"].append(
        {"test": "test_a.py::test_it", "error": None, "entries": [HOSTILE], "report": found}
    )
    (tmp_path / "run.json").write_text(json.dumps(run))
    shown = []
    for words in (
        ["history", "add", "run.json", "--commit", "abc"],
        ["history", "show"],
        ["history", "add", f"{HOSTILE}.json", "--commit", "abc"],
    ):
        main(words)
        shown += capsys.readouterr()
    with changing(tmp_path / "a.json") as entries:
        entries[HOSTILE] = next(iter(entries_of(found, "test_a.py::test_it", False).values()))
    main(["baseline", "show", "a.json"])
    shown += capsys.readouterr()
    text = "\n".join(shown)
    assert on_one_line(HOSTILE) in text
    assert not RAW.search(text) and not ORDER.search(text)


def test_the_bar_shows_escapes(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr("sys.stderr", shown)
    live = _Bar()
    live.update(Step(f"loading {HOSTILE}"))
    live._start()
    live.close()
    assert not RAW.search(live._bar.tasks[0].description)
    assert on_one_line(HOSTILE) in live._bar.tasks[0].description


def test_a_line_of_code_is_shown_with_what_it_hides(tmp_path):
    """A comment may reverse the line, so that it reads as another."""
    path = tmp_path / "turned.py"
    path.write_text("import torch\n\n\ndef net(x, by):\n    return x * by  # \u202e\x1b[2J\n")
    code: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), code)
    models = (
        parity.wrap(lambda x, by=by: code["net"](x, by), framework="torch") for by in (2.0, 3.0)
    )
    report = parity.compare(*models, inputs=np.random.default_rng(0).normal(size=(4, 5)))
    text = render(report)
    assert "return x * by  # \\u202e\\x1b[2J" in text
    assert not RAW.search(text)


def test_the_table_of_a_transfer_shows_escapes():
    row = Row("kernel", (HOSTILE,), ((3, 2),), ("a|b",), ((2, 3),), "OI -> IO", "transposed")
    table = Table(
        HOSTILE, "target", (row,), (0,), "nothing", ((HOSTILE,), ()), ((), ()), (HOSTILE,)
    )
    for text in (str(table), table.to_markdown()):
        assert not RAW.search(text)
        assert on_one_line(HOSTILE) in text
    assert len(table.to_markdown().splitlines()) == 3 + 1 + 3
    assert "a\\|b" in table.to_markdown()


def test_a_structure_shows_escapes():
    one = ModelSummary(HOSTILE, "torch", 3)
    difference = StructuralDifference("parameter", HOSTILE, "", HOSTILE, None, None)
    text = str(Structure(one, one, (difference,)))
    assert not RAW.search(text)
    assert len(text.splitlines()) == 2
