"""Kills a writer at every step and at many bytes, and looks at what it leaves.

    python -m tests.writers.killing WRITER FOLDER

It runs in a process of its own, which forks: tests have threads, and forks with threads may hang.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import signal
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import parity
from parity.baseline.entry import Entry, Layer
from parity.baseline.file import changing
from parity.baseline.file import read as read_baseline
from parity.history.store import add, reading

BYTES = 24  # at how many sizes of a file its writer is killed
_STEPS = ("open", "os.", "tempfile.", "fcntl.", "sqlite3.", "shutil.")


@dataclass(frozen=True)
class Writer:
    """How a file is written and what is then in it.

    Attributes:
        write: puts a text into the file: for a file of many, with what is there.
        read: the texts that are in it, or an error if it is not whole.
        keeps: whether it brings its text to those that are there.
        tidy: whether the next writer removes what one that was killed has left beside the file.
    """

    write: Callable[[Path, str], None]
    read: Callable[[Path], list[str]]
    keeps: bool = False
    tidy: bool = False


def _report(name: str) -> Any:
    x = np.linspace(-2, 2, 15).reshape(5, 3)
    return parity.compare(
        parity.wrap(np.tanh, name=name), parity.wrap(np.sin, name="port"), inputs=x
    )


def _entry() -> Entry:
    shares = {"values": 1.0, "outputs": 1.0}
    layers = {f"l{at}": Layer("same", 1e-7, 2e-7) for at in range(100)}
    return Entry("test", False, "parity", coverage=shares, layers=layers)


def _read_json(path: Path) -> list[str]:
    return [json.loads(path.read_text(encoding="utf-8"))["reference"]["name"]]


def _read_html(path: Path) -> list[str]:
    html = path.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>") and html.endswith("</html>"), "half a page"
    heading = html.partition("<h1>")[2].partition(" against")[0].replace("<wbr>", "")
    return [heading.rpartition("> ")[2].split()[0]]


def _write_baseline(path: Path, text: str) -> None:
    with changing(path) as entries:
        entries[text] = _entry()


def _write_history(path: Path, text: str) -> None:
    add(path, text, "0.1.0", dict.fromkeys("abcdefgh", _entry()))


def _read_history(path: Path) -> list[str]:
    with reading(path) as history:
        for run in history.runs():
            assert history.names(run) == list("abcdefgh"), "half a run"
        return sorted(run.revision for run in history.runs())


def _write_in_place(path: Path, text: str) -> None:
    """What no writer of parity does: for a test of this file."""
    with path.open("w", encoding="utf-8") as file:
        json.dump(_report(text).to_dict(), file)


WRITERS = {
    "JSON": Writer(lambda path, text: _report(text).save(path), _read_json),
    "HTML": Writer(lambda path, text: _report(text).save_html(path), _read_html),
    "baseline": Writer(_write_baseline, lambda path: sorted(read_baseline(path)), True, True),
    "history": Writer(_write_history, _read_history, keeps=True),
    "in place": Writer(_write_in_place, _read_json),
}


def kill_everywhere(writer: Writer, folder: Path) -> Counter[str]:
    """Kills at each step and at `BYTES` sizes; how often the old file stayed, and the new came.

    Raises:
        AssertionError: it left something else.
    """
    outcomes: Counter[str] = Counter()
    at, ended = 0, False
    while not ended:
        ended = _killed(writer, folder / f"step {at}", lambda at=at: _at_step(at), outcomes)
        at += 1
    sizes = [folder / "step 0" / "file", *(folder / "step 0").glob("file-*")]
    largest = max(one.stat().st_size for one in sizes if one.exists())
    for part in range(BYTES):
        size = largest * part // BYTES
        _killed(writer, folder / f"byte {size}", lambda size=size: _at_byte(size), outcomes)
    return outcomes


def _killed(writer: Writer, folder: Path, arm: Callable[[], None], outcomes: Counter[str]) -> bool:
    """Writes in a fork that is killed, and checks what it left; whether it came to its end."""
    folder.mkdir(parents=True)
    path = folder / "file"
    writer.write(path, "old")
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        arm()
        writer.write(path, "new")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or not status, f"{folder.name}: it failed: {status}"
    old, new = ["old"], sorted(["old"] * writer.keeps + ["new"])
    found = writer.read(path)
    assert found in (old, new), f"{folder.name}: {found}"
    assert os.WIFSIGNALED(status) or found == new
    outcomes["new" if found == new else "old"] += 1
    writer.write(path, "next")
    assert writer.read(path) == sorted([*found * writer.keeps, "next"]), folder.name
    left = [one for one in os.listdir(folder) if one != "file"]
    assert all(one.startswith(".") for one in left), left
    assert not (writer.tidy and left), left
    return not os.WIFSIGNALED(status)


def _at_step(count: int) -> None:
    """Kills this process right before a step: a file opened, locked, renamed, removed."""
    steps = itertools.count()

    def kill(event: str, words: Any) -> None:
        if event.startswith(_STEPS) and event != "os.kill" and next(steps) == count:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(kill)


def _at_byte(size: int) -> None:
    """Lets the system kill this process when a file of its grows beyond a size."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def crowd(writer: Writer, folder: Path, writers: int = 8, times: int = 4) -> list[str]:
    """Several write one file at once, while it is read: what it holds in the end.

    Raises:
        AssertionError: a reader found something else than a whole file.
    """
    path = folder / "file"
    writer.write(path, "old")
    texts = {f"{own}.{at}" for own in range(writers) for at in range(times)} | {"old"}
    children = set()
    for own in range(writers):
        child = os.fork()
        if not child:
            for at in range(times):
                writer.write(path, f"{own}.{at}")
            os._exit(0)
        children.add(child)
    while children:
        assert set(writer.read(path)) <= texts
        child, status = os.waitpid(-1, os.WNOHANG)
        assert not status, "a writer failed"
        children -= {child}
    # of two that close a SQLite file at once neither is the last, who removes its log: a reader is
    found = writer.read(path)
    assert os.listdir(folder) == ["file"], os.listdir(folder)
    return found


def main() -> None:
    name, folder = sys.argv[1:]
    outcomes = kill_everywhere(WRITERS[name], Path(folder) / "killed")
    (Path(folder) / "crowd").mkdir()
    found = crowd(WRITERS[name], Path(folder) / "crowd")
    print(json.dumps({**outcomes, "crowd": found}))


if __name__ == "__main__":
    main()
