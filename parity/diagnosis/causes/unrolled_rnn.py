"""Whole recurrent layers: weights in another order, another forget bias, direction or state.

The operations may be one for the layer or some for each step: they run as they are on either side.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._context import attends
from parity.diagnosis.causes._gates import (
    GatePart,
    Packing,
    carries,
    in_order,
    is_a_long_loop,
    is_of_biases,
    layers_of,
    packings,
    packings_of_gates,
    real,
)
from parity.diagnosis.causes._limits import (
    NEWTON_STEPS,
    OPS_RUN_ALONE,
    STATES_REVERSED,
    STEPS_PUT_FIRST,
)
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._substitution import close
from parity.diagnosis.causes._weights import gives, with_leaves
from parity.diagnosis.causes.combinators import first_that_fits
from parity.diagnosis.normalisation import plain
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView
from parity.tape import Array

# where the reference's gates stand in TensorFlow's cells, in ONNX, and the way back; of a GRU
_USUAL_ORDERS = ((0, 2, 1, 3), (0, 3, 1, 2), (0, 2, 3, 1), (0, 1, 3, 2), (1, 0, 2), (1, 0))


# --- weights --------------------------------------------------------------------------------------


@cause("gate-order", enclosures=True)
def gates_in_weights(case: Case) -> Iterator[Explanation]:
    """The blocks of a recurrent layer's weights are in another order.

    Looks like: a recurrent layer that is wrong from its first step on, though its weights are
        loaded: ONNX has an LSTM's gates as input, output, forget, cell, torch and Keras as input,
        forget, cell, output.
    Proof: the reference's own operations with the blocks of its weights and biases in the other
        order give the candidate's value.
    """
    if case.first.gap < math.inf and case.whole and not attends(case, readers=0):
        yield from first_that_fits(case, _orders_of_gates(case))


def _orders_of_gates(case: Case) -> Iterator[Explanation]:
    for packing in packings_of_gates(case):
        for held, parts in _parts_loaded(packing):
            straight = tuple(range(len(parts)))
            for order in (
                _USUAL_ORDERS if is_a_long_loop(case) else itertools.permutations(straight)
            ):
                if order != straight and len(order) == len(straight):
                    yield Explanation(
                        "gate-order",
                        f"{held.format(len(straight))} are the reference's in the order {order}",
                        with_leaves(case, in_order(parts, order)),
                        parameters={"order": (straight, order)},
                        cost=-1,
                    )


def _parts_loaded(packing: Packing) -> Iterator[tuple[str, Packing]]:
    """All that holds gates, in words, and the biases alone.

    Kernels alone are none: where a region ends with the gates as they lie, in the candidate's own
    order, a wrong order of the biases looks like one of the kernels.
    """
    yield "the {} gates", packing
    biases = [[part for part in gate if is_of_biases(part)] for gate in packing]
    if all(0 < len(some) < len(gate) for some, gate in zip(biases, packing, strict=True)):
        yield "the biases of the {} gates", biases


@cause("forget-bias", enclosures=True)
def forget_bias_in_weights(case: Case) -> Iterator[Explanation]:
    """The bias of the forget gates holds a number more or less: usually 1.

    Looks like: a state that fades too fast or too slowly.
    Proof: the reference's own operations with the number added to one block of its bias give the
        candidate's value; the number is solved for.
    """
    if case.first.gap == math.inf or not case.whole:
        return
    of_lstms = (packing for packing in packings_of_gates(case) if len(packing) == 4)
    for part in (part for packing in of_lstms for gate in packing for part in gate):
        shifted = partial(_with_shift, case, part)
        shift = _solved(case, shifted) if part.leaf.array.ndim == 1 and real(part.leaf) else None
        if shift is not None:
            yield Explanation(
                "forget-bias",
                f"{shift:+g} is added to the bias of one of the gates",
                shifted(shift),
                parameters={"bias": (0.0, shift)},
                cost=-1,
            )
            return


def _with_shift(case: Case, bias: GatePart, shift: float) -> Predict:
    moved = bias.leaf.array.copy()
    moved[bias.places] += shift
    return with_leaves(case, {bias.leaf.id: moved})


def _solved(case: Case, shifted: Callable[[float], Predict]) -> float | None:
    """The number with which the candidate's value is predicted: Gauss and Newton."""
    shift, step, wanted = 0.0, 1e-4, case.first.candidate
    left = math.inf
    for _ in range(NEWTON_STEPS):
        found = shifted(shift)(case.first)
        gap = wanted - found
        size = float(np.sqrt(np.mean(gap * gap)))
        fits = close(found, wanted)
        if not fits and not size < 0.95 * left:
            return None
        left = size
        slope = (shifted(shift + step)(case.first) - found) / step
        squares = float(np.vdot(slope, slope))
        if not squares > 0:
            return None
        shift += float(np.vdot(slope, gap)) / squares
        if fits:
            stated = plain(round(shift, 6))
            return stated if gives(case, shifted(stated)) else shift
    return None


# --- sequences ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StepSequence:
    """What a recurrent layer reads.

    Attributes:
        value: its id in the reference: a root of the case, or made of one by moves.
        axis: of its steps.
        states: the axes on which the region's end may have the steps.
    """

    case: Case
    value: int
    axis: int
    states: tuple[int, ...]

    @property
    def steps(self) -> int:
        return self.case.reference.tape.values[self.value].shape[self.axis]

    def changed(self, trial: Trial, change: Callable[..., Array]) -> dict[int, Array]:
        """A trial's `given` with this sequence changed along the axis of its steps."""
        array = trial.given.get(self.value)
        if array is None:
            (array,) = self.case.reference_values(trial.given, [self.value])
        return {**trial.given, self.value: change(array, axis=self.axis)}

    def rolled(self, trial: Trial, places: int) -> dict[int, Array]:
        return self.changed(trial, partial(np.roll, shift=places))


def sequences(case: Case) -> Iterator[StepSequence]:
    """What a recurrent layer reads, by each axis that may be its steps.

    Yields nothing where more than one value is read, or no weight is a recurrent layer's.
    """
    first = case.first
    if len(case.roots) != 1 or not case.whole or first.reference.shape != first.candidate.shape:
        return
    (root,) = case.roots
    shape = first.given[root].shape
    if len(shape) != 3 and len(case.entering) == 1:  # what is a batch of steps before a reshape
        (root,), shape = case.entering, first.inputs[0].shape
    # a side that starts from zero at every step has no use for the recurrent kernel
    if len(shape) != 3 or not any(
        any(packings(side.view.leaves, layers_of(side.view.leaves))) for side in sides(case)
    ):
        return
    if attends(case, readers=0):  # its kernels may be as many as a layer's gates
        return
    for axis in (1, 0):
        states = (i for i, n in enumerate(first.reference.shape[:-1]) if n == shape[axis])
        found = StepSequence(case, root, axis, tuple(states))
        if shape[axis] > 1 and any(_steps_meet(side, found) for side in sides(case)):
            yield found


def _steps_meet(side: CaseSide, sequence: StepSequence) -> bool:
    """Whether the first or last entry along an axis reaches every sample, or several steps.

    The samples of a batch do not meet: a change in one shows in one.
    """
    first = side.case.first
    before = side.run(first.given)
    for end in (0, -1):
        changed = sequence.changed(first, partial(_with_another_end, end))
        rows = (side.run(changed) != before).any(axis=-1)
        reached = (len(set(at)) for at in rows.nonzero())
        if all(count > 1 or length == 1 for count, length in zip(reached, rows.shape, strict=True)):
            return True
    return False


def _with_another_end(end: int, sequence: Array, axis: int) -> Array:
    moved: Array = sequence.copy()
    np.moveaxis(moved, axis, 0)[end] += 1.0
    return moved


# --- direction ------------------------------------------------------------------------------------


@cause("direction", enclosures=True)
def steps_reversed(case: Case) -> Iterator[Explanation]:
    """A recurrent layer, or one of several, takes the steps of a sequence from the other end.

    Looks like: a recurrent layer that is wrong from its first step on, with the right weights; a
        bidirectional layer, half of whose states agree.
    Proof: the states that the reference has on the reversed sequence, reversed again or not, are
        substituted for its own; the rest of its operations give the candidate's value.
    """
    for sequence in sequences(case):
        states = list(_states(sides(case)[0], sequence))
        given = sequence.changed(case.first, np.flip)
        arrays = case.reference_values(given, [value for value, _ in states])
        for (value, back), array in zip(states, arrays, strict=True):
            found = array if back is None else np.flip(array, back)
            if close(case.run_reference(case.first.given, {value: found}), case.first.candidate):
                yield Explanation(
                    "direction",
                    "the steps are taken from the other end",
                    partial(_with_states_reversed, sequence, value, back),
                    parameters={"direction": ("forwards", "backwards")},
                    cost=-1,
                )
                return


def _states(side: CaseSide, sequence: StepSequence) -> Iterator[tuple[int, int | None]]:
    """Values that may be a layer's states, and the axis of their steps; None for the last state."""
    yield from ((side.view.end, back) for back in (*sequence.states, None))
    found = list[tuple[int, int | None]](_all_states(side.view, sequence.steps))
    found += [(value, None) for value in _last_states(side.view)]
    yield from found[:STATES_REVERSED]


def _all_states(view: RegionView, steps: int) -> Iterator[tuple[int, int]]:
    """Values in a region that may be the states of all steps, and the axis of these."""
    for op in view.ops:
        for value in op.outputs:
            shape = view.tape.values[value].shape
            if not op.static and len(shape) == 3:
                yield from ((value, back) for back in (0, 1) if shape[back] == steps)


def _last_states(view: RegionView) -> Iterator[int]:
    """Values through which all goes that a loop has computed, one for each loop, the first."""
    tape, ops = view.tape, view.ops
    last_read = {value: op.index for op in ops for value in op.inputs}
    for readers in tape.graph.readers_of_matrices:
        if len(readers) < 2:
            continue
        made = {value for op in ops if op.index in readers for value in op.outputs}
        for op in ops:
            if made.isdisjoint(op.inputs) or op.index in readers:
                continue
            made.update(op.outputs)
            alive = [value for value in made if last_read.get(value, -1) > op.index]
            if op.index > max(readers) and len(alive) == 1:
                yield alive[0]
                break


def _with_states_reversed(
    sequence: StepSequence, value: int, back: int | None, trial: Trial
) -> Array:
    case = sequence.case
    (states,) = case.reference_values(sequence.changed(trial, np.flip), [value])
    return case.run_reference(
        trial.given, {value: states if back is None else np.flip(states, back)}
    )


# --- state ----------------------------------------------------------------------------------------


@cause("state-not-carried", enclosures=True)
def every_step_by_itself(case: Case) -> Iterator[Explanation]:
    """Every step starts from zero, as if it were the first.

    Looks like: states that agree at the first step and at no other.
    Proof: each step put first, the one side's own operations give the other side's state of it.
    """
    if case.first.reference.ndim in (2, 3):
        yield from first_that_fits(case, _steps_alone(case))


def _steps_alone(case: Case) -> Iterator[Explanation]:
    for sequence in sequences(case):
        for side in sides(case):
            if not carries(side.view):
                continue  # as attention does, whose steps meet too
            for alone in _alone(side, sequence):
                found = Explanation(
                    "state-not-carried",
                    "the state is carried from step to step, the reference's is not"
                    if side.is_candidate
                    else "every step starts from zero, the reference's from the last state",
                    alone,
                    parameters={"carried": (not side.is_candidate, side.is_candidate)},
                    cost=-1,
                )
                yield side.changed(found)


def _alone(side: CaseSide, sequence: StepSequence) -> Iterator[Predict]:
    """Ways to have every step's state as if it were the first: of all steps, or of the last."""
    first, steps = side.case.first, sequence.steps
    ends, wanted = (0, steps - 1), sides(side.case)[not side.is_candidate].end(first)
    # a long loop is a slow one
    tries = iter(range(max(STATES_REVERSED, OPS_RUN_ALONE // len(side.view.ops))))

    def fits(value: int, array: Array) -> bool:
        left = next(tries, None) is not None
        return left and close(side.run(first.given, {value: array}), wanted)

    if steps <= STEPS_PUT_FIRST:
        states = list(_all_states(side.view, steps))[:STATES_REVERSED]
        runs = _put_first(side, sequence, [value for value, _ in states], first)
        for (at, (value, back)), place in itertools.product(enumerate(states), ends):
            if fits(value, _stacked([run[at] for run in runs], place, back)):
                yield partial(_all_alone, side, sequence, (value, back), place)
    for step, target in itertools.product(ends, (side.view.end, *_last_states(side.view))):
        like = list(_made_alike(side.view, target))[:STATES_REVERSED]
        given = sequence.rolled(first, steps - 1 - 2 * step)
        for source, array in zip(like, side.values(given, like), strict=True):
            if fits(target, array):
                yield partial(_last_alone, side, sequence, (source, target), step)


def _made_alike(view: RegionView, target: int) -> Iterator[int]:
    """The values of a region that operations of one kind give in one shape, as at every step."""
    values = view.tape.values
    for op in view.ops:
        if op.kind == view.tape.ops[values[target].op].kind:
            yield from (one for one in op.outputs if values[one].shape == values[target].shape)


def _put_first(
    side: CaseSide, sequence: StepSequence, values: Collection[int], trial: Trial
) -> list[list[Array]]:
    """Values of a region with the sequence rolled by 0, 1, ... places."""
    rolled = (sequence.rolled(trial, places) for places in range(sequence.steps))
    return [side.values(given, values) for given in rolled]


def _stacked(rolled: Sequence[Array], place: int, back: int) -> Array:
    """The states of all steps, each taken where it is put at one place, which is the first."""
    steps = range(len(rolled))
    return np.stack([rolled[place - step].take(place, back) for step in steps], back)


def _all_alone(
    side: CaseSide, sequence: StepSequence, states: tuple[int, int], place: int, trial: Trial
) -> Array:
    """What a side gives with the states of all steps as if each were the first."""
    value, back = states
    rolled = [run[0] for run in _put_first(side, sequence, [value], trial)]
    return side.run(trial.given, {value: _stacked(rolled, place, back)})


def _last_alone(
    side: CaseSide, sequence: StepSequence, states: tuple[int, int], step: int, trial: Trial
) -> Array:
    """What a side gives with the first state in the place of the last, whose step is put first."""
    source, target = states
    rolled = sequence.rolled(trial, sequence.steps - 1 - 2 * step)
    return side.run(trial.given, {target: side.values(rolled, [source])[0]})
