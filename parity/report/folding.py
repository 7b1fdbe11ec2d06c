"""What is told of several places alike is told once, with its places; for every renderer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_NAMED = 3


@dataclass(frozen=True)
class Fold:
    """What is told alike.

    Attributes:
        times: how often.
        places: of which, each once.
    """

    text: str
    times: int
    places: tuple[str, ...]

    @property
    def listed(self) -> str:
        """The first places, and how many more there are."""
        more = len(self.places) - _NAMED
        return ", ".join(self.places[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def folded(told: Iterable[tuple[str, str]]) -> Sequence[Fold]:
    """Text and place of many things, those of one text together where the first of them is."""
    found: dict[str, list[str]] = {}
    for text, place in told:
        found.setdefault(text, []).append(place)
    return [Fold(text, len(places), tuple(dict.fromkeys(places))) for text, places in found.items()]
