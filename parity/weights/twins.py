"""Vectors of which only the sum counts, as the two biases of a cell.

Where one model has two of them and the other has one, nothing says what belongs to which: the
second is taken as zero, and the first as the sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from parity.tape import Array
from parity.weights.cell_weights import Terms
from parity.weights.effect_trials import Point
from parity.weights.element_index import Addresses
from parity.weights.operands import Find
from parity.weights.units import Unit

_SAME = 1e-9  # of an effect: what float64 loses of a sum
_SHIFT = 0.1, 0.3
_TRIES = 200  # pairs of vectors

Twins = dict[int, int]  # by the number of the first of two that of the second


def twins_of(point: Point, own: Sequence[int], other: Counter[int]) -> Twins:
    """Those of which a model has more than another has of their size.

    Args:
        point: the model, whose contents are its own.
        own: numbers of the tensors in question.
        other: how many vectors the other model has, by their sizes.
    """
    tensors = point.side.tensors
    vectors = [n for n in own if len(tensors[n].shape) == 1 and tensors[n].size > 1]
    more = Counter(tensors[n].size for n in vectors)
    more.subtract(other)
    found: Twins = {}
    moved: dict[int, list[Array]] = {}
    alike = (pair for pair in combinations(vectors, 2) if len({tensors[n].size for n in pair}) == 1)
    for count, (first, second) in enumerate(alike):
        size = tensors[first].size
        if count >= _TRIES or more[size] < 1 or {first, second} & {*found, *found.values()}:
            continue
        shift = np.random.default_rng(size).uniform(*_SHIFT, size)
        for n in {first, second} - moved.keys():
            moved[n] = point.effect({Unit(n): point.contents[n] + shift})
        if _same(moved[first], moved[second]):
            found[first] = second
            more[size] -= 1
    return found


def _same(one: list[Array], other: list[Array]) -> bool:
    norms = [np.linalg.norm(own) for own in one]
    if not np.isfinite(norms).all() or not any(norms):
        return False
    gaps = (np.linalg.norm(a - b) for a, b in zip(one, other, strict=True))
    return all(gap <= _SAME * norm for gap, norm in zip(gaps, norms, strict=True))


def with_the_others(side: Addresses, own: Array, twins: Twins) -> list[Array]:
    """Some elements, and those of what they are to be added up with; 0 where that is nothing."""
    found = [own]
    for first, second in twins.items():
        start, end = side.starts[first : first + 2]
        here = (own >= start) & (own < end)
        if here.any():
            found.append(np.where(here, own - start + side.starts[second], 0))
    return found


def summed(every: Sequence[Array]) -> Find:
    found: Terms = [(1.0, own) for own in every]
    return lambda: found
