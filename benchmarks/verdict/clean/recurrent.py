"""Clean pairs of recurrent networks, as layers and written out step by step."""

from __future__ import annotations

from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf
import torch
from keras import layers
from torch import nn

from benchmarks.corpus.scenarios.decompositions import normal
from benchmarks.corpus.scenarios.pair import Side, chainer

from .layers import loaded, t
from .subject import Clean, Forms, pairs_of

F = chainer.functions
STEPS, FEATURES, UNITS = 9, 4, 6


class States(nn.Module):
    """A recurrent layer's states of all steps, without the last one beside them."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


def gru(rng) -> Forms:
    """Gates in the order reset, update, new; the reset gate acts after the product."""
    into, own = normal(rng, 3 * UNITS, FEATURES), normal(rng, 3 * UNITS, UNITS, scale=0.5)
    bias_in, bias_own = normal(rng, 3 * UNITS), normal(rng, 3 * UNITS)
    layer = loaded(nn.GRU(FEATURES, UNITS, batch_first=True), into, own, bias_in, bias_own)
    order = np.r_[UNITS : 2 * UNITS, :UNITS, 2 * UNITS : 3 * UNITS]  # Keras: update, reset, new
    keras_net = keras.Sequential(
        [layers.Input((STEPS, FEATURES)), layers.GRU(UNITS, return_sequences=True)]
    )
    keras_net.set_weights(
        [into[order].T, own[order].T, np.stack([bias_in[order], bias_own[order]])]
    )

    def chainer_steps(x):
        h = chainer.Variable(np.zeros((len(x), UNITS), np.float32))
        states = []
        for step in F.separate(x, axis=1):
            rx, zx, nx = F.split_axis(F.linear(step, into, bias_in), 3, 1)
            rh, zh, nh = F.split_axis(F.linear(h, own, bias_own), 3, 1)
            z = F.sigmoid(zx + zh)
            h = (1 - z) * F.tanh(nx + F.sigmoid(rx + rh) * nh) + z * h
            states.append(h)
        return F.stack(states, axis=1)

    forms = {
        "torch": Side("torch", States(layer)),
        "keras": Side("keras", keras_net),
        "chainer by hand": Side("chainer", chainer_steps),
    }
    return forms, (normal(rng, 3, STEPS, FEATURES),)


def bidirectional_lstm(rng) -> Forms:
    def weights():
        return (
            normal(rng, 4 * UNITS, FEATURES, scale=0.5),
            normal(rng, 4 * UNITS, UNITS, scale=0.5),
            normal(rng, 4 * UNITS),
        )

    forward, backward = weights(), weights()
    zeros = np.zeros(4 * UNITS, np.float32)
    layer = nn.LSTM(FEATURES, UNITS, batch_first=True, bidirectional=True)
    arrays = [a for into, own, bias in (forward, backward) for a in (into, own, bias, zeros)]
    keras_net = keras.Sequential(
        [
            layers.Input((STEPS, FEATURES)),
            layers.Bidirectional(layers.LSTM(UNITS, return_sequences=True)),
        ]
    )
    keras_net.set_weights(
        [a.T for into, own, bias in (forward, backward) for a in (into, own, bias)]
    )

    def torch_direction(x, weights):
        into, own, bias = map(t, weights)
        h = c = x.new_zeros(len(x), UNITS)
        states = []
        for step in x.unbind(1):
            i, f, g, o = (step @ into.T + h @ own.T + bias).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            states.append(h)
        return torch.stack(states, 1)

    def torch_by_hand(x):
        there = torch_direction(x, forward)
        return torch.cat([there, torch_direction(x.flip(1), backward).flip(1)], 2)

    forms = {
        "torch": Side("torch", States(loaded(layer, *arrays))),
        "keras": Side("keras", keras_net),
        "torch by hand": Side("torch", torch_by_hand),
    }
    return forms, (normal(rng, 3, STEPS, FEATURES),)


def chaotic_rnn(rng) -> Forms:
    """A tanh network of gain 2.5 over 30 steps: rounding grows to the size of the states."""
    into = normal(rng, 16, FEATURES)
    own = normal(rng, 16, 16, scale=2.5 / 4)
    bias = normal(rng, 16, scale=0.1)
    zeros = np.zeros(16, np.float32)
    layer = loaded(nn.RNN(FEATURES, 16, batch_first=True), into, own, bias, zeros)
    keras_net = keras.Sequential([layers.Input((30, FEATURES)), layers.SimpleRNN(16)])
    keras_net.set_weights([into.T, own.T, bias])

    class Last(States):
        def forward(self, x):
            return self.layer(x)[0][:, -1]

    def tensorflow_steps(x):
        h = tf.zeros((len(x), 16))
        for step in tf.unstack(x, axis=1):
            h = tf.tanh(tf.concat([step, h], 1) @ np.concatenate([into, own], 1).T + bias)
        return h

    def chainer_steps(x):
        h = chainer.Variable(np.zeros((len(x), 16), np.float32))
        for step in F.separate(x, axis=1):
            h = F.tanh(F.linear(step, into) + F.linear(h, own, bias))
        return h

    forms = {
        "torch": Side("torch", Last(layer)),
        "keras": Side("keras", keras_net),
        "tensorflow by hand": Side("tensorflow", tensorflow_steps),
        "chainer by hand": Side("chainer", chainer_steps),
    }
    return forms, (normal(rng, 3, 30, FEATURES),)


def pairs() -> Iterator[Clean]:
    family = "recurrent"
    yield from pairs_of(
        family, gru, ("torch", "keras"), ("keras", "chainer by hand"), ("chainer by hand", "torch")
    )
    yield from pairs_of(family, bidirectional_lstm, ("torch", "keras"), ("keras", "torch by hand"))
    yield from pairs_of(
        family,
        chaotic_rnn,
        ("torch", "keras"),
        ("keras", "chainer by hand"),
        ("torch", "tensorflow by hand"),
    )
