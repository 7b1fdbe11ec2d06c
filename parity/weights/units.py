"""What is paired as one: a tensor, or one of the slices that it is stacked of.

An ensemble may be one tensor with an axis for its members, or a layer for each of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from parity.tape import Array
from parity.weights.element_index import Addresses

_MEMBERS = 64  # of an ensemble at most


@dataclass(frozen=True)
class Unit:
    """A tensor by its number, or a slice of its first axis."""

    number: int
    place: int | None = None

    def of(self, array: Array) -> Array:
        """Its part of the tensor's elements, or of what is known of each."""
        return array if self.place is None else array[self.place]


def shape_of(side: Addresses, unit: Unit) -> tuple[int, ...]:
    shape = side.tensors[unit.number].shape
    return shape if unit.place is None else shape[1:]


def size_of(side: Addresses, unit: Unit) -> int:
    return prod(shape_of(side, unit))


def names_of(side: Addresses, units: Iterable[Unit]) -> str:
    return ", ".join(dict.fromkeys(side.tensors[unit.number].name for unit in units))


def whole(contents: Mapping[int, Array], changed: Mapping[Unit, Array]) -> dict[int, Array]:
    """The tensors in which something is changed, as they are then."""
    found: dict[int, Array] = {}
    for unit, array in changed.items():
        if unit.place is None:
            found[unit.number] = array
            continue
        if unit.number not in found:
            found[unit.number] = np.array(contents[unit.number])
        found[unit.number][unit.place] = array
    return found


def sliced(
    sides: tuple[Addresses, Addresses], free: tuple[list[Unit], list[Unit]]
) -> tuple[list[Unit], list[Unit]] | None:
    """Tensors that hold as many slices as the other model has tensors, one for each.

    Only where the other model has fewer of the whole one's size.

    Returns:
        What is free, with these as slices; None where there is no such tensor.
    """
    sizes = [
        Counter(lengths(shape_of(side, unit)) for unit in own)
        for side, own in zip(sides, free, strict=True)
    ]
    found = [
        _with_slices(side, own, sizes[n], sizes[1 - n])
        for n, (side, own) in enumerate(zip(sides, free, strict=True))
    ]
    return (found[0], found[1]) if found != [*free] else None


Lengths = tuple[int, ...]


def lengths(shape: tuple[int, ...]) -> Lengths:
    """Those of the axes, in whatever order they stand."""
    return tuple(sorted(length for length in shape if length > 1))


def _with_slices(
    side: Addresses, free: Sequence[Unit], own: Counter[Lengths], other: Counter[Lengths]
) -> list[Unit]:
    stacked: dict[Lengths, list[Unit]] = defaultdict(list)  # by the lengths of a slice
    for unit in free:
        shape = shape_of(side, unit)
        several = len(shape) > 1 and 1 < shape[0] <= _MEMBERS
        if several and unit.place is None and own[lengths(shape)] > other[lengths(shape)]:
            stacked[lengths(shape[1:])].append(unit)
    taken = {
        unit
        for own_lengths, units in stacked.items()
        if sum(shape_of(side, unit)[0] for unit in units) <= other[own_lengths]
        for unit in units
    }
    return [
        slice_
        for unit in free
        for slice_ in (
            (Unit(unit.number, n) for n in range(shape_of(side, unit)[0]))
            if unit in taken
            else (unit,)
        )
    ]
