"""A divergence as the causes see it: what goes in, what comes out of both sides, what is read.

Everything is float64 and in the reference's layout: the candidate's value is laid back, so that a
cause compares two arrays of one shape. Besides the user's inputs there are generated ones; both
regions are run on all of them, and what explains a divergence must explain it on each.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from parity.diagnosis import flags, limits
from parity.diagnosis.case_inputs import CaseInputs, same_value
from parity.diagnosis.region import Mismatch, Region
from parity.diagnosis.trial import DRAWS, LAST_DRAWS, Trial, exchanged
from parity.diagnosis.view import view_of
from parity.errors import ReplayError
from parity.matching.axis_order import Order, orders
from parity.matching.match import Match, Pair
from parity.matching.source_layout import WrittenLayout
from parity.tape import Array, Precision, Replay

NOTHING: Mapping[int, Array] = {}


class Case:
    """A pair of regions between one set of entering values and one pair of ends.

    Attributes:
        reference, candidate: the two regions.
        order: lays the reference's end out as the candidate's; None where the shapes do not allow.
        entering, candidate_entering: the floating values that the two regions read.
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
        self._bases: tuple[Replay, Replay] = repaired.reference.run, repaired.side.run
        self.reference = view_of(reference, ends[0], self._bases[0])
        self.candidate = view_of(candidate, ends[1], self._bases[1])
        inputs = self.inputs = CaseInputs(repaired, reference, candidate, passed_on)
        self.entering, self.candidate_entering = inputs.entering, inputs.candidate_entering
        self._trials: list[Trial | None] = []
        # the last runs, by side and what was given: causes ask for them again
        self._kept: deque[tuple[int, Mapping[int, Array], Replay]] = deque(maxlen=limits.RUNS_KEPT)

    # --- inputs -----------------------------------------------------------------------------------

    @property
    def partners(self) -> dict[int, int]:
        """The reference's value that each of the candidate's inputs is."""
        return self.inputs.partners

    @property
    def roots(self) -> tuple[int, ...]:
        """The reference's values that a trial changes."""
        return self.inputs.roots

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

    def is_generated(self, trial: Trial) -> bool:
        """Whether a trial has other inputs than the user's; other flags, where there are flags."""
        chosen = {root: trial.given[root] for root in self._flags} or trial.given
        return trial.number > 0 and replace(trial, given=chosen).differs_from(self.first)

    @cached_property
    def _flags(self) -> frozenset[int]:
        arrays = {root: self._bases[0].array(root) for root in self.roots}
        return flags.compared(self.reference, self.candidate, self.partners, arrays)

    def _make(self, number: int) -> Trial | None:
        if not number:
            given = {root: self._bases[0].array(root) for root in self.roots}
            self._kept.append((0, given, self._bases[0]))  # which is the reference's run on these
            return self.probe(given)
        if self._baked:
            return None
        random = np.random.default_rng(number)
        draw = (*DRAWS, *LAST_DRAWS)[number - 1]
        given = self.redrawn(lambda array: draw(array, random))
        kept = (*self._flags, *self.inputs.counts)
        given.update((root, self._bases[0].array(root)) for root in kept)
        exact = {
            root: exchanged(given[root], random)
            for root in given
            if given[root].dtype.kind in "biu" or root in self.inputs.counts
        }
        exact.update((root, flags.exchanged(given[root], random)) for root in self._flags)
        # the first keeps them, as do those that an operation does not take otherwise
        for tried in ({**given, **exact}, given) if number > 1 and exact else (given,):
            try:
                trial = self.probe(tried, number)
            except ReplayError:  # outside what an operation takes, as a negative scale
                continue
            if _as_finite(trial, self.first, bool(self._flags)):
                return trial
        return None

    def redrawn(self, draw: Callable[[Array], Array]) -> dict[int, Array]:
        """The inputs, drawn anew, by the ids of a trial's `given`; integers stay.

        Values that are equal, as x and 1 * x, are one, also with axes of length 1: they get one
        draw. What no input reaches, as a state of zeros, is the same on all inputs.
        """
        given: dict[int, Array] = {}
        drawn: list[tuple[Array, Array]] = []
        for root in self.roots:
            array = self._bases[0].array(root)
            given[root] = array
            if array.dtype.kind != "f" or not self.reference.tape.is_live(root):
                continue
            alike = (new for old, new in drawn if same_value(old.squeeze(), array.squeeze()))
            found = next(alike, None)
            given[root] = draw(array) if found is None else found.reshape(array.shape)
            drawn.append((array, given[root]))
        return given

    @cached_property
    def wide(self) -> Trial:
        """A trial on inputs of all sizes up to some at which every activation saturates."""
        random = np.random.default_rng(0)
        return self.probe(
            self.redrawn(lambda one: limits.WIDE_INPUTS * random.standard_normal(one.shape))
        )

    def probe(self, given: Mapping[int, Array], number: int = 0) -> Trial:
        """What both regions make of inputs of the asker's, by the ids of a trial's `given`."""
        run = self._replay(0, given)
        inputs = tuple(run.array(value) for value in self.entering)
        reference = _as_floats(run.array(self.reference.end))
        return Trial(number, given, inputs, reference, _as_floats(self.run_candidate(given)))

    def reference_values(
        self,
        given: Mapping[int, Array],
        values: Collection[int],
        replaced: Mapping[int, Array] = NOTHING,
    ) -> list[Array]:
        """Values of the reference's region on a trial's `given`, with some replaced."""
        run = self._replay(0, given, replaced)
        return [run.array(value) for value in values]

    def candidate_values(
        self,
        given: Mapping[int, Array],
        values: Collection[int],
        replaced: Mapping[int, Array] = NOTHING,
    ) -> list[Array]:
        """Values of the candidate's region on a trial's `given`, as they lie there."""
        run = self._replay(1, given, replaced)
        return [run.array(value) for value in values]

    def run_reference(
        self, given: Mapping[int, Array], leaves: Mapping[int, Array] = NOTHING
    ) -> Array:
        """What the reference's region makes of a trial's `given`, with leaves replaced."""
        return self._replay(0, given, leaves).array(self.reference.end)

    def run_candidate(
        self, given: Mapping[int, Array], leaves: Mapping[int, Array] = NOTHING
    ) -> Array:
        """What the candidate's region makes of it, in the reference's layout if there is one."""
        found = self._replay(1, given, leaves).array(self.candidate.end)
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
    def written(self) -> WrittenLayout:
        """The ends as the lines of code that make them give them."""
        return WrittenLayout(self.repaired, (self.reference.end, self.candidate.end), self.order)

    def _axis(self, axis: int, lay: Callable[[Array], Array]) -> int:
        shape = self.reference.value.shape
        axis %= len(shape)
        axis = [axis, *axes_along(lay, shape, axis)][-1]
        return -1 if axis == lay(np.empty(shape)).ndim - 1 else axis

    def replays(
        self, given: Mapping[int, Array], precision: Precision = "float64"
    ) -> tuple[Replay, Replay]:
        """Both regions run on a trial's `given`, in float64 or as recorded; none of it is kept."""
        return self._run(0, given, NOTHING, precision), self._run(1, given, NOTHING, precision)

    def ends(self, reference: Replay, candidate: Replay) -> tuple[Array, Array]:
        """What both regions gave, in the reference's layout."""
        laid = self.as_reference(candidate.array(self.candidate.end))
        return reference.array(self.reference.end), laid

    @property
    def whole(self) -> bool:
        """Whether every operation that reads one of the reference's matrices in view is in view."""
        return self.reference.whole

    # --- runs ------------------------------------------------------------------------------------

    def _replay(
        self,
        side: int,
        given: Mapping[int, Array],
        leaves: Mapping[int, Array] = NOTHING,
        precision: Precision = "float64",
    ) -> Replay:
        """A run of the reference's region (0) or the candidate's (1); the last few are kept."""
        if leaves or precision is None:
            return self._run(side, given, leaves, precision)
        for of, asked, run in self._kept:
            if of == side and asked is given:
                return run
        run = self._run(side, given, leaves, precision)
        self._kept.append((side, given, run))
        return run

    def _run(
        self,
        side: int,
        given: Mapping[int, Array],
        leaves: Mapping[int, Array],
        precision: Precision,
    ) -> Replay:
        bases = self._bases
        if precision is None:
            bases = self._recorded
            given = {root: _like(array, bases[0].array(root)) for root, array in given.items()}
        view = self.candidate if side else self.reference
        indices = {op.index for op in view.ops}
        if leaves:
            indices |= view.tape.graph.static_before(view.ops)
        if not side:
            indices |= self.inputs.moves
            return view.tape.replay(precision, {**given, **leaves}, bases[0], only=indices)
        moved = self.reference.tape.replay(precision, given, bases[0], only=self.inputs.moves)
        read = {
            value: self.inputs.pairs[value].order.apply(moved.array(partner))
            for value, partner in self.inputs.read.items()
        }
        kept = {}
        if precision is None:
            read = {value: _like(array, bases[1].array(value)) for value, array in read.items()}
        else:  # the base holds substituted values: all that is not given must run anew
            kept = {leaf.id: leaf.array for leaf in view.leaves if leaf.id not in leaves}
            if not leaves:  # and so must what reads constants alone
                kept.update((value, bases[1].array(value)) for value in view.constants)
        return view.tape.replay(precision, {**kept, **read, **leaves}, bases[1], only=indices)

    @property
    def _recorded(self) -> tuple[Replay, Replay]:
        """Both models as they were recorded, the candidate with the reference's samples."""
        reference, candidate = self.reference.tape, self.candidate.tape
        native = candidate.recorded
        drawn = {
            value: candidate.adapter.from_numpy(
                array.astype(candidate.adapter.to_numpy(native[value]).dtype)
            )
            for value, array in self.repaired.draws.items()
        }
        run = Replay(reference, None, dict(reference.recorded))
        return run, Replay(candidate, None, {**native, **drawn})


def case_of(
    repaired: Match,
    mismatch: Mismatch,
    ends: tuple[int, int] | None = None,
    same_inputs: bool = False,
) -> Case | None:
    """A mismatch as a case; None where there is nothing to compute on one of the sides.

    Args:
        ends: the outputs in which it shows, for a mismatch after which nothing reconverges.
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
    if same_inputs and not case.inputs.same:
        return None
    try:
        next(case.trials())
    except ReplayError:  # on the reference's draws the candidate's value is of another size
        return None
    return case


def index_along(shape: Sequence[int], axis: int) -> Array:
    """At every place of a shape its index along one axis."""
    index = np.arange(shape[axis], dtype=np.float64)
    lengths = [-1 if i == axis else 1 for i in range(len(shape))]
    return np.broadcast_to(index.reshape(lengths), shape)


def axes_along(lay: Callable[[Array], Array], shape: Sequence[int], axis: int) -> list[int]:
    """The axes that lie along one axis of a shape once an array of it is laid out otherwise."""
    laid = lay(index_along(shape, axis))
    return [i for i in range(laid.ndim) if (np.diff(laid, axis=i) != 0).any()]


def _as_finite(trial: Trial, first: Trial, hides_others: bool) -> bool:
    """Whether a generated trial is finite wherever the user's is: masks may hold infinity.

    Args:
        hides_others: whether a mask of other flags may hold it elsewhere.
    """
    sides = (trial.reference, first.reference), (trial.candidate, first.candidate)
    for new, old in sides:
        if new.shape != old.shape:  # how many there are depends on the inputs
            return False
        hidden = np.isneginf(new) if hides_others and np.isneginf(old).any() else False
        if np.isnan(new).any() or not (np.isfinite(new) | hidden | ~np.isfinite(old)).all():
            return False
    return True


def _as_floats(array: Array) -> Array:
    """Masks and counts as numbers, so that every cause can compute with them."""
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _like(array: Array, recorded: Array) -> Array:
    return array.astype(recorded.dtype, copy=False)
