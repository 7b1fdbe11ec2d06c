"""The bench of public packages can fail: wrong places, causes, alarms and crashes are seen."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import parity
from benchmarks.strangers import __main__, alone, zoo
from benchmarks.strangers.judge import Row, judged, said_of
from benchmarks.strangers.pair import Built, Fault, Pair, pairs
from benchmarks.strangers.tables import line, totals

torch = pytest.importorskip("torch")


def _nets(change: Any) -> Built:
    torch.manual_seed(3)
    layers = [torch.nn.Linear(7, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3)]
    reference, candidate = (torch.nn.Sequential(*layers) for _ in range(2))
    if change is not None:
        candidate[1] = change
    inputs = np.random.default_rng(5).normal(size=(4, 7)).astype("float32")
    return Built(reference, candidate, inputs)


FAULT = Fault("a relu is a tanh", ("activation-kind",), ("1",))


def _pair(change: Any = None, fault: Fault | None = None) -> Pair:
    return Pair("toy", "toys", ("torch",), lambda: _nets(change), fault)


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    """What is said of a relu that is a tanh."""
    built = _nets(torch.nn.Tanh())
    return said_of(parity.compare(built.reference, built.candidate, inputs=built.inputs))


def _row(said: dict[str, Any], fault: Fault | None) -> Row:
    return judged(_pair(fault=fault), said)


def test_all_is_right(said):
    row = _row(said, FAULT)
    assert (row.right, row.placed, row.named, row.confirmed, row.wrong) == (True,) * 4 + ((),)
    assert "**" not in line(row)


def test_an_operation_is_a_place(said):
    word = said["divergences"][0]["words"][0]
    assert _row(said, replace(FAULT, places=(word,))).placed
    assert not _row(said, replace(FAULT, places=(word[:-1],))).placed


def test_a_wrong_place_is_wrong(said):
    row = _row(said, replace(FAULT, places=("2",)))
    assert row.right and not row.placed
    assert "**" in line(row)


def test_a_wrong_cause_is_wrong(said):
    row = _row(said, replace(FAULT, causes=("norm-epsilon",)))
    assert (row.named, row.confirmed) == (False, False)
    assert row.wrong == ("activation-kind (confirmed)",)
    assert "**activation-kind (confirmed)**" in line(row)


def test_a_wrong_cause_of_a_later_divergence_is_wrong(said):
    (first,) = said["divergences"]
    later = {**first, "cause": "norm-axis", "confirmed": False}
    row = _row({**said, "divergences": [first, later]}, FAULT)
    assert row.named and row.wrong == ("norm-axis (not proved)",)
    assert "**beside it norm-axis (not proved)**" in line(row)


def test_an_unexplained_divergence_names_nothing(said):
    unexplained = {**said["divergences"][0], "cause": "", "confirmed": False}
    row = _row({**said, "divergences": [unexplained, *said["divergences"]]}, FAULT)
    assert (row.named, row.confirmed, row.wrong) == (False, False, ())
    assert row.cause == "unexplained; later activation-kind (confirmed)"


def test_two_formulas_name_nothing_and_are_not_wrong(said):
    formula = {**said["divergences"][0], "cause": "different-formula"}
    row = _row({**said, "divergences": [formula]}, FAULT)
    assert (row.named, row.confirmed, row.wrong) == (False, False, ())


def test_a_clean_pair_that_diverges_is_a_false_alarm(said):
    row = _row(said, None)
    assert row.alarm and not row.right and row.wrong
    assert "**diverged**" in line(row)


def test_parity_is_right_for_a_clean_pair_alone():
    built = _nets(None)
    found = said_of(parity.compare(built.reference, built.candidate, inputs=built.inputs))
    assert _row(found, None).right
    assert not _row(found, FAULT).right


@pytest.mark.parametrize("outcome", ["unverified", "crashed", "ended", "skipped"])
@pytest.mark.parametrize("fault", [None, FAULT])
def test_nothing_else_is_a_pass(outcome, fault):
    row = _row({"outcome": outcome, "reason": "why"}, fault)
    assert not row.right and not row.alarm and not row.placed
    assert f"**{outcome}**" in line(row)
    assert (outcome == "unverified") != ("why" in line(row))


def test_the_totals_count_what_is_wrong(said):
    rows = [
        _row(said, FAULT),
        _row(said, replace(FAULT, places=("2",), causes=())),
        _row(said, None),
        _row({"outcome": "crashed"}, FAULT),
        _row({"outcome": "skipped"}, None),
    ]
    counts = {cells[0].strip(): cells[-1].strip() for cells in map(_cells, totals(rows))}
    assert counts["skipped"] == counts["crashed, or ended at a limit"] == "1"
    assert counts["false alarms"] == "1"
    assert counts["clean pairs called parity"] == "0 of 1"
    assert counts["faults called diverged"] == "2 of 3"
    assert counts["first place right"] == counts["and confirmed"] == "1 of 3"
    assert counts["wrongly explained"] == "2"


def _cells(text: str) -> list[str]:
    return text.strip("|").split("|")


def test_a_measurement_has_the_verdict_and_the_cost():
    found = alone.measured(_pair(torch.nn.Tanh()))
    assert found["outcome"] == "diverged"
    assert (
        found["apart"] > 0.01
        and found["seconds"] > 0
        and found["passes"] > 1
        and found["gigabytes"] > 0
    )


def test_outputs_of_other_shapes_are_not_subtracted():
    values = np.arange(6.0)
    assert alone.apart([values], [values]) == 0
    assert alone.apart([values], [values + 1]) == pytest.approx(0.2)
    assert alone.apart([values], [values.reshape(2, 3)]) is None


def test_a_missing_package_is_a_reason():
    pair = replace(_pair(), needs=("torch", "no_such_package"))
    found = alone.run(pair, 1, 1)
    assert found == {"outcome": "skipped", "reason": "not installed: no_such_package"}


def test_a_process_that_fails_says_so():
    found = alone.run(replace(_pair(), name="no-such-pair"), 60, 8)
    assert found["outcome"] == "crashed" and "no-such-pair" in found["reason"]


def test_a_process_that_is_killed_says_so(monkeypatch, tmp_path):
    dies = tmp_path / "python"
    dies.write_text("#!/bin/sh\nkill -9 $$\n")
    dies.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(dies))
    assert alone.run(_pair(), 60, 8)["outcome"] == "crashed"


def test_a_process_is_ended_at_its_limit(monkeypatch, tmp_path):
    sleeps = tmp_path / "python"
    sleeps.write_text("#!/bin/sh\nexec sleep 30\n")
    sleeps.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(sleeps))
    assert alone.run(_pair(), 0.1, 8) == {"outcome": "ended", "reason": "after 0 s"}
    assert alone.run(_pair(), 30, 0)["reason"] == "at 0 GB"


def test_a_run_goes_on_where_it_stopped(monkeypatch, tmp_path, said, capsys):
    """What did not run is tried again; the exit code says whether all that ran is right."""
    started = []

    def run(pair, seconds, gigabytes):
        started.append(pair.name)
        return said if len(started) > 1 else {"outcome": "crashed", "reason": "memory"}

    pair = _pair(fault=FAULT)
    monkeypatch.setattr(__main__, "pairs", lambda: {pair.name: pair})
    monkeypatch.setattr(__main__, "run", run)
    kept, page = tmp_path / "kept.jsonl", tmp_path / "page.md"
    given = ["--keep", str(kept), "--write", str(page)]
    assert __main__.main(given) == 1
    assert "**crashed** | memory" in page.read_text()
    assert __main__.main(given) == __main__.main(given) == 0
    assert started == ["toy", "toy"]
    assert "**" not in page.read_text()
    assert "first place right | 1 of 1" in capsys.readouterr().out


def test_every_fault_names_causes_that_there_are_and_a_place():
    from parity.diagnosis.causes import causes

    kinds = {kind for cause in causes() for kind in cause.kinds}
    found = [pair for pair in pairs().values() if pair.fault is not None]
    for pair in found:
        assert pair.fault.places and all(pair.fault.places), pair.name
        assert set(pair.fault.causes) <= kinds, pair.name
    assert len(found) >= 30 and len(pairs()) >= 60


def test_the_sizes_of_images_make_what_they_say():
    """Keras pads both sides alike where a size is odd: so it is all the way through the network."""
    size = zoo.MOBILENET2.size
    while size > 4:
        assert size % 2 == 1
        size = (size + 1) // 2
