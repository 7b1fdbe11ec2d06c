"""How long a comparison may go on explaining, and with how much memory.

The models are run, replayed and matched whatever that takes: without it there is no verdict. What
is looked for after that has no bound of its own, as the places of a thousand differences have none:
it ends when the budget is spent, and what was left out is reported. A report of a comparison that
stays within it depends on no clock.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from parity.errors import InputError

SECONDS = 60.0
GIGABYTES = 4.0

# The options of the command and, behind `--parity-`, of pytest.
OPTIONS = {
    "seconds": "how long the comparison of a candidate may look for further places and explain; "
    "default 60. The verdict and the first place always come",
    "gigabytes": "by how much the process may grow for explanations; default 4",
}

# Of the time: until when places are looked for, sorted into kinds, and explained. The rest is for
# the closing checks and the tables.
LOCATING = 0.4
SORTING = 0.5
EXPLAINING = 0.75
AGAIN = 0.2  # until when what was done so far is begun anew
LEAST = 0.15  # that the first place is looked for, however late it is

PLACES = "further places where the models diverge"
KINDS = "what kind of difference some of them are"
EXPLANATIONS = "explanations"
MEMORY = "explanations of values that are too large"
NOT_EXPLAINED = "not explained: the budget of the comparison was spent"

_GIGABYTE = 2.0**30


class Spent(BaseException):
    """The time for what runs is over. No `Exception`: what takes up those of a cause lets it by."""


@dataclass
class Budget:
    """What one candidate's comparison may use.

    Attributes:
        seconds: from `started` on, when the process had computed for `computed` seconds.
        gigabytes: that the process may grow by after `resident`.
        deadline: the seconds after which what runs now is to end.
        missed: what was left out, in words, with how often.
    """

    seconds: float = SECONDS
    gigabytes: float = GIGABYTES
    started: float = field(default_factory=lambda: time.monotonic())
    computed: float = field(default_factory=lambda: time.process_time())
    resident: float = field(default_factory=lambda: _resident())
    deadline: float = float("inf")
    missed: Counter[str] = field(default_factory=Counter)

    def miss(self, what: str) -> None:
        """Notes that something was left out."""
        self.missed[what] += 1

    def holds(self, count: float) -> bool:
        """Whether there is memory left for so many bytes."""
        return count < _SMALL or _resident() - self.resident + count <= self.gigabytes * _GIGABYTE

    @property
    def elapsed(self) -> float:
        """The seconds that it took: those in which other programs have the processor count half."""
        passed = time.monotonic() - self.started
        return min(passed, max(time.process_time() - self.computed, passed / 2))

    @property
    def seconds_left(self) -> float:
        return self.seconds - self.elapsed

    @property
    def has_time_again(self) -> bool:
        """Whether all that was done so far may be done once more."""
        return not self.missed and self.elapsed < AGAIN * self.seconds

    @property
    def all_places(self) -> bool:
        """Whether every place was looked at: what was not may be a fault."""
        return self.missed.keys().isdisjoint((PLACES, KINDS))

    @property
    def all_explained(self) -> bool:
        """Whether it was tried to explain every place."""
        return self.missed.keys().isdisjoint((EXPLANATIONS, MEMORY))

    @property
    def said(self) -> tuple[str, ...]:
        """What was left out, in the user's words; () where nothing was."""
        if not self.missed:
            return ()
        left = ", ".join(
            f"{what} ({times} times)" if times > 1 else what for what, times in self.missed.items()
        )
        return (
            f"the budget of {self.seconds:g} s and {self.gigabytes:g} GB was spent; left out: "
            f"{left}. A larger one finds more: compare(..., seconds=, gigabytes=), "
            "--seconds and --gigabytes, --parity-seconds and --parity-gigabytes",
        )


_SMALL = 2.0**26  # bytes that nobody asks about: the question has a cost
_CURRENT: ContextVar[Budget | None] = ContextVar("parity.budget", default=None)
_LIMITS: ContextVar[tuple[float, float]] = ContextVar(
    "parity.budget.limits", default=(SECONDS, GIGABYTES)
)
_NONE = Budget(float("inf"), float("inf"), resident=0.0)


@contextmanager
def limits(seconds: float | None, gigabytes: float | None) -> Iterator[None]:
    """The limits of the comparisons that run inside; None is what holds outside.

    Raises:
        InputError: one of them is not positive.
    """
    for name, value in (("seconds", seconds), ("gigabytes", gigabytes)):
        if not is_one(value):
            raise InputError(f"{name}={value!r}: give a positive number, or None for the default.")
    given = zip((seconds, gigabytes), _LIMITS.get(), strict=True)
    first, second = (usual if one is None else float(one) for one, usual in given)
    token = _LIMITS.set((first, second))
    try:
        yield
    finally:
        _LIMITS.reset(token)


def is_one(value: float | None) -> bool:
    """Whether a number is a limit; None is, the default."""
    return value is None or value > 0


@contextmanager
def spending() -> Iterator[Budget]:
    """The budget of what runs inside, which begins now."""
    budget = Budget(*_LIMITS.get())
    token = _CURRENT.set(budget)
    try:
        yield budget
    finally:
        _CURRENT.reset(token)


def current() -> Budget:
    """The budget of the comparison that runs; one without end where none does."""
    return _CURRENT.get() or _NONE


@contextmanager
def until(share: float, least: float = 0.0) -> Iterator[None]:
    """Ends what runs inside with `Spent` when a share of the time is over.

    Args:
        least: the share that it gets from now on, however late it is.
    """
    budget = _CURRENT.get()
    if budget is None:
        yield
        return
    before = budget.deadline
    end = share * budget.seconds
    if least:
        end = max(end, budget.elapsed + least * budget.seconds)
    budget.deadline = min(before, end)
    try:
        check()
        yield
    finally:
        budget.deadline = before


def check() -> None:
    """Ends what runs inside `until` if its time is over."""
    budget = _CURRENT.get()
    if budget is None or time.monotonic() - budget.started <= budget.deadline:
        return  # nearly always, and at the least cost
    if budget.elapsed > budget.deadline:
        raise Spent


def _resident() -> float:
    """Bytes of memory that the process has; where that is unknown, the most that it had."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return float(pages * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, IndexError, ValueError):
        pass
    try:
        import resource
    except ImportError:  # not on Windows; there memory has no bound
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
