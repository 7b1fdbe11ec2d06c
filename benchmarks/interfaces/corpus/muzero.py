"""MuZero, unrolled over actions.

Interface: a closure over a module, and a bound method that calls tf.functions; a list of
NamedTuples out, the first of them with a None.
"""

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import torch
from torch import nn

from benchmarks.interfaces.weights import drawn


class Output(NamedTuple):
    value: Any
    reward: Any
    policy: Any
    hidden: Any


class TorchMuZero(nn.Module):
    def __init__(self, obs=9, hidden=10, actions=5, bins=11):
        super().__init__()
        self.actions, self.bins = actions, bins
        self.enc1 = nn.Linear(obs, 24)
        self.enc_norm = nn.LayerNorm(24)
        self.enc2 = nn.Linear(24, hidden)
        self.dyn1 = nn.Linear(hidden + actions, 24)
        self.dyn2 = nn.Linear(24, hidden)
        self.rew = nn.Linear(24, bins)
        self.trunk = nn.Linear(hidden, 24)
        self.pi = nn.Linear(24, actions)
        self.val = nn.Linear(24, bins)
        self.register_buffer(
            "support", torch.arange(-(bins // 2), bins // 2 + 1, dtype=torch.float32)
        )

    @staticmethod
    def scale(h):
        lo = h.min(dim=-1, keepdim=True).values
        hi = h.max(dim=-1, keepdim=True).values
        return (h - lo) / (hi - lo + 1e-5)

    def expected(self, logits):
        x = (torch.softmax(logits, -1) * self.support).sum(-1)
        return torch.sign(x) * (
            ((torch.sqrt(1 + 4 * 0.001 * (x.abs() + 1 + 0.001)) - 1) / (2 * 0.001)) ** 2 - 1
        )

    def representation(self, observation):
        return self.scale(self.enc2(torch.nn.functional.elu(self.enc_norm(self.enc1(observation)))))

    def dynamics(self, hidden, action):
        a = torch.nn.functional.one_hot(action, self.actions).float()
        x = torch.relu(self.dyn1(torch.cat([hidden, a], -1)))
        return self.scale(hidden + self.dyn2(x)), self.expected(self.rew(x))

    def prediction(self, hidden):
        x = torch.relu(self.trunk(hidden))
        return self.pi(x), self.expected(self.val(x))

    def initial_inference(self, observation):
        h = self.representation(observation)
        p, v = self.prediction(h)
        return Output(v, None, p, h)

    def recurrent_inference(self, hidden, action):
        h, r = self.dynamics(hidden, action)
        p, v = self.prediction(h)
        return Output(v, r, p, h)


def torch_unroll(net):
    def unroll(observation, actions):
        out = net.initial_inference(observation)
        steps = [out]
        for k in range(actions.shape[1]):
            out = net.recurrent_inference(out.hidden, actions[:, k])
            steps.append(out)
        return steps

    return unroll


class Dense(tf.Module):
    def __init__(self, n_in, n_out, name=None):
        super().__init__(name=name)
        self.w = tf.Variable(tf.random.normal((n_in, n_out), stddev=n_in**-0.5), name="w")
        self.b = tf.Variable(tf.random.normal((n_out,), stddev=0.1), name="b")

    def __call__(self, x):
        return x @ self.w + self.b


class TFMuZero(tf.Module):
    def __init__(self, obs=9, hidden=10, actions=5, bins=11):
        super().__init__()
        self.actions = actions
        self.support = tf.range(-(bins // 2), bins // 2 + 1, dtype=tf.float32)
        self.e1, self.e2 = Dense(obs, 24), Dense(24, hidden)
        self.gain, self.shift = (
            tf.Variable(tf.random.uniform((24,), 0.5, 2)),
            tf.Variable(tf.random.normal((24,))),
        )
        self.d1, self.d2, self.r = Dense(hidden + actions, 24), Dense(24, hidden), Dense(24, bins)
        self.f, self.p, self.v = Dense(hidden, 24), Dense(24, actions), Dense(24, bins)

    def _norm(self, x):
        m, s = tf.nn.moments(x, [-1], keepdims=True)
        return tf.nn.batch_normalization(x, m, s, self.shift, self.gain, 1e-5)

    def _unit(self, h):
        low, high = tf.reduce_min(h, -1, keepdims=True), tf.reduce_max(h, -1, keepdims=True)
        return (h - low) / (high - low + 1e-5)

    def _scalar(self, logits):
        eps = 0.001
        x = tf.linalg.matvec(tf.nn.softmax(logits), self.support)
        root = (tf.sqrt(1.0 + 4.0 * eps * (tf.abs(x) + 1.0 + eps)) - 1.0) / (2.0 * eps)
        return tf.sign(x) * (tf.square(root) - 1.0)

    def representation(self, observation):
        return self._unit(self.e2(tf.nn.elu(self._norm(self.e1(observation)))))

    def dynamics(self, hidden, action):
        x = tf.nn.relu(self.d1(tf.concat([hidden, tf.one_hot(action, self.actions)], -1)))
        return self._unit(hidden + self.d2(x)), self._scalar(self.r(x))

    def prediction(self, hidden):
        x = tf.nn.relu(self.f(hidden))
        return self.p(x), self._scalar(self.v(x))

    @tf.function
    def initial_inference(self, observation):
        hidden = self.representation(observation)
        policy, value = self.prediction(hidden)
        return Output(value, None, policy, hidden)

    @tf.function
    def recurrent_inference(self, hidden, action):
        hidden, reward = self.dynamics(hidden, action)
        policy, value = self.prediction(hidden)
        return Output(value, reward, policy, hidden)

    def unroll(self, observation, actions):
        outputs = [self.initial_inference(observation)]
        for action in tf.unstack(actions, axis=1):
            outputs.append(self.recurrent_inference(outputs[-1].hidden, action))
        return outputs


def inputs():
    r = np.random.default_rng(0)
    return dict(observation=r.normal(size=(6, 9)).astype("f"), actions=r.integers(0, 5, (6, 3)))


SIDES = {
    "torch": lambda: torch_unroll(drawn(TorchMuZero())),
    "tensorflow": lambda: drawn(TFMuZero()).unroll,
}
