"""Recurrent layers with other gates, another state, other masks, the other direction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch
from keras import layers
from torch import nn
from torch.nn import functional as torch_f

from benchmarks.corpus.gallery._between import F, L, built, dense, tensor, with_state
from benchmarks.corpus.gallery.entry import clean, fault, normal
from benchmarks.corpus.scenarios.pair import Pair, chainer

# Torch's order of the gates: LSTM input, forget, cell, output; GRU reset, update, new.
LSTM, GRU = 4, 3
UPDATE_FIRST = (1, 0, 2)  # Keras' order of a GRU's gates


@dataclass(frozen=True)
class Weights:
    """Of one recurrent layer, (gates, units, inputs) and (gates, units), gates in torch's order."""

    into: np.ndarray
    own: np.ndarray
    bias_in: np.ndarray
    bias_own: np.ndarray

    @property
    def units(self) -> int:
        return self.bias_in.shape[1]

    @property
    def bias(self) -> np.ndarray:
        return (self.bias_in + self.bias_own).ravel()

    @property
    def into_t(self) -> np.ndarray:
        """(inputs, gates * units)."""
        return np.ascontiguousarray(self.into.reshape(-1, self.into.shape[2]).T)

    @property
    def own_t(self) -> np.ndarray:
        """(units, gates * units)."""
        return np.ascontiguousarray(self.own.reshape(-1, self.units).T)

    def ordered(self, order: tuple[int, ...]) -> Weights:
        """With these gates, in this order."""
        gates = list(order)
        return Weights(self.into[gates], self.own[gates], self.bias_in[gates], self.bias_own[gates])


def weights(
    random: np.random.Generator, gates: int, units: int, *, one_bias: bool = False
) -> Weights:
    """Random weights.

    Args:
        one_bias: the bias of the state's part is 0, as where there is only one bias.
    """
    into, own = (normal(random, gates, units, units, scale=units**-0.5) for _ in range(2))
    bias_in, bias_own = (normal(random, gates, units, scale=0.6) for _ in range(2))
    return Weights(into, own, bias_in, 0 * bias_own if one_bias else bias_own)


class States(nn.Module):
    """A torch layer's states of all steps."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0]


def torch_arrays(w: Weights, suffix: str = "l0") -> dict[str, np.ndarray]:
    return {
        f"weight_ih_{suffix}": w.into_t.T,
        f"weight_hh_{suffix}": w.own_t.T,
        f"bias_ih_{suffix}": w.bias_in.ravel(),
        f"bias_hh_{suffix}": w.bias_own.ravel(),
    }


def torch_layer(kind: Any, w: Weights) -> States:
    return States(with_state(kind(w.units, w.units, batch_first=True), **torch_arrays(w)))


def keras_lstm(w: Weights, **options: Any) -> layers.LSTM:
    layer = layers.LSTM(w.units, return_sequences=True, name="middle", **options)
    return built(layer, (None, None, w.units), w.into_t, w.own_t, w.bias)


def keras_gru(w: Weights, **options: Any) -> layers.GRU:
    """Of weights in Keras' order."""
    layer = layers.GRU(w.units, return_sequences=True, name="middle", **options)
    biases = np.stack([w.bias_in.ravel(), w.bias_own.ravel()])
    bias = biases if layer.reset_after else biases.sum(0)
    return built(layer, (None, None, w.units), w.into_t, w.own_t, bias)


class ChainerStates(chainer.Chain):
    """An n-step link's states of all steps."""

    def __init__(self, link: Any, w: Weights, states: int) -> None:
        super().__init__()
        self.first_states = (None,) * states
        with self.init_scope():
            self.link = link
        gates, cell = len(w.into), dict(link[0].namedparams())
        for first, kernel, bias in ((0, w.into, w.bias_in), (gates, w.own, w.bias_own)):
            for gate in range(gates):
                cell[f"/w{first + gate}"].array[...] = kernel[gate]
                cell[f"/b{first + gate}"].array[...] = bias[gate]

    def forward(self, x: Any) -> Any:
        return F.stack(self.link(*self.first_states, list(F.separate(x)))[-1])


def chainer_lstm(w: Weights) -> ChainerStates:
    return ChainerStates(L.NStepLSTM(1, w.units, w.units, 0.0), w, states=2)


def chainer_gru(w: Weights) -> ChainerStates:
    return ChainerStates(L.NStepGRU(1, w.units, w.units, 0.0), w, states=1)


def chainer_zeros(x: Any, units: int) -> Any:
    return chainer.Variable(np.zeros((len(x), units), np.float32))


GRUS = ("middle.layer", "middle/gru_cell")
LSTMS = ("middle.layer", "middle/lstm_cell")


@fault(
    "keras-gru-in-torch-order",
    "gate-order",
    family="recurrent",
    layers=[GRUS],
    source="keras-team/keras#15915",
)
def keras_gru_in_torch_order(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    w = weights(random, GRU, between.width)
    return between.pair("torch", torch_layer(nn.GRU, w), "keras", keras_gru(w))


@fault(
    "torch-gru-in-keras-order",
    "gate-order",
    family="recurrent",
    layers=[GRUS[::-1]],
    source="keras-team/keras#8720",
)
def torch_gru_in_keras_order(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    w = weights(random, GRU, between.width)
    return between.pair("keras", keras_gru(w), "torch", torch_layer(nn.GRU, w))


@fault(
    "basic-lstm-cell-order",
    "gate-order",
    family="recurrent",
    layers=[("", "middle/lstm_cell")],
    source="tensorflow/tensorflow#29622",
)
def basic_lstm_cell_order(random: np.random.Generator) -> Pair:
    """The cell's kernel is input, new, forget, output; Keras' is input, forget, new, output."""
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width)
    kernel = np.concatenate([w.into_t, w.own_t])

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = c = tf.zeros((len(x), w.units))
        states = []
        for step in tf.unstack(x, axis=1):
            gates = tf.concat([step, h], 1) @ kernel + w.bias  # basic-lstm-cell-order: reference
            i, j, f, o = tf.split(gates, 4, 1)  # basic-lstm-cell-order: reference
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(j)  # basic-lstm-cell-order: reference
            h = tf.sigmoid(o) * tf.tanh(c)
            states.append(h)
        return tf.stack(states, 1)

    return between.pair("tensorflow", reference, "keras", keras_lstm(w))


@fault(
    "onnx-lstm-order",
    "gate-order",
    family="recurrent",
    layers=[("middle.layer", "")],
    source="microsoft/onnxscript#2674",
)
def onnx_lstm_order(random: np.random.Generator) -> Pair:
    """Gates read in ONNX's order from torch's weights."""
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width)

    def candidate(x: chainer.Variable) -> chainer.Variable:
        h = c = chainer_zeros(x, w.units)
        states = []
        for step in F.separate(x, axis=1):
            gates = F.linear(step, w.into_t.T, w.bias)  # onnx-lstm-order: candidate
            gates += F.linear(h, w.own_t.T)  # onnx-lstm-order: candidate
            i, o, f, g = F.split_axis(gates, 4, 1)  # onnx-lstm-order: candidate
            c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)  # onnx-lstm-order: candidate
            h = F.sigmoid(o) * F.tanh(c)
            states.append(h)
        return F.stack(states, axis=1)

    return between.pair("torch", torch_layer(nn.LSTM, w), "chainer", candidate)


@fault(
    "torch-lstm-as-chainer-documents-it",
    "gate-order",
    family="recurrent",
    layers=[("middle/link", "middle.layer")],
    parameters=[{"order": ((0, 1, 2, 3), (0, 1, 3, 2))}],
)
def torch_lstm_as_chainer_documents_it(random: np.random.Generator) -> Pair:
    """Chainer's links hold each gate by itself: input, forget, cell, output."""
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width)
    wrong = torch_layer(nn.LSTM, w.ordered((0, 1, 3, 2)))
    return between.pair("chainer", chainer_lstm(w), "torch", wrong)


@fault(
    "torch-lstm-over-the-batch",
    "recurrence-axis",
    family="recurrent",
    layers=[(LSTMS[1], "middle.layer")],
)
def torch_lstm_over_the_batch(random: np.random.Generator) -> Pair:
    """Without `batch_first` the samples are the steps."""
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width, one_bias=True)
    wrong = States(with_state(nn.LSTM(w.units, w.units), **torch_arrays(w)))
    return between.pair("keras", keras_lstm(w), "torch", wrong)


@fault("gru-cell-gates-swapped", "gate-order", family="recurrent")
def gru_cell_gates_swapped(random: np.random.Generator) -> Pair:
    """One cell, one step; written out in both."""
    between = dense(random)
    w = weights(random, GRU, between.width)
    state = normal(random, 1, w.units)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = tensor(state)
        given = (x @ tensor(w.into_t) + tensor(w.bias_in.ravel())).chunk(3, 1)
        kept = (h @ tensor(w.own_t) + tensor(w.bias_own.ravel())).chunk(3, 1)
        r = torch.sigmoid(given[0] + kept[0])  # gru-cell-gates-swapped: reference
        z = torch.sigmoid(given[1] + kept[1])
        n = torch.tanh(given[2] + r * kept[2])  # gru-cell-gates-swapped: reference
        return (1 - z) * n + z * h  # gru-cell-gates-swapped: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = state
        given = tf.split(x @ w.into_t + w.bias_in.ravel(), 3, 1)
        kept = tf.split(h @ w.own_t + w.bias_own.ravel(), 3, 1)
        z = tf.sigmoid(given[0] + kept[0])
        r = tf.sigmoid(given[1] + kept[1])  # gru-cell-gates-swapped: candidate
        n = tf.tanh(given[2] + r * kept[2])  # gru-cell-gates-swapped: candidate
        return (1 - z) * n + z * h  # gru-cell-gates-swapped: candidate

    return between.pair("torch", reference, "tensorflow", candidate)


@fault(
    "keras-gru-resets-before",
    "reset-after",
    family="recurrent",
    layers=[GRUS],
    source="keras-team/keras#9112",
)
def keras_gru_resets_before(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    w = weights(random, GRU, between.width, one_bias=True)
    candidate = keras_gru(w.ordered(UPDATE_FIRST), reset_after=False)
    return between.pair("torch", torch_layer(nn.GRU, w), "keras", candidate)


@fault("chainer-gru-resets-after", "reset-after", family="recurrent", layers=[("", "link")])
def chainer_gru_resets_after(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    w = weights(random, GRU, between.width, one_bias=True)
    own = w.own.transpose(0, 2, 1)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.zeros((len(x), w.units))
        states = []
        for step in tf.unstack(x, axis=1):
            given = tf.split(step @ w.into_t + w.bias, 3, 1)
            r, z = (tf.sigmoid(given[gate] + h @ own[gate]) for gate in range(2))
            n = tf.tanh(given[2] + (r * h) @ own[2])  # chainer-gru-resets-after: reference
            h = (1 - z) * n + z * h
            states.append(h)
        return tf.stack(states, 1)

    return between.pair("tensorflow", reference, "chainer", chainer_gru(w))


@fault("single-product-gru", "reset-after", family="recurrent", source="danijar/dreamerv3#66")
def single_product_gru(random: np.random.Generator) -> Pair:
    """One product of input and state; the reset gate then takes the input's part as well."""
    between = dense(random)
    w = weights(random, GRU, between.width)
    state = normal(random, 1, w.units)
    kernel = np.concatenate([w.into_t, w.own_t])
    gates, new = np.split(kernel, [2 * w.units], axis=1)
    bias = np.split(w.bias, [2 * w.units])

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = tensor(state).expand(len(x), -1)
        r, z = torch.sigmoid(torch.cat([x, h], 1) @ tensor(gates) + tensor(bias[0])).chunk(2, 1)
        both = torch.cat([x, r * h], 1)  # single-product-gru: reference
        n = torch.tanh(both @ tensor(new) + tensor(bias[1]))
        return z * n + (1 - z) * h

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.repeat(state, len(x), 0)
        all_gates = tf.concat([x, h], 1) @ kernel  # single-product-gru: candidate
        r, z, n = tf.split(all_gates + w.bias, 3, 1)
        r, z = tf.sigmoid(r), tf.sigmoid(z)
        n = tf.tanh(r * n)  # single-product-gru: candidate
        return z * n + (1 - z) * h

    return between.pair("torch", reference, "tensorflow", candidate)


@fault("gru-update-inverted", "gate-inverted", family="recurrent", layers=[("middle.layer", "")])
def gru_update_inverted(random: np.random.Generator) -> Pair:
    """As in the GRU's paper, where the update gate weighs the new state; torch's weighs the old."""
    between = dense(random, steps=True)
    w = weights(random, GRU, between.width)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h, states = tf.zeros((len(x), w.units)), []
        for step in tf.unstack(x, axis=1):
            r, z, n = tf.split(step @ w.into_t + w.bias_in.ravel(), 3, 1)
            own_r, own_z, own_n = tf.split(h @ w.own_t + w.bias_own.ravel(), 3, 1)
            r, z = tf.sigmoid(r + own_r), tf.sigmoid(z + own_z)
            n = tf.tanh(n + r * own_n)
            h = (1 - z) * h + z * n  # gru-update-inverted: candidate
            states.append(h)
        return tf.stack(states, 1)

    return between.pair("torch", torch_layer(nn.GRU, w), "tensorflow", candidate)


@fault(
    "lstm-shows-its-cell", "activation-missing", family="recurrent", layers=[("middle.layer", "")]
)
def lstm_shows_its_cell(random: np.random.Generator) -> Pair:
    """The tanh before the output gate is left out, beside a layer that is one operation."""
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = c = tf.zeros((len(x), w.units))  # lstm-shows-its-cell: candidate
        states = []
        for step in tf.unstack(x, axis=1):  # lstm-shows-its-cell: candidate
            gates = step @ w.into_t + h @ w.own_t + w.bias  # lstm-shows-its-cell: candidate
            i, f, g, o = tf.split(gates, 4, 1)  # lstm-shows-its-cell: candidate
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)  # lstm-shows-its-cell: candidate
            h = tf.sigmoid(o) * c  # lstm-shows-its-cell: candidate
            states.append(h)
        return tf.stack(states, 1)

    return between.pair("torch", torch_layer(nn.LSTM, w), "tensorflow", candidate)


@fault("lstm-bias-added-twice", "bias-doubled", family="recurrent", layers=[LSTMS[::-1]])
def lstm_bias_added_twice(random: np.random.Generator) -> Pair:
    """The one bias of Keras is loaded into both of torch."""
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width, one_bias=True)
    twice = replace(w, bias_own=w.bias_in)
    return between.pair("keras", keras_lstm(w), "torch", torch_layer(nn.LSTM, twice))


@fault("keras-lstm-hard-sigmoid", "recurrent-activation", family="recurrent", layers=[LSTMS])
def keras_lstm_hard_sigmoid(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width)
    candidate = keras_lstm(w, recurrent_activation="hard_sigmoid")
    return between.pair("torch", torch_layer(nn.LSTM, w), "keras", candidate)


@fault(
    "keras-gru-relu",
    "recurrent-activation",
    family="recurrent",
    layers=[("link", "middle/gru_cell")],
)
def keras_gru_relu(random: np.random.Generator) -> Pair:
    """The new state's activation."""
    between = dense(random, steps=True)
    w = weights(random, GRU, between.width)
    candidate = keras_gru(w.ordered(UPDATE_FIRST), activation="relu")
    return between.pair("chainer", chainer_gru(w), "keras", candidate)


@fault("lstm-cell-hard-sigmoid", "recurrent-activation", family="recurrent")
def lstm_cell_hard_sigmoid(random: np.random.Generator) -> Pair:
    """One step; the reference is of the time when Keras' default was the hard sigmoid."""
    between = dense(random)
    w = weights(random, LSTM, between.width)
    h, c = normal(random, 1, w.units), normal(random, 1, w.units)

    def reference(x: tf.Tensor) -> tf.Tensor:
        gates = tf.split(x @ w.into_t + h @ w.own_t + w.bias, 4, 1)
        hard = [0.2 * gate + 0.5 for gate in gates]  # lstm-cell-hard-sigmoid: reference
        i, f, _, o = (tf.clip_by_value(gate, 0, 1) for gate in hard)
        return o * tf.tanh(f * c + i * tf.tanh(gates[2]))

    def candidate(x: chainer.Variable) -> chainer.Variable:
        gates = F.linear(x, w.into_t.T, w.bias) + F.broadcast_to(h @ w.own_t, (len(x), 4 * w.units))
        i, f, g, o = F.split_axis(gates, 4, 1)
        kept = F.sigmoid(f) * F.broadcast_to(c, f.shape)  # lstm-cell-hard-sigmoid: candidate
        cell = kept + F.sigmoid(i) * F.tanh(g)  # lstm-cell-hard-sigmoid: candidate
        return F.sigmoid(o) * F.tanh(cell)  # lstm-cell-hard-sigmoid: candidate

    return between.pair("tensorflow", reference, "chainer", candidate)


@fault(
    "forget-bias-not-added", "forget-bias", family="recurrent", layers=[("", "middle/lstm_cell")]
)
def forget_bias_not_added(random: np.random.Generator) -> Pair:
    """The reference's cell adds 1 to the forget gate, the port's weights do not hold it."""
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = c = tf.zeros((len(x), w.units))
        states = []
        for step in tf.unstack(x, axis=1):
            i, f, g, o = tf.split(step @ w.into_t + h @ w.own_t + w.bias, 4, 1)
            kept = tf.sigmoid(f + 1.0) * c  # forget-bias-not-added: reference
            c = kept + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
            states.append(h)
        return tf.stack(states, 1)

    return between.pair("tensorflow", reference, "keras", keras_lstm(w))


@fault("forget-bias-added-twice", "forget-bias", family="recurrent")
def forget_bias_added_twice(random: np.random.Generator) -> Pair:
    """One step; the weights hold the 1 already."""
    between = dense(random)
    w = weights(random, LSTM, between.width)
    h, c = normal(random, 1, w.units), normal(random, 1, w.units)

    def reference(x: chainer.Variable) -> chainer.Variable:
        gates = F.linear(x, w.into_t.T, w.bias) + F.broadcast_to(h @ w.own_t, (len(x), 4 * w.units))
        i, f, g, o = F.split_axis(gates, 4, 1)
        kept = F.sigmoid(f) * F.broadcast_to(c, f.shape)  # forget-bias-added-twice: reference
        return F.sigmoid(o) * F.tanh(kept + F.sigmoid(i) * F.tanh(g))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        gates = x @ tensor(w.into_t) + tensor(h @ w.own_t) + tensor(w.bias)
        i, f, g, o = gates.chunk(4, 1)
        kept = torch.sigmoid(f + 1) * tensor(c)  # forget-bias-added-twice: candidate
        return torch.sigmoid(o) * torch.tanh(kept + torch.sigmoid(i) * torch.tanh(g))

    return between.pair("chainer", reference, "torch", candidate)


@fault("update-bias-not-added", "gate-shift", family="recurrent")
def update_bias_not_added(random: np.random.Generator) -> Pair:
    """A world model's update gate has 1 taken off before its sigmoid, the port's has not."""
    between = dense(random)
    w = weights(random, GRU, between.width)
    h = normal(random, 1, w.units)

    def reference(x: torch.Tensor) -> torch.Tensor:
        r, new, z = (x @ tensor(w.into_t) + tensor(w.bias)).chunk(3, 1)
        z = torch.sigmoid(z - 1)  # update-bias-not-added: reference
        return z * torch.tanh(torch.sigmoid(r) * new) + (1 - z) * tensor(h)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        r, new, z = tf.split(x @ w.into_t + w.bias, 3, 1)
        z = tf.sigmoid(z)  # update-bias-not-added: candidate
        return z * tf.tanh(tf.sigmoid(r) * new) + (1 - z) * h

    return between.pair("torch", reference, "tensorflow", candidate)


@fault("torch-layer-without-forget-bias", "forget-bias", family="recurrent", layers=[LSTMS[::-1]])
def torch_layer_without_forget_bias(random: np.random.Generator) -> Pair:
    """Keras' unit forget bias was left out when the weights were converted."""
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width)
    unit = w.bias_in.copy()
    unit[1] += 1
    reference = keras_lstm(replace(w, bias_in=unit))
    return between.pair("keras", reference, "torch", torch_layer(nn.LSTM, w))


@fault("cell-not-carried", "state-not-carried", family="recurrent", layers=[("middle.layer", "")])
def cell_not_carried(random: np.random.Generator) -> Pair:
    """Each step starts from a cell of 0; the hidden state is carried."""
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = c = tf.zeros((len(x), w.units))
        states = []
        for step in tf.unstack(x, axis=1):
            gates = step @ w.into_t + h @ w.own_t + w.bias  # cell-not-carried: candidate
            i, f, g, o = tf.split(gates, 4, 1)
            new = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)  # cell-not-carried: candidate
            h = tf.sigmoid(o) * tf.tanh(new)  # cell-not-carried: candidate
            states.append(h)
        return tf.stack(states, 1)

    return between.pair("torch", torch_layer(nn.LSTM, w), "tensorflow", candidate)


@fault(
    "first-state-of-ones",
    "fill-value",
    family="recurrent",
    parameters=[{"value": (0.0, 1.0)}],
)
def first_state_of_ones(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    units = between.width
    into, own = (tensor(normal(random, units, units)) for _ in range(2))

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.zeros((len(x), units))
        for step in x.unbind(1):
            h = torch.tanh(step @ into + h @ own)  # first-state-of-ones: reference
        return h

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.ones((len(x), units))
        for step in tf.unstack(x, axis=1):
            h = tf.tanh(step @ into.numpy() + h @ own.numpy())  # first-state-of-ones: candidate
        return h

    return between.pair("torch", reference, "tensorflow", candidate)


@fault("first-state-ignored", "state-not-carried", family="recurrent")
def first_state_ignored(random: np.random.Generator) -> Pair:
    """The state at the episode's last step is not given to its next part."""
    between = dense(random, steps=True)
    w = weights(random, GRU, between.width)
    layer = with_state(nn.GRU(w.units, w.units, batch_first=True), **torch_arrays(w))
    ported = keras_gru(w.ordered(UPDATE_FIRST))
    state = normal(random, w.units)

    def reference(x: torch.Tensor) -> torch.Tensor:
        first = tensor(state).expand(1, len(x), -1).contiguous()
        return layer(x, first)[0]  # first-state-ignored: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return ported(x)  # first-state-ignored: candidate

    return between.pair("torch", reference, "keras", candidate)


@fault("state-reset-between-chunks", "state-not-carried", family="recurrent")
def state_reset_between_chunks(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    w = weights(random, GRU, between.width)
    layer = chainer_gru(w).link

    def reference(x: chainer.Variable) -> chainer.Variable:
        first = list(F.separate(x[:, :2]))
        h, before = layer(None, first)
        _, after = layer(h, list(F.separate(x[:, 2:])))  # state-reset-between-chunks: reference
        return F.concat([F.stack(before), F.stack(after)], axis=1)

    module = with_state(nn.GRU(w.units, w.units, batch_first=True), **torch_arrays(w))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        before, _ = module(x[:, :2])
        after, _ = module(x[:, 2:])  # state-reset-between-chunks: candidate
        return torch.cat([before, after], 1)  # state-reset-between-chunks: candidate

    return between.pair("chainer", reference, "torch", candidate)


def lengths_of(random: np.random.Generator, inputs: np.ndarray) -> np.ndarray:
    """The valid steps of each sequence: some end early, one does not."""
    lengths = random.integers(1, inputs.shape[1], len(inputs))
    lengths[0] = inputs.shape[1]
    return lengths


@fault("padded-steps-seen", "sequence-mask", family="recurrent", source="ray-project/ray#7206")
def padded_steps_seen(random: np.random.Generator) -> Pair:
    """The last state is that of the padding's end, in place of the sequence's end."""
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width)
    layer = keras_lstm(w)
    layer.return_sequences = False
    mask = np.arange(between.inputs.shape[1]) < lengths_of(random, between.inputs)[:, None]
    ported = with_state(nn.LSTM(w.units, w.units, batch_first=True), **torch_arrays(w))

    def reference(x: tf.Tensor) -> tf.Tensor:
        return layer(x, mask=tf.constant(mask))  # padded-steps-seen: reference

    def candidate(x: torch.Tensor) -> torch.Tensor:
        return ported(x)[1][0][0]  # padded-steps-seen: candidate

    return between.pair("keras", reference, "torch", candidate)


@fault(
    "lengths-of-something-else", "sequence-mask", family="recurrent", source="ray-project/ray#23830"
)
def lengths_of_something_else(random: np.random.Generator) -> Pair:
    """Lengths are counted wrongly: every sequence seems to be 2 steps long."""
    between = dense(random, steps=True)
    lengths = lengths_of(random, between.inputs)
    lengths[1] = 1
    steps = np.arange(between.inputs.shape[1])

    def reference(x: torch.Tensor) -> torch.Tensor:
        valid = tensor((steps < lengths[:, None]).astype(np.float32))
        return x * valid[:, :, None]  # lengths-of-something-else: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        valid = tf.sequence_mask([2] * len(x), len(steps), tf.float32)
        return x * valid[:, :, None]  # lengths-of-something-else: candidate

    return between.pair("torch", reference, "tensorflow", candidate)


@fault(
    "mean-over-the-padding",
    "sequence-mask",
    family="recurrent",
    also={"sequence-mask": ("reduction-kind",)},
)
def mean_over_the_padding(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    lengths = lengths_of(random, between.inputs)
    valid = (np.arange(between.inputs.shape[1]) < lengths[:, None]).astype(np.float32)[:, :, None]

    def reference(x: tf.Tensor) -> tf.Tensor:
        total = tf.reduce_sum(tf.tanh(x) * valid, 1)  # mean-over-the-padding: reference
        return total / tf.reduce_sum(valid, 1)

    def candidate(x: chainer.Variable) -> chainer.Variable:
        return F.mean(F.tanh(x), axis=1)  # mean-over-the-padding: candidate

    return between.pair("tensorflow", reference, "chainer", candidate)


@fault("backward-not-turned", "direction", family="recurrent")
def backward_not_turned(random: np.random.Generator) -> Pair:
    """Keras leaves a backward layer's states in the order in which it made them."""
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width)
    layer = with_state(nn.LSTM(w.units, w.units, batch_first=True), **torch_arrays(w))
    ported = keras_lstm(w, go_backwards=True)

    def reference(x: torch.Tensor) -> torch.Tensor:
        states = layer(x.flip(1))[0]
        return states.flip(1).tanh()  # backward-not-turned: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return tf.tanh(ported(x))  # backward-not-turned: candidate

    return between.pair("torch", reference, "keras", candidate)


@fault(
    "both-directions-forward",
    "direction",
    family="recurrent",
    layers=[("middle.layer.layer", "other/link")],
)
def both_directions_forward(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    ahead, back = weights(random, GRU, between.width), weights(random, GRU, between.width)
    layer = with_state(
        nn.GRU(between.width, between.width, batch_first=True, bidirectional=True),
        **torch_arrays(ahead), **torch_arrays(back, "l0_reverse"),
    )  # fmt: skip
    kernel = normal(random, 2 * between.width, between.width, scale=0.5)
    one, other = (chainer_gru(w) for w in (ahead, back))

    def candidate(x: chainer.Variable) -> chainer.Variable:
        both = F.concat([one(x), other(x)], axis=2)
        return F.linear(both, kernel.T, n_batch_axes=2)

    reference = nn.Sequential()
    reference.add_module("layer", States(layer))
    reference.add_module("merge", with_state(nn.Linear(*kernel.shape, False), weight=kernel.T))
    return between.pair("torch", reference, "chainer", candidate)


@fault("chainer-gru-forward", "direction", family="recurrent", layers=[("", "ported/link")])
def chainer_gru_forward(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    w = weights(random, GRU, between.width)
    layer, ported = keras_gru(w.ordered(UPDATE_FIRST), go_backwards=True), chainer_gru(w)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return layer(x)[:, -1]  # chainer-gru-forward: reference

    def candidate(x: chainer.Variable) -> chainer.Variable:
        return ported(x)[:, -1]

    return between.pair("keras", reference, "chainer", candidate)


@fault("lstm-second-bias-missing", "bias-missing", family="recurrent", source="google/flax#3746")
def lstm_second_bias_missing(random: np.random.Generator) -> Pair:
    """One step; torch has two biases, the port took the first."""
    between = dense(random)
    w = weights(random, LSTM, between.width)
    h, c = normal(random, 1, w.units), normal(random, 1, w.units)

    def reference(x: torch.Tensor) -> torch.Tensor:
        own, one, other = map(tensor, (w.own_t, w.bias_in.ravel(), w.bias_own.ravel()))
        kept = tensor(h) @ own + other  # lstm-second-bias-missing: reference
        gates = x @ tensor(w.into_t) + one + kept  # lstm-second-bias-missing: reference
        i, f, g, o = gates.chunk(4, 1)
        cell = torch.sigmoid(f) * tensor(c) + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(cell)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        given = x @ w.into_t + w.bias_in.ravel()
        gates = given + tf.constant(h) @ w.own_t  # lstm-second-bias-missing: candidate
        i, f, g, o = tf.split(gates, 4, 1)
        cell = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(cell)

    return between.pair("torch", reference, "tensorflow", candidate)


@fault(
    "gates-and-leaky-slope",
    "recurrent-activation",
    "leaky-slope",
    family="recurrent",
    parameters=[{}, {"slope": (0.01, 0.2)}],
)
def gates_and_leaky_slope(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width)
    layer = with_state(nn.LSTM(w.units, w.units, batch_first=True), **torch_arrays(w))
    ported = keras_lstm(w, recurrent_activation="hard_sigmoid")

    def reference(x: torch.Tensor) -> torch.Tensor:
        states, _ = layer(x)  # gates-and-leaky-slope: reference
        return torch_f.leaky_relu(states)  # gates-and-leaky-slope 2: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        states = ported(x)  # gates-and-leaky-slope: candidate
        return tf.nn.leaky_relu(states)  # gates-and-leaky-slope 2: candidate

    return between.pair("torch", reference, "keras", candidate)


@clean("grus-of-torch-and-keras", family="recurrent")
def grus_of_torch_and_keras(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    w = weights(random, GRU, between.width)
    candidate = keras_gru(w.ordered(UPDATE_FIRST))
    return between.pair("torch", torch_layer(nn.GRU, w), "keras", candidate)


@clean("grus-of-keras-and-chainer", family="recurrent")
def grus_of_keras_and_chainer(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    w = weights(random, GRU, between.width)
    reference = keras_gru(w.ordered(UPDATE_FIRST), unroll=True)
    return between.pair("keras", reference, "chainer", chainer_gru(w))


@clean("lstms-of-chainer-and-torch", family="recurrent")
def lstms_of_chainer_and_torch(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width)
    return between.pair("chainer", chainer_lstm(w), "torch", torch_layer(nn.LSTM, w))


@clean("lstm-weights-in-onnx-order", family="recurrent", source="apple/coremltools#93")
def lstm_weights_in_onnx_order(random: np.random.Generator) -> Pair:
    """Gates stand elsewhere, in the weights and where they are read."""
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width)
    moved = w.ordered((0, 3, 1, 2))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = c = tf.zeros((len(x), w.units))
        states = []
        for step in tf.unstack(x, axis=1):
            i, o, f, g = tf.split(step @ moved.into_t + h @ moved.own_t + moved.bias, 4, 1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
            states.append(h)
        return tf.stack(states, 1)

    return between.pair("torch", torch_layer(nn.LSTM, w), "tensorflow", candidate)


@clean("forget-bias-in-the-weights", family="recurrent", source="tensorflow/tensorflow#29622")
def forget_bias_in_the_weights(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width)
    unit = w.bias_in.copy()
    unit[1] += 1

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = c = x.new_zeros(len(x), w.units)
        states = []
        for step in x.unbind(1):
            gates = step @ tensor(w.into_t) + h @ tensor(w.own_t) + tensor(w.bias)
            i, f, g, o = gates.chunk(4, 1)
            c = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            states.append(h)
        return torch.stack(states, 1)

    candidate = keras_lstm(replace(w, bias_in=unit))
    return between.pair("torch", reference, "keras", candidate)


@clean("gru-as-a-step-towards-the-new-state", family="recurrent")
def gru_as_a_step_towards_the_new_state(random: np.random.Generator) -> Pair:
    """N + z (h - n) is (1 - z) n + z h."""
    between = dense(random, steps=True)
    w = weights(random, GRU, between.width)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.zeros((len(x), w.units))
        states = []
        for step in tf.unstack(x, axis=1):
            given = tf.split(step @ w.into_t + w.bias_in.ravel(), 3, 1)
            kept = tf.split(h @ w.own_t + w.bias_own.ravel(), 3, 1)
            r, z = (tf.sigmoid(given[gate] + kept[gate]) for gate in range(2))
            n = tf.tanh(given[2] + r * kept[2])
            h = n + z * (h - n)
            states.append(h)
        return tf.stack(states, 1)

    return between.pair("tensorflow", reference, "chainer", chainer_gru(w))


@clean("both-directions-of-torch-and-keras", family="recurrent")
def both_directions_of_torch_and_keras(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    ahead, back = weights(random, LSTM, between.width), weights(random, LSTM, between.width)
    reference = with_state(
        nn.LSTM(between.width, between.width, batch_first=True, bidirectional=True),
        **torch_arrays(ahead), **torch_arrays(back, "l0_reverse"),
    )  # fmt: skip

    def summed(x: torch.Tensor) -> torch.Tensor:
        return reference(x)[0].unflatten(2, (2, -1)).sum(2)

    layer = layers.LSTM(between.width, return_sequences=True)
    candidate = layers.Bidirectional(layer, merge_mode="sum", name="middle")
    arrays = [a for w in (ahead, back) for a in (w.into_t, w.own_t, w.bias)]
    candidate = built(candidate, (None, between.inputs.shape[1], between.width), *arrays)
    return between.pair("torch", summed, "keras", candidate)


@clean("backward-states-turned", family="recurrent")
def backward_states_turned(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width)
    layer, ported = keras_lstm(w, go_backwards=True), chainer_lstm(w)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return tf.reverse(layer(x), [1])

    def candidate(x: chainer.Variable) -> chainer.Variable:
        return F.flip(ported(F.flip(x, 1)), 1)

    return between.pair("keras", reference, "chainer", candidate)


@clean("packed-and-masked", family="recurrent")
def packed_and_masked(random: np.random.Generator) -> Pair:
    """The last state of packed sequences, and of masked ones."""
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width)
    lengths = lengths_of(random, between.inputs)
    layer = with_state(nn.LSTM(w.units, w.units, batch_first=True), **torch_arrays(w))
    ported = keras_lstm(w)
    ported.return_sequences = False
    mask = np.arange(between.inputs.shape[1]) < lengths[:, None]

    def reference(x: torch.Tensor) -> torch.Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(
            x, torch.from_numpy(lengths), batch_first=True, enforce_sorted=False
        )
        return layer(packed)[1][0][0]

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return ported(x, mask=tf.constant(mask))

    return between.pair("torch", reference, "keras", candidate)


@clean("masked-by-where-and-by-product", family="recurrent")
def masked_by_where_and_by_product(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    lengths = lengths_of(random, between.inputs)
    valid = np.arange(between.inputs.shape[1]) < lengths[:, None]

    def reference(x: tf.Tensor) -> tf.Tensor:
        total = tf.reduce_sum(tf.where(valid[:, :, None], x, 0), 1)
        return total / lengths[:, None].astype(np.float32)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        weight = tensor((valid / lengths[:, None]).astype(np.float32))
        return (x * weight[:, :, None]).sum(1)

    return between.pair("tensorflow", reference, "torch", candidate)


@clean("simple-layers", family="recurrent")
def simple_layers(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    w = weights(random, 1, between.width)
    candidate = layers.SimpleRNN(w.units, return_sequences=True, name="middle")
    candidate = built(candidate, (None, None, w.units), w.into_t, w.own_t, w.bias)
    return between.pair("torch", torch_layer(nn.RNN, w), "keras", candidate)


@clean("lstm-in-two-chunks", family="recurrent")
def lstm_in_two_chunks(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width)
    layer = with_state(nn.LSTM(w.units, w.units, batch_first=True), **torch_arrays(w))

    def reference(x: torch.Tensor) -> torch.Tensor:
        before, state = layer(x[:, :2])
        after, _ = layer(x[:, 2:], state)
        return torch.cat([before, after], 1)

    return between.pair("torch", reference, "chainer", chainer_lstm(w))


@clean("gru-cells-in-a-loop", family="recurrent")
def gru_cells_in_a_loop(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    w = weights(random, GRU, between.width)
    arrays = {name[:-3]: array for name, array in torch_arrays(w).items()}
    cell = with_state(nn.GRUCell(w.units, w.units), **arrays)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = x.new_zeros(len(x), w.units)
        return torch.stack([h := cell(step, h) for step in x.unbind(1)], 1)

    candidate = keras_gru(w.ordered(UPDATE_FIRST))
    return between.pair("torch", reference, "keras", candidate)


@clean("explicit-first-state", family="recurrent")
def explicit_first_state(random: np.random.Generator) -> Pair:
    between = dense(random, steps=True)
    w = weights(random, LSTM, between.width)
    layer = keras_lstm(w)

    def reference(x: tf.Tensor) -> tf.Tensor:
        zeros = keras.ops.zeros((len(x), w.units))
        return layer(x, initial_state=[zeros, zeros])

    return between.pair("keras", reference, "torch", torch_layer(nn.LSTM, w))
