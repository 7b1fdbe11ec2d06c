"""Walks over tapes, in which what is made of one value many times over is walked once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


class Once:
    """Values still to be looked at, each of them once however often it is added.

    Iterate over it and add to it meanwhile: the last one added comes first.
    """

    def __init__(self, values: Iterable[int]) -> None:
        self._waiting: list[int] = []
        self._seen: set[int] = set()
        self.add(values)

    def add(self, values: Iterable[int]) -> None:
        new = dict.fromkeys(value for value in values if value not in self._seen)
        self._seen.update(new)
        self._waiting.extend(new)

    def __iter__(self) -> Iterator[int]:
        while self._waiting:
            yield self._waiting.pop()
