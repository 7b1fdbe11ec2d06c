"""The pairing that a user's map says, which is JSON or TOML.

A pair whose role was found on both sides is converted by that role. Any other is as given: one
tensor's values go into the other, with its axes in an order that fits. Where several fit, each
is tried, and running both models shows which is right.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice, permutations, product
from pathlib import Path
from typing import Any

import numpy as np

from parity.architecture.align import align
from parity.errors import UsageError
from parity.safe_json import parsed
from parity.tape import Array
from parity.weights.element_index import Addresses
from parity.weights.operands import NEUTRAL, Part, rearranged
from parity.weights.pairing import MOST_TRIES, Pair, Pairing, Side, finish
from parity.weights.standalone_parameters import terms
from parity.weights.tensors import Tensor, varied

BY_ELIMINATION = "by elimination"
_NAMES = 6  # that one sentence lists
_FEW_TRIES = 8  # of what is paired by elimination
_Entry = Mapping[str, Any]
_FORM = (
    'A map is {"pairs": [{"role": "kernel", "source": ["conv.weight"], "target": ["conv/kernel"]}, '
    "...]}, or the same in TOML: [[pairs]] and three lines for each."
)


def read_map(given: Mapping[str, Any] | str | Path) -> Mapping[str, Any]:
    """A map as `Pairing.to_map` gives it, or the file that one was saved to.

    Args:
        given: of a file the suffix `.toml` shows that it is no JSON.

    Raises:
        UsageError: it is none.
    """
    where = "The map"
    if isinstance(given, (str, Path)):
        where, given = str(given), _parsed(Path(given))
    entries = given.get("pairs") if isinstance(given, Mapping) else None
    if not isinstance(entries, list):
        raise UsageError(f"{where} has no list of pairs. {_FORM}")
    for number, entry in enumerate(entries, 1):
        if not _is_entry(entry):
            raise UsageError(f"{where}: pair {number} is {entry!r}. {_FORM}")
    return given  # type: ignore[return-value]


def _parsed(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            # pytest brings tomli where Python itself has no tomllib
            reader = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
            return reader.loads(text)
        return parsed(text)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as a map: {error}") from error


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("role"), str):
        return False
    axes = entry.get("axes", [])
    if not isinstance(axes, list) or not all(isinstance(axis, int) for axis in axes):
        return False
    return all(
        isinstance(entry.get(side), list) and all(isinstance(name, str) for name in entry[side])
        for side in ("source", "target")
    )


def by_map(source: Side, target: Side, given: _Entry, leave: str) -> tuple[Iterator[Pairing], bool]:
    """The pairings that a map allows: several where it leaves the order of axes open.

    Args:
        leave: the role of pairs that are left to be found by running both models.

    Returns:
        The pairings, and whether the map leaves pairs.

    Raises:
        UsageError: it names what is not there, or what does not fit together.
    """
    entries = [entry for entry in given["pairs"] if entry["role"] != leave]
    ways = [_ways(source, target, entry) for entry in entries]
    return _combined(source, target, ways), len(entries) < len(given["pairs"])


def _combined(source: Side, target: Side, ways: Sequence[Sequence[Pair]]) -> Iterator[Pairing]:
    first = align(source.program, target.program)
    for choice in _choices([len(way) for way in ways]):
        pairs = [way[n] for way, n in zip(ways, choice, strict=True)]
        steps = {
            pair.source.step: pair.target.step
            for pair in pairs
            if pair.source is not None and pair.source.step >= 0
        }
        found = Pairing(pairs, {**first, **steps})
        finish(source, target, found)
        yield found


def with_the_last(source: Side, target: Side, ways: Iterator[Pairing]) -> Iterator[Pairing]:
    """Some pairings; then the first, with what it leaves over and is alone of its size, as given.

    Those who take them stop where both models agree: they did not without what is paired so.
    """
    first = next(ways)
    yield first
    yield from ways
    joined = _joined(source, target, first.left)
    if joined:
        found = Pairing([*first.pairs, *joined], first.steps)
        finish(source, target, found)
        names = ", ".join(dict.fromkeys(pair.source_names[0] for pair in joined))
        found.notes.append(f"{names}: their rows one after another, in the order that they have")
        yield found
    yield from _squares_turned(source, target, first)
    others = _alone(target, first.left[1])
    orders = []
    for size, one in _alone(source, first.left[0]).items():
        other = others.get(size)
        # one value throughout would prove nothing
        if other is not None and varied(one) and _arranged(one.read(), other.shape, None):
            entry = {"role": BY_ELIMINATION, "source": [one.name], "target": [other.name]}
            orders.append(as_given(source, target, entry))
    for choice in islice(_choices([len(own) for own in orders]), _FEW_TRIES if orders else 0):
        pairs = [own[n] for own, n in zip(orders, choice, strict=True)]
        found = Pairing([*first.pairs, *pairs], first.steps)
        finish(source, target, found)
        found.notes += [
            f"{pair.source_names[0]} and {pair.target_names[0]}: paired as the only ones left of "
            "their size; without that the two do not agree"
            for pair in pairs
        ]
        yield found


def _squares_turned(source: Side, target: Side, first: Pairing) -> Iterator[Pairing]:
    """A pairing of all tensors with square kernels transposed, each by itself and all together.

    Of `x @ W @ y.T` it cannot be seen which of the axes is whose, where both are as long.
    """
    if first.left[1]:
        return
    squares = [pair for pair in first.pairs if pair.source is not None and _is_open_square(pair)]
    few = squares[:_FEW_TRIES]
    alone = [[pair] for pair in few]
    for turned in (alone if len(few) == 1 else [*alone, squares]) if few else ():
        pairs = [_turned(pair) if pair in turned else pair for pair in first.pairs]
        found = Pairing(pairs, first.steps)
        finish(source, target, found)
        names = ", ".join(pair.target_names[0] for pair in turned)
        found.notes.append(f"{names}: transposed; without that the two do not agree")
        yield found


def _is_open_square(pair: Pair) -> bool:
    """Whether it is a square kernel of which it is not known whose its axes are."""
    shape = pair.target.shape
    return not pair.followed and len(shape) == 2 and shape[0] == shape[1] > 1


def _turned(pair: Pair) -> Pair:
    assert pair.source is not None
    return replace(
        pair, source=replace(pair.source, find=rearranged(pair.source.find, np.transpose))
    )


def _joined(source: Side, target: Side, left: tuple[list[str], list[str]]) -> list[Pair]:
    """Tables that the other model holds as one, their rows one after another in their order.

    As the embeddings of several features in one table.
    """
    sides = source, target
    free = [
        [one for one in side.tensors if one.name in names and one.is_floating and one.shape]
        for side, names in zip(sides, left, strict=True)
    ]
    pairs = []
    for whole, parts in ((1, 0), (0, 1)):
        for one in free[whole]:
            rows = [two for two in free[parts] if two.shape[1:] == one.shape[1:]]
            if len(rows) < 2 or sum(two.shape[0] for two in rows) != one.shape[0]:
                continue
            ends = np.cumsum([two.shape[0] for two in rows])
            cut = np.split(_addresses(sides[whole], one), ends[:-1])
            for own, two in zip(cut, rows, strict=True):
                both = [own, _addresses(sides[parts], two)][:: 1 if whole == 0 else -1]
                halves = [Part(-1, "rows", terms(addresses)) for addresses in both]
                names = [(one.name,), (two.name,)][:: 1 if whole == 0 else -1]
                pairs.append(Pair("rows", halves[0], halves[1], names[0], names[1]))
    return pairs


def _addresses(side: Side, tensor: Tensor) -> Array:
    return side.own(side.numbers[tensor.name])


def _alone(stored: Addresses, names: Sequence[str]) -> dict[int, Tensor]:
    """By their sizes the tensors that are the only ones of them."""
    found: dict[int, list[Tensor]] = defaultdict(list)
    for tensor in stored.tensors:
        if tensor.name in names and tensor.is_floating:
            found[tensor.size].append(tensor)
    return {size: own[0] for size, own in found.items() if len(own) == 1}


def _choices(counts: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """One way for each pair: those first in which all are in the same order."""
    alike = (tuple(min(n, count - 1) for count in counts) for n in range(max(counts, default=1)))
    every = product(*map(range, counts))
    yield from islice(dict.fromkeys((*alike, *islice(every, MOST_TRIES))), MOST_TRIES)


def as_given(
    source: Addresses, target: Addresses, entry: _Entry, known: Sequence[str] = ("", "")
) -> list[Pair]:
    """One tensor into another, in each order of axes that fits.

    Args:
        known: what is known of the source and of the target, for a message on several tensors.

    Raises:
        UsageError: there is no such tensor, or none of its orders fits.
    """
    role, names = entry["role"], (tuple(entry["source"]), tuple(entry["target"]))
    right = _own(target, names[1], f"the target has no {role}", known[1])
    part = Part(-1, role, terms(right))
    if not names[0]:
        if role not in NEUTRAL:
            raise UsageError(
                f"The map: {' + '.join(names[1])} gets no source, and what a {role} is that does "
                f"nothing is not known; it is of {', '.join(NEUTRAL)}."
            )
        return [Pair(role, None, part, *names)]
    left = _own(source, names[0], f"the source has no {role}", known[0])
    found = _arranged(left, right.shape, entry.get("axes"))
    if not found:
        raise UsageError(
            f"The map: {names[0][0]} {left.shape} does not fit {names[1][0]} {right.shape}"
            + (f" with axes {entry['axes']}." if "axes" in entry else ".")
        )
    return [Pair(role, Part(-1, role, terms(own)), part, *names, axes=axes) for axes, own in found]


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
        known = _known(source, names[0]), _known(target, names[1])
        return as_given(source, target, entry, known)
    left, right = source_parts.get(both[0]), target_parts[both[0]]
    if left is not None and len(left.shape) != len(right.shape):
        raise UsageError(f"The map: {role} {entry['source']} and {entry['target']} are unlike.")
    return [Pair(both[0], left, right, *names)]


def _parts(side: Side, names: Sequence[str]) -> dict[str, Part]:
    """The parts that some tensors make, by their role."""
    return {part.role: part for part in side.all_parts() if {*side.names(part)} == {*names}}


def _own(side: Addresses, names: Sequence[str], what: str, known: str) -> Array:
    """The addresses of the one tensor that is named."""
    numbers = side.numbers
    missing = [name for name in names if name not in numbers]
    if len(names) == 1 and not missing:
        return side.own(numbers[names[0]])
    if missing:
        near = get_close_matches(missing[0], numbers, _NAMES, 0.4) or list(numbers)[:_NAMES]
        known = f" No tensor is called {missing[0]}; there are {', '.join(near)}"
        known += f" ({len(numbers)} in all)." if len(near) < len(numbers) else "."
    raise UsageError(f"The map: {what} made of {[*names]}.{known}")


def _known(side: Side, names: Sequence[str]) -> str:
    """What is known of several tensors that make no part together."""
    parts = [
        f"{part.role} made of {' + '.join(own)}"
        for part in side.all_parts()
        if not {*(own := side.names(part))}.isdisjoint(names)
    ]
    known = ", ".join(dict.fromkeys(parts)) or "nothing"
    return f" Known there: {known}. One tensor with one tensor is taken as given."


def _arranged(
    own: Array, shape: tuple[int, ...], axes: Sequence[int] | None
) -> list[tuple[tuple[int, ...], Array]]:
    """The orders of axes in which an array takes a shape, and it in each; as it is first."""
    orders = list(islice(permutations(range(own.ndim)), MOST_TRIES))
    if axes is not None:
        orders = [tuple(axes)] if sorted(axes) == list(range(own.ndim)) else []
    elif own.ndim == len(shape):
        orders = [order for order in orders if own.transpose(order).shape == shape]
    fits = own.size == math.prod(shape)
    return [(order, own.transpose(order).reshape(shape)) for order in orders if fits]
