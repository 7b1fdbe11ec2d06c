"""A divergence as the causes see it: what goes in, what comes out of both sides, what is read.

Everything is float64 and in the reference's layout: the candidate's value is laid back, so that a
cause compares two arrays of one shape. Besides the user's inputs there are generated ones; both
regions are run on all of them, and what explains a divergence must explain it on each.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.region import Mismatch, Region
from parity.diagnosis.trial import DRAWS, LAST_DRAWS, Trial, exchanged
from parity.diagnosis.view import made_from, moves_between, view_of
from parity.errors import ReplayError
from parity.matching.axis_order import Order, orders
from parity.matching.match import Match, Pair
from parity.matching.source_layout import Written
from parity.tape import Array, Precision, Replay

_NO_ARRAYS: Mapping[int, Array] = {}


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
        passed_on: Pair | None = None,
    ) -> None:
        """`passed_on` is as in a `Mismatch`."""
        self.repaired = repaired
        self.order = order
        self._passed_on = passed_on
        self._runs: tuple[Replay, ...] = (repaired.reference.run, repaired.side.run)
        self.reference = view_of(reference, ends[0], self._runs[0])
        self.candidate = view_of(candidate, ends[1], self._runs[1])
        self.entering = tuple(v for v in reference.boundary() if _floating(self._runs[0], v))
        read = candidate.boundary() if passed_on is None else (passed_on.candidate,)
        self.candidate_entering = tuple(v for v in read if _floating(self._runs[1], v))
        self._exact, self._exact_cut = self._exact_partners(reference, candidate)
        self._trials: list[Trial | None] = []
        # causes ask for the same runs again and again
        self._kept: deque[tuple[int, Mapping[int, Array], Replay]] = deque(maxlen=limits.RUNS_KEPT)

    # --- what enters ------------------------------------------------------------------------------

    @cached_property
    def partners(self) -> dict[int, int]:
        """The reference's value that each value entering the candidate's region is.

        A clip that cuts nothing off gives what it takes: of such values it is the one that the
        reference's region reads, lest the clip cut the numbers drawn for one side only.
        """
        pairs = self._pairs
        return {v: self._as_read(pairs[v].reference) for v in self.candidate_entering if v in pairs}

    @cached_property
    def _pairs(self) -> Mapping[int, Pair]:
        """The candidate's values with their partners as they are before the repair."""
        pairs, passed_on = self.repaired.pairs, self._passed_on
        return pairs if passed_on is None else {**pairs, passed_on.candidate: passed_on}

    def _as_read(self, value: int) -> int:
        if value in self.entering:
            return value
        array = self._runs[0].array(value)
        alike = self._entering_by_start.get(_start(array), ())
        return next((other for other in alike if _one(self._runs[0].array(other), array)), value)

    @cached_property
    def _entering_by_start(self) -> Mapping[object, list[int]]:
        """What enters the reference's region, by shape and first number: there may be hundreds."""
        found: dict[object, list[int]] = {}
        for value in self.entering:
            found.setdefault(_start(self._runs[0].array(value)), []).append(value)
        return found

    @property
    def partner_pairs(self) -> list[Pair]:
        """The pairs of what enters the candidate's region, as they are before the repair."""
        return [self._pairs[value] for value in self.partners]

    @cached_property
    def starts(self) -> frozenset[int]:
        """The reference's values that a trial changes, and what mere moves make of them."""
        return frozenset({*self.roots, *self._cut})

    @property
    def _cut(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys((*self.entering, *self.partners.values())))

    @cached_property
    def _links(self) -> dict[int, frozenset[int]]:
        """Operations that make what enters out of the rest of what enters, by the value made.

        One side may read v + a where the other reads v and a, or a mask of what v exceeds: drawn
        apart they would not fit.
        """
        tape = self.repaired.reference.tape
        starts = {tape.before_moves(value) for value in (*self._cut, *self._exact_cut)}
        found = {}
        for start in starts:
            ops = made_from(tape, start, starts - {start})
            if ops is not None:
                found[start] = ops
        return found

    @cached_property
    def _moves(self) -> frozenset[int]:
        """Operations that make what enters of the roots."""
        starts, cut = (*self.roots, *self._links), (*self._cut, *self._exact_cut)
        return moves_between(self.reference.tape, starts, cut).union(*self._links.values())

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """The reference's values to be changed: what enters either region, before mere moves."""
        tape = self.repaired.reference.tape
        cut = (*self._cut, *self._exact_cut)
        starts = dict.fromkeys(tape.before_moves(value) for value in cut)
        return tuple(start for start in starts if start not in self._links)

    @cached_property
    def same_inputs(self) -> bool:
        """Whether both regions read the same values, but for moves."""
        tape = self.repaired.reference.tape
        ours = {tape.before_moves(value) for value in self.entering}
        theirs = {tape.before_moves(value) for value in self.partners.values()}
        return ours == theirs and len(self.partners) == len(self.candidate_entering)

    def _exact_partners(
        self, reference: Region, candidate: Region
    ) -> tuple[dict[int, int], tuple[int, ...]]:
        """Integers and booleans entering the candidate's region, with the reference's they are.

        Empty where the regions do not read the same ones: redrawn on one side they would not fit.

        Returns:
            These, and all values of the reference that they or its own region start from.
        """
        tape = self.repaired.reference.tape
        ours = [v for v in reference.boundary() if not _floating(self._runs[0], v)]
        read = [v for v in candidate.boundary() if not _floating(self._runs[1], v)]
        found = {v: self._pairs[v].reference for v in read if v in self._pairs}
        roots = [{tape.before_moves(v) for v in side} for side in (ours, found.values())]
        if len(found) < len(read) or roots[0] != roots[1]:
            return {}, ()
        return found, tuple(dict.fromkeys((*ours, *found.values())))

    # --- trials -----------------------------------------------------------------------------------

    @property
    def first(self) -> Trial:
        """What the user's own inputs gave."""
        return next(self.trials())

    def trials(self) -> Iterator[Trial]:
        """The user's inputs, then generated ones that both sides take and are finite on."""
        generated = 0
        for number in range(len(DRAWS) + len(LAST_DRAWS) + 1):
            if number > len(DRAWS) and generated:
                return
            if number == len(self._trials):
                self._trials.append(self._make(number))
            trial = self._trials[number]
            if trial is not None:
                generated += number > 0
                yield trial

    @cached_property
    def _baked(self) -> bool:
        """Whether numbers that the host made are in view: they are right on these inputs only."""
        return any(
            view.tape.is_baked(op) for view in (self.reference, self.candidate) for op in view.ops
        )

    def _make(self, number: int) -> Trial | None:
        if not number:
            return self.probe({root: self._runs[0].array(root) for root in self.roots})
        if self._baked:
            return None
        random = np.random.default_rng(number)
        draw = (*DRAWS, *LAST_DRAWS)[number - 1]
        fed = self.redrawn(lambda array: draw(array, random))
        exact = {
            root: exchanged(fed[root], random) for root in fed if fed[root].dtype.kind in "biu"
        }
        # the first keeps them, as do those that an operation does not take otherwise
        for tried in ({**fed, **exact}, fed) if number > 1 and exact else (fed,):
            try:
                trial = self.probe(tried, number)
            except ReplayError:  # outside what an operation takes, as a negative scale
                continue
            if _as_finite(trial, self.first):
                return trial
        return None

    def redrawn(self, draw: Callable[[Array], Array]) -> dict[int, Array]:
        """What enters, drawn anew, by the ids of a trial's `given`; integers stay.

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

    @cached_property
    def wide(self) -> Trial:
        """A trial on inputs of all sizes up to some at which every activation saturates."""
        random = np.random.default_rng(0)
        return self.probe(
            self.redrawn(lambda one: limits.WIDE_INPUTS * random.standard_normal(one.shape))
        )

    def probe(self, fed: Mapping[int, Array], number: int = 0) -> Trial:
        """What both regions make of inputs of the asker's, by the ids of a trial's `given`."""
        ours = self._replay(0, fed)
        inputs = tuple(ours.array(value) for value in self.entering)
        reference = _as_floats(ours.array(self.reference.end))
        return Trial(number, fed, inputs, reference, _as_floats(self.run_candidate(fed)))

    def reference_values(self, fed: Mapping[int, Array], values: Collection[int]) -> list[Array]:
        """Values of the reference's region on a trial's `given`."""
        run = self._replay(0, fed)
        return [run.array(value) for value in values]

    def candidate_values(self, fed: Mapping[int, Array], values: Collection[int]) -> list[Array]:
        """Values of the candidate's region on a trial's `given`, as they lie there."""
        run = self._replay(1, fed)
        return [run.array(value) for value in values]

    def run_reference(
        self, fed: Mapping[int, Array], leaves: Mapping[int, Array] = _NO_ARRAYS
    ) -> Array:
        """What the reference's region makes of a trial's `given`, with leaves replaced."""
        return self._replay(0, fed, leaves).array(self.reference.end)

    def run_candidate(
        self, fed: Mapping[int, Array], leaves: Mapping[int, Array] = _NO_ARRAYS
    ) -> Array:
        """What the candidate's region makes of it, in the reference's layout if there is one."""
        found = self._replay(1, fed, leaves).array(self.candidate.end)
        return self.as_reference(found)

    def as_reference(self, array: Array) -> Array:
        """An array like the candidate's end, laid out as the reference's.

        Raises:
            ReplayError: it is of another size, as where random draws decide how many there are.
        """
        if self.order is None:
            return array
        if array.size != self.reference.value.size:
            raise ReplayError(f"{array.shape} is none of the layouts of the recorded value")
        return self.order.revert(array, self.reference.value.shape)

    def reference_axis(self, axis: int) -> int:
        """Where an axis of the reference's end lies for a reader of the reference's line.

        Returns:
            -1 if it is the last, else its index.
        """
        return self._axis(axis, self.written.as_reference)

    def candidate_axis(self, axis: int) -> int:
        """The same for a reader of the candidate's line."""
        return self._axis(axis, self.written.as_candidate)

    @cached_property
    def written(self) -> Written:
        """The ends as the lines of code that make them give them."""
        return Written(self.repaired, (self.reference.end, self.candidate.end), self.order)

    def _axis(self, axis: int, lay: Callable[[Array], Array]) -> int:
        shape = self.reference.value.shape
        axis %= len(shape)
        steps = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
        laid = lay(np.broadcast_to(steps, shape))
        vary = [i for i in range(laid.ndim) if (np.diff(laid, axis=i) != 0).any()]
        axis = vary[-1] if vary else axis
        return -1 if axis == laid.ndim - 1 else axis

    def entering_as_candidate(self, fed: Mapping[int, Array]) -> dict[int, Array]:
        """What enters the candidate's region, by the reference's value ids, as it lies there."""
        ours = self._replay(0, fed)
        return {partner: ours.array(partner) for partner in self.partners.values()}

    def replays(
        self, fed: Mapping[int, Array], precision: Precision = "float64"
    ) -> tuple[Replay, Replay]:
        """Both regions run on a trial's `given`, in float64 or as recorded."""
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
        if leaves or precision is None:
            return self._run(side, fed, leaves, precision)
        for of, asked, run in self._kept:
            if of == side and asked is fed:
                return run
        run = self._run(side, fed, leaves, precision)
        self._kept.append((side, fed, run))
        return run

    def _run(
        self,
        side: int,
        fed: Mapping[int, Array],
        leaves: Mapping[int, Array],
        precision: Precision,
    ) -> Replay:
        bases = self._runs
        if precision is None:
            bases = self._recorded
            fed = {root: _like(array, bases[0].array(root)) for root, array in fed.items()}
        view = self.candidate if side else self.reference
        indices = {op.index for op in view.ops}
        if leaves:
            indices |= view.tape.graph.static_before(view.ops)
        if not side:
            indices |= self._moves
            return view.tape.replay(precision, {**fed, **leaves}, bases[0], only=indices)
        ours = self.reference.tape.replay(precision, fed, bases[0], only=self._moves)
        theirs = {
            value: self._pairs[value].order.apply(ours.array(partner))
            for value, partner in (*self.partners.items(), *self._exact.items())
        }
        unfed = {}
        if precision is None:
            theirs = {value: _like(array, bases[1].array(value)) for value, array in theirs.items()}
        else:  # the base holds what was put in: everything that is not fed must run anew
            unfed = {leaf.id: leaf.array for leaf in view.leaves if leaf.id not in leaves}
        return view.tape.replay(precision, {**unfed, **theirs, **leaves}, bases[1], only=indices)

    @property
    def _recorded(self) -> tuple[Replay, Replay]:
        """Both models as they were recorded, the candidate with the reference's samples."""
        ours, theirs = self.reference.tape, self.candidate.tape
        native = theirs.recorded
        drawn = {
            value: theirs.adapter.from_numpy(
                array.astype(theirs.adapter.to_numpy(native[value]).dtype)
            )
            for value, array in self.repaired.draws.items()
        }
        return Replay(ours, None, dict(ours.recorded)), Replay(theirs, None, {**native, **drawn})

    @cached_property
    def whole(self) -> bool:
        """Whether every operation that reads one of the reference's matrices in view is in view."""
        inside = {op.index for op in self.reference.ops}
        readers = self.reference.tape.graph.readers_of_matrices
        read = [ops for ops in readers if not ops.isdisjoint(inside)]
        return bool(read) and all(ops <= inside for ops in read)


def case_of(
    repaired: Match,
    mismatch: Mismatch,
    ends: tuple[int, int] | None = None,
    same_inputs: bool = False,
) -> Case | None:
    """A mismatch as a case; None where there is nothing to compute on one of the sides.

    Args:
        ends: the outputs in which it shows, for a mismatch after which nothing meets.
        same_inputs: whether it is none where the regions read other values; nothing runs then.
    """
    values = mismatch.values or ends
    if values is None:
        return None
    runs = repaired.reference.run, repaired.side.run
    if any(run.array(end).dtype.kind == "c" for run, end in zip(runs, values, strict=True)):
        return None  # no cause knows complex numbers
    order = mismatch.order
    if order is None:
        shapes = (
            repaired.reference.tape.values[values[0]].shape,
            repaired.side.tape.values[values[1]].shape,
        )
        order = next(iter(orders(*shapes)), None)
    sides = mismatch.reference, mismatch.candidate
    case = Case(repaired, *sides, values, order, mismatch.passed_on)
    if same_inputs and not case.same_inputs:
        return None
    try:
        next(case.trials())
    except ReplayError:  # on the reference's draws the candidate's value is of another size
        return None
    return case


def _as_finite(trial: Trial, first: Trial) -> bool:
    """Whether a generated trial is finite wherever the user's is: masks may hold infinity."""
    sides = (trial.reference, first.reference), (trial.candidate, first.candidate)
    return all(
        bool((np.isfinite(new) | ~np.isfinite(old)).all()) and not np.isnan(new).any()
        for new, old in sides
    )


def _like(array: Array, recorded: Array) -> Array:
    return array.astype(recorded.dtype, copy=False)


def _as_floats(array: Array) -> Array:
    """Masks and counts as numbers, so that every cause can compute with them."""
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _start(array: Array) -> object:
    """What arrays that are one have in common, to be looked up by."""
    return array.shape, array.flat[0] if array.size else None


def _one(a: Array, b: Array) -> bool:
    """Whether two arrays are the same value, and not only both zero."""
    if a.shape != b.shape or a.size < 2 or a.flat[0] != b.flat[0]:
        return False
    return bool(np.array_equal(a, b) and (a != a.flat[0]).any())


def _floating(run: Replay, value: int) -> bool:
    return bool(run.array(value).dtype.kind == "f")
