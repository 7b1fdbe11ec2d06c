"""Whole recurrent layers: weights in another order, another forget bias, direction or state.

The operations may be one for the layer or some for each step: they run as they are on either side.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._context import attends
from parity.diagnosis.causes._gates import (
    Values,
    are_taken_apart,
    carries,
    gates,
    in_leaves_of_their_own,
    layers_of,
    packings,
    packings_of_gates,
    real,
    same,
)
from parity.diagnosis.causes._substitution import on_side
from parity.diagnosis.normalisation import plain
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import LeafView, RegionView
from parity.tape import Array

_MOST_ROLLED = 32  # steps, of which each is put first
_MOST_STATES = 24  # that are turned round
_MANY_OPS = 150  # of a loop in which only the usual is tried
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
    if case.first.gap == math.inf or not case.whole or attends(case, readers=0):
        return
    many = len(case.reference.ops) > _MANY_OPS
    for count, ordered in packings_of_gates(case, blocks_only=many):
        orders = _USUAL_ORDERS if many else itertools.permutations(range(count))
        for order in orders:
            if order == tuple(range(count)) or len(order) != count:
                continue
            leaves = ordered(order)
            if same(case.run_reference(case.first.given, leaves), case.first.candidate):
                yield Explanation(
                    "gate-order",
                    f"the {count} gates are the reference's in the order {order}",
                    lambda trial, leaves=leaves: case.run_reference(trial.given, leaves),  # type: ignore[misc]
                    parameters={"order": (tuple(range(count)), order)},
                    cost=-1,
                )
                return


@cause("forget-bias", enclosures=True)
def forget_bias_in_weights(case: Case) -> Iterator[Explanation]:
    """The bias of the forget gates holds a number more or less: usually 1.

    Looks like: a state that fades too fast or too slowly.
    Proof: the reference's own operations with the number added to one block of its bias give the
        candidate's value; the number is solved for.
    """
    if case.first.gap == math.inf or not case.whole:
        return
    many = len(case.reference.ops) > _MANY_OPS
    for leaf, gate in _biases_of_gates(case, blocks_only=many):
        shift = _solved(case, leaf, gate)
        if shift is not None:
            yield Explanation(
                "forget-bias",
                f"the bias of one of the gates holds {shift:+g} to the reference's",
                _with_shift(case, leaf, gate, shift),
                parameters={"bias": (0.0, shift)},
                cost=-1,
            )
            return


def _biases_of_gates(case: Case, blocks_only: bool) -> Iterator[tuple[LeafView, Array]]:
    """Biases of an LSTM, and the indices of one gate's numbers in each."""
    leaves = case.reference.leaves
    for count, units in layers_of(leaves):
        biases = [leaf for leaf in leaves if leaf.array.shape == (count * units,) and real(leaf)]
        if count != 4 or not biases or not are_taken_apart(case, count, units):
            continue
        for interleaved in (False,) if blocks_only else (False, True):
            yield from ((biases[0], gate) for gate in gates(count, units, interleaved))
    for count, _ in in_leaves_of_their_own(leaves):
        if count == 4:
            vectors = [leaf for leaf in leaves if leaf.array.ndim == 1 and real(leaf)]
            yield from ((leaf, np.arange(leaf.array.size)) for leaf in vectors)


def _with_shift(case: Case, leaf: LeafView, gate: Array, shift: float) -> Predict:
    moved = leaf.array.copy()
    moved[gate] += shift
    return lambda trial: case.run_reference(trial.given, {leaf.id: moved})


def _solved(case: Case, leaf: LeafView, gate: Array) -> float | None:
    """The number added to a gate's bias that gives the candidate's value: Gauss and Newton."""
    shift, step, wanted = 0.0, 1e-4, case.first.candidate
    left = math.inf
    for _ in range(12):
        found = _with_shift(case, leaf, gate, shift)(case.first)
        gap = wanted - found
        size = float(np.sqrt(np.mean(gap * gap)))
        fits = same(found, wanted)
        if not fits and not size < 0.95 * left:
            return None
        left = size
        slope = (_with_shift(case, leaf, gate, shift + step)(case.first) - found) / step
        squares = float(np.vdot(slope, slope))
        if not squares > 0:
            return None
        shift += float(np.vdot(slope, gap)) / squares
        if fits:
            stated = plain(round(shift, 6))
            fine = _with_shift(case, leaf, gate, stated)(case.first)
            return stated if same(fine, wanted) else shift
    return None


# --- direction ------------------------------------------------------------------------------------


@cause("direction", enclosures=True)
def steps_turned(case: Case) -> Iterator[Explanation]:
    """The steps of a sequence are taken from the other end.

    Looks like: a recurrent layer that is wrong from its first step on, with the right weights.
    Proof: the reference's own operations on the sequence turned round, their states turned back or
        not, give the candidate's value.
    """
    for root, axis, states in sequences(case):
        turned = partial(_on_turned, case, root, axis)
        for back in (*states, None):
            predict = partial(_flipped, turned, back)
            if same(predict(case.first), case.first.candidate):
                yield Explanation(
                    "direction",
                    "the steps are taken from the other end",
                    predict,
                    parameters={"direction": ("forwards", "backwards")},
                    cost=-1,
                )
                return


@cause("direction", enclosures=True)
def states_turned(case: Case) -> Iterator[Explanation]:
    """One recurrent layer of several takes the steps from the other end, or one with a head behind.

    Looks like: a bidirectional layer, half of whose states agree.
    Proof: the states that the reference has on the sequence turned round, turned back, are put in
        the place of its own; the rest of its operations give the candidate's value.
    """
    for root, axis, _ in sequences(case):
        states = list(_states(case, case.reference.tape.values[root].shape[axis]))
        turned = _with_sequence(case, case.first, root, partial(np.flip, axis=axis))
        arrays = case.reference_values(turned, [value for value, _ in states])
        for (value, back), array in zip(states, arrays, strict=True):
            found = array if back is None else np.flip(array, back)
            if same(case.run_reference(case.first.given, {value: found}), case.first.candidate):
                yield Explanation(
                    "direction",
                    "the steps are taken from the other end",
                    partial(_with_states_turned, case, root, axis, value, back),
                    parameters={"direction": ("forwards", "backwards")},
                    cost=-1,
                )
                return


def _states(case: Case, steps: int) -> Iterator[tuple[int, int | None]]:
    """Values that may be a layer's states, and the axis of their steps; None for the last state."""
    tape = case.reference.tape
    found: list[tuple[int, int | None]] = []
    for op in case.reference.ops:
        for value in op.outputs:
            shape = tape.values[value].shape
            if not op.static and len(shape) == 3:
                found += [(value, back) for back in (0, 1) if shape[back] == steps]
    found += [(value, None) for value in _last_states(case)]
    yield from found[:_MOST_STATES]


def _last_states(case: Case) -> Iterator[int]:
    """Values through which all goes that a loop has computed, one for each loop, the first."""
    tape, ops = case.reference.tape, case.reference.ops
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


def _with_states_turned(
    case: Case, root: int, axis: int, value: int, back: int | None, trial: Trial
) -> Array:
    turned = _with_sequence(case, trial, root, partial(np.flip, axis=axis))
    (states,) = case.reference_values(turned, [value])
    return case.run_reference(
        trial.given, {value: states if back is None else np.flip(states, back)}
    )


def _on_turned(case: Case, root: int, axis: int, trial: Trial) -> Array:
    return case.run_reference(_with_sequence(case, trial, root, partial(np.flip, axis=axis)))


def _with_sequence(
    case: Case, trial: Trial, value: int, change: Callable[[Array], Array]
) -> dict[int, Array]:
    """A trial's `given` with another sequence: a root of the case, or made of one by moves."""
    if value in trial.given:
        array = trial.given[value]
    else:
        (array,) = case.reference_values(trial.given, [value])
    return {**trial.given, value: change(array)}


def _flipped(values: Predict, axis: int | None, trial: Trial) -> Array:
    found = values(trial)
    return found if axis is None else np.flip(found, axis)


def sequences(case: Case) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """What enters a recurrent layer: its id, the axis of its steps, and where its states have them.

    Yields nothing where more than one value enters, or no weight is a recurrent layer's.
    """
    first = case.first
    if len(case.roots) != 1 or not case.whole or first.reference.shape != first.candidate.shape:
        return
    (root,) = case.roots
    shape = first.given[root].shape
    if len(shape) != 3 and len(case.entering) == 1:  # what is a batch of steps before a reshape
        (root,), shape = case.entering, first.inputs[0].shape
    if len(shape) != 3 or next(packings(case.reference.leaves), None) is None:
        return
    if attends(case, readers=0):  # its kernels may be as many as a layer's gates
        return
    for axis in (1, 0):
        if shape[axis] > 1 and any(_meet(case, run, root, axis) for run in _RUNS):
            same = first.reference.shape[:-1]
            yield root, axis, tuple(i for i, n in enumerate(same) if n == shape[axis])


_RUNS = (Case.run_reference, Case.run_candidate)


def _meet(
    case: Case, run: Callable[[Case, Mapping[int, Array]], Array], root: int, axis: int
) -> bool:
    """Whether what stands first or last in an axis reaches every sample, or several steps.

    The samples of a batch do not meet: a change in one shows in one.
    """
    as_it_is = run(case, case.first.given)
    for end in (0, -1):
        moved = _with_sequence(case, case.first, root, partial(_with_another_end, axis, end))
        rows = (run(case, moved) != as_it_is).any(axis=-1)
        reached = (len(set(at)) for at in rows.nonzero())
        if all(count > 1 or length == 1 for count, length in zip(reached, rows.shape, strict=True)):
            return True
    return False


def _with_another_end(axis: int, end: int, sequence: Array) -> Array:
    moved: Array = sequence.copy()
    np.moveaxis(moved, axis, 0)[end] += 1.0
    return moved


# --- state ----------------------------------------------------------------------------------------


@cause("state-not-carried", enclosures=True)
def every_step_by_itself(case: Case) -> Iterator[Explanation]:
    """Every step starts from zero, as if it were the first.

    Looks like: states that agree at the first step and at no other.
    Proof: each step put first, the one side's own operations give the other side's state of it.
    """
    if len(case.first.reference.shape) not in (2, 3):
        return
    sides = (
        (case.run_reference, case.reference_values, case.reference, case.first.candidate),
        (case.run_candidate, case.candidate_values, case.candidate, case.first.reference),
    )
    for root, axis, states in sequences(case):
        for number, (run, values, view, wanted) in enumerate(sides):
            if not carries(view):
                continue  # as attention does, whose steps meet too
            for alone in _alone(case, run, values, view, root, axis, states, wanted):
                if same(alone(case.first), wanted):
                    yield Explanation(
                        "state-not-carried",
                        "the state is carried from step to step, the reference's is not"
                        if number
                        else "every step starts from zero, the reference's from the last state",
                        *on_side(alone, bool(number)),
                        {"carried": (number == 0, number == 1)},
                        cost=-1,
                    )
                    return


def _alone(
    case: Case,
    run: Callable[[Mapping[int, Array]], Array],
    values: Values,
    view: RegionView,
    root: int,
    axis: int,
    states: Sequence[int],
    wanted: Array,
) -> Iterator[Predict]:
    """Ways to have every step's state as if it were the first: of all steps, or of the last."""
    first = case.first
    steps = case.reference.tape.values[root].shape[axis]

    def with_first(trial: Trial, step: int, place: int) -> dict[int, Array]:
        return _with_sequence(case, trial, root, lambda x: np.roll(x, place - step, axis))

    def all_steps(back: int, place: int, trial: Trial) -> Array:
        found = [run(with_first(trial, step, place)).take(place, back) for step in range(steps)]
        return np.stack(found, back)

    def last(value: int, step: int, trial: Trial) -> Array:
        return values(with_first(trial, step, steps - 1 - step), [value])[0]

    ends = (0, steps - 1)
    if steps <= _MOST_ROLLED:
        yield from (partial(all_steps, back, place) for back in states for place in ends)
    if first.reference.ndim != 2:
        return
    shape = view.value.shape
    alike = [v for op in view.ops for v in op.outputs if view.tape.values[v].shape == shape]
    for step in ends:
        found = values(with_first(first, step, steps - 1 - step), alike)
        for value, array in zip(alike, found, strict=True):
            if same(array, wanted):
                yield partial(last, value, step)
