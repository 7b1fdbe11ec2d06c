"""QMIX: recurrent agents with shared weights, and a mixer.

Interface: a function over two modules, and a bound tf.function; hidden states in and out, integer
actions, a keyword-only boolean mask; a dict out.
"""

import chainer
import chainer.functions as CF
import chainer.links as L
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.interfaces.weights import drawn

N, OBS, ACT, HID, STATE, EMB = 3, 9, 5, 12, 11, 8


# ---- torch
class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS + N, HID)
        self.rnn = nn.GRUCell(HID, HID)
        self.fc2 = nn.Linear(HID, ACT)

    def forward(self, x, h):
        h = self.rnn(F.relu(self.fc1(x)), h)
        return self.fc2(h), h


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.hyper_w1 = nn.Linear(STATE, N * EMB)
        self.hyper_b1 = nn.Linear(STATE, EMB)
        self.hyper_w2 = nn.Sequential(nn.Linear(STATE, EMB), nn.ReLU(), nn.Linear(EMB, EMB))
        self.v = nn.Sequential(nn.Linear(STATE, EMB), nn.ReLU(), nn.Linear(EMB, 1))

    def forward(self, qs, state):
        w1 = self.hyper_w1(state).abs().view(-1, N, EMB)
        b1 = self.hyper_b1(state).view(-1, 1, EMB)
        hidden = F.elu(torch.bmm(qs.view(-1, 1, N), w1) + b1)
        w2 = self.hyper_w2(state).abs().view(-1, EMB, 1)
        return (torch.bmm(hidden, w2) + self.v(state).view(-1, 1, 1)).view(-1)


def make_torch():
    agent, mixer = drawn(Agent()), drawn(Mixer())

    def q_tot(obs, hidden, actions, state, *, avail=None):
        n = obs.shape[0]
        ids = torch.eye(N).expand(n, N, N)
        q, h = agent(torch.cat([obs, ids], -1).view(n * N, -1), hidden.reshape(n * N, HID))
        q = q.view(n, N, ACT)
        chosen = q.gather(-1, actions.unsqueeze(-1)).squeeze(-1)
        if avail is not None:
            q = q.masked_fill(~avail, -1e10)
        greedy = q.argmax(-1)
        return {
            "q_tot": mixer(chosen, state),
            "target": mixer(q.max(-1)[0], state),
            "greedy": greedy,
            "hidden": h.view(n, N, HID),
        }

    return q_tot


# ---- Chainer
class CAgent(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc1 = L.Linear(OBS + N, HID)
            self.x2g = L.Linear(HID, 3 * HID)
            self.h2g = L.Linear(HID, 3 * HID)
            self.fc2 = L.Linear(HID, ACT)

    def forward(self, x, h):
        x = CF.relu(self.fc1(x))
        xr, xz, xn = CF.split_axis(self.x2g(x), 3, axis=1)
        hr, hz, hn = CF.split_axis(self.h2g(h), 3, axis=1)
        r, z = CF.sigmoid(xr + hr), CF.sigmoid(xz + hz)
        n = CF.tanh(xn + r * hn)
        h = n + z * (h - n)
        return self.fc2(h), h


class CMixer(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.w1 = L.Linear(STATE, N * EMB)
            self.b1 = L.Linear(STATE, EMB)
            self.w2a, self.w2b = L.Linear(STATE, EMB), L.Linear(EMB, EMB)
            self.va, self.vb = L.Linear(STATE, EMB), L.Linear(EMB, 1)

    def forward(self, qs, s):
        w1 = CF.reshape(abs(self.w1(s)), (-1, N, EMB))
        w2 = CF.reshape(abs(self.w2b(CF.relu(self.w2a(s)))), (-1, EMB, 1))
        h = CF.elu(CF.matmul(CF.expand_dims(qs, 1), w1) + CF.expand_dims(self.b1(s), 1))
        v = self.vb(CF.relu(self.va(s)))
        return CF.reshape(CF.matmul(h, w2), (-1,)) + CF.squeeze(v, 1)


def make_chainer():
    agent, mixer = drawn(CAgent()), drawn(CMixer())

    def q_tot(obs, hidden, actions, state, *, avail=None):
        n = obs.shape[0]
        ids = np.broadcast_to(np.eye(N, dtype="float32"), (n, N, N))
        q, h = agent(
            CF.reshape(CF.concat([obs, ids], axis=2), (n * N, -1)), CF.reshape(hidden, (n * N, HID))
        )
        chosen = CF.reshape(CF.select_item(q, actions.reshape(-1)), (n, N))
        q = CF.reshape(q, (n, N, ACT))
        if avail is not None:
            q = CF.where(avail, q, np.full(q.shape, -1e10, "float32"))
        greedy = CF.argmax(q, axis=2)
        return {
            "q_tot": mixer(chosen, state),
            "target": mixer(CF.max(q, axis=2), state),
            "greedy": greedy,
            "hidden": CF.reshape(h, (n, N, HID)),
        }

    return q_tot


# ---- TensorFlow
class Lin(tf.Module):
    def __init__(self, i, o):
        super().__init__()
        self.w = tf.Variable(tf.random.normal((i, o)) / np.sqrt(i).astype("float32"))
        self.b = tf.Variable(tf.random.normal((o,)) * 0.1)

    def __call__(self, x):
        return tf.matmul(x, self.w) + self.b


class TFQmix(tf.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = Lin(OBS + N, HID), Lin(HID, ACT)
        self.xg, self.hg = Lin(HID, 3 * HID), Lin(HID, 3 * HID)
        self.w1, self.b1 = Lin(STATE, N * EMB), Lin(STATE, EMB)
        self.w2 = [Lin(STATE, EMB), Lin(EMB, EMB)]
        self.v = [Lin(STATE, EMB), Lin(EMB, 1)]

    def mix(self, qs, s):
        w1 = tf.reshape(tf.abs(self.w1(s)), (-1, N, EMB))
        h = tf.nn.elu(tf.einsum("bn,bne->be", qs, w1) + self.b1(s))
        w2 = tf.abs(self.w2[1](tf.nn.relu(self.w2[0](s))))
        return tf.reduce_sum(h * w2, -1) + self.v[1](tf.nn.relu(self.v[0](s)))[:, 0]

    @tf.function
    def q_tot(self, obs, hidden, actions, state, *, avail=None):
        n = tf.shape(obs)[0]
        ids = tf.eye(N, batch_shape=[n])
        x = tf.reshape(tf.concat([obs, ids], -1), (-1, OBS + N))
        h = tf.reshape(hidden, (-1, HID))
        xg = tf.split(self.xg(tf.nn.relu(self.fc1(x))), 3, -1)
        hg = tf.split(self.hg(h), 3, -1)
        r = tf.sigmoid(xg[0] + hg[0])
        z = tf.sigmoid(xg[1] + hg[1])
        h = (1 - z) * tf.tanh(xg[2] + r * hg[2]) + z * h
        q = tf.reshape(self.fc2(h), (-1, N, ACT))
        chosen = tf.gather(q, actions, batch_dims=2)
        if avail is not None:
            q = tf.where(avail, q, -1e10)
        return {
            "q_tot": self.mix(chosen, state),
            "target": self.mix(tf.reduce_max(q, -1), state),
            "greedy": tf.argmax(q, -1),
            "hidden": tf.reshape(h, (-1, N, HID)),
        }


def inputs(seed=0, n=7):
    r = np.random.default_rng(seed)
    f = lambda *s: r.normal(size=s).astype("float32")
    avail = r.random((n, N, ACT)) < 0.6
    avail[..., 0] = True
    return dict(
        obs=f(n, N, OBS),
        hidden=f(n, N, HID),
        actions=r.integers(0, ACT, (n, N)),
        state=f(n, STATE),
        avail=avail,
    )


KEEP = []


def tensorflow_side():
    KEEP.append(drawn(TFQmix()))  # a tf.function holds its object weakly
    return KEEP[-1].q_tot


SIDES = {
    "torch": make_torch,
    "tensorflow": tensorflow_side,
    "chainer": make_chainer,
}
