"""A policy that keeps its state, behind a method.

Interface: a bound method, without gradients on one side; observation, integer action and reward by
position; one array out.
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

OBS, ACT, HID = 7, 4, 12


class TorchR2D2(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(OBS, 10)
        self.lstm = nn.LSTM(10 + ACT + 1, HID, batch_first=True)
        self.adv, self.val = nn.Linear(HID, ACT), nn.Linear(HID, 1)
        self.hidden = None

    def reset(self):
        self.hidden = None

    @torch.no_grad()
    def q_values(self, obs, last_action, reward):
        x = torch.relu(self.body(obs))
        x = torch.cat(
            [x, nn.functional.one_hot(last_action, ACT).float(), reward[:, None].clamp(-1, 1)], -1
        )
        y, self.hidden = self.lstm(x[:, None], self.hidden)
        y = y[:, 0]
        a = self.adv(y)
        return self.val(y) + a - a.mean(-1, keepdim=True)


class KerasR2D2(keras.Model):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.body = layers.Dense(10, activation="relu")
        self.rnn = layers.LSTM(HID, stateful=True)
        self.adv, self.val = layers.Dense(ACT), layers.Dense(1)

    def reset(self):
        self.rnn.reset_states()

    def q_values(self, obs, last_action, reward):
        x = self.body(obs)
        x = ops.concatenate(
            [x, ops.one_hot(last_action, ACT), ops.clip(reward, -1, 1)[:, None]], -1
        )
        y = self.rnn(x[:, None])
        a = self.adv(y)
        return self.val(y) + a - ops.mean(a, -1, keepdims=True)

    def call(self, obs, last_action, reward):
        return self.q_values(obs, last_action, reward)


class ChainerR2D2(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.body = L.Linear(OBS, 10)
            self.lstm = L.LSTM(10 + ACT + 1, HID)
            self.adv, self.val = L.Linear(HID, ACT), L.Linear(HID, 1)

    def reset(self):
        self.lstm.reset_state()

    def q_values(self, obs, last_action, reward):
        x = CF.relu(self.body(obs))
        onehot = np.eye(ACT, dtype="float32")[last_action]
        reward = CF.clip(reward, -1.0, 1.0)
        y = self.lstm(CF.concat([x, onehot, CF.expand_dims(reward, 1)], axis=1))
        a = self.adv(y)
        mean = CF.mean(a, axis=1, keepdims=True)
        return CF.broadcast_to(self.val(y) - mean, a.shape) + a


def inputs(seed=0, n=5):
    r = np.random.default_rng(seed)
    return (
        r.normal(size=(n, OBS)).astype("float32"),
        r.integers(0, ACT, n),
        (2 * r.normal(size=n)).astype("float32"),
    )


def keras_side():
    model = KerasR2D2()
    model(*inputs())
    model.reset()
    return drawn(model).q_values


SIDES = {
    "torch": lambda: drawn(TorchR2D2()).q_values,
    "keras": keras_side,
    "chainer": lambda: drawn(ChainerR2D2()).q_values,
}
