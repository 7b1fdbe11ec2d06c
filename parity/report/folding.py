"""Equal texts about several places become one with all the places; for every renderer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_NAMED = 3


@dataclass(frozen=True)
class Fold:
    """A text and the places that it is about.

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


def folded(texts: Iterable[tuple[str, str]]) -> Sequence[Fold]:
    """Groups places by their text, in the order of the first of each."""
    found: dict[str, list[str]] = {}
    for text, place in texts:
        found.setdefault(text, []).append(place)
    return [Fold(text, len(places), tuple(dict.fromkeys(places))) for text, places in found.items()]
