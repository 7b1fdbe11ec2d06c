"""Recurrent layers in NumPy, and what may be different of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parity.diagnosis.causes import Explanation, Predict
from parity.diagnosis.causes._curves import Curve
from parity.diagnosis.causes._substitution import on_side
from parity.diagnosis.causes.recurrent import RESET
from parity.tape import Array

# what goes through which of an LSTM's activations, and of a GRU's
_OF_AN_LSTM = {
    "the gates go": (0, 1, 2),
    "the state goes": (3, 4),
    "the new state goes": (3,),
    "the cell state, before the output gate, goes": (4,),
    "the input gate goes": (0,),
    "the forget gate goes": (1,),
    "the output gate goes": (2,),
}
_OF_A_GRU = {
    "the gates go": (0, 1),
    "the new state goes": (2,),
    "the reset gate goes": (0,),
    "the update gate goes": (1,),
}
_SIGMOID, _TANH = Curve("sigmoid"), Curve("tanh")


@dataclass(frozen=True)
class Change:
    """One thing that is another in a layer.

    Attributes:
        text: with the words for the `{candidate}` and the `{reference}`.
        words, values: of the layer as it is, and changed; in the text and as a parameter.
        back: the kind where it is the layer with the change that is as it should be.
    """

    kind: str
    text: str
    words: tuple[str, str]
    parameter: str
    values: tuple[Any, Any]
    back: str = ""

    def explanation(self, of_candidate: bool, predict: Predict) -> Explanation:
        """What is said where one side is the layer as it is, and the other one the changed one.

        Args:
            of_candidate: whether it is the candidate that is the layer as it is.
            predict: what that side gives with the change.
        """
        step = -1 if of_candidate else 1
        reference, candidate = self.words[::step]
        return Explanation(
            self.back or self.kind if of_candidate else self.kind,
            self.text.format(reference=reference, candidate=candidate),
            *on_side(predict, of_candidate),
            {self.parameter: self.values[::step]},
        )


@dataclass(frozen=True)
class Weights:
    """What the inputs and what the states are multiplied with, gate by gate, and what is added.

    Attributes:
        kernel, own: (gates * units, inputs) and (gates * units, units).
        bias, own_bias: (gates * units,); the second is in the product with the state.
        added: the vectors of which the biases are made, where they are several in one.
    """

    kernel: Array
    own: Array
    bias: Array
    own_bias: Array
    added: tuple[Array, ...] = ()

    def otherwise_added(self) -> Iterator[tuple[int, Weights]]:
        """The weights with a bias left out or added twice, and how often it is added."""
        for times in (0, 2):
            for vector in filter(np.any, self.added or (self.bias,)):
                yield times, replace(self, bias=self.bias + (times - 1) * vector)
            if self.own_bias.any():
                yield times, replace(self, own_bias=times * self.own_bias)


@dataclass(frozen=True)
class Layer:
    """A recurrent layer in NumPy.

    Attributes:
        steps: the axis of the steps in the input.
        curves: its activations, in the order of `_OF_AN_LSTM` or `_OF_A_GRU`; None for none.
    """

    weights: Weights
    steps: int
    curves: tuple[Curve | None, ...]

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

    def through(self, at: int, x: Array) -> Array:
        """What one of the activations makes of its input."""
        curve = self.curves[at]
        return x if curve is None else curve(x)

    def changes(self, others: Sequence[Curve]) -> Iterator[tuple[Change, Layer]]:
        """The layer with one thing changed, and what that is.

        Args:
            others: the activations that the other side has.
        """
        for curve, (what, places) in itertools.product((*others, None), self.parts.items()):
            own = self.curves[places[0]]
            if own is None or own == curve:
                continue
            changed = tuple(curve if at in places else one for at, one in enumerate(self.curves))
            yield _other_activation(what, own, curve), replace(self, curves=changed)
        for times, weights in self.weights.otherwise_added():
            yield _bias_added(times), replace(self, weights=weights)

    @property
    def parts(self) -> Mapping[str, tuple[int, ...]]:
        """Which activations something goes through."""
        raise NotImplementedError


def _other_activation(what: str, own: Curve, other: Curve | None) -> Change:
    text = what + " through {candidate}, the reference's through {reference}"
    if other is None:
        words, named = (str(own), "no activation"), (own.name, None)
        return Change("activation-missing", text, words, "activation", named, "activation-extra")
    kinds = own.name, other.name
    return Change("recurrent-activation", text, (str(own), str(other)), "kind", kinds)


def _bias_added(times: int) -> Change:
    words = "once", "twice" if times else "not at all"
    text = "a bias of the layer is added {candidate}, the reference adds it {reference}"
    return Change("bias-doubled" if times else "bias-missing", text, words, "bias", (1, times))


@dataclass(frozen=True)
class Lstm(Layer):
    """A layer of LSTM, its gates in the order input, forget, cell, output."""

    curves: tuple[Curve | None, ...] = (_SIGMOID, _SIGMOID, _SIGMOID, _TANH, _TANH)
    carries: str = "hc"

    @property
    def parts(self) -> Mapping[str, tuple[int, ...]]:
        return _OF_AN_LSTM

    def next(self, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        h, c = ("h" in self.carries) * h, ("c" in self.carries) * c
        i, f, g, o = np.split(x + h @ self.weights.own.T + self.weights.own_bias, 4, axis=-1)
        i, f, o, new = (self.through(at, one) for at, one in enumerate((i, f, o, g)))
        c = f * c + i * new
        return o * self.through(4, c), c

    def changes(self, others: Sequence[Curve]) -> Iterator[tuple[Change, Layer]]:
        yield from super().changes(others)
        for carries, what in (("h", "c"), ("c", "h"), ("", "h and c")):
            text = f"{what} {{candidate}} at every step; in the reference {what} {{reference}}"
            words = "is carried on", "is zero again"
            found = Change("state-not-carried", text, words, "carried", (True, False))
            yield found, replace(self, carries=carries)


@dataclass(frozen=True)
class Gru(Layer):
    """A layer of GRU, its gates before the new state.

    Attributes:
        reset: which of the two gates resets; the other one keeps.
        keeps: whether an open gate keeps the state, or takes the new one.
        after: whether the reset comes after the product with the recurrent weights.
    """

    reset: int = 0
    keeps: bool = True
    after: bool = True
    curves: tuple[Curve | None, ...] = (_SIGMOID, _SIGMOID, _TANH)

    @property
    def parts(self) -> Mapping[str, tuple[int, ...]]:
        return _OF_A_GRU

    def next(self, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        units = h.shape[-1]
        own = h @ self.weights.own.T + self.weights.own_bias
        blocks = np.split((x + own)[:, : 2 * units], 2, axis=-1)
        reset = self.through(0, blocks[self.reset])
        gate = self.through(1, blocks[1 - self.reset])
        if self.after:
            own_new = reset * own[:, 2 * units :]
        else:
            own_new = (reset * h) @ self.weights.own[2 * units :].T
            own_new = own_new + self.weights.own_bias[2 * units :]
        new = self.through(2, x[:, 2 * units :] + own_new)
        kept = gate if self.keeps else 1 - gate
        return kept * h + (1 - kept) * new, c

    def changes(self, others: Sequence[Curve]) -> Iterator[tuple[Change, Layer]]:
        moved = replace(self, after=not self.after)
        places = ("after", "before") if self.after else ("before", "after")
        found = Change("reset-after", RESET, places, "reset", places)
        yield found, moved
        if not self.after:  # before a product its biases are no two
            both = self.weights.bias + self.weights.own_bias
            joined = replace(self.weights, bias=both, own_bias=0 * both)
            yield found, replace(moved, weights=joined)
        yield from super().changes(others)
