"""One value that the two models split and join each in an order of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._arrange import Arrangement, of_index
from parity.diagnosis.causes._context import (
    SHUFFLES,
    attends,
    axes_exchanged,
    flattened,
    is_image,
    moves_only,
    near_images,
    reshapes_images,
    splits_heads,
    trades_channels,
)
from parity.diagnosis.causes._limits import (
    LAYOUTS_TRIED,
    REARRANGED_BEFORE,
    SOURCES_TRIED,
    SPLITS_TRIED,
)
from parity.diagnosis.causes._read import is_whole, root_of, shown
from parity.diagnosis.causes._sources import named
from parity.diagnosis.causes._substitution import Form, Substituted
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.matching.axis_order import orders
from parity.tape import Array

_SUBJECTS = {
    "pixel-shuffle-order": "pixels and channels are split in another order",
    "flatten-order": "the features are flattened in another order",
    "head-split-order": "axes are split or joined in another order",
    "channel-order": "the channels are split and joined in another order",
}


@dataclass(frozen=True)
class Source:
    """A value that both sides read, laid out as one of them reads it.

    Attributes:
        root: id of the reference's value that a trial gives.
        index: where in the flat root each element of the layout is.
    """

    root: int
    index: Array

    def __call__(self, trial: Trial) -> Array:
        return trial.given[self.root].ravel()[self.index]

    def order(self, index: Array) -> Arrangement | None:
        """How the layout is to be arranged to hold the root's elements of an index."""
        place = np.empty(self.index.size, np.int64)
        place[self.index.ravel()] = np.arange(self.index.size)
        return of_index(place[index.ravel()], np.ones(index.size, bool), index.shape)


@cause("pixel-shuffle-order", "flatten-order", "head-split-order", "channel-order")
@first_fitting
def arranged_by_each(case: Case) -> Iterator[Explanation]:
    """What both sides read is split, transposed and joined, by each in an order of its own.

    Looks like: the same numbers on both sides, in other places; where the lengths have no common
        parts, as of 2 by 2 pixels of 3 channels, no order of the reference's value gives the other.
    Proof: what is read, arranged in one order, is the reference's value, and in the other order
        the candidate's, on every input.
    """
    kind = _kind(case)
    roots = [root for root, array in case.first.given.items() if array.dtype.kind == "f"]
    if kind is None or len(roots) != 1 or not moves_only(case):
        return
    (root,) = roots
    reference, candidate = _ends(case, root)
    size = case.first.given[root].size
    if not (is_whole(reference, size) and is_whole(candidate, size)):
        return
    if Source(root, reference).order(candidate) is not None:
        return  # an order of the reference's value
    for source in _layouts(case, root):
        a, b = source.order(reference), source.order(candidate)
        if a is None or b is None:
            continue
        yield Explanation(
            kind,
            f"{_SUBJECTS[kind]}: {b}; in the reference: {a}",
            partial(_arranged, source, b),
            partial(_arranged, source, a),
        )


def _arranged(source: Source, order: Arrangement, trial: Trial) -> Array:
    return order(source(trial))


@cause("pixel-shuffle-order", "flatten-order", "head-split-order", "channel-order", "axis-order")
@first_fitting
def read_by_each(case: Case) -> Iterator[Explanation]:
    """What a region computes with is split and joined otherwise by the candidate before.

    Looks like: attention scores of the right shape that have nothing in common with the
        reference's, as query and key are split into features and heads, not heads and features.
    Proof: the reference's operations on their inputs, arranged as the candidate arranges them, give
        the candidate's value.
    """
    if not case.reference.computing:
        return
    given = case.first.given
    floating = [root for root in given if given[root].dtype.kind == "f" and given[root].size > 1]
    options = {root: list(_rearranged(case, root)) for root in floating[:SOURCES_TRIED]}
    roots = [root for root in options if options[root]]
    kind = _kind(case, roots) if roots else None
    if kind is None:
        return
    for group in [tuple(roots), *((root,) for root in roots if len(roots) > 1)]:
        chosen = itertools.product(*(options[root] for root in group))
        for indices in itertools.islice(chosen, SPLITS_TRIED):
            by_root = dict(zip(group, indices, strict=True))
            shapes = dict.fromkeys(f"{given[root].shape}" for root in group)
            text = f"{_SUBJECTS[kind]} in what is read, {', '.join(shapes)}"
            exchanged = [_exchanged(case, root, index) for root, index in by_root.items()]
            yield Explanation(
                "axis-order" if all(exchanged) else kind,
                "; ".join(exchanged) if all(exchanged) else text,
                Substituted(_reading(case, by_root)),
                cost=REARRANGED_BEFORE,
            )


def _exchanged(case: Case, root: int, index: Array) -> str:
    """Which two axes of one length the candidate's moves exchange; "" where they do more.

    Axes that the last axis of what is read was split into are heads and features.
    """
    features = case.first.given[root].shape[-1]
    for own in shown(case, root, False).values():
        laid = index.ravel()[own]
        for first, second in itertools.combinations(range(own.ndim), 2):
            if own.shape[first] == own.shape[second] > 1:
                steps = [np.abs(np.diff(own, axis=axis)).min() for axis in (first, second)]
                if min(steps) >= features and np.array_equal(laid, own.swapaxes(first, second)):
                    name = named(case.reference.tape, root)
                    return f"axes {first} and {second} of {name} as {own.shape} are exchanged"
    return ""


def _reading(case: Case, indices: Mapping[int, Array]) -> Callable[[Trial, Form], Array]:
    """The reference's region, with the elements of what it reads at other places."""

    def run(trial: Trial, change: Form) -> Array:
        moved = {root: change(trial.given[root].ravel()[at]) for root, at in indices.items()}
        return case.run_reference({**trial.given, **moved})

    return run


def _rearranged(case: Case, root: int) -> Iterator[Array]:
    """Orders in which the candidate's moves give the shapes that the reference's moves give."""
    x = case.first.given[root]
    own, others = (shown(case, root, as_candidate).values() for as_candidate in (False, True))
    found: list[Array] = []
    for index, there in itertools.product(own, others):
        if np.array_equal(index, there):
            continue  # both read it alike
        for laid in itertools.islice(_laid_alike(there, index.shape), LAYOUTS_TRIED):
            order = np.empty(x.size, np.int64)
            order[index.ravel()] = laid.ravel()
            if not any(np.array_equal(order, one) for one in (np.arange(x.size), *found)):
                found.append(order)
    read = [value for value in case.candidate_entering if root_of(case, value) == root]
    for index in (order.reshape(x.shape) for order in found):
        exchanged = axes_exchanged(index)
        if len(exchanged) == x.ndim or any(
            splits_heads(case, x.shape, exchanged, case.candidate.tape, value) for value in read
        ):
            yield index  # an axis is split, or was


def _laid_alike(array: Array, shape: tuple[int, ...]) -> Iterator[Array]:
    """An array in each layout that has a shape, or as rows of the same length."""
    if array.shape == shape or array.shape[-1] == shape[-1]:
        yield array.reshape(shape)
    for order in orders(shape, array.shape):
        yield order.revert(array, shape)


def _kind(case: Case, read_moved: Sequence[int] = ()) -> str | None:
    """What an order is called, by what is arranged; `read_moved` are values that are read."""
    words = {op.word for view in (case.reference, case.candidate) for op in view.ops}
    rank = len(case.first.reference.shape)
    read = max((x.ndim for x in case.first.given.values()), default=0)
    if words & SHUFFLES or reshapes_images(case):
        return "pixel-shuffle-order"
    for root, as_candidate in itertools.product(read_moved, (False, True)):
        indices = shown(case, root, as_candidate).values()
        if trades_channels([case.first.given[root].shape, *(one.shape for one in indices)]):
            return "pixel-shuffle-order"
    if flattened(case) or (read > rank and near_images(case)):
        return "flatten-order"
    if read != rank or attends(case):
        return "head-split-order"
    return "channel-order" if is_image(case, case.first.reference.shape) else None


def _ends(case: Case, root: int) -> tuple[Array, Array]:
    """Which element of a value that is read is where in both ends."""
    x = case.first.given[root]
    places = np.arange(x.size, dtype=np.float64).reshape(x.shape)
    trial = case.probe({**case.first.given, root: places})
    return trial.reference.astype(np.int64), trial.candidate.astype(np.int64)


def _layouts(case: Case, root: int) -> Iterator[Source]:
    """A value as a trial gives it, and as the candidate reads it."""
    x = case.first.given[root]
    places = np.arange(x.size).reshape(x.shape)
    yield Source(root, places)
    given = {**case.first.given, root: places.astype(np.float64)}
    read = [value for value in case.candidate_entering if root_of(case, value) == root]
    for array in case.candidate_values(given, read):
        if is_whole(index := array.astype(np.int64), x.size):
            yield Source(root, index)
