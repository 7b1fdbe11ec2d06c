"""What the values inside a region are to each other, and what comes of it when one is another.

Not a family: what several of them use. A value inside a region is found by its contents (the mean
of another over an axis, probabilities), never by the operation that made it; then the rest of the
region runs on with another value in its place.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from parity.diagnosis.case import Case, axes_along
from parity.diagnosis.causes import Predict, as_it_is
from parity.diagnosis.causes._limits import (
    CLOSE,
    ELEMENTS_AT_FIRST,
    OPS_BEFORE_A_VALUE,
    VALUES_TRIED,
)
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.flags import is_flags
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView
from parity.errors import ReplayError
from parity.matching.axis_order import orders
from parity.numerics.difference import residual
from parity.operations import EXPONENTIALS, LOGARITHMS
from parity.tape import Array, Op, Replay, Tape

Axes = tuple[int, ...]
Form = Callable[..., Array]

# What a region, or NumPy, says to arrays of shapes that do not go together.
MISFITS = (ReplayError, ValueError, IndexError)


@dataclass(frozen=True)
class Inside:
    """One side's region on the user's inputs: its values by id, in the order of the data flow."""

    view: RegionView
    base: Replay  # the side's whole run, which holds the region's constants
    entering: tuple[int, ...]  # of a region without operations its end
    computed: tuple[int, ...]  # what its operations give, floating numbers only
    arrays: Mapping[int, Array]  # the contents of both

    @property
    def values(self) -> tuple[int, ...]:
        return tuple(self.arrays)

    def array(self, value: int) -> Array:
        found = self.arrays.get(value)
        return self.base.array(value) if found is None else found

    def sources(self, value: int) -> set[int]:
        """The values of the region that a value is made of, without itself."""
        inside = {op.index for op in self.view.ops}
        walk = self.view.tape.graph.backward([value], lambda _, op: op.index in inside)
        return {source for source, _ in walk} - {value}

    def derived(self) -> Iterator[tuple[int, int]]:
        """Each computed value with each value that it is made of, both in the order of the flow."""
        for value in self.computed:
            sources = self.sources(value)
            yield from ((value, source) for source in self.arrays if source in sources)


def inside_reference(case: Case) -> Inside:
    return _inside(sides(case)[0])


def inside_candidate(case: Case) -> Inside:
    return _inside(sides(case)[1])


def _inside(side: CaseSide) -> Inside:
    view, entering = side.view, side.entering
    computed = [
        value
        for op in view.ops
        if not op.static
        for value in op.outputs
        if view.tape.values[value].dtype.startswith(("float", "bfloat"))
    ]
    if not entering and not computed:
        entering = (view.end,)  # a region without operations: its end is its input
    computed = computed[:VALUES_TRIED]
    ids = tuple(dict.fromkeys((*entering, *computed)))
    arrays = dict(zip(ids, side.values(side.case.first.given, ids), strict=True))
    return Inside(view, side.model.run, entering, tuple(computed), arrays)


@dataclass(frozen=True)
class Substituted:
    """Predicts by a region with a formula in the place of one of its values."""

    run: Callable[[Trial, Form], Array]  # with something done to what the formula gives

    def __call__(self, trial: Trial) -> Array:
        return self.run(trial, alone)

    def shows(self, trials: Sequence[Trial]) -> bool:
        """Whether larger values in that place would give another result, and smaller ones too.

        Where the smaller of two is taken, anything large enough in the place of one gives the
        other: such a formula is not read.
        """
        return all(
            any(self._shows(trial, partial(_off, sign=sign)) for trial in trials)
            for sign in (1.0, -1.0)
        )

    def _shows(self, trial: Trial, change: Form) -> bool:
        try:
            with np.errstate(all="ignore"):
                return not close(self.run(trial, change), self(trial))
        except MISFITS:  # other values are outside what an operation takes: it reads them
            return True


def _off(array: Array, sign: float) -> Array:
    """Other values: all of them larger, or all smaller, by about their size."""
    if array.dtype.kind != "f":
        return ~array if array.dtype.kind == "b" else array + int(sign)
    if is_flags(array):
        return array + 2 * sign  # a comparison sees each of them on its other side
    finite = array[np.isfinite(array)]
    size = float(np.sqrt(np.mean(finite * finite))) if finite.size else 1.0
    return array + sign * (size or 1.0) * np.random.default_rng(0).uniform(0.5, 1.5, array.shape)


def with_value(case: Case, value: int, form: Form, *sources: int) -> Substituted:
    """The reference's region with form(*sources) in the place of one of its values."""
    return with_values(case, (value,), form, *(sources or (value,)))


def with_values(case: Case, values: Sequence[int], form: Form, *sources: int) -> Substituted:
    """The reference's region with form(*sources) in the place of each of some of its values."""

    def run(trial: Trial, change: Form) -> Array:
        made = change(form(*case.reference_values(trial.given, sources)))
        # the other inputs stay, even where outside the region they are made of these values
        entering = dict(zip(case.entering, trial.inputs, strict=True))
        others = {} if entering.keys().isdisjoint(values) else entering
        return case.run_reference(trial.given, {**others, **dict.fromkeys(values, made)})

    return Substituted(run)


def in_candidate(case: Case, value: int, form: Form, *sources: int) -> Substituted:
    """Predicts the reference by the candidate's region with form(*sources) for one value."""

    def run(trial: Trial, change: Form) -> Array:
        arrays = case.candidate_values(trial.given, sources or (value,))
        return case.run_candidate(trial.given, {value: change(form(*arrays))})

    return Substituted(run)


def alone(x: Array) -> Array:
    """An operation's input in the place of its output."""
    return x


def on_side(predict: Predict, of_candidate: bool) -> tuple[Predict, Predict | None]:
    """The predictions of the candidate and of the reference, by the one that is changed."""
    return (as_it_is, predict) if of_candidate else (predict, None)


def fits(predict: Predict, trial: Trial, actual: Array) -> bool:
    """Whether a prediction runs at all, and gives an array."""
    try:
        with np.errstate(all="ignore"):
            return close(predict(trial), actual)
    except MISFITS:  # another shape does not go through the rest of the region
        return False


def close(predicted: Array, actual: Array) -> bool:
    """Whether two arrays are one but for rounding."""
    if predicted.shape != actual.shape or not actual.size:
        return False
    with np.errstate(all="ignore"):
        return residual(actual, predicted) <= CLOSE


def is_of(form: Callable[[Array], Array], x: Array, made: Array) -> bool:
    """Whether an array is an elementwise function of another; a few elements are tried first."""
    if x.shape != made.shape or not x.size:
        return False
    with np.errstate(all="ignore"):
        few = form(x.ravel()[:ELEMENTS_AT_FIRST]), made.ravel()[:ELEMENTS_AT_FIRST]
        return close(*few) and close(form(x), made)


def laid_like(case: Case, array: Array) -> Array:
    """An array of other shape than the reference's end, laid out as the candidate's raw one."""
    wanted = case.first.candidate.shape
    if array.shape == wanted:
        return array
    if array.shape == case.candidate.value.shape:  # as it lies there
        return case.as_reference(array)
    if case.order is None:
        for order in orders(array.shape, wanted):
            return order.apply(array)
    return array


def subsets(rank: int) -> Iterator[Axes]:
    """Sets of axes, single ones first, the last axis first."""
    last_first = range(rank - 1, -1, -1)
    for count in range(1, rank + 1):
        yield from (tuple(sorted(one)) for one in itertools.combinations(last_first, count))


def spell(axes: Axes, rank: int) -> int | Axes:
    """Axes as one writes them: -1 for the last, one axis as a number."""
    named = tuple(-1 if axis == rank - 1 else axis for axis in axes)
    return named[0] if len(named) == 1 else named


def in_candidate_layout(case: Case, value: int, axes: Axes) -> int | Axes:
    """How a reader of the candidate counts the axes of a value of the reference."""
    shape = case.reference.tape.values[value].shape
    for candidate in case.partners:
        pair = case.repaired.pairs[candidate]
        if case.reference.tape.values[pair.reference].shape == shape:
            found = [[axis, *axes_along(pair.order.apply, shape, axis)][-1] for axis in axes]
            return spell(tuple(sorted(found)), len(case.candidate.tape.values[candidate].shape))
    return spell(axes, len(shape))


def computes(view: RegionView, form: str) -> bool:
    """Whether a region has the operations of a formula of exp or softplus."""
    words = {op.word for op in view.ops}
    exp = not words.isdisjoint(EXPONENTIALS)
    if "softplus" in form:
        return "softplus" in words or (exp and not words.isdisjoint(LOGARITHMS))
    return exp or "exp" not in form


def shortest(number: float, holds: Callable[[float], bool]) -> float:
    """The shortest decimal near a number that holds as well, or the number."""
    for digits in range(1, 12):
        rounded = float(f"{number:.{digits}g}")
        if abs(rounded - number) <= 1e-4 * abs(number) + 1e-12 and holds(rounded):
            return rounded
    return number


def rounded(number: float, digits: int = 6) -> float:
    """A number as a person writes it: 0.01 for 0.00999999977."""
    return float(f"{number:.{digits}g}")


def constants_before(tape: Tape, value: int, run: Replay, reduced: bool = True) -> Iterator[float]:
    """Single numbers that the operations before a value read or were given.

    Args:
        reduced: whether to look before operations that give fewer elements than they take.
    """
    seen: set[int] = set()
    stack = [value]
    while stack and len(seen) < OPS_BEFORE_A_VALUE:
        op = tape.producer(stack.pop(0))
        if op is None or op.index in seen or not (reduced or _gives_as_many(tape, op)):
            continue
        seen.add(op.index)
        for attribute in op.attributes.values():
            if isinstance(attribute, float):
                yield attribute
        for source in op.inputs:
            if tape.values[source].kind == "constant" and tape.values[source].size == 1:
                yield float(run.array(source).ravel()[0])
            stack.append(source)


def _gives_as_many(tape: Tape, op: Op) -> bool:
    taken = [tape.values[one].size for one in op.inputs if tape.is_live(one)]
    return op.role == "move" or tape.values[op.outputs[0]].size >= max(taken, default=0)


def is_probabilities(array: Array, axes: Axes | None = None) -> Axes | None:
    """The axes over which an array adds up to 1, none of it negative; None if there are none."""
    return next(sums_to_one(array, axes), None)


def sums_to_one(array: Array, axes: Axes | None = None) -> Iterator[Axes]:
    """All such axes, single ones first; the whole sum rules most out."""
    if array.ndim == 0 or array.dtype.kind != "f" or array.size < 2:
        return
    total = float(array.sum())
    if not total > 0 or array.min() < 0:
        return
    for one in [axes] if axes is not None else subsets(array.ndim):
        count = int(np.prod([array.shape[axis] for axis in one]))
        if count > 1 and abs(total * count / array.size - 1) < 1e-4:
            if np.allclose(array.sum(axis=one), 1.0, 0, 1e-5):
                yield one


def progression(array: Array) -> tuple[float, float] | None:
    """First and last of numbers in even steps, as in the support of a distribution."""
    flat = array.ravel().astype(np.float64)
    if flat.size < 3 or max(array.shape) != flat.size:
        return None
    steps = np.diff(flat)
    size = float(np.abs(flat).max())
    if steps[0] == 0 or np.abs(steps - steps.mean()).max() > 1e-5 * size:
        return None
    return float(flat[0]), float(flat[-1])


def read_constants(inside: Inside) -> list[int]:
    """Parameters, constants and what is made of them alone, as the operations read them."""
    return inside.view.constants


def static_ops(view: RegionView) -> list[Op]:
    """Operations that no input reaches, and that a region starts from, in the order of the flow."""
    return [view.tape.ops[index] for index in sorted(view.tape.graph.static_before(view.ops))]
