"""An actor that keeps its state from call to call.

Interface: one array in, one out; the state is an attribute, or a stateful layer's.
"""

import chainer
import chainer.functions as F
import chainer.links as L
import keras
import numpy as np
import torch
from keras import layers, ops
from torch import nn

from benchmarks.interfaces.weights import drawn


class TorchActor(nn.Module):
    def __init__(self, obs_dim=7, hidden=12, actions=5):
        super().__init__()
        self.enc = nn.Linear(obs_dim, hidden)
        self.lstm = nn.LSTMCell(hidden, hidden)
        self.q = nn.Linear(hidden, actions)
        self.state = None

    def reset(self):
        self.state = None

    def forward(self, obs):
        h = torch.relu(self.enc(obs))
        self.state = self.lstm(h, self.state)
        return self.q(self.state[0])


class KerasActor(keras.Model):
    def __init__(self, obs_dim=7, hidden=12, actions=5):
        super().__init__()
        self.enc = layers.Dense(hidden, activation="relu")
        self.lstm = layers.LSTM(hidden, stateful=True)
        self.q = layers.Dense(actions)

    def call(self, obs):
        h = self.enc(obs)
        return self.q(self.lstm(ops.expand_dims(h, 1)))


class ChainerActor(chainer.Chain):
    def __init__(self, obs_dim=7, hidden=12, actions=5):
        super().__init__()
        with self.init_scope():
            self.enc = L.Linear(obs_dim, hidden)
            self.lstm = L.LSTM(hidden, hidden)
            self.q = L.Linear(hidden, actions)

    def forward(self, obs):
        return self.q(self.lstm(F.relu(self.enc(obs))))


def inputs(seed=0, n=5):
    r = np.random.default_rng(seed)
    return r.normal(size=(n, 7)).astype("float32")


def keras_side():
    model = KerasActor()
    model(inputs())
    model.lstm.reset_state()
    return drawn(model)


SIDES = {
    "torch": lambda: drawn(TorchActor()),
    "keras": keras_side,
    "chainer": lambda: drawn(ChainerActor()),
}
