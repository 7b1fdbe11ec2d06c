"""The report: JSON that any reader takes, and text that fits a terminal."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parity
from parity.atomic import write_json
from parity.commands import shared
from parity.findings import LeafDifference
from parity.report.report import Report
from parity.report.table import _shared
from parity.report.terminal import render

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
nn = torch.nn
draw = np.random.default_rng(13)
X = draw.standard_normal((5, 7)).astype("f")
ANSI = re.compile(r"\x1b\[")


class Deep(nn.Module):
    """Many layers of long names, and what prints badly: NaN, zeros, huge and tiny values."""

    def __init__(self, wrong: tuple[int, ...] = (), scale: float = 1.0) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.an_encoder_with_a_rather_long_name = nn.ModuleList(nn.Linear(7, 7) for _ in range(70))
        for layer in self.an_encoder_with_a_rather_long_name:
            nn.init.orthogonal_(layer.weight, 1.6)  # so that no layer forgets the one before
        self.wrong, self.scale = wrong, scale

    def forward(self, x: Any) -> Any:
        for number, layer in enumerate(self.an_encoder_with_a_rather_long_name):
            x = layer(x).sigmoid() if number in self.wrong else layer(x).tanh()
        log = torch.log(x * self.scale)
        return {"a rather long name for an output of a model": x, "log": log, "none": x * 0}


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    inner = Deep()
    models = {
        "parity": Deep(),
        "diverged": Deep((3, 40), -1.0),
        "unverified": lambda x: {"log": torch.log(inner(x)["log"].exp())},
    }
    return {
        name: parity.compare(Deep(), parity.wrap(model, framework="torch", name=name), inputs=X)
        for name, model in models.items()
    }


each_verdict = pytest.mark.parametrize("verdict", ["parity", "diverged", "unverified"])


@each_verdict
def test_json_has_no_nan_and_comes_back_whole(reports: dict[str, Report], verdict: str) -> None:
    data = reports[verdict].to_dict()
    assert data["schema"] == 2 and data["verdict"] == reports[verdict].verdict == verdict
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_json_holds_what_the_report_does(reports: dict[str, Report]) -> None:
    report = reports["diverged"]
    (comparison,) = report.to_dict()["comparisons"]
    assert len(comparison["divergences"]) == len(report.divergences) >= 2
    for data, found in zip(comparison["divergences"], report.divergences, strict=True):
        assert data["candidate"]["source"] == found.candidate.source
        assert data["candidate"]["code"] == found.candidate.code
        assert data["reference"]["layer"] == found.reference.layer
    assert len(comparison["layers"]) == len(report.layers)
    assert comparison["coverage"]["outputs_compared"] == 3
    assert [row["name"] for row in comparison["outputs"]][1] == "log"
    zeros = comparison["outputs"][2]["difference"]
    assert zeros["cosine"] is None and zeros["largest"] == 0.0  # JSON has no NaN


def test_a_report_is_saved_whole_or_not_at_all(
    reports: dict[str, Report], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.json"
    reports["diverged"].save(path)
    assert json.loads(path.read_text()) == reports["diverged"].to_dict()
    before = path.read_text()
    with pytest.raises(ValueError):
        write_json(path, {"difference": float("nan")})
    with pytest.raises(TypeError):
        write_json(path, {"difference": object()})

    def no_space(*paths: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", no_space)
    with pytest.raises(OSError, match="no space"):
        reports["parity"].save(path)
    assert path.read_text() == before and os.listdir(tmp_path) == ["report.json"]


def test_a_report_is_for_whom_any_other_file_is(tmp_path: Path) -> None:
    """A CI uploads it, a server shows it: it is not its writer's alone."""
    write_json(tmp_path / "report.json", {})
    (tmp_path / "plain").write_text("")
    modes = {path.name: path.stat().st_mode for path in tmp_path.iterdir()}
    assert modes["report.json"] == modes["plain"]


@each_verdict
@pytest.mark.parametrize("width", [100, 80])
def test_text_fits_its_terminal(reports: dict[str, Report], verdict: str, width: int) -> None:
    text = render(reports[verdict], width=width)
    assert text.splitlines()[0].startswith(verdict)
    for line in text.splitlines():
        assert len(line) <= width, line


@each_verdict
@pytest.mark.parametrize("width", [100, 80])
def test_the_table_keeps_its_words_and_numbers_whole(
    reports: dict[str, Report], verdict: str, width: int
) -> None:
    """Names of layers alone are cut, and in their middle; a framework never."""
    report = reports[verdict]
    lines = render(report, width=width).splitlines()
    head = next(at for at, line in enumerate(lines) if re.search("of scale  +local", line))
    assert lines[head].startswith("(torch)") and lines[head].count("(torch)") == 2
    rows = list(itertools.takewhile(bool, lines[head + 2 :]))
    assert len(rows) > 10
    words = {re.split("  +", row)[-1] for row in rows if " more " not in row + " "}
    verdicts = {row.verdict for row in report.comparisons[0].layers}
    assert words <= verdicts | {"rounded", "parameter"}
    assert any(re.match(r"an\w*…\w*e\.\d+  \w[\w.]*…\w*e\.\d+  ", row) for row in rows)


def test_names_share_the_room_that_there_is() -> None:
    assert _shared(40, (10, 50)) == (10, 30) and _shared(40, (50, 10)) == (30, 10)
    assert _shared(40, (50, 50)) == (20, 20) and _shared(40, (10, 10)) == (10, 10)
    assert _shared(-5, (50, 50)) == (12, 12)


def test_the_command_uses_the_terminal_it_is_on(
    reports: dict[str, Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    def printed(columns: int, terminal: bool) -> int:
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda: terminal)
        monkeypatch.setattr("sys.stdout", stream)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("NO_COLOR", "1")
        assert shared.show(reports["diverged"]) == 1
        return max(map(len, stream.getvalue().splitlines()))

    assert 70 < printed(80, terminal=True) <= 80 < 100 < printed(140, terminal=True) <= 140
    assert 80 < printed(80, terminal=False) <= 100


@each_verdict
def test_colours_are_there_when_asked_for_alone(
    reports: dict[str, Report], verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = render(reports[verdict])
    assert not ANSI.search(plain) and plain == str(reports[verdict])
    coloured = render(reports[verdict], color=True)
    assert ANSI.search(coloured)
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": "40"}.items():
        monkeypatch.setenv(name, value)
    assert str(reports[verdict]) == plain


def test_the_text_says_where_and_what(reports: dict[str, Report]) -> None:
    text = str(reports["diverged"])
    assert "x = layer(x).sigmoid() if number in self.wrong else layer(x).tanh()" in text
    assert "sigmoid" in text and "tanh" in text and "test_report.py:" in text
    # a deep model is abridged around its differences
    left_out = [int(number) for number in re.findall(r"… (\d+) more", text)]
    table = re.findall(r"(?m)^\S+ +\S+ +\d+x\d+ .* (?:same|diverged|inherited)$", text)
    assert len(left_out) == 2 and sum(left_out) + len(table) == len(reports["diverged"].layers)
    assert "coverage: 3 of 3 outputs compared" in text
    assert "is missing in" in str(reports["unverified"])


def test_layers_are_in_the_order_of_the_data_flow(reports: dict[str, Report]) -> None:
    named = [row.reference for row in reports["parity"].layers if row.reference.startswith("an_")]
    expected = [f"an_encoder_with_a_rather_long_name.{number}" for number in range(70)]
    assert named == expected
    assert {row.verdict for row in reports["parity"].layers} == {"same"}
    after = [row.verdict for row in reports["diverged"].layers]
    first = after.index("diverged")
    assert set(after[:first]) == {"same"} and "inherited" in after[first:]
    assert after.count("diverged") == sum(d.times for d in reports["diverged"].divergences)


def test_the_rounding_floor_is_the_reference_s_own(reports: dict[str, Report]) -> None:
    floors = [row.rounding for row in reports["diverged"].layers[:140]]
    assert all(floor is not None and 1e-9 < floor < 1e-4 for floor in floors)
    parts = [row for row in reports["diverged"].layers if row.verdict == "diverged"]
    assert all(row.difference and row.difference.relative > 1e-2 for row in parts)
    double = Deep().double()
    (comparison,) = parity.compare(double, double, inputs=X.astype("d")).comparisons
    assert {row.rounding for row in comparison.layers} == {0.0}


@pytest.mark.parametrize("count", [8, 9, 500])
def test_of_many_parameters_at_a_place_the_first_are_named(
    reports: dict[str, Report], count: int
) -> None:
    report = reports["diverged"]
    comparison = report.comparisons[0]
    leaves = tuple(LeafDifference(f"ours{n}", f"theirs{n}", "other") for n in range(count))
    first = replace(comparison.divergences[0], leaves=leaves)
    many = replace(report, comparisons=(replace(comparison, divergences=(first,)),))

    shown = [line.strip() for line in render(many).splitlines() if " differs from ours" in line]
    assert shown == [str(leaf) for leaf in leaves[: 8 if count == 8 else 7]]
    assert (f"and {count - 7} more" in render(many)) == (count > 8)
