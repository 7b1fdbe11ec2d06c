"""A policy over a set of entities.

Interface: a dataclass observation with a boolean mask, a keyword-only mask of actions; a frozen
dataclass out, with an optional field. Attention is a library's nowhere.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
import torch
from torch import nn

from benchmarks.interfaces.weights import drawn

E, H, NSEED, NACT = 20, 4, 2, 6


@dataclass
class EntityObs:
    me: Any
    entities: Any
    entity_mask: Any


@dataclass(frozen=True)
class PolicyOut:
    logits: Any
    value: Any
    attention: Any
    aux: Any | None = None


class TorchSetPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.me = nn.Sequential(nn.Linear(5, E), nn.ReLU())
        self.phi = nn.Sequential(nn.Linear(8, E), nn.ReLU(), nn.Linear(E, E))
        self.seeds = nn.Parameter(torch.randn(NSEED, E))
        self.q, self.k, self.v, self.o = (
            nn.Linear(E, E, bias=b) for b in (False, False, True, True)
        )
        self.rho = nn.Linear(E + NSEED * E + E, 32)
        self.pi, self.vf = nn.Linear(32, NACT), nn.Linear(32, 1)

    def pool(self, x, mask):
        n, m, _ = x.shape
        q = self.q(self.seeds).view(1, NSEED, H, E // H).transpose(1, 2)
        k = self.k(x).view(n, m, H, E // H).transpose(1, 2)
        v = self.v(x).view(n, m, H, E // H).transpose(1, 2)
        scores = q @ k.transpose(-1, -2) / math.sqrt(E // H)
        scores = scores.masked_fill(~mask[:, None, None, :], float("-inf"))
        att = scores.softmax(-1)
        out = (att @ v).transpose(1, 2).reshape(n, NSEED, E)
        return self.o(out), att

    def forward(self, obs: EntityObs, *, action_mask=None):
        me = self.me(obs.me)
        x = self.phi(obs.entities) + me[:, None]
        pooled, att = self.pool(x, obs.entity_mask)
        m = obs.entity_mask.float().unsqueeze(-1)
        mean = (x * m).sum(1) / m.sum(1).clamp(min=1.0)
        h = torch.tanh(self.rho(torch.cat([me, pooled.flatten(1), mean], -1)))
        logits = self.pi(h)
        if action_mask is not None:
            logits = torch.where(action_mask, logits, torch.finfo(logits.dtype).min)
        return PolicyOut(logits, self.vf(h).squeeze(-1), att.mean(1))


class Dense(tf.Module):
    def __init__(self, i, o, use_bias=True, name=None):
        super().__init__(name)
        self.kernel = tf.Variable(
            tf.random.truncated_normal((i, o), stddev=1 / math.sqrt(i)), name="kernel"
        )
        self.bias = (
            tf.Variable(tf.random.uniform((o,), -0.1, 0.1), name="bias") if use_bias else None
        )

    def __call__(self, x):
        y = tf.tensordot(x, self.kernel, 1)
        return tf.nn.bias_add(y, self.bias) if self.bias is not None else y


class TFSetPolicy(tf.Module):
    def __init__(self):
        super().__init__("set_policy")
        r = tf.random.normal
        self.me = Dense(5, E)
        self.phi = (Dense(8, E), Dense(E, E))
        self.seeds = tf.Variable(r((NSEED, E)), name="seeds")
        self.wq = tf.Variable(r((E, H, E // H)) * 0.2, name="wq")
        self.wk = tf.Variable(r((E, H, E // H)) * 0.2, name="wk")
        self.wv = tf.Variable(r((E, H, E // H)) * 0.2, name="wv")
        self.bv = tf.Variable(r((H, E // H)) * 0.2, name="bv")
        self.wo = tf.Variable(r((H, E // H, E)) * 0.2, name="wo")
        self.bo = tf.Variable(r((E,)) * 0.2, name="bo")
        self.rho = Dense(E + NSEED * E + E, 32)
        self.pi, self.vf = Dense(32, NACT, name="pi"), Dense(32, 1, name="vf")

    @tf.function(reduce_retracing=True)
    def _pool(self, x, mask):
        q = tf.einsum("se,ehd->shd", self.seeds, self.wq)
        k = tf.einsum("nme,ehd->nmhd", x, self.wk)
        v = tf.einsum("nme,ehd->nmhd", x, self.wv) + self.bv
        scores = tf.einsum("shd,nmhd->nhsm", q, k) / math.sqrt(E // H)
        scores += (1.0 - tf.cast(mask, tf.float32))[:, None, None, :] * -1e9
        att = tf.nn.softmax(scores)
        out = tf.einsum("nhsm,nmhd->nshd", att, v)
        return tf.einsum("nshd,hde->nse", out, self.wo) + self.bo, att

    def __call__(self, obs: EntityObs, *, action_mask=None):
        me = tf.nn.relu(self.me(obs.me))
        x = self.phi[1](tf.nn.relu(self.phi[0](obs.entities))) + me[:, tf.newaxis]
        pooled, att = self._pool(x, obs.entity_mask)
        m = tf.cast(obs.entity_mask, tf.float32)[..., tf.newaxis]
        mean = tf.reduce_sum(x * m, 1) / tf.maximum(tf.reduce_sum(m, 1), 1.0)
        h = tf.tanh(self.rho(tf.concat([me, tf.reshape(pooled, (-1, NSEED * E)), mean], -1)))
        logits = self.pi(h)
        if action_mask is not None:
            logits = tf.where(action_mask, logits, tf.float32.min)
        return PolicyOut(logits, tf.squeeze(self.vf(h), -1), tf.reduce_mean(att, 1))


def inputs(seed=0, n=5, m=7):
    r = np.random.default_rng(seed)
    mask = r.random((n, m)) < 0.6
    mask[:, 0] = True
    obs = EntityObs(
        r.normal(size=(n, 5)).astype("float32"), r.normal(size=(n, m, 8)).astype("float32"), mask
    )
    am = r.random((n, NACT)) < 0.7
    am[:, 2] = True
    return {"obs": obs, "action_mask": am}


SIDES = {
    "torch": lambda: drawn(TorchSetPolicy()),
    "tensorflow": lambda: drawn(TFSetPolicy()),
}
