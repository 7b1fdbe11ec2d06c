"""The bar of a command: phases on a terminal after two seconds, and nothing of it afterwards."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from parity.errors import UsageError
from parity.report import bar as module

pty = pytest.importorskip("pty", reason="needs pseudo terminals")

NETS = """
import os
import signal
import time
import numpy as np


def reference(x):
    return np.tanh(x)


def slow(x):  # when it runs first
    if not os.path.exists("slept"):
        open("slept", "w").close()
        time.sleep(3)
    return np.tanh(x)


def failing(x):
    time.sleep(3)
    raise RuntimeError("the weights were never loaded")


def terminated(x):
    time.sleep(3)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)


def interrupted(x):
    time.sleep(3)
    raise KeyboardInterrupt
"""


def run(folder, candidate, **environment):
    """Runs `parity compare` with stderr on a terminal: its code, stdout, and that."""
    (folder / "nets.py").write_text(NETS)
    master, terminal = pty.openpty()
    words = ["compare", "nets:reference", f"nets:{candidate}", "--random", "5,7"]
    code = f"import sys; from parity.cli import main; sys.exit(main({words!r}))"
    path = os.pathsep.join([str(folder), *(entry for entry in sys.path if entry)])
    plain = {name: os.environ[name] for name in os.environ if name not in ("NO_COLOR", "COLUMNS")}
    running = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**plain, "TERM": "xterm", "PYTHONPATH": path, **environment},
        stdout=subprocess.PIPE,
        stderr=terminal,
    )
    os.close(terminal)
    seen = b""
    while True:
        try:
            seen += (part := os.read(master, 65536))
        except OSError:  # so Linux says that nobody writes any more
            break
        if not part:
            break
    out = running.stdout.read().decode()
    os.close(master)
    return running.wait(60), out, seen.decode()


def screen(text):
    """What is left on a terminal: its lines, after all that moved and erased."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[\??[\d;]*[A-Za-z]|\r|\n|[^\x1b\r\n]", text):
        if part == "\r":
            column = 0
        elif part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part.startswith("\x1b["):
            count = int(re.sub(r"\D", "", part) or 1)
            if part.endswith("A"):
                row = max(0, row - count)
            elif part.endswith("K"):
                lines[row] = "" if part[2] == "2" else lines[row][:column]
        else:
            lines[row] = lines[row].ljust(column)[:column] + part + lines[row][column + 1 :]
            column += 1
    return "\n".join(lines).strip()


def test_a_slow_command_shows_its_phase_and_leaves_nothing(tmp_path):
    code, out, shown = run(tmp_path, "slow")
    assert code == 0
    assert "recording slow" in shown
    assert re.search(r"\d:\d\d:\d\d|-:--:--", shown)  # the time that is left
    assert screen(shown) == ""
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h")  # the cursor is back
    assert out.startswith("parity: ")


def test_a_quick_command_shows_nothing(tmp_path):
    code, out, shown = run(tmp_path, "reference")
    assert (code, shown) == (0, "")
    assert out.startswith("parity: ")


def test_a_terminal_that_cannot_erase_shows_nothing(tmp_path):
    assert run(tmp_path, "slow", TERM="dumb")[2] == ""


def test_without_colours_it_has_none(tmp_path):
    shown = run(tmp_path, "slow", NO_COLOR="1")[2]
    assert "recording slow" in shown
    assert not re.search(r"\x1b\[[\d;]*3\d[\d;]*m", shown)
    assert screen(shown) == ""


def test_an_error_stands_alone(tmp_path):
    code, _, shown = run(tmp_path, "failing")
    assert code == 3
    assert screen(shown).startswith("parity: failing (numpy) raised RuntimeError")


def test_ctrl_c_leaves_nothing(tmp_path):
    code, _, shown = run(tmp_path, "interrupted")
    assert "recording interrupted" in shown
    assert (code, screen(shown)) == (130, "")


def test_sigterm_gives_the_cursor_back(tmp_path):
    code, out, shown = run(tmp_path, "terminated")
    assert "recording terminated" in shown
    assert (code, out, screen(shown)) == (143, "", "")
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")


@pytest.mark.parametrize("when", ["at work", "taken for a module's exit", "closing"])
def test_sigterm_ends_the_command_once_the_bar_is_gone(monkeypatch, when):
    class Slow:
        def __init__(self):
            self.closed = False

        def update(self, step):
            pass

        def close(self):
            if when == "closing":
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(0)
            self.closed = True

    made = []
    monkeypatch.setattr(module, "_Bar", lambda: made.append(Slow()) or made[0])
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(SystemExit) as ended, module.bar():
        try:
            if when != "closing":
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(60)
        except SystemExit as error:
            if when == "at work":
                raise
            raise UsageError("The module left.") from error
    assert ended.value.code == 143
    assert made[0].closed
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_another_s_handler_stays(monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    before = signal.signal(signal.SIGTERM, handler := lambda *_: None)
    try:
        with module.bar():
            assert signal.getsignal(signal.SIGTERM) is handler
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)


def test_without_a_terminal_there_is_none(tmp_path):
    (tmp_path / "nets.py").write_text(NETS)
    code = (
        "import sys; from parity.cli import main; "
        "sys.exit(main(['compare', 'nets:reference', 'nets:slow', '--random', '5,7']))"
    )
    path = os.pathsep.join([str(tmp_path), *(entry for entry in sys.path if entry)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "FORCE_COLOR": "1"},
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("text", "left"),
    [("working", "working"), ("working\r\x1b[2K", ""), ("a\nb\x1b[1A\r\x1b[2K", "b")],
)
def test_the_screen_keeps_what_is_not_erased(text, left):
    assert screen(text) == left
