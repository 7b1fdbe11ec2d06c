"""Implicit quantiles.

Interface: a bound method, of a tf.function on one side; quantiles as the second input, an optional
mask of integers; a NamedTuple out, with infinities. `forward` itself raises.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import torch
from torch import nn

from benchmarks.interfaces.weights import drawn


class Quantiles(NamedTuple):
    quantiles: Any
    q: Any
    action: Any


class TorchIQN(nn.Module):
    def __init__(self, obs_dim=8, actions=4, n_cos=12, hidden=20):
        super().__init__()
        self.psi = nn.Sequential(nn.Linear(obs_dim, hidden), nn.LeakyReLU(0.1))
        self.phi = nn.Linear(n_cos, hidden)
        self.adv = nn.Linear(hidden, actions)
        self.val = nn.Linear(hidden, 1)
        self.register_buffer("pis", math.pi * torch.arange(1, n_cos + 1).float())
        self.calls = 0

    def forward(self, obs):
        raise RuntimeError("use q_values")

    def q_values(self, obs, taus, legal=None, risk=1.0):
        self.calls += 1
        taus = taus * risk
        cos = torch.cos(taus.unsqueeze(-1) * self.pis)
        h = self.psi(obs).unsqueeze(1) * torch.relu(self.phi(cos))  # (B, N, H)
        adv = self.adv(h)
        z = self.val(h) + adv - adv.mean(-1, keepdim=True)
        q = z.mean(1)
        if legal is not None:
            q = q.masked_fill(legal == 0, float("-inf"))
        return Quantiles(z, q, q.argmax(1))


class TFIQN(tf.Module):
    def __init__(self, obs_dim=8, actions=4, n_cos=12, hidden=20):
        super().__init__()
        rnd = lambda *s: tf.Variable(tf.random.normal(s) * 0.2)
        self.value_w, self.value_b = rnd(hidden, 1), rnd(1)
        self.adv_w, self.adv_b = rnd(hidden, actions), rnd(actions)
        self.phi_w, self.phi_b = rnd(n_cos, hidden), rnd(hidden)
        self.psi_w, self.psi_b = rnd(obs_dim, hidden), rnd(hidden)
        self.n_cos = n_cos

    @tf.function
    def q_values(self, obs, taus, legal=None, risk=1.0):
        i = tf.range(1, self.n_cos + 1, dtype=tf.float32)
        cos = tf.cos((taus * risk)[..., None] * i * math.pi)
        psi = tf.nn.leaky_relu(obs @ self.psi_w + self.psi_b, alpha=0.1)
        phi = tf.nn.relu(tf.tensordot(cos, self.phi_w, 1) + self.phi_b)
        h = psi[:, None] * phi
        adv = tf.tensordot(h, self.adv_w, 1) + self.adv_b
        val = tf.tensordot(h, self.value_w, 1) + self.value_b
        z = val + adv - tf.reduce_mean(adv, -1, keepdims=True)
        q = tf.reduce_mean(z, 1)
        if legal is not None:
            q = tf.where(tf.cast(legal, tf.bool), q, -math.inf)
        return Quantiles(z, q, tf.argmax(q, 1))


def inputs(seed=0, n=5):
    r = np.random.default_rng(seed)
    legal = (r.random((n, 4)) < 0.6).astype("int64")
    legal[:, 2] = 1
    return (r.normal(size=(n, 8)).astype("float32"), r.random((n, 9)).astype("float32"), legal)


KEEP = []


def tensorflow_side():
    KEEP.append(drawn(TFIQN()))  # a tf.function holds its object weakly
    return KEEP[-1].q_values


SIDES = {
    "torch": lambda: drawn(TorchIQN()).q_values,
    "tensorflow": tensorflow_side,
}
