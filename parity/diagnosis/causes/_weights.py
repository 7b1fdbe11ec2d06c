"""Which of the reference's weights the candidate holds other values for, proved by running them.

The reference's own operations are run with the candidate's weights, laid out as the reference keeps
them. Which layout is the right one is not assumed: it is the one that gives the candidate's value.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from parity.budget import check
from parity.diagnosis.case import Case, axes_along
from parity.diagnosis.causes import Predict
from parity.diagnosis.causes._arrange import order_in_words
from parity.diagnosis.causes._attested import part_of, times_added
from parity.diagnosis.causes._bags import Bags, bag, unlike
from parity.diagnosis.causes._limits import CHANGES_TRIED, LAYOUTS_TRIED, WEIGHTS_CHANGED
from parity.diagnosis.causes._read import feature_orders, is_its_own
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import LeafView, RegionView
from parity.errors import ReplayError
from parity.matching.axis_order import orders
from parity.matching.match import Side
from parity.numerics.difference import residual
from parity.numerics.limits import ALIKE
from parity.operations import CONVOLUTIONS
from parity.tape import Array, Op, Tape, Value
from parity.windows import Window

_NO_RESULT = np.empty(0)


@dataclass(frozen=True)
class Change:
    """A weight of the reference's for which the candidate holds other values."""

    leaf: LeafView  # the reference's
    candidate: LeafView
    now: Array  # the candidate's, laid out as the leaf

    @property
    def name(self) -> str:
        return self.leaf.name or self.candidate.name or f"constant of {self.leaf.array.shape}"

    def made(self, case: Case) -> tuple[Made, Made]:
        """Of what both are made."""
        return made(case.reference, self.leaf.id), made(case.candidate, self.candidate.id)

    @property
    def is_an_order(self) -> bool:
        """Whether the candidate holds the same values, at other places."""
        return same(bag(self.leaf.array), bag(self.now))


@lru_cache(maxsize=2)
def changes(case: Case) -> tuple[Change, ...]:
    """The fewest weights that, replaced by the candidate's, make the reference give its value."""
    orders_of_rows = list(feature_orders(case))
    held = _floating(case.reference.leaves), _floating(case.candidate.leaves)
    as_read = read(case, False), read(case, True)
    tapes = case.reference.tape, case.candidate.tape
    pairs = zip(tapes, as_read, strict=True)
    own = any(is_its_own(tape, leaf) for tape, leaves in pairs for leaf in leaves)
    for reference, candidate in (held, as_read) if own else (held,):
        sets = _combinations(reference, [*map(_once, candidate)], orders_of_rows)
        for tried in itertools.islice(sets, CHANGES_TRIED):
            if gives(case, with_changes(case, tried)):
                return tried
    return ()


def with_changes(case: Case, changed: Sequence[Change]) -> Predict:
    """Predicts by the reference's own operations with other weights."""
    return with_leaves(case, {change.leaf.id: change.now for change in changed})


def with_leaves(case: Case, leaves: dict[int, Array]) -> Predict:
    """Predicts by the reference's own operations with values replaced; empty where they fail."""

    def predict(trial: Trial) -> Array:
        try:
            return case.run_reference(trial.given, leaves)
        except ReplayError:  # shapes that do not fit
            return _NO_RESULT

    return predict


def gives(case: Case, predict: Predict) -> bool:
    """Whether a prediction is the candidate's value on the user's inputs."""
    found, wanted = predict(case.first), case.first.candidate
    return found.shape == wanted.shape and residual(wanted, found) <= ALIKE


def same(a: Array, b: Array) -> bool:
    """Whether two weights are equal but for float32 rounding."""
    if a.shape != b.shape:
        return False
    bound = ALIKE / 10 * float(np.abs(a).max())
    few = (..., slice(16)) if a.ndim else ...
    return bool(np.allclose(a[few], b[few], ALIKE, bound) and np.allclose(a, b, ALIKE, bound))


@dataclass(frozen=True)
class Made:
    """Of what a weight that is read is made before any input is read."""

    ops: tuple[Op, ...]  # that compute it; none where it is a leaf, or one that was moved
    leaves: tuple[LeafView, ...]

    def without_biases(self, tape: Tape) -> Made:
        """The same less what is added alone, if more is left: biases may be joined beforehand."""
        among = {op.index for op in self.ops}
        found = tuple(
            leaf
            for leaf in self.leaves
            if leaf.array.ndim > 1 or not times_added(tape, leaf.id, among, static=True)
        )
        return Made(self.ops, found or self.leaves)

    @property
    def stored(self) -> Made:
        """The same less what the host wrote among it, as noise that it transforms."""
        return Made(self.ops, tuple(one for one in self.leaves if one.kind != "constant"))

    def holds(self, other: Made) -> bool:
        """Whether all weights that something else is made of are among these, in any layout."""
        bags, wanted = ([bag(leaf.array) for leaf in one.leaves] for one in (self, other))
        return bool(wanted) and all(any(same(one, held) for held in bags) for one in wanted)


def made(view: RegionView, value: int) -> Made:
    """Of what a static value of a region is made."""
    sources = view.sources(value)
    leaves = [leaf for leaf in view.leaves if leaf.id in sources]
    ops = (view.tape.ops[index] for index in sorted(view.tape.graph.ancestors([value])))
    return Made(tuple(op for op in ops if op.role != "move"), tuple(_floating(leaves)))


def is_looked_up(view: RegionView, value: int) -> bool:
    """Whether a static value is made of a table by whole numbers, as places in it."""
    made_of = view.tape.graph.backward([value], lambda _, op: True)
    read = (view.tape.values[one] for one, _ in made_of if one != value)
    return any("int" in one.dtype and one.size > 1 for one in read)


def kernel_layout(view: RegionView, value: int) -> tuple[int, ...]:
    """Which axes of a kernel, or what it is made of, are (out, in, *space); () of no kernel."""
    tape = view.tape
    for op in view.ops:
        window = tape.window(op) if op.word in CONVOLUTIONS else None
        kernel = None if window is None else window.weight
        if window is None or kernel is None or value not in {kernel, *view.sources(kernel)}:
            continue
        if value == kernel:
            return window.layout
        lengths, rank = tape.values[kernel].shape, len(tape.values[value].shape)
        along = (axis for axis in window.layout if lengths[axis] > 1)
        before = tuple(axis_of(tape, kernel, axis) for axis in along)
        if sorted(before) == list(range(rank)):
            return before  # without the axis that a sequence gets to be an image
        return window.layout if rank == len(window.layout) else ()
    return _layout_by_columns(view, value)


def _layout_by_columns(view: RegionView, value: int) -> tuple[int, ...]:
    """The same of a kernel that the columns of images are multiplied with."""
    tape, shape = view.tape, view.tape.values[value].shape
    for op in view.ops:
        product = tape.product(op)
        for kernel, x in () if product is None else (product.factors, product.factors[::-1]):
            columns = columns_of(tape, x)
            window = None if columns is None else tape.window(columns)
            if window is None or value not in {kernel, *view.sources(kernel)}:
                continue
            layout = columns_layout(window, len(shape))
            lengths = tuple(shape[axis] for axis in layout[1:])
            inner = tape.values[window.x].shape[window.channel]
            return layout if lengths == (inner, *window.geometry.kernel) else ()
    return ()


def columns_of(tape: Tape, value: int) -> Op | None:
    """The operation that gives the columns of images that a value is; None if it is no such."""
    op = tape.producer(value)
    while op is not None and op.word != "columns":
        op = tape.producer(op.inputs[0]) if op.role == "move" else None
    return op


def columns_layout(window: Window, rank: int) -> tuple[int, ...]:
    """Which axes of the kernel that goes with columns are (out, in, *space)."""
    axes = tuple(range(rank))
    return (*axes[:-3:-1], *axes[:-2]) if window.channels_last else axes


def changes_in_words(case: Case, found: Sequence[Change]) -> list[str]:
    """What is said of changed weights."""
    others = [change for change in found if not change.is_an_order]
    if 0 < len(others) < len(found):  # features are in orders of their own: no element is another's
        return [f"other numbers in {change.name}" for change in others]
    return [_change_in_words(case, change) for change in found]


def _change_in_words(case: Case, change: Change) -> str:
    """What is so of a changed weight; "" where weights are equal and computed with otherwise."""
    reference, candidate = change.made(case)
    share = _shares(change)
    name = described(case, change)
    zeros = "" if change.now.any() else f"zeros are read in place of {name}"
    tape, read = case.candidate.tape, change.candidate.id
    computed = not is_moved_alone(case.reference.tape, change.leaf.id)
    if computed and reference.ops:  # what is stored may be equal, and not what is computed of it
        bare = reference.without_biases(case.reference.tape), reference.stored
        if any(map(candidate.holds, bare)):
            return ""
    if computed or is_moved_alone(tape, read):
        if change.is_an_order:
            order = order_in_words(change.leaf.array, change.now)
            return f"the numbers of {name} in another order{order}"
        return zeros or f"other numbers in {name} ({share})"
    if not candidate.holds(reference):
        return zeros or f"in place of {name} ({share}) {named(tape, read)} is read"
    if len(candidate.leaves) > 1 and Made((), tuple(_floating(case.reference.leaves))).holds(
        candidate
    ):
        return ""  # a norm makes one offset of all its weights: those that are here are equal
    op = tape.producer(tape.before_moves(read))
    kinds = ", ".join(dict.fromkeys(one.kind for one in candidate.ops)) or (op.kind if op else "")
    return f"in place of {name} ({share}) what {kinds} computes from it is read"


def described(case: Case, change: Change) -> str:
    """A changed weight in words: where it is computed, it is no weight but a result."""
    tape = case.reference.tape
    if is_moved_alone(tape, change.leaf.id):
        return part_of(case.reference, change.leaf) + change.name
    names = [leaf.name for leaf in made(case.reference, change.leaf.id).leaves if leaf.name]
    return named(tape, change.leaf.id) + (f", made of {', '.join(names)}" if names else "")


def is_moved_alone(tape: Tape, value: int) -> bool:
    """Whether a value is a leaf, cut, transposed or copied, but not computed or looked up."""
    return tape.producer(tape.before_moves(value)) is None


def axis_of(tape: Tape, value: int, axis: int) -> int:
    """The leaf's axis along an axis of what moves make of it; that one if several are there."""
    root = tape.before_moves(value)
    shape = tape.values[root].shape
    if root == value or tape.producer(root) is not None:
        return axis
    moves = tape.graph.ancestors([value])

    def move(array: Array) -> Array:
        return tape.replay("float64", {root: array}, only=moves).array(value)

    found = [i for i in range(len(shape)) if axis in axes_along(move, shape, i)]
    return found[0] if len(found) == 1 else axis


def _shares(change: Change) -> str:
    weight, now = change.leaf.array, change.now
    differing = ~np.isclose(now, weight, ALIKE, ALIKE / 10)
    off = float(np.linalg.norm(now - weight) / (np.linalg.norm(weight) or 1.0))
    return f"{differing.sum()} of {differing.size} differ, by {off:.2g} of its norm"


def read_elsewhere(case: Case, change: Change) -> str:
    """Why a weight may not be another: it is read elsewhere, as by another layer of its shape."""
    reference, candidate = (_reads_outside(side, change.leaf.array) for side in sides(case))
    if reference or not candidate:
        return ""
    return f"the candidate reads {change.name} at another place, which may be this one"


def _reads_outside(side: CaseSide, weight: Array) -> bool:
    """Whether operations outside a region read a weight with certain values, or what it makes."""
    tape, inside = side.view.tape, {op.index for op in side.view.ops}
    return any(
        op.index not in inside and op.index in tape.used
        for value in holders(side.model, weight)
        for _, op in tape.graph.readers(value.id, lambda op: op.static)
    )


def holders(model: Side, array: Array) -> Iterator[Value]:
    """The weights of a model that hold certain values, in any layout."""
    wanted = bag(array)
    for value in model.tape.values:
        if value.op < 0 and value.kind != "input" and value.size == wanted.size:
            if same(bag(model.array(value.id)), wanted):
                yield value


def _floating(leaves: Sequence[LeafView]) -> list[LeafView]:
    return [leaf for leaf in leaves if leaf.array.dtype.kind == "f" and leaf.array.size > 1]


def held(case: Case, as_candidate: bool) -> list[LeafView]:
    """A side's leaves, and what is made of them before an operation reads it: a row of one, say."""
    view = sides(case)[as_candidate].view
    leaves = {leaf.id: leaf for leaf in (*view.leaves, *read(case, as_candidate))}
    return list(leaves.values())


def read(case: Case, as_candidate: bool) -> list[LeafView]:
    """Static values as the operations read them: weights after scaling, rounding, transposing."""
    side = sides(case)[as_candidate]
    found = []
    for value in side.view.constants:
        leaf = side.view.leaf(value)
        name, kind = ("", "constant") if leaf is None else (leaf.name, leaf.kind)
        found.append(LeafView(value, name, kind, side.model.array(value)))
    return _floating(found)


def _once(leaf: LeafView) -> LeafView:
    """A leaf without the leading axes along which the host repeated a constant."""
    array = leaf.array
    while leaf.kind == "constant" and array.ndim > 1 and (array == array[:1]).all():
        array = array[0]
    return replace(leaf, array=array)


def _combinations(
    reference: Sequence[LeafView], candidate: Sequence[LeafView], orders_of_rows: Sequence[Array]
) -> Iterator[tuple[Change, ...]]:
    """Sets of changes, those of few weights first."""
    options, bags = [], Bags()
    for leaf in reference:
        check()  # of hundreds of weights each is held against all others
        free = _free_for(leaf, reference, candidate, bags)
        if found := _options(leaf, free, orders_of_rows, bags):
            options.append(found)
    for count in range(1, min(len(options), WEIGHTS_CHANGED) + 1):
        for chosen in itertools.combinations(options, count):
            for tried in itertools.product(*chosen):
                check()
                if len({change.candidate.id for change in tried}) == count:
                    yield tried


def _free_for(
    leaf: LeafView, others: Sequence[LeafView], candidate: Sequence[LeafView], bags: Bags
) -> Sequence[LeafView]:
    """The candidate's weights but others of the reference's: a variance may be like a scale."""
    alike = [other for other in candidate if other.array.size == leaf.array.size]
    if len(alike) < 2:
        return alike
    known = [bags.of(one) for one in others if one.array.size == leaf.array.size]
    own = bags.of(leaf)

    def is_free(array: Array) -> bool:
        return same(own, array) or not any(same(other, array) for other in known)

    return [one for one in alike if is_free(bags.of(one))] or alike


def _options(
    leaf: LeafView, candidate: Sequence[LeafView], orders_of_rows: Sequence[Array], bags: Bags
) -> list[Change]:
    """What may stand in a weight's place: the candidate's most alike, in every fitting layout."""
    if not candidate:
        return []
    other = candidate[0]
    if len(candidate) > 1:
        own = bags.of(leaf)
        other = min(candidate, key=lambda one: unlike(own, bags.of(one)))
    found: list[Array] = []
    for order in itertools.islice(orders(leaf.array.shape, other.array.shape), LAYOUTS_TRIED):
        laid = order.revert(other.array, leaf.array.shape)
        if same(leaf.array, laid):
            continue
        for now in (laid, *_in_reference_rows(laid, orders_of_rows)):
            if not any(np.array_equal(now, one) for one in found):
                found.append(now)
    return [Change(leaf, other, now) for now in found if not same(leaf.array, now)]


def _in_reference_rows(weight: Array, orders_of_rows: Sequence[Array]) -> Iterator[Array]:
    """A weight of features that the candidate reads in another order, in the reference's order."""
    for order in orders_of_rows:
        for axis, length in enumerate(weight.shape):
            if length == order.size:
                yield np.take(weight, np.argsort(order), axis)
