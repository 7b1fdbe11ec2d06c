"""The history's file: what is added is read; foreign, damaged, killed, and crowded as files are."""

import os
import signal
import sqlite3
import subprocess
import sys

import pytest

from parity.baseline.entry import Entry, Layer
from parity.errors import FileError
from parity.history.store import SCHEMA, Run, add, reading

ENTRY = Entry(
    source="test_a.py::test_port",
    shared=False,
    verdict="diverged",
    environment={"machine": {"parity": "0.1.0"}, "torch": {"torch": "2.5.0"}},
    coverage={"values": 1.0, "outputs": 0.5},
    decisions={"q": 0.75},
    layers={
        "l1 | dense": Layer("same", 1e-7, 2e-7),
        "l2 | é": Layer("diverged", float("inf"), 0.0),
        "l3 | last": Layer("diverged", None, 0.0),
    },
)
HASH = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "history.sqlite"
    add(path, HASH, "0.1.0", {"port": ENTRY})
    return path


def all_of(path):
    """What each run made, by its commit."""
    with reading(path) as history:
        return [(run.revision, history.names(run)) for run in history.runs()]


def test_what_is_added_is_read(path):
    second = add(path, "v2", "0.2.0", {"b": ENTRY, "a": ENTRY})
    with reading(path) as history:
        first, again = history.runs()
        assert again == second == Run(2, "v2", second.added, "0.2.0")
        assert first.revision == HASH and first.number == 1
        assert history.names(second) == ["a", "b"]
        assert history.entries("port") == {1: ENTRY}
        assert history.entries("a") == {2: ENTRY}
    assert os.listdir(path.parent) == [path.name]


def test_a_commit_is_shortened_as_git_does(path):
    def short(revision):
        return Run(1, revision, "", "").short

    assert short(HASH) == "012345678"
    assert short(f"{HASH}-dirty") == "012345678-dirty"
    assert short("v1.2-rc") == "v1.2-rc"


def test_the_header_states_schema_program_and_wal(path):
    database = sqlite3.connect(path)
    (schema,), (program,), (mode,) = (
        database.execute(f"PRAGMA {name}").fetchone()
        for name in ("user_version", "application_id", "journal_mode")
    )
    database.close()
    assert (schema, mode) == (SCHEMA, "wal")
    assert program


@pytest.mark.parametrize("name", ["a b?mode=ro#x.sqlite", "é.sqlite"])
def test_any_name_of_a_file_will_do(tmp_path, name):
    add(tmp_path / name, "v1", "0.1.0", {"port": ENTRY})
    assert all_of(tmp_path / name) == [("v1", ["port"])]
    assert os.listdir(tmp_path) == [name]


# --- what is no history --------------------------------------------------------------------------


def foreign(path):
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE users (name TEXT)")
    database.commit()
    database.close()


def newer(path):
    add(path, "v1", "0.1.0", {"port": ENTRY})
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 2")
    database.close()


def damaged(path):
    add(path, "v1", "0.1.0", {f"port {at}": ENTRY for at in range(200)})
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)


def half(path):
    add(path, "v1", "0.1.0", {f"port {at}": ENTRY for at in range(200)})
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


FILES = {
    "text": (lambda path: path.write_text("no history, " * 100), "is no history: .*backup"),
    "another program's": (foreign, "a SQLite file of another program. Name another with --file"),
    "newer": (newer, "its schema is 2, and this parity reads 1. Use the version of parity"),
    "damaged": (damaged, "is damaged: .*backup"),
    "half": (half, "is damaged: .*backup"),
    "a folder": (lambda path: path.mkdir(), "cannot be used: unable to open database file"),
}


@pytest.mark.parametrize(("make", "why"), FILES.values(), ids=FILES)
def test_what_is_no_history_is_reported_and_left_as_it_is(tmp_path, make, why):
    path = tmp_path / "history.sqlite"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(FileError, match=why) as error, reading(path) as history:
        for run in history.runs():
            for name in history.names(run):
                history.entries(name)
    assert str(path) in str(error.value)
    if make not in (damaged, half):  # whose page that is written to may be whole
        with pytest.raises(FileError, match=why):
            add(path, "v2", "0.1.0", {"port": ENTRY})
    if before is not None and make not in (damaged, half):
        assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_an_entry_that_was_changed_by_hand_is_reported(path):
    database = sqlite3.connect(path)
    database.execute("UPDATE comparisons SET entry = replace(entry, '\"diverged\"', '\"fine\"')")
    database.commit()
    database.close()
    with pytest.raises(FileError, match="port cannot be read: port: its verdict is 'fine'"):
        with reading(path) as history:
            history.entries("port")


def test_a_file_that_is_not_there_or_is_empty_is_reported(tmp_path):
    path = tmp_path / "history.sqlite"
    with pytest.raises(FileError, match="There is no history .*parity history add"):
        with reading(path):
            pass
    assert os.listdir(tmp_path) == []
    path.touch()
    with pytest.raises(FileError, match="has no runs. Add one"), reading(path):
        pass
    add(path, "v1", "0.1.0", {"port": ENTRY})
    assert all_of(path) == [("v1", ["port"])]
    with pytest.raises(FileError, match="there is no folder .*no"):
        add(tmp_path / "no" / "history.sqlite", "v1", "0.1.0", {"port": ENTRY})


# --- killed and crowded --------------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from parity.baseline.entry import Entry, Layer
from parity.history.store import add

path, own, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
shares = {"values": 1.0, "outputs": 1.0}
layers = {f"l{i}": Layer("same", 1e-7, 2e-7) for i in range(300)}
entry = Entry("test", False, "parity", coverage=shares, layers=layers)
for number in range(count):
    add(path, f"{own} {number}", "0.1.0", {f"{name}": entry for name in "abcdefgh"})
    print("written", flush=True)
"""
WHOLE = list("abcdefgh")
posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


def start(path, own, count):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), own, str(count)], stdout=subprocess.PIPE
    )


def check(path):
    """All runs, each of which is whole, in a file that is."""
    found = all_of(path)
    assert all(names == WHOLE for _, names in found)
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    return [revision for revision, _ in found]


def test_eight_writers_at_once_lose_nothing(tmp_path):
    path = tmp_path / "history.sqlite"  # which none of them finds there
    writers = [start(path, f"writer {number}", 4) for number in range(8)]
    for writer in writers:
        writer.communicate(timeout=120)
        assert writer.returncode == 0
    found = check(path)
    assert sorted(found) == [f"writer {number} {i}" for number in range(8) for i in range(4)]
    assert os.listdir(tmp_path) == ["history.sqlite"]


def test_a_file_that_another_makes_meanwhile_is_a_history(tmp_path, monkeypatch):
    path, connect = tmp_path / "history.sqlite", sqlite3.connect
    made = []

    class Slow(sqlite3.Connection):
        def execute(self, statement, *words):
            if "user_version" in statement and not made:
                made.append(statement)
                monkeypatch.setattr(sqlite3, "connect", connect)
                add(path, "first", "0.1.0", {"a": ENTRY})
            return super().execute(statement, *words)

    slow = lambda *words, **more: connect(*words, factory=Slow, **more)  # noqa: E731
    monkeypatch.setattr(sqlite3, "connect", slow)
    add(path, "second", "0.1.0", {"a": ENTRY})
    assert made and all_of(path) == [("first", ["a"]), ("second", ["a"])]


KILLED = """
import os, signal, sqlite3, sys
from pathlib import Path
import parity.history.store as store
from parity.baseline.entry import Entry

class Dying(sqlite3.Connection):
    def execute(self, statement, *words):
        if statement.startswith(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(statement, *words)

    def executemany(self, statement, rows):
        super().executemany(statement, rows)
        if sys.argv[2] == "entries":
            os.kill(os.getpid(), signal.SIGKILL)

connect = sqlite3.connect
store.sqlite3.connect = lambda *words, **more: connect(*words, factory=Dying, **more)
entry = Entry("test", False, "parity", generated=True)
store.add(Path(sys.argv[1]), "killed", "0.1.0", dict.fromkeys("abcdefgh", entry))
os.kill(os.getpid(), signal.SIGKILL)
"""
STEPS = {
    "PRAGMA journal_mode": False,
    "BEGIN": False,
    "CREATE TABLE comparisons": False,
    "PRAGMA user_version =": False,
    "INSERT INTO runs": False,
    "entries": False,
    "COMMIT": False,
    "the end": True,
}


@posix
@pytest.mark.parametrize(("step", "stays"), STEPS.items(), ids=STEPS)
@pytest.mark.parametrize("there", [False, True], ids=["no file", "a file"])
def test_a_writer_killed_at_a_step_leaves_the_old_history_or_the_new_one(
    tmp_path, step, stays, there
):
    """Killed right before each step, rather than by the clock."""
    path = tmp_path / "history.sqlite"
    before = ["first"] if there else []
    if there:
        add(path, "first", "0.1.0", dict.fromkeys(WHOLE, ENTRY))
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), step], timeout=60)
    assert done.returncode == -signal.SIGKILL
    if there and step in ("CREATE TABLE comparisons", "PRAGMA user_version ="):
        stays = True  # steps of a new file alone: it was killed at the end
    after = before + ["killed"] * stays
    if after:
        assert check(path) == after
    else:
        with pytest.raises(FileError, match="has no runs|There is no history"), reading(path):
            pass
    add(path, "next", "0.1.0", dict.fromkeys(WHOLE, ENTRY))
    assert check(path) == [*after, "next"]
