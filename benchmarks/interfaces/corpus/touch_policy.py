"""A policy that keeps its state.

Interface: a bound method; a tuple observation; a list out.
"""

import chainer
import chainer.functions as CF
import chainer.links as L
import keras
import numpy as np
import torch
from keras import layers, ops
from torch import nn

from benchmarks.interfaces.weights import drawn


class ChainerRPolicy(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.body = L.Linear(6, 12)
            self.touch = L.Linear(4, 12)
            self.lstm = L.LSTM(24, 10)
            self.pi = L.Linear(10, 3)
            self.v = L.Linear(10, 1)

    def reset_state(self):
        self.lstm.reset_state()

    def act(self, obs):
        body, touch = obs
        x = CF.concat([CF.relu(self.body(body)), CF.relu(self.touch(touch))], axis=1)
        h = self.lstm(x)
        return [CF.tanh(self.pi(h)), self.v(h)]

    def forward(self, obs):
        return self.act(obs)


class TorchRPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 12)
        self.touch = nn.Linear(4, 12)
        self.cell = nn.LSTMCell(24, 10)
        self.pi = nn.Linear(10, 3)
        self.v = nn.Linear(10, 1)
        self.state = None

    def reset_state(self):
        self.state = None

    def act(self, obs):
        body, touch = obs
        x = torch.cat([self.body(body), self.touch(touch)], 1).relu()
        self.state = self.cell(x, self.state)
        h = self.state[0]
        return [torch.tanh(self.pi(h)), self.v(h)]

    def forward(self, obs):
        return self.act(obs)


class KerasRPolicy(keras.Model):
    def __init__(self):
        super().__init__()
        self.body = layers.Dense(12, activation="relu")
        self.touch = layers.Dense(12, activation="relu")
        self.lstm = layers.LSTM(10, stateful=True)
        self.pi = layers.Dense(3, activation="tanh")
        self.v = layers.Dense(1)

    def act(self, obs):
        body, touch = obs
        x = ops.concatenate([self.body(body), self.touch(touch)], axis=1)
        h = self.lstm(x[:, None])
        return [self.pi(h), self.v(h)]

    def call(self, obs):
        return self.act(obs)


def inputs():
    r = np.random.default_rng(10)
    f = lambda *s: r.normal(size=s).astype("float32")
    return ((f(8, 6), f(8, 4)),)


def keras_side():
    model = KerasRPolicy()
    model(*inputs())
    model.lstm.reset_state()
    return drawn(model).act


SIDES = {
    "torch": lambda: drawn(TorchRPolicy()).act,
    "keras": keras_side,
    "chainer": lambda: drawn(ChainerRPolicy()).act,
}
