"""The pairing that a user's map says.

A pair whose role was found on both sides is converted by that role. Any other is as given: one
tensor's numbers go into the other, with its axes in an order that fits. Where several fit, each
is tried, and running both models shows which is right.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice, permutations, product
from typing import Any

import numpy as np

from parity.architecture.align import align
from parity.errors import UsageError
from parity.tape import Array
from parity.weights.element_index import Addresses
from parity.weights.operands import NEUTRAL, Part
from parity.weights.pairing import MOST_TRIES, Pair, Pairing, Side, finish
from parity.weights.standalone_parameters import terms
from parity.weights.tensors import Tensor, varied

_NAMES = 6  # that one sentence lists
_FEW_TRIES = 8  # of what is paired by elimination
_Entry = Mapping[str, Any]


def by_map(
    source: Side,
    target: Side,
    given: _Entry,
    inputs: tuple[Mapping[int, Array], Mapping[int, Array]],
) -> Iterator[Pairing]:
    """The pairings that a map allows: several where it leaves the order of axes open.

    Raises:
        UsageError: it names what is not there, or what does not fit together.
    """
    ways = [_ways(source, target, entry) for entry in given["pairs"]]
    first = align(source.program, target.program)
    for choice in _choices([len(way) for way in ways]):
        pairs = [way[n] for way, n in zip(ways, choice, strict=True)]
        steps = {
            pair.source.step: pair.target.step
            for pair in pairs
            if pair.source is not None and pair.source.step >= 0
        }
        found = Pairing(pairs, {**first, **steps})
        finish(source, target, found, inputs)
        yield found


def with_the_last(
    source: Side,
    target: Side,
    ways: Iterator[Pairing],
    inputs: tuple[Mapping[int, Array], Mapping[int, Array]],
) -> Iterator[Pairing]:
    """Some pairings; then the first, with what it leaves over and is alone of its size, as given.

    Those who take them stop where both models agree: they did not without what is paired so.
    """
    first = next(ways)
    yield first
    yield from ways
    source_tensors, target_tensors = (
        _alone(side.addresses, names)
        for side, names in zip((source, target), first.left, strict=True)
    )
    orders = [
        as_given(source.addresses, target.addresses, _entry(one, target_tensors[size]))
        for size, one in source_tensors.items()
        # one number throughout would prove nothing
        if size in target_tensors
        and varied(one)
        and _arranged(one.read(), target_tensors[size].shape, None)
    ]
    for choice in islice(_choices([len(own) for own in orders]), _FEW_TRIES if orders else 0):
        pairs = [own[n] for own, n in zip(orders, choice, strict=True)]
        found = Pairing([*first.pairs, *pairs], first.steps)
        finish(source, target, found, inputs)
        found.notes += [
            f"{pair.source_names[0]} and {pair.target_names[0]}: paired as the only ones left of "
            "their size; without that the two do not agree"
            for pair in pairs
        ]
        yield found


def _entry(one: Tensor, other: Tensor) -> _Entry:
    return {"role": "by elimination", "source": [one.name], "target": [other.name]}


def _alone(stored: Addresses, names: Sequence[str]) -> dict[int, Tensor]:
    """By their sizes the tensors that are alone in target."""
    found: dict[int, list[Tensor]] = defaultdict(list)
    for tensor in stored.tensors:
        if tensor.name in names and tensor.dtype.startswith(("float", "bfloat")):  # no places
            found[math.prod(tensor.shape)].append(tensor)
    return {size: own[0] for size, own in found.items() if len(own) == 1}


def _choices(counts: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """One way for each pair: those first in which all are in the same order."""
    alike = (tuple(min(n, count - 1) for count in counts) for n in range(max(counts, default=1)))
    every = product(*map(range, counts))
    yield from islice(dict.fromkeys((*alike, *islice(every, MOST_TRIES))), MOST_TRIES)


def as_given(
    source_addresses: Addresses,
    target_addresses: Addresses,
    entry: _Entry,
    known: Callable[[str], str] = lambda _: "",
) -> list[Pair]:
    """One tensor into another, in each order of axes that fits.

    Args:
        known: what is known of the target, or of the source, for a message on a missing name.

    Raises:
        UsageError: there is no such tensor, or none of its orders fits.
    """
    role, names = entry["role"], (tuple(entry["source"]), tuple(entry["target"]))
    right = _own(target_addresses, role, names[1], "target", known)
    target = Part(-1, role, terms(right))
    if not names[0]:
        if role not in NEUTRAL:
            raise UsageError(
                f"The map: {' + '.join(names[1])} gets no source, and what a {role} is that does "
                f"nothing is not known; it is of {', '.join(NEUTRAL)}."
            )
        return [Pair(role, None, target, *names)]
    left = _own(source_addresses, role, names[0], "source", known)
    found = _arranged(left, right.shape, entry.get("axes"))
    if not found:
        raise UsageError(
            f"The map: {names[0][0]} {left.shape} does not fit {names[1][0]} {right.shape}"
            + (f" with axes {entry['axes']}." if "axes" in entry else ".")
        )
    return [
        Pair(role, Part(-1, role, terms(own)), target, *names, axes=axes) for axes, own in found
    ]


def _ways(source: Side, target: Side, entry: _Entry) -> list[Pair]:
    """The pair that an entry says; several where the order of axes is open."""
    role, names = entry["role"], (tuple(entry["source"]), tuple(entry["target"]))
    source_parts, target_parts = _parts(source, names[0]), _parts(target, names[1])
    both = [role] if role in target_parts and (role in source_parts or not names[0]) else []
    if names[0] and not both:  # a role of another name, as long as it is one
        both = [
            one
            for one in target_parts
            if one in source_parts and source_parts[one].shape == target_parts[one].shape
        ]
    if len(both) != 1 or "axes" in entry:

        def known(side: str) -> str:
            return _known(source if side == "source" else target, names[side == "target"])

        return as_given(source.addresses, target.addresses, entry, known)
    left, right = source_parts.get(both[0]), target_parts[both[0]]
    if left is not None and len(left.shape) != len(right.shape):
        raise UsageError(f"The map: {role} {entry['source']} and {entry['target']} are unlike.")
    return [Pair(both[0], left, right, *names)]


def _parts(side: Side, names: Sequence[str]) -> dict[str, Part]:
    """The parts that some tensors make, by their role."""
    return {part.role: part for part in side.all_parts() if {*side.names(part)} == {*names}}


def _own(
    stored: Addresses, role: str, names: Sequence[str], side: str, known: Callable[[str], str]
) -> Array:
    """The addresses of the one tensor that is named."""
    numbers = stored.numbers
    if len(names) == 1 and names[0] in numbers:
        return stored.own(numbers[names[0]])
    missing = [name for name in names if name not in numbers]
    known_names = ""
    if missing:
        near = get_close_matches(missing[0], numbers, _NAMES, 0.4) or list(numbers)[:_NAMES]
        known_names = f" No tensor is called {missing[0]}; there are {', '.join(near)}"
        known_names += f" ({len(numbers)} in all)." if len(near) < len(numbers) else "."
    raise UsageError(
        f"The map: the {side} has no {role} made of {[*names]}.{known_names or known(side)}"
    )


def _known(side: Side, names: Sequence[str]) -> str:
    """What is known of several tensors that make no part together."""
    known_names = [
        f"{part.role} made of {' + '.join(own)}"
        for part in side.all_parts()
        if not {*(own := side.names(part))}.isdisjoint(names)
    ]
    listed = ", ".join(dict.fromkeys(known_names))
    return f" Known there: {listed or 'nothing'}. One tensor with one tensor is taken as given."


def _arranged(
    own: Array, shape: tuple[int, ...], axes: Sequence[int] | None
) -> list[tuple[tuple[int, ...], Array]]:
    """The orders of axes in which an array takes a shape, and it in each; as it is first."""
    if axes is not None:
        fits = sorted(axes) == list(range(own.ndim)) and own.size == np.prod(shape, dtype=int)
        return [(tuple(axes), own.transpose(axes).reshape(shape))] if fits else []
    orders = list(islice(permutations(range(own.ndim)), MOST_TRIES))
    if own.ndim != len(shape) and own.size == np.prod(shape, dtype=int):
        return [(order, own.transpose(order).reshape(shape)) for order in orders]
    return [
        (order, own.transpose(order)) for order in orders if own.transpose(order).shape == shape
    ]
