"""A recurrent Q-network that acts one step at a time.

Interface: an optional state, a tuple of h and c, in and out. Library layers on two sides, a cell
written by hand on the third. The Keras model is not built before it is used.
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


class TorchDRQN(nn.Module):
    def __init__(self, obs_dim=9, hidden=16, actions=5):
        super().__init__()
        self.hidden = hidden
        self.fc = nn.Linear(obs_dim, hidden)
        self.rnn = nn.LSTM(hidden, hidden, batch_first=True)
        self.adv = nn.Linear(hidden, actions)
        self.val = nn.Linear(hidden, 1)

    def forward(self, obs, state=None):
        h = torch.relu(self.fc(obs))
        if state is not None:
            state = (state[0][None].contiguous(), state[1][None].contiguous())
        out, (hn, cn) = self.rnn(h[:, None], state)
        out = out[:, 0]
        adv = self.adv(out)
        q = self.val(out) + adv - adv.mean(-1, keepdim=True)
        return q, (hn[0], cn[0])


class KerasDRQN(keras.Model):
    def __init__(self, obs_dim=9, hidden=16, actions=5):
        super().__init__()
        self.hidden = hidden
        self.fc = layers.Dense(hidden, activation="relu")
        self.cell = layers.LSTMCell(hidden)
        self.val = layers.Dense(1)
        self.adv = layers.Dense(actions)

    def call(self, obs, state=None, training=False):
        h = self.fc(obs)
        if state is None:
            zeros = ops.zeros((ops.shape(obs)[0], self.hidden))
            state = (zeros, zeros)
        out, (hn, cn) = self.cell(h, list(state), training=training)
        adv = self.adv(out)
        return self.val(out) + adv - ops.mean(adv, axis=-1, keepdims=True), (hn, cn)


class ChainerDRQN(chainer.Chain):
    """With a hand-written cell: gates i, f, o, g in one product."""

    def __init__(self, obs_dim=9, hidden=16, actions=5):
        super().__init__()
        self.hidden = hidden
        with self.init_scope():
            self.fc = L.Linear(obs_dim, hidden)
            self.wx = L.Linear(hidden, 4 * hidden)
            self.wh = L.Linear(hidden, 4 * hidden, nobias=True)
            self.adv = L.Linear(hidden, actions)
            self.val = L.Linear(hidden, 1)

    def forward(self, obs, state=None):
        x = F.relu(self.fc(obs))
        if state is None:
            z = self.xp.zeros((obs.shape[0], self.hidden), "f")
            state = (z, z)
        h, c = state
        gates = self.wx(x) + self.wh(h)
        i, f, o, g = F.split_axis(gates, 4, axis=1)
        c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
        h = F.sigmoid(o) * F.tanh(c)
        adv = self.adv(h)
        mean = F.broadcast_to(F.mean(adv, axis=1, keepdims=True), adv.shape)
        q = F.broadcast_to(self.val(h), adv.shape) + adv - mean
        return q, (h, c)


def inputs(seed=0, n=5):
    r = np.random.default_rng(seed)
    f = lambda *s: r.normal(size=s).astype("float32")
    return (f(n, 9), (f(n, 16), f(n, 16)))


SIDES = {
    "torch": lambda: drawn(TorchDRQN()),
    "keras": KerasDRQN,
    "chainer": lambda: drawn(ChainerDRQN()),
}
