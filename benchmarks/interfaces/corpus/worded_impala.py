"""IMPALA with instructions.

Interface: a NamedTuple with a dict, booleans and integers, an optional state, a tuple of h and c;
a tuple out of a NamedTuple and the state. Stateful cells on one side.
"""

from typing import Any, NamedTuple

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
import tensorflow as tf
import torch
from torch import nn

from benchmarks.interfaces.weights import drawn


class EnvOutput(NamedTuple):
    reward: Any  # (T, B)
    done: Any  # (T, B) bool
    observation: Any  # {"frame": (T, B, 11), "instr": (T, B, 4) int}
    last_action: Any  # (T, B) int


class AgentOutput(NamedTuple):
    action: Any
    policy_logits: Any
    baseline: Any


A, H = 6, 8


class TorchImpala(nn.Module):
    def __init__(self):
        super().__init__()
        self.torso = nn.Linear(11, 16)
        self.words = nn.Embedding(9, 5)
        self.core = nn.LSTMCell(16 + 5 + A + 1, H)
        self.policy = nn.Linear(H, A)
        self.baseline = nn.Linear(H, 1)

    def initial_state(self, n):
        return torch.zeros(n, H), torch.zeros(n, H)

    def forward(self, env: EnvOutput, core_state=None):
        T, B = env.reward.shape
        frame = torch.relu(self.torso(env.observation["frame"]))
        words = self.words(env.observation["instr"]).mean(dim=2)
        one_hot = nn.functional.one_hot(env.last_action, A).float()
        x = torch.cat([frame, words, one_hot, env.reward.clamp(-1, 1)[..., None]], -1)
        h, c = core_state if core_state is not None else self.initial_state(B)
        outs = []
        for x_t, done_t in zip(x.unbind(0), env.done.unbind(0)):
            keep = (~done_t).float().unsqueeze(-1)
            h, c = self.core(x_t, (h * keep, c * keep))
            outs.append(h)
        y = torch.stack(outs)
        logits = self.policy(y)
        return AgentOutput(logits.argmax(-1), logits, self.baseline(y).squeeze(-1)), (h, c)


class ChainerImpala(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.torso = L.Linear(11, 16)
            self.embed = L.EmbedID(9, 5)
            self.lstm = L.LSTM(16 + 5 + A + 1, H)
            self.pi = L.Linear(H, A)
            self.v = L.Linear(H, 1)

    def forward(self, env, core_state=None):
        T, B = env.reward.shape
        frame = F.relu(self.torso(env.observation["frame"], n_batch_axes=2))
        words = F.mean(self.embed(env.observation["instr"]), axis=2)
        last = np.eye(A, dtype="f")[env.last_action]
        x = F.concat([frame, words, last, F.expand_dims(F.clip(env.reward, -1.0, 1.0), 2)], axis=2)
        self.lstm.reset_state()
        if core_state is not None:
            h, c = core_state
            self.lstm.set_state(chainer.as_variable(c), chainer.as_variable(h))
        ys = []
        for t in range(T):
            if self.lstm.h is not None:
                keep = (~env.done[t]).astype("f")[:, None]
                keep = np.broadcast_to(keep, (B, H))
                self.lstm.set_state(self.lstm.c * keep, self.lstm.h * keep)
            ys.append(self.lstm(x[t]))
        y = F.stack(ys)
        logits = self.pi(y, n_batch_axes=2)
        baseline = self.v(y, n_batch_axes=2)[:, :, 0]
        return AgentOutput(F.argmax(logits, axis=2), logits, baseline), (self.lstm.h, self.lstm.c)


class Lin(tf.Module):
    def __init__(self, i, o):
        super().__init__()
        self.kernel = tf.Variable(tf.random.normal((i, o)) / i**0.5)
        self.bias = tf.Variable(tf.random.normal((o,)) * 0.1)

    def __call__(self, x):
        return tf.tensordot(x, self.kernel, 1) + self.bias


class TFImpala(tf.Module):
    def __init__(self):
        super().__init__()
        self.torso = Lin(11, 16)
        self.table = tf.Variable(tf.random.normal((9, 5)))
        self.gates = Lin(16 + 5 + A + 1 + H, 4 * H)
        self.policy, self.value = Lin(H, A), Lin(H, 1)

    def cell(self, x, h, c):
        i, g, f, o = tf.split(self.gates(tf.concat([x, h], 1)), 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(c), c

    @tf.function
    def __call__(self, env, core_state=None):
        frame = tf.nn.relu(self.torso(env.observation["frame"]))
        words = tf.reduce_mean(tf.gather(self.table, env.observation["instr"]), axis=2)
        reward = tf.clip_by_value(env.reward, -1.0, 1.0)
        x = tf.concat(
            [frame, words, tf.one_hot(env.last_action, A), reward[..., tf.newaxis]], axis=-1
        )
        if core_state is None:
            zeros = tf.zeros((tf.shape(x)[1], H))
            core_state = (zeros, zeros)
        h, c = core_state
        hs = []
        for t in range(x.shape[0]):
            done = env.done[t][:, None]
            h = tf.where(done, tf.zeros_like(h), h)
            c = tf.where(done, tf.zeros_like(c), c)
            h, c = self.cell(x[t], h, c)
            hs.append(h)
        y = tf.stack(hs)
        logits = self.policy(y)
        return AgentOutput(tf.argmax(logits, -1), logits, tf.squeeze(self.value(y), -1)), (h, c)


def inputs():
    r = np.random.default_rng(0)
    f = lambda *s: r.normal(size=s).astype("f")
    env = EnvOutput(
        f(5, 3) * 2,
        r.random((5, 3)) < 0.3,
        {"frame": f(5, 3, 11), "instr": r.integers(0, 9, (5, 3, 4))},
        r.integers(0, A, (5, 3)),
    )
    return (env, (f(3, H), f(3, H)))


SIDES = {
    "torch": lambda: drawn(TorchImpala()),
    "tensorflow": lambda: drawn(TFImpala()),
    "chainer": lambda: drawn(ChainerImpala()),
}
