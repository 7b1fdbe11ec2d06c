"""What an observation is made of: arrays in tuples and dicts, and things that no array holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from hypothesis import strategies as st

from parity.observations.edges import either
from parity.observations.ranges import Range


class Part(Protocol):
    """A part of an observation; a batch of it is laid out as `gymnasium.vector` lays it out."""

    def draw(self, draw: st.DrawFn, batch: int | None) -> Any:
        """One value, or so many along a new first axis."""

    def arrays(self) -> Iterator[ArrayPart]:
        """The arrays in it."""


@dataclass(frozen=True)
class ArrayPart:
    """An array; a batch of them is one array with a first axis more.

    Attributes:
        within: what its elements may be.
        edges: the edges that were asked for.
        scalar: whether a single one is a NumPy scalar, as of `Discrete`, and not an array.
        options: numbers of choices that may become an axis, as the length of a one-hot vector.
    """

    within: Range
    edges: tuple[str, ...] = ()
    scalar: bool = False
    options: frozenset[int] = frozenset()

    def draw(self, draw: st.DrawFn, batch: int | None) -> Any:
        array = either(draw, self.within, batch, self.edges)
        return array[()] if self.scalar and batch is None else array

    def arrays(self) -> Iterator[ArrayPart]:
        yield self


@dataclass(frozen=True)
class TuplePart:
    parts: tuple[Part, ...]

    def draw(self, draw: st.DrawFn, batch: int | None) -> Any:
        return tuple(part.draw(draw, batch) for part in self.parts)

    def arrays(self) -> Iterator[ArrayPart]:
        for part in self.parts:
            yield from part.arrays()


@dataclass(frozen=True)
class DictPart:
    parts: Mapping[str, Part]

    def draw(self, draw: st.DrawFn, batch: int | None) -> Any:
        return {key: part.draw(draw, batch) for key, part in self.parts.items()}

    def arrays(self) -> Iterator[ArrayPart]:
        for part in self.parts.values():
            yield from part.arrays()


@dataclass(frozen=True)
class SinglePart:
    """Something of no fixed size: a batch of them is a tuple.

    Attributes:
        single: draws one.
        inside: the parts that it is made of.
    """

    single: Callable[[st.DrawFn], Any]
    inside: tuple[Part, ...] = ()

    def draw(self, draw: st.DrawFn, batch: int | None) -> Any:
        if batch is None:
            return self.single(draw)
        return tuple(self.single(draw) for _ in range(batch))

    def arrays(self) -> Iterator[ArrayPart]:
        for part in self.inside:
            yield from part.arrays()


def text(least: int, most: int, characters: list[str]) -> SinglePart:
    """Strings of `characters`; they shrink to the shortest, of the first character."""
    if not characters or most == 0:
        return SinglePart(lambda draw: "")
    strings = st.text(st.sampled_from(characters), min_size=least, max_size=most)
    return SinglePart(lambda draw: draw(strings))


def sequence(item: Part, stacked: bool, max_length: int) -> SinglePart:
    """From no item to `max_length` of them: stacked as a batch is, or in a tuple."""

    def single(draw: st.DrawFn) -> Any:
        length = draw(st.integers(0, max_length))
        if stacked:
            return item.draw(draw, length)
        return tuple(item.draw(draw, None) for _ in range(length))

    return SinglePart(single, (item,))


def graph(node: Part, edge: Part | None, instance: Any, max_length: int) -> SinglePart:
    """One to `max_length` nodes, and up to as many edges, each between any two nodes.

    Without edges `edges` and `edge_links` are None, as Gymnasium has it.
    """

    def single(draw: st.DrawFn) -> Any:
        nodes = draw(st.integers(1, max_length))
        links = draw(st.integers(0, max_length)) if edge is not None else 0
        drawn = node.draw(draw, nodes)
        if edge is None or links == 0:
            return instance(drawn, None, None)
        ends = [[draw(st.integers(0, nodes - 1)) for _ in range(2)] for _ in range(links)]
        return instance(drawn, edge.draw(draw, links), np.array(ends, np.int32))

    return SinglePart(single, (node,) if edge is None else (node, edge))


def one_of(parts: tuple[Part, ...]) -> SinglePart:
    """The number of one of the parts, and a value of it."""

    def single(draw: st.DrawFn) -> Any:
        index = draw(st.integers(0, len(parts) - 1))
        return np.int64(index), parts[index].draw(draw, None)

    return SinglePart(single, parts)
