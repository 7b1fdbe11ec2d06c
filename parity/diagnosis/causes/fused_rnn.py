"""Whole recurrent layers, computed in NumPy: other activations or resets, states not carried."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._curves import sigmoid
from parity.diagnosis.causes._gates import layers_of, real
from parity.diagnosis.causes._limits import (
    BIASES_TRIED,
    LAYERS_TRIED,
    NUMBERS_OF_STATES,
    STEPS_AT_FIRST,
)
from parity.diagnosis.causes._substitution import close
from parity.diagnosis.causes.activation import curves_of
from parity.diagnosis.causes.combinators import first_that_fits
from parity.diagnosis.causes.recurrent import curve_name, reset_explanation
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import LeafView
from parity.tape import Array

Parameters = dict[str, tuple[object, object]]


@dataclass(frozen=True)
class Lstm:
    """A layer of LSTM.

    Attributes:
        kernel, own: (4 * units, inputs) and (4 * units, units), in the order input, forget, cell,
            output, and (4 * units,).
        steps: the axis of the steps in the input.
    """

    kernel: Array
    own: Array
    bias: Array
    steps: int
    gate: Callable[[Array], Array] = sigmoid
    state: Callable[[Array], Array] = np.tanh
    carries: tuple[bool, bool] = (True, True)

    def __call__(self, x: Array) -> Array:
        """The states of all steps: (steps, batch, units)."""
        sequence = np.moveaxis(x, self.steps, 0)
        h = c = np.zeros((sequence.shape[1], self.own.shape[1]))
        found = []
        for step in sequence:
            i, f, g, o = np.split(step @ self.kernel.T + h @ self.own.T + self.bias, 4, axis=-1)
            c = self.gate(f) * c + self.gate(i) * self.state(g)
            h = self.gate(o) * self.state(c)
            found.append(h)
            h, c = (
                one if kept else 0 * one for one, kept in zip((h, c), self.carries, strict=True)
            )
        return np.stack(found)


@dataclass(frozen=True)
class Gru:
    """A layer of GRU.

    Attributes:
        kernel, own: (3 * units, inputs) and (3 * units, units), the gates before the new state.
        bias, own_bias: (3 * units,); the second is in the product with the state.
        steps: the axis of the steps in the input.
        reset: which of the two gates resets; the other one keeps.
        keeps: whether an open gate keeps the state, or takes the new one.
        after: whether the reset comes after the product with the recurrent weights.
    """

    kernel: Array
    own: Array
    bias: Array
    own_bias: Array
    steps: int
    reset: int
    keeps: bool
    after: bool

    def __call__(self, x: Array) -> Array:
        """The states of all steps: (steps, batch, units)."""
        sequence = np.moveaxis(x, self.steps, 0)
        units = self.own.shape[1]
        h = np.zeros((sequence.shape[1], units))
        found = []
        for step in sequence:
            reference = step @ self.kernel.T + self.bias
            own = h @ self.own.T + self.own_bias
            gates = np.split(sigmoid((reference + own)[:, : 2 * units]), 2, axis=-1)
            reset, gate = gates[self.reset], gates[1 - self.reset]
            if self.after:
                own_new = reset * own[:, 2 * units :]
            else:
                own_new = (reset * h) @ self.own[2 * units :].T + self.own_bias[2 * units :]
            new = np.tanh(reference[:, 2 * units :] + own_new)
            kept = gate if self.keeps else 1 - gate
            h = kept * h + (1 - kept) * new
            found.append(h)
        return np.stack(found)


Layer = TypeVar("Layer", Lstm, Gru)
Form = Callable[[Array], Array]  # from the states of all steps to what a value holds


def _batch_first(states: Array) -> Array:
    return np.swapaxes(states, 0, 1)


def _last(states: Array) -> Array:
    found: Array = states[-1]
    return found


_FORMS: Sequence[Form] = (np.asarray, _batch_first, _last)


# --- causes ---------------------------------------------------------------------------------------


@cause("recurrent-activation", "state-not-carried", enclosures=True)
def lstm_as_a_whole(case: Case) -> Iterator[Explanation]:
    """An LSTM that is one operation on one side differs in its activations or state.

    Looks like: states that agree at the first step only (not carried), or at none.
    Proof: an LSTM of the reference's weights gives the reference's states; with one thing changed,
        substituted for them in the reference, it gives the candidate's value.
    """
    for layer, value, form in itertools.islice(_layers(case, _lstms(case)), 1):
        proposals = (
            Explanation(
                kind, summary, partial(_through, case, one, value, form), parameters=parameters
            )
            for kind, summary, parameters, one in _changed(case, layer)
        )
        yield from first_that_fits(case, proposals)


def _changed(case: Case, layer: Lstm) -> Iterator[tuple[str, str, Parameters, Lstm]]:
    """The layer with one thing changed: cause, summary and parameters with it."""
    for curve in dict.fromkeys(curves_of(case, case.candidate, case.candidate_values)):
        yield (
            "recurrent-activation",
            f"the gates go through {curve_name(curve)}, the reference's through sigmoid",
            {"kind": ("sigmoid", curve.name)},
            replace(layer, gate=curve),
        )
        yield (
            "recurrent-activation",
            f"the state goes through {curve_name(curve)}, the reference's through tanh",
            {"kind": ("tanh", curve.name)},
            replace(layer, state=curve),
        )
    for carries, what in (((True, False), "c"), ((False, True), "h"), ((False, False), "h and c")):
        yield (
            "state-not-carried",
            f"{what} is zero again at every step",
            {"carried": (True, False)},
            replace(layer, carries=carries),
        )


@cause("reset-after", enclosures=True)
def gru_as_a_whole(case: Case) -> Iterator[Explanation]:
    """A whole GRU resets its state on the other side of the product with the recurrent weights.

    Looks like: with a recurrent bias wrong from the first step on, without one from the second.
    Proof: a GRU of the reference's weights gives the reference's states; with the reset moved,
        substituted for them in the reference, it gives the candidate's value.
    """
    proposals = (
        reset_explanation(
            layer.after,
            partial(_through, case, replace(moved, after=not layer.after), value, form),
        )
        for layer, value, form in _layers(case, _grus(case))
        for moved in _biases_joined(layer)
    )
    yield from first_that_fits(case, proposals)


def _biases_joined(layer: Gru) -> Iterator[Gru]:
    """The layer, and one with its biases in one: before a product they are no two."""
    yield layer
    if not layer.after:
        yield replace(layer, bias=layer.bias + layer.own_bias, own_bias=0 * layer.own_bias)


def _layers(case: Case, proposed: Iterator[Layer]) -> Iterator[tuple[Layer, int, Form]]:
    """Those of the layers that the reference computes, the id of a value, and what it holds."""
    x = case.first.x
    arrays = _states_in(case)
    if not arrays:
        return
    at = min(STEPS_AT_FIRST, *x.shape[:2]) - 1
    early = [part for array in arrays.values() for part in _parts_at(array, at)]
    for layer in itertools.islice(proposed, LAYERS_TRIED):
        if layer.kernel.shape[1] != x.shape[-1]:
            continue
        if x.size // x.shape[-1] * layer.own.shape[1] > NUMBERS_OF_STATES:
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


def _states_in(case: Case) -> dict[int, Array]:
    """Values in the reference's region that may be states; none where it is no recurrent layer."""
    if not case.whole or len(case.first.inputs) != 1 or case.first.x.ndim != 3:
        return {}
    values = case.reference.tape.values
    ids = [
        value
        for op in case.reference.ops
        for value in op.outputs
        if len(values[value].shape) in (2, 3) and values[value].dtype.startswith(("float", "bf"))
    ]
    return dict(zip(ids, case.reference_values(case.first.given, ids), strict=True))


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


def _through(case: Case, layer: Layer, value: int, form: Form, trial: Trial) -> Array:
    """The reference's operations with a layer's states in the place of one of its values."""
    return case.run_reference(trial.given, {value: form(layer(trial.x))})


# --- weights --------------------------------------------------------------------------------------


def _lstms(case: Case) -> Iterator[Lstm]:
    leaves = case.reference.leaves
    for units in (units for count, units in layers_of(leaves) if count == 4):
        biases = _rows(leaves, 4 * units)
        bias = np.sum(biases, axis=0) if biases else np.zeros(4 * units)
        for kernel, own in _pairs(_tall(leaves, 4 * units), units):
            yield from (Lstm(kernel, own, bias, steps) for steps in (1, 0))


def _grus(case: Case) -> Iterator[Gru]:
    """However the weights are held: all gates in one, or the new state by itself."""
    leaves = case.reference.leaves
    for count, units in layers_of(leaves):
        weights = _blocks(leaves, units) if count == 3 else _parts(leaves, units)
        for kernel, own, bias, own_bias in weights if count != 4 else ():
            forms = itertools.product((1, 0), (0, 1), (True, False), (True, False))
            yield from (Gru(kernel, own, bias, own_bias, *form) for form in forms)


Weights = tuple[Array, Array, Array, Array]


def _blocks(leaves: Sequence[LeafView], units: int) -> Iterator[Weights]:
    none = np.zeros(3 * units)
    biases = _rows(leaves, 3 * units)[:BIASES_TRIED]
    for kernel, own in _pairs(_tall(leaves, 3 * units), units):
        for bias, own_bias in itertools.permutations([*biases, none, none], 2):
            yield kernel, own, bias, own_bias


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
            yield from ((kernel, own, a, b) for a in biases for b in (*own_biases, none))


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
