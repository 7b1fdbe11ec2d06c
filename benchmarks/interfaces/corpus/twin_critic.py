"""Twin critics and their targets.

Interface: observation and action by position, under other names on each side, and a flag that
picks the targets; a list out. Half of the weights are not read by a call.
"""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
import tensorflow as tf
import torch
from torch import nn

from benchmarks.interfaces.weights import drawn


class TorchQ(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden):
        super().__init__()
        self.l1 = nn.Linear(obs_dim + act_dim, hidden)
        self.l2 = nn.Linear(hidden + act_dim, hidden)
        self.l3 = nn.Linear(hidden, 1)

    def forward(self, s, a):
        h = torch.nn.functional.silu(self.l1(torch.cat([s, a], 1)))
        h = torch.nn.functional.silu(self.l2(torch.cat([h, a], 1)))
        return self.l3(h)[:, 0]


class TorchTwin(nn.Module):
    def __init__(self, obs_dim=7, act_dim=3, hidden=18):
        super().__init__()
        self.qs = nn.ModuleList([TorchQ(obs_dim, act_dim, hidden) for _ in range(2)])
        self.target = nn.ModuleList([TorchQ(obs_dim, act_dim, hidden) for _ in range(2)])

    def forward(self, observation, action, target=False):
        action = action.clamp(-1, 1)
        nets = self.target if target else self.qs
        return [q(observation, action) for q in nets]


class TFQ(tf.Module):
    def __init__(self, obs_dim, act_dim, hidden, name=None):
        super().__init__(name=name)
        init = tf.random.normal
        self.w1 = tf.Variable(init((obs_dim + act_dim, hidden)) * 0.2)
        self.b1 = tf.Variable(init((hidden,)) * 0.1)
        self.w2 = tf.Variable(init((hidden + act_dim, hidden)) * 0.2)
        self.b2 = tf.Variable(init((hidden,)) * 0.1)
        self.w3 = tf.Variable(init((hidden, 1)) * 0.2)
        self.b3 = tf.Variable(init((1,)) * 0.1)

    def __call__(self, s, a):
        h = tf.nn.silu(tf.matmul(tf.concat([s, a], 1), self.w1) + self.b1)
        h = tf.nn.silu(tf.matmul(tf.concat([h, a], 1), self.w2) + self.b2)
        return tf.squeeze(tf.matmul(h, self.w3) + self.b3, 1)


class TFTwin(tf.Module):
    def __init__(self, obs_dim=7, act_dim=3, hidden=18):
        super().__init__()
        self.critics = [TFQ(obs_dim, act_dim, hidden, f"q{i}") for i in range(2)]
        self.critics_target = [TFQ(obs_dim, act_dim, hidden, f"t{i}") for i in range(2)]

    @tf.function
    def __call__(self, obs, act, target=False):
        act = tf.clip_by_value(act, -1.0, 1.0)
        nets = self.critics_target if target else self.critics
        return [q(obs, act) for q in nets]


class ChainerQ(chainer.Chain):
    def __init__(self, obs_dim, act_dim, hidden):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(obs_dim + act_dim, hidden)
            self.l2 = L.Linear(hidden + act_dim, hidden)
            self.l3 = L.Linear(hidden, 1)

    def forward(self, s, a):
        h = self.l1(F.concat([s, a]))
        h = h * F.sigmoid(h)
        h = self.l2(F.concat([h, a]))
        h = h * F.sigmoid(h)
        return F.squeeze(self.l3(h), 1)


class ChainerTwin(chainer.Chain):
    def __init__(self, obs_dim=7, act_dim=3, hidden=18):
        super().__init__()
        with self.init_scope():
            self.q1 = ChainerQ(obs_dim, act_dim, hidden)
            self.q2 = ChainerQ(obs_dim, act_dim, hidden)
            self.t1 = ChainerQ(obs_dim, act_dim, hidden)
            self.t2 = ChainerQ(obs_dim, act_dim, hidden)

    def __call__(self, state, action, target=False):
        action = F.clip(action, -1.0, 1.0)
        nets = (self.t1, self.t2) if target else (self.q1, self.q2)
        return [q(state, action) for q in nets]


def inputs(seed=0, n=8):
    r = np.random.default_rng(seed)
    return (r.normal(size=(n, 7)).astype("float32"), r.normal(size=(n, 3)).astype("float32"))


SIDES = {
    "torch": lambda: drawn(TorchTwin()),
    "tensorflow": lambda: drawn(TFTwin()),
    "chainer": lambda: drawn(ChainerTwin()),
}
