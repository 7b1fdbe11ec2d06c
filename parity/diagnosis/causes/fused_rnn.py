"""Whole recurrent layers, computed in NumPy: other activations, biases, resets, states not carried.

One side is a layer as everybody has it, in one operation or step by step; with one thing changed it
is the other side. So a cell written by hand is explained beside a ready-made one, whatever
operations it consists of.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._gates import layers_of, real
from parity.diagnosis.causes._limits import (
    BIASES_TRIED,
    LAYERS_TRIED,
    NUMBERS_OF_STATES,
    STEPS_AT_FIRST,
)
from parity.diagnosis.causes._recurrent_layers import Change, Gru, Layer, Lstm, Weights
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._substitution import close
from parity.diagnosis.causes.activation import curves_of
from parity.diagnosis.causes.combinators import first_that_fits
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import LeafView
from parity.tape import Array

Form = Callable[[Array], Array]  # from the states of all steps to what a value holds


def _steps_first(states: Array) -> Array:
    return states


def _batch_first(states: Array) -> Array:
    return np.swapaxes(states, 0, 1)


def _last(states: Array) -> Array:
    last: Array = states[-1]
    return last


_FORMS: Sequence[Form] = (_steps_first, _batch_first, _last)
_OF_THE_OTHER_AXIS: Mapping[Form, Form] = {_steps_first: _batch_first, _batch_first: _steps_first}


# --- the cause ------------------------------------------------------------------------------------


@cause(
    *("recurrent-activation", "activation-missing", "bias-missing", "bias-doubled"),
    *("state-not-carried", "reset-after", "recurrence-axis"),
    enclosures=True,
)
def layer_as_a_whole(case: Case) -> Iterator[Explanation]:
    """A recurrent layer differs in one thing from one that is a single operation on the other side.

    Looks like: states that agree at the first step only (not carried, or a GRU's reset without a
        recurrent bias), or at none (an activation, a bias, samples that are taken for steps).
    Proof: an LSTM or GRU of one side's weights gives that side's states; with one thing changed,
        substituted for them there, it gives the other side's value.
    """
    yield from first_that_fits(case, _proposals(case))


def _proposals(case: Case) -> Iterator[Explanation]:
    both = sides(case)
    for side, other in (both, both[::-1]):
        others = list(dict.fromkeys(curves_of(case, other.view, other.values)))
        lstm = itertools.islice(_layers(side, _lstms(side)), 1)
        for layer, value, form in itertools.chain(lstm, _layers(side, _grus(side))):
            for change, changed in layer.changes(others):
                predict = partial(_through, side, changed, value, form)
                yield change.explanation(side.is_candidate, predict)
            yield _along_the_other_axis(side, layer, value, form)


def _along_the_other_axis(side: CaseSide, layer: Layer, value: int, form: Form) -> Explanation:
    """The layer with the samples as its steps, its states laid as they were.

    How many steps there are is said, and not along which axis: kernels turn what they read.
    """
    other = 1 - layer.steps
    shape = _sequence(side, side.case.first).shape
    counts = shape[layer.steps], shape[other]
    change = Change(
        "recurrence-axis",
        "the layer runs along another axis, of {candidate} places; the reference's has {reference} "
        "steps",
        (str(counts[0]), str(counts[1])),
        "steps",
        counts,
    )
    laid = _OF_THE_OTHER_AXIS.get(form, form)
    predict = partial(_through, side, replace(layer, steps=other), value, laid)
    found = change.explanation(side.is_candidate, predict)
    return replace(found, parameters={} if counts[0] == counts[1] else found.parameters)


def _layers(
    side: CaseSide, proposed: Iterator[Lstm] | Iterator[Gru]
) -> Iterator[tuple[Layer, int, Form]]:
    """Those of the layers that a side computes, the id of a value, and what it holds."""
    arrays = _states_in(side)
    if not arrays:
        return
    x = _sequence(side, side.case.first)
    at = min(STEPS_AT_FIRST, *x.shape[:2]) - 1
    early = [part for array in arrays.values() for part in _parts_at(array, at)]
    for layer in itertools.islice(proposed, LAYERS_TRIED):
        if layer.weights.kernel.shape[1] != x.shape[-1]:
            continue
        if x.size // x.shape[-1] * layer.weights.own.shape[1] > NUMBERS_OF_STATES:
            return
        # the first steps distinguish most of them
        state = layer(np.moveaxis(np.moveaxis(x, layer.steps, 0)[: at + 1], 0, layer.steps))[-1]
        if not any(_near(part, state) for part in early):
            continue
        states = layer(x)
        for form in _FORMS:
            for value, array in arrays.items():
                if close(array, form(states)):
                    yield layer, value, form


def _states_in(side: CaseSide) -> dict[int, Array]:
    """Values in a side's region that may be states; none where it is no recurrent layer."""
    values = side.view.tape.values
    if not side.view.whole or len(side.entering) != 1 or len(values[side.entering[0]].shape) != 3:
        return {}
    ids = [
        value
        for op in side.view.ops
        for value in op.outputs
        if len(values[value].shape) in (2, 3) and values[value].dtype.startswith(("float", "bf"))
    ]
    return dict(zip(ids, side.values(side.case.first.given, ids), strict=True))


def _parts_at(array: Array, at: int) -> list[Array]:
    """What may be the state after a step: an array itself, or one of its slices."""
    if array.ndim == 2:
        return [array]
    return [array.take(at, axis) for axis in range(2) if array.shape[axis] > at]


def _near(part: Array, state: Array) -> bool:
    """Whether two arrays are the same; the first number distinguishes most of them."""
    if part.shape != state.shape or abs(part.flat[0] - state.flat[0]) > 1e-4:
        return False
    return close(part, state)


def _through(side: CaseSide, layer: Layer, value: int, form: Form, trial: Trial) -> Array:
    """A side's operations with a layer's states in the place of one of its values."""
    return side.run(trial.given, {value: form(layer(_sequence(side, trial)))})


def _sequence(side: CaseSide, trial: Trial) -> Array:
    """What a side's layer reads, (batch, steps, features) or with the steps first."""
    (x,) = side.values(trial.given, side.entering)
    return x


# --- weights --------------------------------------------------------------------------------------


def _lstms(side: CaseSide) -> Iterator[Lstm]:
    leaves = side.view.leaves
    for units in (units for count, units in layers_of(leaves) if count == 4):
        none, rows = np.zeros(4 * units), _rows(leaves, 4 * units)
        for kernel, own in _pairs(_tall(leaves, 4 * units), units):
            weights = Weights(kernel, own, sum(rows, none), none, tuple(rows))
            yield from (Lstm(weights, steps) for steps in (1, 0))


def _grus(side: CaseSide) -> Iterator[Gru]:
    """However the weights are held: all gates in one, or the new state by itself."""
    leaves = side.view.leaves
    for count, units in layers_of(leaves):
        held = _blocks(leaves, units) if count == 3 else _parts(leaves, units)
        for weights in held if count != 4 else ():
            forms = itertools.product((1, 0), (0, 1), (True, False), (True, False))
            yield from (
                Gru(weights, steps, reset=reset, keeps=keeps, after=after)
                for steps, reset, keeps, after in forms
            )


def _blocks(leaves: Sequence[LeafView], units: int) -> Iterator[Weights]:
    none = np.zeros(3 * units)
    biases = _rows(leaves, 3 * units)[:BIASES_TRIED]
    for kernel, own in _pairs(_tall(leaves, 3 * units), units):
        for bias, own_bias in itertools.permutations([*biases, none, none], 2):
            yield Weights(kernel, own, bias, own_bias)


def _parts(leaves: Sequence[LeafView], units: int) -> Iterator[Weights]:
    """The two gates in one, the new state by itself."""
    bias = (_rows(leaves, 2 * units) or [np.zeros(2 * units)])[0]
    none = np.zeros(3 * units)
    own_biases = [
        np.concatenate([none[units:], row]) for row in _rows(leaves, units)[:BIASES_TRIED]
    ]
    biases = [np.concatenate([bias, row[2 * units :]]) for row in (*own_biases, none)]
    for gates, own_gates in _pairs(_tall(leaves, 2 * units), units):
        for new, own_new in _pairs(_tall(leaves, units), units):
            if new.shape[1] != gates.shape[1]:
                continue
            kernel, own = np.concatenate([gates, new]), np.concatenate([own_gates, own_new])
            yield from (Weights(kernel, own, a, b) for a in biases for b in (*own_biases, none))


def _rows(leaves: Sequence[LeafView], width: int) -> list[Array]:
    """Biases of a width; two may be held in one leaf."""
    arrays = _different(leaf.array for leaf in leaves if real(leaf) and leaf.array.ndim)
    biases = [a for a in arrays if a.shape[-1] == width and a.size in (width, 2 * width)]
    return [row for a in biases for row in a.reshape(-1, width)]


def _tall(leaves: Sequence[LeafView], rows: int) -> list[Array]:
    """Matrices of so many rows, transposed where they have as many columns."""
    arrays = _different(leaf.array for leaf in leaves if real(leaf) and leaf.array.ndim == 2)
    upright = [a for a in arrays if a.shape[0] == rows]
    return upright + [a.T for a in arrays if a.shape[1] == rows]


def _pairs(kernels: Sequence[Array], units: int) -> Iterator[tuple[Array, Array]]:
    """What the inputs and what the state are multiplied with."""
    for kernel, own in itertools.permutations(kernels, 2):
        if own.shape[1] == units:
            yield kernel, own


def _different(arrays: Iterable[Array]) -> list[Array]:
    found: list[Array] = []
    for array in arrays:
        if not any(np.array_equal(array, other) for other in found):
            found.append(array)
    return found
