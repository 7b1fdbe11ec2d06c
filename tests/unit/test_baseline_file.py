"""The baseline's file: what is written is read; damaged, killed, and crowded as files are."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from parity.baseline.entry import Acceptance, Entry, Layer
from parity.baseline.file import changing, read, to_text
from parity.errors import FileError, UsageError


def entry(name, difference=1e-7):
    return Entry(
        source=f"test_a.py::test_{name}",
        shared=False,
        verdict="diverged",
        environment={"machine": {"processor": "x86_64"}, "numpy": {"numpy": "2.3"}},
        coverage={"values": 1.0, "outputs": 0.5},
        decisions={"q": 0.75},
        layers={
            "l1 | dense": Layer("same", difference, 2e-7),
            "l2 | é": Layer("diverged", float("inf"), 0.0),
            "l3 | last": Layer("diverged", None, 0.0),
        },
        accepted=Acceptance("upstream bug", "2026-12-31"),
    )


ENTRIES = {
    "b": entry("b"),
    "a": Entry("test_a.py::net", True, "parity", generated=True, environment={"machine": {}}),
}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "baseline.json"
    with changing(path) as entries:
        entries.update(ENTRIES)
    return path


def test_what_is_written_is_read(path):
    assert read(path) == ENTRIES
    assert json.loads(path.read_text())["schema"] == 1
    assert os.listdir(path.parent) == ["baseline.json"]


def test_it_is_sorted_with_a_line_for_each_layer(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert '    "l1 | dense": {"verdict": "same", "difference": 1e-07, "rounding": 2e-07},' in lines
    names = [line for line in lines if line.startswith('  "')]
    assert names == ['  "a": {', '  "b": {']
    assert to_text(dict(reversed(ENTRIES.items()))) == to_text(ENTRIES)


def test_a_changed_layer_is_one_changed_line(path):
    before = path.read_text(encoding="utf-8").splitlines()
    with changing(path) as entries:
        entries["b"] = entry("b", 3e-2)
    after = path.read_text(encoding="utf-8").splitlines()
    assert [new for old, new in zip(before, after, strict=True) if old != new] == [
        '    "l1 | dense": {"verdict": "same", "difference": 0.03, "rounding": 2e-07},'
    ]


def test_without_a_change_the_file_is_not_touched(path):
    before = path.stat()
    with changing(path):
        pass
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_an_error_while_changing_leaves_all_as_it_was(path):
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError), changing(path) as entries:
        entries.clear()
        raise ZeroDivisionError
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["baseline.json"]


def test_a_link_stays_a_link(path):
    link = path.with_name("link.json")
    link.symlink_to(path)
    with changing(link) as entries:
        del entries["a"]
    assert link.is_symlink()
    assert set(read(path)) == {"b"}


def damage(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"schema": 1', '"schema": 2', "its schema is 2, and this version reads 1"),
        ('"verdict": "same"', '"verdict": 3', "b: l1 | dense: verdict: here stands 3, not text"),
        ('"verdict": "diverged"', '"verdict": "fine"', "b: its verdict is 'fine'"),
        ("1e-07", '"small"', 'difference: here stands "small", not a number from 0'),
        ("2e-07", "NaN", "rounding: here stands NaN, not a number"),
        ("2e-07", "-1", "rounding: here stands -1, not a number"),
        ('"outputs": 0.5', '"out": 0.5', "b: coverage: 'outputs' is missing"),
        ("2026-12-31", "31.12.2026", "'31.12.2026' is no date; write it as 2026-12-31"),
        ("upstream bug", " ", "b: accepted: there is no reason"),
        ('"accepted"', '"acepted"', "b: nothing is known of 'acepted'"),
        ('  "b": {', '  "a": {', "'a' stands in it twice"),
        ('"layers"', '<<<<<<< HEAD\n"layers"', "There are conflict markers of a merge in it."),
        ('"schema": 1', '"schema": ' + "[" * 100_000, "nested far too deep"),
        ('"schema": 1,', "", "its schema is None"),
    ],
)
def test_a_damaged_file_is_reported_and_never_overwritten(path, old, new, says):
    damage(path, old, new)
    damaged = path.read_bytes()
    with pytest.raises(FileError) as raised:
        read(path)
    assert says in str(raised.value)
    assert str(path) in str(raised.value)
    assert "version control" in str(raised.value)
    with pytest.raises(FileError), changing(path) as entries:
        entries.clear()
    assert path.read_bytes() == damaged


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_half_a_file_is_reported(path, share):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(FileError, match="line [0-9]+: this is no JSON"):
        read(path)


def test_bytes_that_are_no_text_are_reported(path):
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match="cannot be read"):
        read(path)


def test_a_file_that_is_not_there_is_reported_with_how_to_make_it(tmp_path):
    with pytest.raises(UsageError, match="There is no baseline .*--parity-update"):
        read(tmp_path / "none.json")


def test_a_folder_that_is_not_there_is_reported(tmp_path):
    with pytest.raises(FileError, match="cannot be written"), changing(tmp_path / "no" / "b.json"):
        pass


# --- killed and crowded --------------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from parity.baseline.entry import Entry, Layer
from parity.baseline.file import changing

path, own, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
shares = {"values": 1.0, "outputs": 1.0}
layers = {f"l{i}": Layer("same", 1e-7, 2e-7) for i in range(300)}
for number in range(count):
    with changing(path) as entries:
        name = f"{own} {number}"
        entries[name] = Entry(name, False, "parity", coverage=shares, layers=layers)
    print("written", flush=True)
"""
posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


def start(path, own, count):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), own, str(count)], stdout=subprocess.PIPE
    )


def test_eight_writers_at_once_lose_nothing(tmp_path):
    path = tmp_path / "baseline.json"
    writers = [start(path, f"writer {number}", 4) for number in range(8)]
    for writer in writers:
        writer.communicate(timeout=120)
        assert writer.returncode == 0
    assert set(read(path)) == {f"writer {number} {i}" for number in range(8) for i in range(4)}
    assert os.listdir(tmp_path) == ["baseline.json"]


@posix
def test_without_the_lock_writers_lose_what_others_wrote(tmp_path, monkeypatch):
    """The lock is needed: two that read before either writes."""
    import contextlib

    import parity.baseline.file as file

    path = tmp_path / "baseline.json"
    monkeypatch.setattr(file, "_locked", lambda lock: contextlib.nullcontext())
    with changing(path) as one:
        one["one"] = entry("one")
        with changing(path) as other:
            other["other"] = entry("other")
    assert set(read(path)) == {"one"}


@posix
@pytest.mark.parametrize("seconds", [0.0, 0.003, 0.006, 0.01, 0.015, 0.02, 0.03, 0.05])
def test_a_killed_writer_leaves_the_old_file_or_the_new_one(tmp_path, seconds):
    path = tmp_path / "baseline.json"
    writer = start(path, "killed", 10_000)
    assert writer.stdout is not None
    for _ in range(2):
        writer.stdout.readline()
    time.sleep(seconds)
    writer.send_signal(signal.SIGKILL)
    rest = writer.communicate(timeout=60)[0]
    written = 2 + rest.count(b"written")
    found = read(path)
    assert len(found) in (written, written + 1)  # it may be killed before it says so
    assert set(found) == {f"killed {number}" for number in range(len(found))}
    with changing(path) as entries:  # and whoever comes next need not wait
        entries["next"] = entry("next")
    assert len(read(path)) == len(found) + 1
    assert os.listdir(tmp_path) == ["baseline.json"]


@posix
@pytest.mark.parametrize("call", ["open", "write", "replace", "unlink"])
def test_a_writer_killed_at_a_step_leaves_the_old_file_or_the_new_one(path, call):
    """Killed right before each step, rather than by the clock."""
    before = set(read(path))
    killed = """
import os, signal
import parity.baseline.file as file
from pathlib import Path

def dies(*words, **more):
    os.kill(os.getpid(), signal.SIGKILL)

def half(self, data):
    with open(self, "wb") as handle:
        handle.write(data[: len(data) // 2])
    dies()

call = sys.argv[4]
if call == "open":
    Path.write_bytes = dies
elif call == "write":
    Path.write_bytes = half
else:
    setattr(os, call, dies)
"""
    script = "import sys" + killed + WRITER.replace("import sys\n", "")
    done = subprocess.run([sys.executable, "-c", script, str(path), "new", "1", call], timeout=60)
    assert done.returncode == -signal.SIGKILL
    new = {"new 0"} if call == "unlink" else set()  # the lock goes when all is written
    assert set(read(path)) == before | new
    with changing(path) as entries:
        del entries["a"]
    assert set(read(path)) == (before | new) - {"a"}
    assert os.listdir(path.parent) == ["baseline.json"]
