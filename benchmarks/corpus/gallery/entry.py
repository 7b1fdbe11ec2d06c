"""What an entry of the gallery is: two small models, and what a report must say of them.

An entry is a function that builds the pair from a random generator. It draws all sizes and values
from it, so one entry is many pairs. The lines at which its models diverge carry the entry's name
as a comment tag: `# c51-axis: reference` and `# c51-axis: candidate`. A fault inside a ready-made
layer names that layer's path instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.corpus.scenarios.pair import Pair, place_of, tagged_lines

Build = Callable[[np.random.Generator], Pair]


@dataclass(frozen=True)
class Place:
    """Where one fault may be reported: by tag of a line, or by the path of a layer."""

    reference: str
    candidate: str


@dataclass(frozen=True)
class Entry:
    """A pair of models and what is expected of the report.

    Attributes:
        name: unique; also the tag of its lines.
        family: a family of causes, or "clean".
        causes: the expected causes' kinds in the order of the data flow; () for a clean pair.
        places: for each cause, the sides' tags or layer paths.
        parameters: for each cause, parameters that the report must state: name to (reference,
            candidate); numbers are compared to 1%.
        source: the public report that it follows, such as "ray-project/ray#10330".
        provable: whether the cause is to be confirmed; if not, it must be stated as consistent.
        also: other causes that are as true, by the expected one (a mean over one axis is also ...).
    """

    name: str
    family: str
    build: Build
    file: str
    causes: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    parameters: tuple[dict[str, tuple[Any, Any]], ...] = ()
    source: str = ""
    also: dict[str, tuple[str, ...]] = field(default_factory=dict)
    provable: bool = True

    def is_at(self, number: int, reference: Any, candidate: Any) -> bool:
        """Whether two sites are where the numbered fault is."""
        place = self.places[number]
        return self._is_place(place.reference, reference) and self._is_place(
            place.candidate, candidate
        )

    def _is_place(self, place: str, site: Any) -> bool:
        if site.layer and (site.layer == place or site.layer.endswith(f"/{place}")):
            return True
        try:
            return place_of(site) in tagged_lines(self.file, place)
        except ValueError:  # no such tag: the place is a layer's path
            return False

    def is_cause(self, number: int, kind: str) -> bool:
        expected = self.causes[number]
        return kind == expected or kind in self.also.get(expected, ())


ENTRIES: dict[str, Entry] = {}


def fault(
    name: str,
    *causes: str,
    family: str,
    layers: Sequence[tuple[str, str]] = (),
    parameters: Sequence[dict[str, tuple[Any, Any]]] = (),
    source: str = "",
    also: dict[str, tuple[str, ...]] | None = None,
    provable: bool = True,
) -> Callable[[Build], Build]:
    """Registers a pair of which one model is wrong.

    Args:
        causes: expected, in the order of the data flow.
        layers: for each cause, the two sides' tag or layer path where that is not the tag
            `name: reference` and `name: candidate` (`name 2: reference` for the second fault).
    """

    def register(build: Build) -> Build:
        places = [
            Place(*(f"{name}{'' if not number else f' {number + 1}'}: {side}" for side in SIDES))
            for number in range(len(causes))
        ]
        for number, (reference, candidate) in enumerate(layers):
            places[number] = Place(
                reference or places[number].reference, candidate or places[number].candidate
            )
        _add(
            Entry(
                name, family, build, inspect.getsourcefile(build) or "", causes, tuple(places),
                tuple(parameters), source, also or {}, provable,
            )
        )  # fmt: skip
        return build

    return register


def clean(name: str, *, family: str, source: str = "") -> Callable[[Build], Build]:
    """Registers a pair that agrees, however different it looks: a hard negative."""

    def register(build: Build) -> Build:
        _add(Entry(name, family, build, inspect.getsourcefile(build) or "", source=source))
        return build

    return register


SIDES = ("reference", "candidate")


def _add(entry: Entry) -> None:
    if entry.name in ENTRIES:
        raise ValueError(f"two entries are named {entry.name!r}")
    ENTRIES[entry.name] = entry


def sizes(random: np.random.Generator, count: int, low: int = 3, high: int = 12) -> list[int]:
    """Distinct sizes, so that no axis can be mistaken for another."""
    return [int(size) for size in random.choice(np.arange(low, high + 1), count, replace=False)]


def normal(random: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    """Distinct, signed float32 values."""
    return (scale * random.standard_normal(shape)).astype(np.float32)
