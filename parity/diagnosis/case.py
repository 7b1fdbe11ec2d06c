"""A divergence as the causes see it: what goes in, what comes out of both sides, what is read.

Everything is float64 and in the reference's layout: the candidate's value is laid back, so that a
cause compares two arrays of one shape. Besides the user's inputs there are generated ones; both
regions are run on all of them, and what explains a divergence must explain it on each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from parity.diagnosis.region import Parting, Region
from parity.errors import ReplayError
from parity.matching.match import Match
from parity.matching.order import Order, orders
from parity.numerics.difference import residual
from parity.tape import Array, Op, Precision, Replay, Tape, Value

_ENDS = 5  # later values at which an enclosure may end
_STEPS = 40  # operations that an enclosure may hold
_LAYER_STEPS = 600  # the same of a recurrent layer, step by step
_LINKED = 16  # operations between what enters one side and what enters the other
_NOTHING = np.empty(0)
_NO_ARRAYS: Mapping[int, Array] = {}


def _jittered(array: Array, random: np.random.Generator) -> Array:
    """Every number by a factor of its own: signs, zeros and masks stay."""
    return array * random.uniform(0.5, 1.5, array.shape)


def _redrawn(array: Array, random: np.random.Generator) -> Array:
    """Normal numbers as large as the array's, of both signs."""
    finite = array[np.isfinite(array)]
    size = float(np.sqrt(np.mean(finite * finite))) if finite.size else 1.0
    return random.standard_normal(array.shape) * (size or 1.0)


def _larger(array: Array, random: np.random.Generator) -> Array:
    return 5.0 * _redrawn(array, random)


_DRAWS: Sequence[Callable[[Array, np.random.Generator], Array]] = (_jittered, _redrawn, _larger)


@dataclass(frozen=True)
class Trial:
    """One set of inputs, and what both sides make of it.

    Attributes:
        number: 0 for the user's inputs, 1 and more for generated ones.
        fed: what enters, by the reference's value id; see `Case.run_reference`.
        inputs: the floating arrays that enter the reference's region, as it reads them.
        reference: what the reference's region makes of them.
        candidate: what the candidate's makes of them, laid out as the reference's value.
    """

    number: int
    fed: Mapping[int, Array]
    inputs: tuple[Array, ...]
    reference: Array
    candidate: Array

    @property
    def x(self) -> Array:
        """The largest input; empty where none enters."""
        return max(self.inputs, key=lambda array: array.size, default=_NOTHING)

    @cached_property
    def gap(self) -> float:
        """How far the two values are apart: relative root mean square, inf for other shapes."""
        if self.reference.shape != self.candidate.shape:
            return float("inf")
        return residual(self.reference, self.candidate)


@dataclass(frozen=True)
class LeafView:
    """A parameter, buffer or constant that a region reads.

    Attributes:
        id: its value id.
        name: its path in the model; "" for a constant.
        array: its numbers, in float64 if they are floating.
    """

    id: int
    name: str
    kind: str
    array: Array


@dataclass(frozen=True)
class RegionView:
    """One side's region.

    Attributes:
        tape: the side's tape.
        ops: its operations in the order of the data flow.
        end: the value id that it ends in.
        leaves: the parameters and constants that it reads, also through static operations.
    """

    tape: Tape
    ops: tuple[Op, ...]
    end: int
    leaves: tuple[LeafView, ...]

    @cached_property
    def computing(self) -> tuple[Op, ...]:
        """The operations that are no mere moves."""
        return tuple(op for op in self.ops if op.role != "move")

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the computing operations, in lower case without punctuation."""
        return tuple(plain_kind(op) for op in self.computing)

    @cached_property
    def value(self) -> Value:
        return self.tape.values[self.end]

    def leaf(self, value: int) -> LeafView | None:
        """The leaf that a value is, but for static operations on the way."""
        found = [leaf for leaf in self.leaves if leaf.id in self.sources(value)]
        return found[0] if len(found) == 1 else None

    def sources(self, value: int) -> set[int]:
        """The leaves that a value is made of by static operations; itself if it is one."""
        found, stack = set(), [value]
        while stack:
            at = stack.pop()
            op = self.tape.producer(at)
            if op is None:
                found.add(at)
            elif op.static:
                stack.extend(op.inputs)
        return found

    def readers(self, steps: int = 1) -> tuple[Op, ...]:
        """The computing operations that read the end, or what `steps` of them make of it."""
        found: list[Op] = []
        values = {self.end}
        for op in self.tape.ops[self.value.op + 1 :]:
            if values.isdisjoint(op.inputs):
                continue
            if op.role == "move":
                values.update(op.outputs)
                continue
            found.append(op)
            if steps > 1:
                values.update(op.outputs)
            if len(found) >= 4 * steps:
                break
        return tuple(found)


def plain_kind(op: Op) -> str:
    """An operation's kind in one spelling: `aten.softmax`, `_softmax` and `Softmax` are one."""
    return op.kind.rsplit(".", 1)[-1].lower().replace("_", "")


class Case:
    """A pair of regions between one set of entering values and one pair of ends.

    Attributes:
        reference, candidate: the two regions.
        order: lays the reference's end out as the candidate's; None where the shapes do not allow.
    """

    def __init__(
        self,
        repaired: Match,
        reference: Region,
        candidate: Region,
        ends: tuple[int, int],
        order: Order | None,
    ) -> None:
        self.repaired = repaired
        self.order = order
        self._runs: tuple[Replay, ...] = (repaired.reference.run, repaired.side.run)
        self.reference = _view(reference, ends[0], self._runs[0])
        self.candidate = _view(candidate, ends[1], self._runs[1])
        self.entering = tuple(v for v in reference.boundary() if _floating(self._runs[0], v))
        self.candidate_entering = tuple(
            v for v in candidate.boundary() if _floating(self._runs[1], v)
        )
        self._trials: list[Trial | None] = []
        starts = (*self.roots, *self._links)
        self._moves = _moves_between(reference.tape, starts, self._cut).union(*self._links.values())

    # --- what enters ------------------------------------------------------------------------------

    @cached_property
    def partners(self) -> dict[int, int]:
        """The reference's value that each value entering the candidate's region is.

        A clip that cuts nothing off gives what it takes: of such values it is the one that the
        reference's region reads, lest the clip cut the numbers drawn for one side only.
        """
        pairs = self.repaired.pairs
        return {v: self._as_read(pairs[v].reference) for v in self.candidate_entering if v in pairs}

    def _as_read(self, value: int) -> int:
        if value in self.entering:
            return value
        array = self._runs[0].array(value)
        read = ((other, self._runs[0].array(other)) for other in self.entering)
        return next((other for other, numbers in read if _one(numbers, array)), value)

    @property
    def _cut(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys((*self.entering, *self.partners.values())))

    @cached_property
    def _links(self) -> dict[int, frozenset[int]]:
        """Operations that make what enters out of the rest of what enters, by the value made.

        One side may read v + a where the other reads v and a: drawn apart they would not fit.
        """
        tape = self.repaired.reference.tape
        starts = {tape.before_moves(value) for value in self._cut}
        found = {}
        for start in starts:
            ops = _made_from(tape, start, starts - {start})
            if ops is not None:
                found[start] = ops
        return found

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """The reference's values to be changed: what enters either region, before mere moves."""
        tape = self.repaired.reference.tape
        starts = dict.fromkeys(tape.before_moves(value) for value in self._cut)
        return tuple(start for start in starts if start not in self._links)

    @cached_property
    def same_inputs(self) -> bool:
        """Whether both regions read the same values, but for moves."""
        tape = self.repaired.reference.tape
        ours = {tape.before_moves(value) for value in self.entering}
        theirs = {tape.before_moves(value) for value in self.partners.values()}
        return ours == theirs and len(self.partners) == len(self.candidate_entering)

    # --- trials -----------------------------------------------------------------------------------

    @property
    def first(self) -> Trial:
        """What the user's own inputs gave."""
        return next(self.trials())

    def trials(self) -> Iterator[Trial]:
        """The user's inputs, then generated ones that both sides take and are finite on."""
        for number in range(len(_DRAWS) + 1):
            if number == len(self._trials):
                self._trials.append(self._make(number))
            trial = self._trials[number]
            if trial is not None:
                yield trial

    def _make(self, number: int) -> Trial | None:
        fed = {root: self._runs[0].array(root) for root in self.roots}
        if number:
            random = np.random.default_rng(number)
            fed = self.redrawn(lambda array: _DRAWS[number - 1](array, random))
        try:
            trial = self.probe(fed, number)
        except ReplayError:  # outside what an operation takes, as a negative scale
            if not number:
                raise
            return None
        finite = np.isfinite(trial.reference).all() and np.isfinite(trial.candidate).all()
        return trial if finite or not number else None

    def redrawn(self, draw: Callable[[Array], Array]) -> dict[int, Array]:
        """What enters, drawn anew, by the ids of a trial's `fed`; integers stay.

        Values that are equal, as x and 1 * x, are one: they get one draw.
        """
        fed: dict[int, Array] = {}
        drawn: list[tuple[Array, Array]] = []
        for root in self.roots:
            array = self._runs[0].array(root)
            fed[root] = array
            if array.dtype.kind != "f":
                continue
            found = next((new for old, new in drawn if _one(old, array)), None)
            fed[root] = draw(array) if found is None else found
            drawn.append((array, fed[root]))
        return fed

    def probe(self, fed: Mapping[int, Array], number: int = 0) -> Trial:
        """What both regions make of inputs of the asker's, by the ids of a trial's `fed`."""
        ours = self._replay(0, fed)
        inputs = tuple(ours.array(value) for value in self.entering)
        reference = _as_floats(ours.array(self.reference.end))
        return Trial(number, fed, inputs, reference, _as_floats(self.run_candidate(fed)))

    def reference_values(self, fed: Mapping[int, Array], values: Collection[int]) -> list[Array]:
        """Values of the reference's region on a trial's `fed`."""
        run = self._replay(0, fed)
        return [run.array(value) for value in values]

    def candidate_values(self, fed: Mapping[int, Array], values: Collection[int]) -> list[Array]:
        """Values of the candidate's region on a trial's `fed`, as they lie there."""
        run = self._replay(1, fed)
        return [run.array(value) for value in values]

    def run_reference(
        self, fed: Mapping[int, Array], leaves: Mapping[int, Array] = _NO_ARRAYS
    ) -> Array:
        """What the reference's region makes of a trial's `fed`, with leaves replaced."""
        return self._replay(0, fed, leaves).array(self.reference.end)

    def run_candidate(
        self, fed: Mapping[int, Array], leaves: Mapping[int, Array] = _NO_ARRAYS
    ) -> Array:
        """What the candidate's region makes of it, in the reference's layout if there is one."""
        found = self._replay(1, fed, leaves).array(self.candidate.end)
        return self.as_reference(found)

    def as_reference(self, array: Array) -> Array:
        """An array like the candidate's end, laid out as the reference's."""
        if self.order is None:
            return array
        return self.order.revert(array, self.reference.value.shape)

    def candidate_axis(self, axis: int) -> int:
        """Where an axis of the reference's end lies for a reader of the candidate's line.

        Returns:
            -1 if it is the last, else its index.
        """
        shape = self.reference.value.shape
        axis %= len(shape)
        order = self._order_on_the_line()
        if order is not None:
            steps = np.arange(shape[axis]).reshape(
                [-1 if i == axis else 1 for i in range(len(shape))]
            )
            laid = order.apply(np.broadcast_to(steps, shape))
            vary = [i for i in range(laid.ndim) if (np.diff(laid, axis=i) != 0).any()]
            axis, shape = vary[-1] if vary else axis, laid.shape
        return -1 if axis == len(shape) - 1 else axis

    def _order_on_the_line(self) -> Order | None:
        """The order of axes in what the candidate's line gives.

        A framework may transpose, take the softmax over the last axis and transpose back, all in
        one call: the axis that its user wrote is that of the result.
        """
        tape, value, order = self.candidate.tape, self.candidate.end, self.order
        site = self.candidate.ops[-1].site if self.candidate.ops else None
        moved = True
        while moved:
            moved = False
            for index in tape.consumers[value]:
                op = tape.ops[index]
                if op.role != "move" or site is None or op.site.frames != site.frames:
                    continue
                pair = self.repaired.pairs.get(op.outputs[0])
                if pair is not None and pair.reference == self.reference.end:
                    value, order, moved = op.outputs[0], pair.order, True
                    break
        return order

    def entering_as_candidate(self, fed: Mapping[int, Array]) -> dict[int, Array]:
        """What enters the candidate's region, by the reference's value ids, as it lies there."""
        ours = self._replay(0, fed)
        return {partner: ours.array(partner) for partner in self.partners.values()}

    def replays(
        self, fed: Mapping[int, Array], precision: Precision = "float64"
    ) -> tuple[Replay, Replay]:
        """Both regions run on a trial's `fed`, in float64 or in the precision of the recording."""
        return self._replay(0, fed, precision=precision), self._replay(1, fed, precision=precision)

    def ends(self, ours: Replay, theirs: Replay) -> tuple[Array, Array]:
        """What both regions gave, in the reference's layout."""
        candidate = self.as_reference(theirs.array(self.candidate.end))
        return ours.array(self.reference.end), candidate

    def _replay(
        self,
        side: int,
        fed: Mapping[int, Array],
        leaves: Mapping[int, Array] = _NO_ARRAYS,
        precision: Precision = "float64",
    ) -> Replay:
        bases = self._runs
        if precision is None:
            tapes = self.reference.tape, self.candidate.tape
            bases = tuple(Replay(tape, None, dict(tape.recorded)) for tape in tapes)
            fed = {root: _like(array, bases[0].array(root)) for root, array in fed.items()}
        view = self.candidate if side else self.reference
        indices = {op.index for op in view.ops}
        if leaves:
            indices |= view.tape.static_before(view.ops)
        if not side:
            indices |= self._moves
            return view.tape.replay(precision, {**fed, **leaves}, bases[0], only=indices)
        ours = self.reference.tape.replay(precision, fed, bases[0], only=self._moves)
        theirs = {
            value: self.repaired.pairs[value].order.apply(ours.array(partner))
            for value, partner in self.partners.items()
        }
        unfed = {}
        if precision is None:
            theirs = {value: _like(array, bases[1].array(value)) for value, array in theirs.items()}
        else:  # the base holds what was put in: everything that is not fed must run anew
            unfed = {leaf.id: leaf.array for leaf in view.leaves if leaf.id not in leaves}
        return view.tape.replay(precision, {**unfed, **theirs, **leaves}, bases[1], only=indices)

    @cached_property
    def whole(self) -> bool:
        """Whether every operation that reads one of the reference's matrices in view is in view."""
        inside = {op.index for op in self.reference.ops}
        readers = self.reference.tape.readers_of_matrices
        read = [ops for ops in readers if not ops.isdisjoint(inside)]
        return bool(read) and all(ops <= inside for ops in read)

    # --- enclosures -------------------------------------------------------------------------------

    def enclosures(self) -> Iterator[Case]:
        """Larger cases around this one with a single entering value, the smallest first.

        An epsilon that is added is a constant; seen with what is made of it, it is a norm's. Within
        a loop over steps the whole loop comes before them: a step alone shows little.
        """
        loop = self._loop()
        if loop is not None:
            yield loop
        tape, other = self.repaired.reference.tape, self.repaired.side.tape
        for (c, d), order in self._later_ends():
            smaller = -1
            for cut, ops in _single_entries(tape, c, {op.index for op in self.reference.ops}):
                theirs = self._candidate_slice(cut, d)
                if theirs is None or len(ops) == smaller:
                    continue
                smaller = len(ops)
                ours = Region(tape, tuple(tape.ops[i] for i in sorted(ops)), None)
                yield Case(self.repaired, ours, Region(other, theirs, None), (c, d), order)
                break

    def _loop(self) -> Case | None:
        """The smallest case around this one that holds all readers of the matrices in it.

        A recurrent layer in which each step is operations of their own reads them at every step.
        """
        tape, other = self.repaired.reference.tape, self.repaired.side.tape
        ours, theirs = _spans(tape), _spans(other)
        if not ours and not theirs:
            return None
        inner = {op.index for op in self.reference.ops}
        for (c, d), order in self._later_ends(_LAYER_STEPS, moves=True):
            if _within(tape.values[c].op, ours) or _within(other.values[d].op, theirs):
                continue  # there are steps to come
            cut, inside = next(_single_entries(tape, c, inner, _LAYER_STEPS), (-1, frozenset()))
            if not inside or not _closed(tape, c, inside):
                continue
            after = self._candidate_slice(cut, d, _LAYER_STEPS)
            if after is None:
                continue
            other_inside = {op.index for op in after}
            if not _holds_one(inside, ours) and not _holds_one(other_inside, theirs):
                continue
            if _closed(other, d, other_inside):
                region = Region(tape, tuple(tape.ops[i] for i in sorted(inside)), None)
                found = Case(self.repaired, region, Region(other, after, None), (c, d), order)
                return found if found.whole else None
        return None

    def _later_ends(
        self, most: int = _ENDS, moves: bool = False
    ) -> Iterator[tuple[tuple[int, int], Order | None]]:
        """This case's own ends, and the next pairs of values that depend on them."""
        a, b = self.reference.end, self.candidate.end
        yield (a, b), self.order
        tape, other = self.repaired.reference.tape, self.repaired.side.tape
        after_a, after_b = {a}, {b}
        for op in tape.ops[self.reference.value.op + 1 :]:
            if not after_a.isdisjoint(op.inputs):
                after_a.update(op.outputs)
        found = 0
        for op in other.ops[self.candidate.value.op + 1 :]:
            if after_b.isdisjoint(op.inputs):
                continue
            after_b.update(op.outputs)
            for value in op.outputs:
                pair = self.repaired.pairs.get(value)
                if (op.role == "move" and not moves) or pair is None or not pair.same:
                    continue
                if pair.reference in after_a:
                    yield (pair.reference, value), pair.order
                    found += 1
            if found >= most:
                return

    def _candidate_slice(self, cut: int, end: int, most: int = _STEPS) -> tuple[Op, ...] | None:
        """The candidate's operations between a reference's value's partners and an end."""
        tape = self.repaired.side.tape
        origin = self.repaired.reference.tape.before_moves(cut)
        inside: set[int] = set()
        stack = [end]
        while stack:
            value = stack.pop()
            pair = self.repaired.pairs.get(value)
            if pair is not None and value != end:
                if self.repaired.reference.tape.before_moves(pair.reference) == origin:
                    continue
            op = tape.producer(value)
            if op is None:
                if tape.values[value].kind == "input":
                    return None
                continue
            if op.static or op.index in inside:
                continue
            inside.add(op.index)
            if len(inside) > most:
                return None
            stack.extend(op.inputs)
        if not {op.index for op in self.candidate.ops if not op.static} <= inside:
            return None
        return tuple(tape.ops[index] for index in sorted(inside))


def case_of(repaired: Match, parting: Parting, ends: tuple[int, int] | None = None) -> Case | None:
    """A parting as a case; None where there is nothing to compute on one of the sides.

    Args:
        ends: the outputs in which it shows, for a parting after which nothing meets.
    """
    values = parting.values or ends
    if values is None:
        return None
    runs = repaired.reference.run, repaired.side.run
    if any(run.array(end).dtype.kind == "c" for run, end in zip(runs, values, strict=True)):
        return None  # no cause knows complex numbers
    order = parting.order
    if order is None:
        shapes = (
            repaired.reference.tape.values[values[0]].shape,
            repaired.side.tape.values[values[1]].shape,
        )
        order = next(iter(orders(*shapes)), None)
    return Case(repaired, parting.reference, parting.candidate, values, order)


def _like(array: Array, recorded: Array) -> Array:
    return array.astype(recorded.dtype, copy=False)


def _as_floats(array: Array) -> Array:
    """Masks and counts as numbers, so that every cause can compute with them."""
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _view(region: Region, end: int, run: Replay) -> RegionView:
    values = region.tape.values
    leaves = tuple(
        LeafView(leaf, values[leaf].name, values[leaf].kind, run.array(leaf))
        for leaf in dict.fromkeys(region.leaves())
    )
    return RegionView(region.tape, region.ops, end, leaves)


def _one(a: Array, b: Array) -> bool:
    """Whether two arrays are the same value, and not only both zero."""
    if a.shape != b.shape or a.size < 2 or a.flat[0] != b.flat[0]:
        return False
    return bool(np.array_equal(a, b) and (a != a.flat[0]).any())


def _floating(run: Replay, value: int) -> bool:
    return bool(run.array(value).dtype.kind == "f")


def _moves_between(tape: Tape, roots: Collection[int], cut: Collection[int]) -> frozenset[int]:
    """The moves that lead from the roots to the values that enter."""
    found = set()
    for value in cut:
        while value not in roots:
            op = tape.producer(value)
            if op is None:
                break
            found.add(op.index)
            value = op.inputs[0]
    return frozenset(found)


def _made_from(tape: Tape, value: int, others: Collection[int]) -> frozenset[int] | None:
    """The few operations that make a value of others alone; None where there are no such."""
    inside: set[int] = set()
    stack = [value]
    while stack:
        at = stack.pop()
        op = tape.producer(at)
        if at in others and at != value:
            continue
        if op is None:
            if tape.values[at].kind == "input":
                return None
            continue
        if op.static or op.index in inside:
            continue
        if op.role == "random" or len(inside) == _LINKED:
            return None
        inside.add(op.index)
        stack.extend(op.inputs)
    return frozenset(inside) or None


def _closed(tape: Tape, end: int, inside: Collection[int]) -> bool:
    """Whether nothing but the end leaves a region for an output."""
    outside = tape.used.difference(inside)
    outputs = set(tape.outputs.values())
    made = [value for index in inside for value in tape.ops[index].outputs if value != end]
    read = (index for value in made for index in tape.consumers[value])
    return outputs.isdisjoint(made) and outside.isdisjoint(read)


def _spans(tape: Tape) -> list[tuple[int, int]]:
    """The first and last readers of the matrices that are read more than once."""
    return [(min(ops), max(ops)) for ops in tape.readers_of_matrices if len(ops) > 1]


def _within(op: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= op < stop for start, stop in spans)


def _holds_one(inside: Collection[int], spans: Sequence[tuple[int, int]]) -> bool:
    return any(start in inside for start, _ in spans)


def _single_entries(
    tape: Tape, end: int, inner: Collection[int], most: int = _STEPS
) -> Iterator[tuple[int, frozenset[int]]]:
    """Values that are all that enters what `end` is computed from, the nearest first.

    Yields:
        Such a value, and the indices of the operations behind it up to `end`.
    """
    maker = tape.producer(end)
    if maker is None:
        return
    cut = {end}
    inside: set[int] = set()
    while cut and len(inside) <= most:
        latest = max(cut, key=lambda value: (tape.values[value].op, value))
        op = tape.producer(latest)
        if op is None:
            return  # an input of the model: nothing lies before it
        cut.discard(latest)
        inside.add(op.index)
        for value in op.inputs:
            producer = tape.producer(value)
            if producer is None and tape.values[value].kind != "input":
                continue
            if producer is None or not producer.static:
                cut.add(value)
        cut = {value for value in cut if tape.values[value].op not in inside}
        live = {index for index in inner if not tape.ops[index].static}
        if len(cut) == 1 and live <= inside:
            yield next(iter(cut)), frozenset(inside)
