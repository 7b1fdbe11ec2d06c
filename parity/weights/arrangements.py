"""The ways in which the elements of some tensors can lie in others.

Axes may be permuted, merged and split; several tensors may stand behind each other along an axis
of one, or be interleaved in it. The gates of a cell may stand in another order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice, permutations, product

import numpy as np

from parity.arrays import Array
from parity.matching.axis_order import orders

Lay = Callable[[Sequence[Array]], list[Array]]  # arrays of some shapes in others
_Shapes = Sequence[tuple[int, ...]]

_ONE = 24  # arrangements of one tensor
_SEVERAL = 240  # of several in one
_GATES = 3, 4  # blocks along an axis
_WITH_GATES = 4  # arrangements of one tensor whose blocks are put in another order


def layouts(given: _Shapes, wanted: _Shapes, gates: bool = True) -> Iterator[Lay]:
    """The ways in which arrays of some shapes may hold the elements of others.

    Args:
        given, wanted: of one of the two there is but one.
        gates: whether blocks along an axis may stand in another order, which comes last.

    Yields:
        Functions from arrays of the shapes `given` to arrays of the shapes `wanted`; what changes
        least comes first.
    """
    if sum(map(math.prod, given)) != sum(map(math.prod, wanted)):
        return iter(())
    if len(wanted) == 1:
        return (_join(places, given) for places in _places(given, wanted[0], gates))
    return (_split(places, wanted) for places in _places(wanted, given[0], gates))


def _join(places: Array, given: _Shapes) -> Lay:
    return lambda arrays: [np.concatenate([array.ravel() for array in arrays])[places]]


def _split(places: Array, wanted: _Shapes) -> Lay:
    ends = np.cumsum([math.prod(shape) for shape in wanted])[:-1]

    def lay(arrays: Sequence[Array]) -> list[Array]:
        flat = np.empty(places.size, arrays[0].dtype)
        flat[places.ravel()] = arrays[0].ravel()
        pieces = np.split(flat, ends)
        return [piece.reshape(shape) for piece, shape in zip(pieces, wanted, strict=True)]

    return lay


def _places(parts: _Shapes, whole: tuple[int, ...], gates: bool) -> Iterator[Array]:
    """Where each element of a tensor comes from in some others, numbered through all of them."""
    numbers = np.split(
        np.arange(math.prod(whole)), np.cumsum([math.prod(shape) for shape in parts])[:-1]
    )
    own = [array.reshape(shape) for array, shape in zip(numbers, parts, strict=True)]
    if len(own) == 1:
        plain = [order.apply(own[0]) for order in islice(orders(parts[0], whole), _ONE)]
        return chain(plain, _other_gates(plain[:_WITH_GATES]) if gates else ())
    return islice(_several(own, whole), _SEVERAL)


def _other_gates(plain: Sequence[Array]) -> Iterator[Array]:
    """The blocks along an axis in each other order."""
    for places in plain:
        for axis, count in product(range(places.ndim), _GATES):
            if places.shape[axis] % count or places.shape[axis] == count:
                continue
            blocks = np.split(places, count, axis)
            for row in islice(permutations(blocks), 1, None):
                yield np.concatenate(row, axis)


def _several(own: Sequence[Array], whole: tuple[int, ...]) -> Iterator[Array]:
    """Interleaved, as one tensor with one more axis, or behind each other along an axis."""
    if len({array.shape for array in own}) == 1:
        for row in permutations(own):
            stacked = np.stack(row)
            yield from (order.apply(stacked) for order in orders(stacked.shape, whole))
    for row in permutations(own):
        for axis, length in enumerate(whole):
            rest = math.prod(whole) // length
            pieces = [(*whole[:axis], array.size // rest, *whole[axis + 1 :]) for array in row]
            if any(array.size % rest for array in row):
                continue
            every = (
                [order.apply(array) for order in islice(orders(array.shape, piece), _ONE)]
                for array, piece in zip(row, pieces, strict=True)
            )
            yield from (np.concatenate(choice, axis) for choice in product(*every))
