"""Whole recurrent layers, computed in NumPy: other activations or resets, states not carried."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, as_it_is, cause
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
from parity.diagnosis.causes.recurrent import reset_explanation
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import LeafView
from parity.tape import Array

Form = Callable[[Array], Array]  # from the states of all steps to what a value holds
_FORMS: Sequence[Form] = (
    np.asarray,
    lambda states: np.swapaxes(states, 0, 1),  # the batch first
    lambda states: states[-1],  # the last one alone
)


@dataclass(frozen=True)
class Weights:
    """What the inputs and what the states are multiplied with, gate by gate, and what is added.

    Attributes:
        kernel, own: (gates * units, inputs) and (gates * units, units).
        bias, own_bias: (gates * units,); the second is in the product with the state.
    """

    kernel: Array
    own: Array
    bias: Array
    own_bias: Array


@dataclass(frozen=True)
class Layer:
    """A recurrent layer in NumPy.

    Attributes:
        steps: the axis of the steps in the input.
    """

    weights: Weights
    steps: int

    def __call__(self, x: Array) -> Array:
        """The states of all steps: (steps, batch, units)."""
        sequence = np.moveaxis(x, self.steps, 0)
        h = c = np.zeros((sequence.shape[1], self.weights.own.shape[1]))
        found = []
        for step in sequence:
            h, c = self.next(step @ self.weights.kernel.T + self.weights.bias, h, c)
            found.append(h)
        return np.stack(found)

    def next(self, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        """The states after a step, of the product with its input and of the states before."""
        raise NotImplementedError

    def changes(self, case: Case) -> Iterator[tuple[Explanation, Layer]]:
        """The layer with one thing changed, and what is said of that."""
        raise NotImplementedError


@dataclass(frozen=True)
class Lstm(Layer):
    """A layer of LSTM, its gates in the order input, forget, cell, output."""

    gate: Callable[[Array], Array] = sigmoid
    state: Callable[[Array], Array] = np.tanh
    carries: str = "hc"

    def next(self, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        h, c = ("h" in self.carries) * h, ("c" in self.carries) * c
        i, f, g, o = np.split(x + h @ self.weights.own.T + self.weights.own_bias, 4, axis=-1)
        c = self.gate(f) * c + self.gate(i) * self.state(g)
        return self.gate(o) * self.state(c), c

    def changes(self, case: Case) -> Iterator[tuple[Explanation, Layer]]:
        for curve in dict.fromkeys(curves_of(case, case.candidate, case.candidate_values)):
            for what, name, changed in (
                ("gates go", "sigmoid", replace(self, gate=curve)),
                ("state goes", "tanh", replace(self, state=curve)),
            ):
                yield (
                    Explanation(
                        "recurrent-activation",
                        f"the {what} through {curve}, the reference's through {name}",
                        parameters={"kind": (name, curve.name)},
                    ),
                    changed,
                )
        for carries, what in (("h", "c"), ("c", "h"), ("", "h and c")):
            summary = f"{what} is zero again at every step"
            carried = {"carried": (True, False)}
            yield (
                Explanation("state-not-carried", summary, parameters=carried),
                replace(self, carries=carries),
            )


@dataclass(frozen=True)
class Gru(Layer):
    """A layer of GRU, its gates before the new state.

    Attributes:
        reset: which of the two gates resets; the other one keeps.
        keeps: whether an open gate keeps the state, or takes the new one.
        after: whether the reset comes after the product with the recurrent weights.
    """

    reset: int
    keeps: bool
    after: bool

    def next(self, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        units = h.shape[-1]
        own = h @ self.weights.own.T + self.weights.own_bias
        gates = np.split(sigmoid((x + own)[:, : 2 * units]), 2, axis=-1)
        reset, gate = gates[self.reset], gates[1 - self.reset]
        if self.after:
            own_new = reset * own[:, 2 * units :]
        else:
            own_new = (reset * h) @ self.weights.own[2 * units :].T
            own_new = own_new + self.weights.own_bias[2 * units :]
        new = np.tanh(x[:, 2 * units :] + own_new)
        kept = gate if self.keeps else 1 - gate
        return kept * h + (1 - kept) * new, c

    def changes(self, case: Case) -> Iterator[tuple[Explanation, Layer]]:
        moved = replace(self, after=not self.after)
        found = reset_explanation(self.after, as_it_is)
        yield found, moved
        if not self.after:  # before a product its biases are no two
            both = self.weights.bias + self.weights.own_bias
            joined = replace(self.weights, bias=both, own_bias=0 * both)
            yield found, replace(moved, weights=joined)


# --- the cause ------------------------------------------------------------------------------------


@cause("recurrent-activation", "state-not-carried", "reset-after", enclosures=True)
def layer_as_a_whole(case: Case) -> Iterator[Explanation]:
    """A recurrent layer that is one operation on one side differs in an activation, reset or state.

    Looks like: states that agree at the first step only (not carried, or a GRU's reset without a
        recurrent bias), or at none.
    Proof: an LSTM or GRU of the reference's weights gives the reference's states; with one thing
        changed, substituted for them in the reference, it gives the candidate's value.
    """
    lstm = itertools.islice(_layers(case, _lstms(case)), 1)
    proposals = (
        replace(claim, candidate=partial(_through, case, changed, value, form))
        for layer, value, form in itertools.chain(lstm, _layers(case, _grus(case)))
        for claim, changed in layer.changes(case)
    )
    yield from first_that_fits(case, proposals)


def _layers(
    case: Case, proposed: Iterator[Lstm] | Iterator[Gru]
) -> Iterator[tuple[Layer, int, Form]]:
    """Those of the layers that the reference computes, the id of a value, and what it holds."""
    x = case.first.x
    arrays = _states_in(case)
    if not arrays:
        return
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
        none = np.zeros(4 * units)
        bias = sum(_rows(leaves, 4 * units), none)
        for kernel, own in _pairs(_tall(leaves, 4 * units), units):
            yield from (Lstm(Weights(kernel, own, bias, none), steps) for steps in (1, 0))


def _grus(case: Case) -> Iterator[Gru]:
    """However the weights are held: all gates in one, or the new state by itself."""
    leaves = case.reference.leaves
    for count, units in layers_of(leaves):
        held = _blocks(leaves, units) if count == 3 else _parts(leaves, units)
        for weights in held if count != 4 else ():
            forms = itertools.product((1, 0), (0, 1), (True, False), (True, False))
            yield from (Gru(weights, *form) for form in forms)


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
