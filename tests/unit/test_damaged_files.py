"""Damaged files are read rightly or refused with a clear error; `benchmarks.damaged` reads more."""

import random
import sqlite3

import pytest

from benchmarks import damaged
from parity.errors import FileError
from parity.history.store import add, reading
from parity.safe_json import parsed

KINDS = {name: kind for name, kind in damaged.kinds().items() if not name.startswith("weights")}


@pytest.mark.parametrize("name", KINDS)
def test_a_damaged_file_gives_nothing_but_a_clear_error(name, tmp_path):
    found = [said for said, _ in damaged.runs(KINDS[name], tmp_path, 100, seed=1)]
    assert set(found) <= {"read", "refused"}
    assert found.count("refused") > 20


def test_what_is_no_clear_error_is_seen(tmp_path):
    def read(path):
        return path.read_text(encoding="utf-8").index("a whole file")

    kind = damaged.Kind("a.txt", lambda path: path.write_text("a whole file" * 9), read)
    assert any("ValueError" in said for said, _ in damaged.runs(kind, tmp_path, 20, seed=1))


@pytest.mark.parametrize("digits", ["1" * 301, "-" + "9" * 5000, "1e999", "-1e999"])
def test_numbers_that_nobody_can_compute_with_are_refused(digits):
    with pytest.raises(ValueError, match="stands in it"):
        parsed(f'{{"a": [{digits}]}}')


def test_numbers_are_read_as_they_are():
    assert parsed(f"[1, -2.5, {2**63}, 1e-999, 1e308]") == [1, -2.5, 2**63, 0.0, 1e308]


@pytest.mark.parametrize("statements", damaged._STATEMENTS)
def test_rows_and_tables_that_are_none_of_a_historys(statements, tmp_path):
    path = tmp_path / "h.sqlite"
    KINDS["history"].write(path)
    database = sqlite3.connect(path)
    database.executescript(statements)
    database.close()
    with pytest.raises(FileError, match=r"is damaged: .*backup"):
        KINDS["history"].read(path)


def test_a_history_with_other_tables_is_not_added_to(tmp_path):
    path = tmp_path / "h.sqlite"
    KINDS["history"].write(path)
    trigger = next(one for one in damaged._STATEMENTS if "TRIGGER" in one)
    database = sqlite3.connect(path)
    database.execute(trigger)
    database.close()
    with pytest.raises(FileError, match="its tables are not those of a history"):
        add(path, "v3", "0", {})
    database = sqlite3.connect(path)
    database.execute("DROP TRIGGER t")
    database.close()
    with reading(path) as history:
        assert [run.revision for run in history.runs()] == ["v1", "v2"]


def test_damage_is_drawn_from_the_seed(tmp_path):
    path, data = tmp_path / "a", bytes(range(200))
    found = []
    for seed in (1, 1, 2):
        damaged.in_bytes(path, data, random.Random(seed))
        found.append(path.read_bytes())
    assert found[0] == found[1] != found[2]


def test_a_share_without_end_is_refused(tmp_path):
    path = tmp_path / "baseline.json"
    KINDS["baseline"].write(path)
    text = path.read_text()
    for endless in ('"inf"', "Infinity"):
        path.write_text(text.replace('"values": 1.0', f'"values": {endless}'))
        assert endless in path.read_text()
        with pytest.raises(FileError, match="values: a share is a number, not infinity"):
            KINDS["baseline"].read(path)


def test_a_name_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "run.json"
    KINDS["run for a history"].write(path)
    name = '"test_a.py::test_port: net -> port"'
    path.write_text(path.read_text().replace(f'"entries": [{name}]', f'"entries": [{2**70}]'))
    assert str(2**70) in path.read_text()
    with pytest.raises(FileError, match="is no name of a comparison"):
        KINDS["run for a history"].read(path)


@pytest.mark.parametrize("verdict", ["{}", "[]", "null", '"fine"'])
def test_a_verdict_that_is_none_is_refused(verdict, tmp_path):
    path = tmp_path / "baseline.json"
    KINDS["baseline"].write(path)
    path.write_text(path.read_text().replace('"verdict": "diverged"', f'"verdict": {verdict}', 1))
    with pytest.raises(FileError, match="its verdict is"):
        KINDS["baseline"].read(path)
