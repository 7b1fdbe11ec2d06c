"""The bar of a command that takes more than two seconds, on a terminal alone, gone afterwards."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from parity.escape import on_one_line
from parity.progress import Step, listening

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 2.0  # seconds without a word
_TERMINATED = 128 + signal.SIGTERM  # as a shell says of what the signal ended


@contextlib.contextmanager
def bar() -> Iterator[None]:
    """Shows the phases of what runs inside on stderr, with the time that is left.

    Nothing is shown where stderr is no terminal, or one that cannot erase a line.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        yield
        return
    with _terminated() as ending:
        shown = _Bar()
        try:
            with listening(shown.update):
                yield
        finally:
            ending.wait = True
            shown.close()


class _Ending:
    """What SIGTERM does while a bar is shown: it ends the command, once the bar is gone."""

    def __init__(self) -> None:
        self.wait = self.asked = False

    def __call__(self, number: int, frame: object) -> None:
        self.asked = True
        if not self.wait:
            raise SystemExit(_TERMINATED)


@contextlib.contextmanager
def _terminated() -> Iterator[_Ending]:
    """Makes SystemExit of SIGTERM, which by itself leaves a terminal without its cursor.

    Whoever has a handler of his own keeps it, and only the main thread may have one.
    """
    ending = _Ending()
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield ending
        return
    signal.signal(signal.SIGTERM, ending)
    try:
        yield ending
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if ending.asked:  # while the bar was taken away, or of a module that was being loaded
            raise SystemExit(_TERMINATED)


class _Bar:
    """Rich's bar, started by a timer: the work may be one long call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._step = Step("starting")
        self._share = 0.0
        self._closed = False
        self._bar: Progress | None = None
        self._timer = threading.Timer(PATIENCE, self._start)
        self._timer.daemon = True
        self._timer.start()

    def update(self, step: Step) -> None:
        with self._lock:
            self._step = step
            self._show()

    def close(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._closed = True
            if self._bar is not None:
                self._bar.stop()

    def _start(self) -> None:
        with self._lock:
            if self._closed:
                return
            # here: a quick command does not wait for rich
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TimeRemainingColumn(elapsed_when_finished=True),
                console=Console(stderr=True),
                transient=True,
                refresh_per_second=4,
                # what a model prints to a pipe stays there
                redirect_stdout=sys.stdout.isatty(),
            )
            self._task = self._bar.add_task("", total=None)
            self._show()
            self._bar.start()

    def _show(self) -> None:
        if self._bar is None:
            return
        phase, share = on_one_line(self._step.phase), self._step.share
        if share is None:
            self._bar.update(self._task, description=phase)
            return
        if share < self._share:  # the next comparison
            self._bar.reset(self._task)
        self._share = share
        self._bar.update(self._task, description=phase, total=1.0, completed=share)
