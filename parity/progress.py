"""What a long job is doing, told to whoever listens; where nobody does it costs nothing.

`listening` is the hook: the command shows a bar with it, and so may a notebook or a log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Step:
    """Where a job is.

    Attributes:
        phase: what is being done: `matching Sequential`.
        share: of the comparison that is done, in 0..1; None where that cannot be told.
    """

    phase: str
    share: float | None = None


Listener = Callable[[Step], None]
_LISTENER: ContextVar[Listener | None] = ContextVar("parity.progress", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Calls the listener with each `Step` of what runs inside, in this thread or task.

    It is called up to a hundred times in each phase, and what it raises ends the job.
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def say(phase: str) -> None:
    """Tells a phase of unknown length."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(Step(phase))


class Phases:
    """The phases of a job, of which each is a known part."""

    def __init__(self, whole: float) -> None:
        """The weights of all phases together are `whole`."""
        self._listener = _LISTENER.get()
        self._whole = whole
        self._before = self._weight = 0.0
        self._phase = ""

    def begin(self, phase: str, weight: float) -> None:
        """Ends the phase before and begins the next."""
        self._before += self._weight
        self._phase, self._weight = phase, weight
        self._tell(0.0)

    def end(self) -> None:
        """Ends the last phase."""
        self._tell(1.0)

    def operations(self, count: int) -> Callable[..., Any] | None:
        """To be called after each of `count` operations of this phase; None if nobody listens."""
        if self._listener is None:
            return None
        done = 0
        every = max(1, count // 100)

        def after(*_: Any) -> None:
            nonlocal done
            done += 1
            if done % every == 0:
                self._tell(min(done / count, 1.0))

        return after

    def _tell(self, share: float) -> None:
        if self._listener is not None:
            done = (self._before + share * self._weight) / self._whole
            self._listener(Step(self._phase, min(done, 1.0)))
