"""The verdict on very many comparisons: what is done is not done again, what is wrong is listed."""

from __future__ import annotations

import json

import pytest

from benchmarks.verdict import many
from parity import budget


@pytest.fixture
def one_seed(monkeypatch):
    monkeypatch.setattr(many, "FAULTS", 1)


@pytest.mark.parametrize("kind", many.FAULTY)
def test_a_unit_says_what_was_said_of_its_comparisons(kind, one_seed):
    found = many.work((kind, "", 0))

    assert found["unit"] == [kind, "", 0]
    assert found["said"] == {"diverged": 1}
    assert found["others"] == []


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("mutated", f"benchmarks.attacks --show --seed {many.FIRST_SEED}"),
        ("generated", f"benchmarks.pairs --case {many.FIRST_SEED} --kind "),
    ],
)
def test_a_fault_that_passes_is_listed_with_its_seed(kind, named, one_seed, monkeypatch):
    monkeypatch.setattr(many, "_verdict", lambda compare: ("parity", "nothing"))

    found = many.work((kind, "", 0))

    ((case, verdict, _),) = found["others"]
    assert verdict == "parity"
    assert case.startswith(named)
    text = "\n".join(many.tables([{**found, "commit": "0" * 8}]))
    assert f"- {case}: parity" in text


def test_a_mutation_that_changes_no_more_than_rounding_is_not_compared(one_seed, monkeypatch):
    from benchmarks.attacks.mutations import judge

    monkeypatch.setattr(judge, "truth", lambda given: ("between", 5.0))
    monkeypatch.setattr(many, "_verdict", lambda compare: ("parity", "nothing"))

    found = many.work(("mutated", "", 0))

    assert found["said"] == {"below rounding": 1}
    assert found["others"] == []
    text = "\n".join(many.tables([{**found, "commit": "0" * 8}]))
    assert "0 comparisons" in text and "Not counted: 1 " in text


def test_what_a_small_budget_leaves_open_is_compared_with_the_usual_one(monkeypatch):
    budgets = []

    def verdict(compare):
        with budget.spending() as spent:
            budgets.append(spent.seconds)
        return ("unverified" if spent.seconds < 1 else "parity"), ""

    monkeypatch.setattr(many, "_verdict", verdict)

    assert many._verdict_first(lambda: None) == ("parity", "")
    assert budgets == [many.SECONDS, budget.SECONDS]


def test_only_what_is_missing_runs_and_a_cut_off_line_is_missing(tmp_path):
    done = {"unit": ["mutated", "", 0], "said": {"diverged": 50}, "others": [], "commit": "0" * 8}
    (tmp_path / "1-of-2.jsonl").write_text(json.dumps(done) + "\n" + json.dumps(done)[:20])

    assert many.finished(tmp_path) == [done]


def test_the_tables_are_written_to_a_page(tmp_path, capsys):
    done = {"unit": ["mutated", "", 0], "said": {"diverged": 50}, "others": [], "commit": "0" * 8}
    (tmp_path / "1-of-1.jsonl").write_text(json.dumps(done) + "\n")
    page = tmp_path / "page.md"

    assert many.main([str(tmp_path), "--tables", "--write", str(page)]) == 0

    text = page.read_text()
    assert f"many {tmp_path} --tables` at commit" in text
    assert capsys.readouterr().out.strip() in text


def test_shards_share_the_work_without_overlap():
    units = many.faulty_units("mutated", 1000)
    shards = [units[part::3] for part in range(3)]

    assert sorted(sum(shards, [])) == sorted(units)
    assert len(units) == 1000 // many.FAULTS
