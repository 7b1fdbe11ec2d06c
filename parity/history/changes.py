"""Where a comparison moved: what is worse than in an earlier run, and since which run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parity.baseline.entry import Entry
from parity.baseline.gate import Failure, elsewhere, worse
from parity.history.store import Run


@dataclass(frozen=True)
class Move:
    """Something that became worse.

    Attributes:
        first: how it became so, in the run in which it did first.
        run: that run.
        lasts: whether it still is in the last run.
    """

    first: Failure
    run: Run
    lasts: bool


@dataclass(frozen=True)
class Course:
    """A comparison over the runs, held against the first of them.

    Attributes:
        points: the runs that made it, in order.
        moves: in the order in which they came.
        environment: in what the last run's environment differs from the first one's.
    """

    name: str
    points: tuple[tuple[Run, Entry], ...]
    moves: tuple[Move, ...]
    environment: tuple[str, ...]

    @property
    def moved(self) -> bool:
        """Whether the last run is worse than the first."""
        return any(move.lasts for move in self.moves)


def course(name: str, points: Sequence[tuple[Run, Entry]], factor: float) -> Course:
    """Holds the runs of a comparison against the first of them, by the gate's rules.

    Args:
        factor: by how much a difference may exceed what it was or its rounding.
    """
    _, was = points[0]
    first: dict[tuple[str, str], tuple[Failure, Run]] = {}
    last: set[tuple[str, str]] = set()
    for run, entry in points[1:]:
        found = {(one.what, one.where): one for one in worse(name, was, entry, factor)}
        for key, failure in found.items():
            first.setdefault(key, (failure, run))
        last = set(found)
    moves = (Move(failure, run, key in last) for key, (failure, run) in first.items())
    return Course(name, tuple(points), tuple(moves), tuple(elsewhere(was, points[-1][1])))
