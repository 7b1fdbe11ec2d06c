"""Pages on disk: from a report, from the command, from a pytest run; whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parity
from parity.cli import main
from parity.report.html.render import render
from tests.html import sample
from tests.html.parsed import parse

TESTS = """
import numpy as np

x = np.random.default_rng(2).normal(size=(5, 7)).astype("float32")

def test_agrees(assert_parity):
    assert_parity(np.tanh, np.tanh, inputs=x)

def test_differs(assert_parity):
    assert_parity(np.tanh, np.sin, inputs=x)

def test_breaks(assert_parity):
    def broken(x):
        raise RuntimeError("<b>no weights</b>")
    assert_parity(np.tanh, broken, inputs=x)
"""


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(sample.report(sample.diverged())))
    return path


def test_a_report_saves_the_page_of_its_data(tmp_path: Path) -> None:
    report = parity.compare(np.tanh, np.sin, inputs=np.linspace(-2, 2, 15).reshape(5, 3))
    report.save_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == render(report.to_dict())
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_write_that_fails_leaves_what_was_there(
    saved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = saved.with_name("page.html")
    page.write_text("before")

    def no_space(*paths: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", no_space)
    assert main(["report", str(saved), "-o", str(page)]) == 3
    assert "could not be written: no space left" in capsys.readouterr().err
    assert page.read_text() == "before"
    assert sorted(os.listdir(saved.parent)) == ["page.html", "report.json"]


def test_the_command_renders_a_saved_report_and_a_saved_run(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = saved.with_name("page.html")
    assert main(["report", str(saved), "-o", str(page)]) == 0
    assert capsys.readouterr().out == f"wrote {page}\n"
    assert page.read_text() == render(json.loads(saved.read_text()))
    saved.write_text(json.dumps(sample.run("it raised", sample.report(sample.comparison()))))
    assert main(["report", str(saved), "-o", str(page)]) == 0
    assert "a run of 2 comparisons" in parse(page.read_text()).one("h1").text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "report.json is no JSON"),
        ("[" * 100_000, "report.json is no JSON"),
        ("[1, 2]", "no parity report"),
        ('{"schema": 9, "comparisons": []}', "schema is 9"),
    ],
)
def test_what_is_no_report_is_reported_and_nothing_written(
    saved: Path, capsys: pytest.CaptureFixture[str], text: str, why: str
) -> None:
    saved.write_text(text)
    assert main(["report", str(saved), "-o", str(saved.with_name("page.html"))]) == 3
    assert why in capsys.readouterr().err
    assert "page.html" not in os.listdir(saved.parent)


def test_a_report_that_is_not_there_is_a_usage_error(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved.unlink()
    assert main(["report", str(saved), "-o", str(saved.with_name("page.html"))]) == 2
    assert f"There is no file {saved}." in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_a_usage_error(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(saved), "-o", str(saved.with_name("no") / "page.html")]) == 2
    assert "--output: there is no folder" in capsys.readouterr().err


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_a_run_writes_its_page(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    pytester.makepyfile(TESTS)
    options = ("--parity-html", "out/run.html", "--parity-report", "out/run.json")
    result = pytester.runpytest(*options, *workers)
    result.assert_outcomes(passed=1, failed=2)
    html = (pytester.path / "out/run.html").read_text()
    assert html == render(json.loads((pytester.path / "out/run.json").read_text()))
    rows = parse(html).one("table", id="comparisons").one("tbody").all("tr")
    verdicts = [row.attributes["data-verdict"] for row in rows]
    assert verdicts == ["parity", "error", "diverged"]
    assert "<b>no weights</b>" in parse(html).one("pre", kind="error").text
    result.stdout.fnmatch_lines(["parity: 3 comparisons written to *run.html"])
    assert sorted(os.listdir(pytester.path / "out")) == ["run.html", "run.json"]


def test_the_page_alone_can_be_asked_for(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    pytester.runpytest("--parity-html", "run.html", "-k", "agrees").assert_outcomes(passed=1)
    assert parse((pytester.path / "run.html").read_text()).one("h1").text.startswith("✓ parity")
    assert not list(pytester.path.glob("*.json"))


def test_a_page_that_cannot_be_written_is_reported(pytester: pytest.Pytester) -> None:
    pytester.mkdir("folder")
    result = pytester.runpytest("--parity-html", "folder")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --parity-html: *folder is a folder; name a file."])
    pytester.makepyfile("import shutil\ndef test_removes_it(): shutil.rmtree('out')")
    result = pytester.runpytest("--parity-html", "out/run.html")
    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["parity: --parity-html could not be written: *"])
