"""What a long job is doing, reported to whoever listens; where nobody does it costs nothing.

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
        share: of the comparison that is done, in 0..1; None where that is unknown.
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
    """Reports a phase of unknown length."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(Step(phase))


class Phases:
    """The phases of a job, of which each is a known part, or turns out to be longer."""

    def __init__(self, whole: float) -> None:
        """The weights of all phases together are `whole`, as far as is known beforehand."""
        self._listener = _LISTENER.get()
        self._left = whole  # of the phases that have not begun
        self._begun = self._reported = 0.0  # shares: where this phase began, and the last one
        self._planned = self._weight = self._later = 0.0
        self._phase = ""

    def begin(self, phase: str, weight: float, more: float = 0.0) -> None:
        """Ends the phase before and begins the next, which is as much longer as `more` says."""
        self._begun = self._at(1.0)
        self._phase, self._planned, self._weight = phase, weight, weight + more
        self._left -= weight
        self.reach(0.0, more, 0.0)

    def end(self) -> None:
        """Ends the last phase."""
        self.reach(1.0)

    def reach(self, share: float, more: float | None = None, later: float | None = None) -> None:
        """Reports how much of this phase is done.

        Args:
            share: in 0..1.
            more, later: by how much this phase, and the rest, turn out longer than they were to be.
        """
        if more is not None:
            self._weight = self._planned + more
        if later is not None:
            self._later = later
        if self._listener is not None:
            # where a phase turns out to be longer, the share does not go back
            self._reported = max(self._reported, self._at(share))
            self._listener(Step(self._phase, self._reported))

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
                self.reach(min(done / count, 1.0))

        return after

    def _at(self, share: float) -> float:
        """The share of the whole: what is left is divided as the weights are known by now."""
        left = self._weight + self._left + self._later
        if left <= 0:
            return 1.0
        return min(self._begun + (1 - self._begun) * share * self._weight / left, 1.0)
