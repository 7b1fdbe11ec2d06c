"""QMIX over a tuple of agents.

Interface: a closure over an agent and a mixer; tuples of observations and of states, the latter out
again, keyword-only integers, of which some are optional; a dict of tuples out.
"""

import numpy as np
import tensorflow as tf
import torch
from torch import nn

from benchmarks.interfaces.weights import drawn

N, OBS, ACT, HID, STATE, EMB = 3, 8, 5, 10, 7, 6


class RNNAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(OBS + N, HID)
        self.rnn = nn.GRUCell(HID, HID)
        self.fc2 = nn.Linear(HID, ACT)

    def forward(self, x, h):
        h = self.rnn(torch.relu(self.fc1(x)), h)
        return self.fc2(h), h


class QMixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.hyper_w1 = nn.Linear(STATE, N * EMB)
        self.hyper_b1 = nn.Linear(STATE, EMB)
        self.hyper_w2 = nn.Linear(STATE, EMB)
        self.v = nn.Sequential(nn.Linear(STATE, EMB), nn.ReLU(), nn.Linear(EMB, 1))

    def forward(self, qs, state):
        w1 = self.hyper_w1(state).abs().view(-1, N, EMB)
        hidden = nn.functional.elu(
            torch.bmm(qs.unsqueeze(1), w1) + self.hyper_b1(state).unsqueeze(1)
        )
        w2 = self.hyper_w2(state).abs().unsqueeze(2)
        return (torch.bmm(hidden, w2).squeeze(1) + self.v(state)).squeeze(-1)


def torch_qmix(agent, mixer):
    def step(observations, hidden, *, state, avail_actions, actions=None):
        qs, new_hidden = [], []
        for i, (obs, h) in enumerate(zip(observations, hidden)):
            ident = nn.functional.one_hot(torch.full((len(obs),), i), N).float()
            q, h = agent(torch.cat([obs, ident], -1), h)
            qs.append(q)
            new_hidden.append(h)
        q = torch.stack(qs, 1)
        masked = q.masked_fill(avail_actions == 0, -9999999)
        if actions is None:
            chosen = masked.max(dim=-1).values
        else:
            chosen = q.gather(-1, actions.unsqueeze(-1)).squeeze(-1)
        return {
            "q_tot": mixer(chosen, state),
            "agents": tuple(qs),
            "hidden": tuple(new_hidden),
            "greedy": masked.argmax(-1),
        }

    return step


class Affine(tf.Module):
    def __init__(self, i, o):
        super().__init__()
        self.w = tf.Variable(tf.random.normal((i, o)) / i**0.5)
        self.b = tf.Variable(tf.random.normal((o,)) * 0.2)

    def __call__(self, x):
        return tf.matmul(x, self.w) + self.b


class Agent(tf.Module):
    """A GRU with the reset gate applied after the product, as in cuDNN."""

    def __init__(self):
        super().__init__()
        self.inp = Affine(OBS + N, HID)
        self.z_x, self.z_h = Affine(HID, HID), Affine(HID, HID)
        self.r_x, self.r_h = Affine(HID, HID), Affine(HID, HID)
        self.c_x, self.c_h = Affine(HID, HID), Affine(HID, HID)
        self.q = Affine(HID, ACT)

    def __call__(self, x, h):
        x = tf.nn.relu(self.inp(x))
        z = tf.sigmoid(self.z_x(x) + self.z_h(h))
        r = tf.sigmoid(self.r_x(x) + self.r_h(h))
        c = tf.tanh(self.c_x(x) + r * self.c_h(h))
        h = z * h + (1.0 - z) * c
        return self.q(h), h


class Mixer(tf.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.b1, self.w2 = Affine(STATE, N * EMB), Affine(STATE, EMB), Affine(STATE, EMB)
        self.v1, self.v2 = Affine(STATE, EMB), Affine(EMB, 1)

    def __call__(self, qs, state):
        w1 = tf.reshape(tf.abs(self.w1(state)), (-1, N, EMB))
        hidden = tf.nn.elu(tf.einsum("bn,bne->be", qs, w1) + self.b1(state))
        q = tf.reduce_sum(hidden * tf.abs(self.w2(state)), -1)
        return q + self.v2(tf.nn.relu(self.v1(state)))[:, 0]


def tf_qmix(agent, mixer):
    def step(observations, hidden, *, state, avail_actions, actions=None):
        outs = []
        for i in range(N):
            ident = tf.tile(tf.one_hot([i], N), (tf.shape(observations[i])[0], 1))
            outs.append(agent(tf.concat([observations[i], ident], 1), hidden[i]))
        q = tf.stack([o[0] for o in outs], axis=1)
        masked = tf.where(avail_actions == 0, -9999999.0, q)
        if actions is None:
            chosen = tf.reduce_max(masked, axis=-1)
        else:
            chosen = tf.gather(q, actions, batch_dims=2)
        return {
            "q_tot": mixer(chosen, state),
            "agents": tuple(o[0] for o in outs),
            "hidden": tuple(o[1] for o in outs),
            "greedy": tf.argmax(masked, -1),
        }

    return step


def inputs():
    r = np.random.default_rng(0)
    f = lambda *s: r.normal(size=s).astype("f")
    avail = (r.random((5, N, ACT)) < 0.7).astype("int64")
    avail[..., 0] = 1
    return dict(
        observations=tuple(f(5, OBS) for _ in range(N)),
        hidden=tuple(f(5, HID) for _ in range(N)),
        state=f(5, STATE),
        avail_actions=avail,
        actions=r.integers(0, ACT, (5, N)),
    )


SIDES = {
    "torch": lambda: torch_qmix(drawn(RNNAgent()), drawn(QMixer())),
    "tensorflow": lambda: tf_qmix(drawn(Agent()), drawn(Mixer())),
}
