"""Which rows of one array those of another are, and what one calls their order.

Not a family: what the causes use that read places off the contents. A row is all that lies at one
place of an axis, or of two axes that lie side by side.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from parity.diagnosis.causes._arrange import alike
from parity.diagnosis.causes._limits import MOST_PARTS, POSITIONS_SHOWN, SAME_ROW
from parity.tape import Array


@dataclass(frozen=True)
class Laid:
    """An array cut into rows.

    Attributes:
        shape: what it is reshaped to first: axes that both sides split are one.
        axes: those whose places are rows, one or two side by side.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]

    def rows(self, array: Array) -> Array:
        front = np.moveaxis(array.reshape(self.shape), self.axes, range(len(self.axes)))
        return front.reshape(self.count, -1)

    def taken(self, array: Array, places: Array) -> Array:
        """The array with other rows of it in the place of each."""
        front = np.moveaxis(array.reshape(self.shape), self.axes, range(len(self.axes)))
        taken = front.reshape(self.count, -1)[places].reshape(front.shape)
        return np.moveaxis(taken, range(len(self.axes)), self.axes).reshape(array.shape)

    @property
    def lengths(self) -> tuple[int, ...]:
        return tuple(self.shape[axis] for axis in self.axes)

    @property
    def count(self) -> int:
        return math.prod(self.lengths)


def ways_to_lay(one: tuple[int, ...], other: tuple[int, ...]) -> Iterator[Laid]:
    """How two arrays of one size are cut alike: along each axis, then along each two."""
    shape = one if one == other else _common(one, other)
    for count in (1, 2):
        for start in range(len(shape) - count + 1):
            axes = tuple(range(start, start + count))
            if all(shape[axis] > 1 for axis in axes):
                yield Laid(shape, axes)


def _common(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """The finest shape of which both are splits, as the arrays lie in memory."""
    ends = [{*itertools.accumulate(shape, lambda a, b: a * b)} for shape in (one, other)]
    cuts = sorted(ends[0] & ends[1] | {1})
    return tuple(b // a for a, b in itertools.pairwise(cuts)) or (1,)


def labels(one: Array, other: Array) -> tuple[Array, Array] | None:
    """A number for each row of two arrays, the same for equal ones; None where it is unclear."""
    rows = np.concatenate([one, other])
    if not rows.size or not np.isfinite(rows).all():
        return None
    # sums with random weights distinguish rows; what is found is compared as a whole
    keys = rows @ np.random.default_rng(0).standard_normal(rows.shape[1])
    order = np.argsort(keys, kind="stable")
    apart = np.diff(keys[order]) > SAME_ROW * float(np.abs(keys).max())
    found = np.empty(len(rows), np.int64)
    found[order] = np.concatenate([[0], np.cumsum(apart)])
    _, first = np.unique(found, return_index=True)
    if not alike(rows, rows[first[found]]):
        return None
    return found[: len(one)], found[len(one) :]


@dataclass(frozen=True)
class Form:
    """An order of rows that has a name.

    Attributes:
        kind: "exchanged", "reversed", "rolled", "tiled", "repeated" or "regrouped".
        places: where each row is taken from.
        number: by how many places, or of how many parts.
    """

    kind: str
    places: Array
    number: int = 0


def form_of(was: Array, now: Array, lengths: tuple[int, ...]) -> Form | None:
    """How rows, given by their labels, come from others; None for any other order."""
    for form in _forms(was, lengths):
        if np.array_equal(was[form.places], now):
            return form
    return None


def _forms(was: Array, lengths: tuple[int, ...]) -> Iterator[Form]:
    count = len(was)
    every = np.arange(count)
    if len(lengths) == 2:
        if lengths[0] == lengths[1]:
            copies = _of_parts(was.reshape(lengths))
            kind = "exchanged" if copies == "regrouped" else copies
            yield Form(kind, every.reshape(lengths).T.ravel())
        return
    for parts in range(2, count // 2 + 1) if count <= MOST_PARTS**2 else ():
        if count % parts == 0:
            places = every.reshape(parts, -1).T.ravel()
            yield Form(_of_parts(was.reshape(parts, -1)), places, parts)
    yield Form("reversed", every[::-1])
    for by in range(1, min(count, MOST_PARTS) // 2 + 1):
        for sign in (1, -1):
            yield Form("rolled", np.roll(every, sign * by), sign * by)


def _of_parts(was: Array) -> str:
    """What rows are that lie the other way round, by what they were."""
    if (was == was[:, :1]).all():
        return "tiled"
    return "repeated" if (was == was[:1]).all() else "regrouped"


def by_contents(was: Array, now: Array) -> Array:
    """Where each row is taken from: of equal ones the first for the first."""
    places = np.empty(len(was), np.int64)
    places[np.argsort(now, kind="stable")] = np.argsort(was, kind="stable")
    return places


def in_words(labels: Array) -> str:
    """Rows by number, in the order in which they first occur: 0, 1, 2, 0, 1, 2."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    number = np.argsort(np.argsort(first))
    shown = ", ".join(map(str, number[inverse][:POSITIONS_SHOWN].tolist()))
    return f"{shown}{', ...' if len(labels) > POSITIONS_SHOWN else ''}"


def is_of_distances(labels: Array, lengths: tuple[int, ...]) -> bool:
    """Whether rows along two axes are the same wherever the places are as far apart."""
    laid = labels.reshape(lengths)
    return len(labels) > 4 and bool((laid[1:, 1:] == laid[:-1, :-1]).all())
