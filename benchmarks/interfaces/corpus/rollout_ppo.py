"""A recurrent PPO over a rollout.

Interface: a boolean done by position, an optional state, a tuple of h and c, in and out; a
dataclass out of two sides, a dict of the third.
"""

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch
from keras import layers, ops
from torch import nn

from benchmarks.interfaces.weights import drawn


@dataclass
class PPOOut:
    logits: Any
    value: Any
    state: Any


class TorchPPO(nn.Module):
    def __init__(self, n_obs=9, n_act=5, n_h=12):
        super().__init__()
        self.n_h = n_h
        self.enc = nn.Linear(n_obs, 16)
        self.cell = nn.LSTMCell(16, n_h)
        self.pi = nn.Linear(n_h, n_act)
        self.v = nn.Linear(n_h, 1)

    def forward(self, obs, done, state=None):
        B, T = obs.shape[:2]
        if state is None:
            state = (torch.zeros(B, self.n_h), torch.zeros(B, self.n_h))
        h, c = state
        x = torch.tanh(self.enc(obs))
        hs = []
        for t in range(T):
            keep = 1.0 - done[:, t, None].float()
            h, c = self.cell(x[:, t], (h * keep, c * keep))
            hs.append(h)
        hs = torch.stack(hs, dim=1)
        return PPOOut(logits=self.pi(hs), value=self.v(hs)[..., 0], state=(h, c))


class TFPPO(tf.Module):
    def __init__(self, n_obs=9, n_act=5, n_h=12):
        super().__init__()
        init = tf.random_normal_initializer(stddev=0.3)
        self.n_h = n_h
        self.w_enc = tf.Variable(init((n_obs, 16)))
        self.b_enc = tf.Variable(init((16,)))
        self.w_x = tf.Variable(init((16, 4 * n_h)))
        self.w_h = tf.Variable(init((n_h, 4 * n_h)))
        self.b = tf.Variable(init((4 * n_h,)))
        self.w_pi = tf.Variable(init((n_h, n_act)))
        self.b_pi = tf.Variable(init((n_act,)))
        self.w_v = tf.Variable(init((n_h, 1)))
        self.b_v = tf.Variable(init((1,)))

    def step(self, x, h, c):
        i, j, f, o = tf.split(x @ self.w_x + h @ self.w_h + self.b, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(j)
        return tf.sigmoid(o) * tf.tanh(c), c

    @tf.function
    def __call__(self, obs, done, state=None):
        if state is None:
            z = tf.zeros((tf.shape(obs)[0], self.n_h))
            state = (z, z)
        h, c = state
        x = tf.tanh(tf.tensordot(obs, self.w_enc, 1) + self.b_enc)
        hs = []
        for t in range(obs.shape[1]):
            keep = 1.0 - tf.cast(done[:, t, None], tf.float32)
            h, c = h * keep, c * keep
            h, c = self.step(x[:, t], h, c)
            hs.append(h)
        hs = tf.stack(hs, axis=1)
        logits = tf.tensordot(hs, self.w_pi, 1) + self.b_pi
        value = tf.squeeze(tf.tensordot(hs, self.w_v, 1) + self.b_v, -1)
        return {"logits": logits, "value": value, "state": (h, c)}


class KerasPPO(keras.Model):
    def __init__(self, n_act=5, n_h=12):
        super().__init__()
        self.enc = layers.Dense(16, activation="tanh")
        self.cell = layers.LSTMCell(n_h)
        self.value_head = layers.Dense(1)
        self.policy_head = layers.Dense(n_act)

    def call(self, obs, done, state=None):
        x = self.enc(obs)
        if state is None:
            state = self.cell.get_initial_state(batch_size=ops.shape(obs)[0])
        h, c = state
        outs = []
        for t in range(obs.shape[1]):
            d = ops.expand_dims(done[:, t], -1)
            h = ops.where(d, ops.zeros_like(h), h)
            c = ops.where(d, ops.zeros_like(c), c)
            y, (h, c) = self.cell(x[:, t], [h, c])
            outs.append(y)
        y = ops.stack(outs, axis=1)
        return PPOOut(self.policy_head(y), ops.squeeze(self.value_head(y), -1), (h, c))


def inputs():
    r = np.random.default_rng(3)
    f = lambda *s: r.normal(size=s).astype("float32")
    return (f(4, 6, 9), r.random((4, 6)) < 0.3, (f(4, 12), f(4, 12)))


def keras_side():
    model = KerasPPO()
    model(*inputs())
    return drawn(model)


SIDES = {
    "torch": lambda: drawn(TorchPPO()),
    "keras": keras_side,
    "tensorflow": lambda: drawn(TFPPO()),
}
