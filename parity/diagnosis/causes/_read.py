"""Where a side's moves put the elements of what both sides read, before they compute with them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.view import LeafView
from parity.errors import ReplayError
from parity.tape import Array, Tape

_LAYING = frozenset(("reshape", "transpose", "squeeze", "expand_dims", "cast"))


def shown(case: Case, root: int, as_candidate: bool) -> dict[int, Array]:
    """Where a side's moves put the elements of a value before operations compute with them."""
    view = case.candidate if as_candidate else case.reference
    x = case.first.given[root]
    starts = {v for v in case.candidate_entering if root_of(case, v) == root}
    starts = starts if as_candidate else {root}
    read = dict.fromkeys(value for op in view.computing for value in op.inputs)
    chains = [list(moves_behind(view.tape, value, starts)) for value in read]
    values = dict.fromkeys(value for chain in chains if starts & {*chain} for value in chain)
    if not values:
        return {}
    places = np.arange(x.size, dtype=np.float64).reshape(x.shape)
    run = case.candidate_values if as_candidate else case.reference_values
    arrays = run({**case.first.given, root: places}, values)
    indices = {v: one.astype(np.int64) for v, one in zip(values, arrays, strict=True)}
    return {v: index for v, index in indices.items() if is_whole(index, x.size)}


def moves_behind(tape: Tape, value: int, starts: Collection[int]) -> Iterator[int]:
    """A value, and what it was before each of the moves, back to one of some values."""
    while True:
        yield value
        op = tape.producer(value)
        if value in starts or op is None or op.role != "move" or not op.inputs:
            return
        value = op.inputs[0]


def is_whole(index: Array, size: int) -> bool:
    return index.size == size > 1 and np.array_equal(np.sort(index, axis=None), np.arange(size))


def root_of(case: Case, value: int) -> int | None:
    """The value of a trial that an input of the candidate's region is, but for moves."""
    partner = case.partners.get(value)
    return None if partner is None else case.reference.tape.before_moves(partner)


def feature_orders(case: Case) -> Iterator[Array]:
    """Orders in which the candidate reads the features of rows: those of the reference, by place.

    Images that lie otherwise are flattened in another order, and so are the weights behind them.
    """
    found: list[Array] = []
    values = case.reference.tape.values
    read = {values[value].shape[-1:] for op in case.reference.computing for value in op.inputs}
    for root, x in case.first.given.items():
        if x.dtype.kind != "f" or x.ndim < 3 or (math.prod(x.shape[1:]),) not in read:
            continue
        try:
            sides = [shown(case, root, as_candidate).values() for as_candidate in (False, True)]
        except ReplayError:  # places are outside what an operation takes
            continue
        for own, there in itertools.product(*sides):
            rows, others = (one.reshape(-1, one.shape[-1]) for one in (own, there))
            if rows.shape != others.shape or np.array_equal(rows, others):
                continue
            ordered = np.argsort(rows[0])
            order = ordered[np.searchsorted(rows[0][ordered], others[0]) % rows.shape[1]]
            if np.array_equal(rows[:, order], others):
                if not any(np.array_equal(order, one) for one in found):
                    found.append(order)
    yield from found


def is_its_own(tape: Tape, leaf: LeafView) -> bool:
    """Whether what is read is more than a whole weight, laid out anew for its only reader."""
    value = leaf.id
    while (op := tape.producer(value)) is not None:
        if op.word not in _LAYING or len(op.inputs) != 1:
            return True
        value = op.inputs[0]
    return tape.values[value].size != leaf.array.size or len(tape.consumers[value]) > 1
