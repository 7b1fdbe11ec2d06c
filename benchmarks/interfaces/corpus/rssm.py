"""One observed step of Dreamer's world model.

Interface: a NamedTuple of states, an action and a nested dict observation with a boolean; a bound
method, a Keras model and a tf.function; a tuple of two NamedTuples and a dict with a None out.
"""

from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F
from keras import layers, ops
from torch import nn

from benchmarks.interfaces.weights import drawn

D, S, K, A = 16, 4, 5, 3


class RSSMState(NamedTuple):
    deter: Any
    stoch: Any
    logits: Any


# ---- torch
class NormGRUCell(nn.Module):
    def __init__(self, inp, size):
        super().__init__()
        self.layer = nn.Linear(inp + size, 3 * size, bias=False)
        self.norm = nn.LayerNorm(3 * size, eps=1e-3)

    def forward(self, x, h):
        parts = self.norm(self.layer(torch.cat([x, h], -1)))
        reset, cand, update = torch.chunk(parts, 3, -1)
        cand = torch.tanh(torch.sigmoid(reset) * cand)
        update = torch.sigmoid(update - 1.0)
        return update * cand + (1 - update) * h


class TorchRSSM(nn.Module):
    def __init__(self, unimix=0.01):
        super().__init__()
        self.unimix = unimix
        self.inp = nn.Linear(S * K + A, 14)
        self.cell = NormGRUCell(14, D)
        self.prior1 = nn.Linear(D, 18)
        self.prior2 = nn.Linear(18, S * K)
        self.proprio = nn.Linear(6, 7)
        self.post1 = nn.Linear(D + 12 + 7, 18)
        self.post2 = nn.Linear(18, S * K)

    def _mix(self, logits):
        probs = torch.softmax(logits.reshape(-1, S, K), -1)
        probs = (1 - self.unimix) * probs + self.unimix / K
        return torch.log(probs), probs

    def obs_step(self, state, action, obs):
        keep = 1.0 - obs["is_first"].float()[:, None]
        deter, stoch, action = state.deter * keep, state.stoch * keep[..., None], action * keep
        x = F.silu(self.inp(torch.cat([stoch.flatten(1), action], -1)))
        deter = self.cell(x, deter)
        prior_logits, prior = self._mix(self.prior2(F.silu(self.prior1(deter))))
        body = F.elu(self.proprio(torch.cat([obs["proprio"]["pos"], obs["proprio"]["vel"]], -1)))
        post = self.post1(torch.cat([deter, obs["embed"], body], -1))
        logits, probs = self._mix(self.post2(F.silu(post)))
        kl = (probs * (logits - prior_logits)).sum((-2, -1))
        return (
            RSSMState(deter, probs, logits),
            RSSMState(deter, prior, prior_logits),
            {"kl": kl, "decoder": None},
        )


# ---- Keras
class KerasRSSM(keras.Model):
    def __init__(self, unimix=0.01, **kw):
        super().__init__(**kw)
        self.unimix = unimix
        self.img_in = layers.Dense(14, activation="silu")
        self.gates = layers.Dense(3 * D, use_bias=False)
        self.gates_norm = layers.LayerNormalization(epsilon=1e-3)
        self.ims = keras.Sequential([layers.Dense(18, activation="silu"), layers.Dense(S * K)])
        self.body = layers.Dense(7, activation="elu")
        self.obs_out = keras.Sequential([layers.Dense(18, activation="silu"), layers.Dense(S * K)])

    def mix(self, x):
        probs = ops.softmax(ops.reshape(x, (-1, S, K)))
        probs = (1 - self.unimix) * probs + self.unimix / K
        return ops.log(probs), probs

    def call(self, state, action, obs, training=False):
        keep = 1.0 - ops.cast(obs["is_first"], "float32")
        deter = state.deter * keep[:, None]
        stoch = state.stoch * keep[:, None, None]
        action = action * keep[:, None]
        flat = ops.reshape(stoch, (-1, S * K))
        x = self.img_in(ops.concatenate([flat, action], axis=-1))
        r, c, u = ops.split(
            self.gates_norm(self.gates(ops.concatenate([x, deter], axis=-1))), 3, axis=-1
        )
        c = ops.tanh(ops.sigmoid(r) * c)
        u = ops.sigmoid(u - 1)
        deter = u * c + (1 - u) * deter
        prior_logits, prior = self.mix(self.ims(deter))
        body = self.body(ops.concatenate([obs["proprio"]["pos"], obs["proprio"]["vel"]], axis=-1))
        logits, probs = self.mix(
            self.obs_out(ops.concatenate([deter, obs["embed"], body], axis=-1))
        )
        kl = ops.sum(probs * (logits - prior_logits), axis=(-2, -1))
        return (
            RSSMState(deter, probs, logits),
            RSSMState(deter, prior, prior_logits),
            {"kl": kl, "decoder": None},
        )


# ---- TensorFlow
class TFLinear(tf.Module):
    def __init__(self, i, o, bias=True, name=None):
        super().__init__(name=name)
        self.w = tf.Variable(tf.random.normal((i, o), stddev=i**-0.5), name="w")
        self.b = tf.Variable(tf.random.normal((o,), stddev=0.1), name="b") if bias else None

    def __call__(self, x):
        y = x @ self.w
        return y if self.b is None else y + self.b


class TFRSSM(tf.Module):
    def __init__(self, unimix=0.01):
        super().__init__()
        self.unimix = unimix
        self.inp = TFLinear(S * K + A, 14)
        self.gates = TFLinear(14 + D, 3 * D, bias=False)
        self.scale = tf.Variable(tf.ones(3 * D))
        self.offset = tf.Variable(tf.zeros(3 * D))
        self.prior = [TFLinear(D, 18), TFLinear(18, S * K)]
        self.body = TFLinear(6, 7)
        self.post = [TFLinear(D + 19, 18), TFLinear(18, S * K)]

    def head(self, mlp, x):
        logits = tf.reshape(mlp[1](tf.nn.silu(mlp[0](x))), (-1, S, K))
        probs = (1 - self.unimix) * tf.nn.softmax(logits) + self.unimix / K
        return tf.math.log(probs), probs

    @tf.function
    def __call__(self, state, action, obs):
        first = obs["is_first"]
        deter = tf.where(first[:, None], 0.0, state.deter)
        stoch = tf.where(first[:, None, None], 0.0, state.stoch)
        action = tf.where(first[:, None], 0.0, action)
        x = tf.nn.silu(self.inp(tf.concat([tf.reshape(stoch, (-1, S * K)), action], -1)))
        g = self.gates(tf.concat([x, deter], -1))
        mean, var = tf.nn.moments(g, -1, keepdims=True)
        g = tf.nn.batch_normalization(g, mean, var, self.offset, self.scale, 1e-3)
        r, c, u = tf.split(g, 3, -1)
        u = tf.sigmoid(u - 1)
        deter = u * tf.tanh(tf.sigmoid(r) * c) + (1 - u) * deter
        prior_logits, prior = self.head(self.prior, deter)
        proprio = obs["proprio"]
        body = tf.nn.elu(self.body(tf.concat([proprio["pos"], proprio["vel"]], -1)))
        logits, probs = self.head(self.post, tf.concat([deter, obs["embed"], body], -1))
        kl = tf.reduce_sum(probs * (logits - prior_logits), (-2, -1))
        return (
            RSSMState(deter, probs, logits),
            RSSMState(deter, prior, prior_logits),
            {"kl": kl, "decoder": None},
        )


def inputs(seed=0, n=6):
    r = np.random.default_rng(seed)
    f = lambda *s: r.normal(size=s).astype("float32")
    p = np.abs(f(n, S, K))
    p /= p.sum(-1, keepdims=True)
    state = RSSMState(f(n, D), p, np.log(p))
    obs = {
        "embed": f(n, 12),
        "proprio": {"pos": f(n, 3), "vel": f(n, 3)},
        "is_first": np.array([False, True, False, False, True, False])[:n],
    }
    return (state, f(n, A), obs)


def keras_side():
    model = KerasRSSM()
    model(*inputs())
    return drawn(model)


SIDES = {
    "torch": lambda: drawn(TorchRSSM()).obs_step,
    "keras": keras_side,
    "tensorflow": lambda: drawn(TFRSSM()),
}
