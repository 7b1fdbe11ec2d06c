"""IMPALA's core, unrolled over time.

Interface: a bound method, of a tf.function on one side; a tuple of an environment's outputs, a
boolean done, a NamedTuple state in and out, a keyword-only scalar; a tuple of two NamedTuples out.
"""

from typing import Any, NamedTuple

import chainer
import chainer.functions as CF
import chainer.links as L
import numpy as np
import tensorflow as tf

from benchmarks.interfaces.weights import drawn

OBS, ACT, HID = 6, 5, 9


class LSTMState(NamedTuple):
    h: Any
    c: Any


class AgentOutput(NamedTuple):
    logits: Any
    baseline: Any
    action: Any


class TFImpala(tf.Module):
    def __init__(self):
        super().__init__("impala")
        r = lambda *s: tf.random.normal(s, stddev=0.4)
        self.torso_w, self.torso_b = (
            tf.Variable(r(OBS, 12), name="torso_w"),
            tf.Variable(r(12), name="torso_b"),
        )
        self.kernel = tf.Variable(r(12 + ACT + 1 + HID, 4 * HID), name="kernel")
        self.gamma, self.beta = (
            tf.Variable(1 + r(4 * HID), name="gamma"),
            tf.Variable(r(4 * HID), name="beta"),
        )
        self.policy_w, self.policy_b = (
            tf.Variable(r(HID, ACT), name="policy_w"),
            tf.Variable(r(ACT), name="policy_b"),
        )
        self.value_w, self.value_b = (
            tf.Variable(r(HID, 1), name="value_w"),
            tf.Variable(r(1), name="value_b"),
        )

    def core(self, x, state):
        gates = tf.concat([x, state.h], 1) @ self.kernel
        mean, var = tf.nn.moments(gates, [1], keepdims=True)
        gates = (gates - mean) / tf.sqrt(var + 1e-5) * self.gamma + self.beta
        i, j, f, o = tf.split(gates, 4, 1)
        c = tf.sigmoid(f + 1.0) * state.c + tf.sigmoid(i) * tf.tanh(j)
        return LSTMState(tf.sigmoid(o) * tf.tanh(c), c)

    @tf.function
    def unroll(self, env, done, state, *, temperature=1.0):
        obs, last_action, reward = env
        x = tf.nn.relu(tf.tensordot(obs, self.torso_w, 1) + self.torso_b)
        x = tf.concat(
            [x, tf.one_hot(last_action, ACT), tf.clip_by_value(reward, -1.0, 1.0)[..., None]], -1
        )
        outs = []
        for t in range(x.shape[0]):
            state = LSTMState(*[tf.where(done[t][:, None], tf.zeros_like(s), s) for s in state])
            state = self.core(x[t], state)
            outs.append(state.h)
        y = tf.stack(outs)
        logits = (tf.tensordot(y, self.policy_w, 1) + self.policy_b) / temperature
        baseline = tf.squeeze(tf.tensordot(y, self.value_w, 1) + self.value_b, -1)
        return AgentOutput(logits, baseline, tf.argmax(logits, -1)), state


class ChainerImpala(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.torso = L.Linear(OBS, 12)
            self.x2g = L.Linear(12 + ACT + 1, 4 * HID, nobias=True)
            self.h2g = L.Linear(HID, 4 * HID, nobias=True)
            self.ln = L.LayerNormalization(4 * HID, eps=1e-5)
            self.policy = L.Linear(HID, ACT)
            self.value = L.Linear(HID, 1)

    def core(self, x, h, c):
        gates = self.ln(self.x2g(x) + self.h2g(h))
        i, j, f, o = CF.split_axis(gates, 4, axis=1)
        c = CF.sigmoid(f + 1) * c + CF.sigmoid(i) * CF.tanh(j)
        return CF.sigmoid(o) * CF.tanh(c), c

    def unroll(self, env, done, state, *, temperature=1.0):
        obs, last_action, reward = env
        T, B = obs.shape[:2]
        x = CF.relu(self.torso(obs, n_batch_axes=2))
        onehot = np.eye(ACT, dtype="float32")[last_action]
        reward = np.clip(reward, -1, 1).reshape(T, B, 1)
        x = CF.concat([x, onehot, reward], axis=2)
        h, c = state
        outs = []
        for t in range(T):
            keep = np.repeat(1 - done[t].astype("float32")[:, None], HID, axis=1)
            h, c = self.core(x[t], h * keep, c * keep)
            outs.append(h)
        y = CF.stack(outs)
        logits = self.policy(y, n_batch_axes=2) / temperature
        baseline = CF.squeeze(self.value(y, n_batch_axes=2), 2)
        return AgentOutput(logits, baseline, CF.argmax(logits, axis=2)), LSTMState(h, c)


def inputs(seed=0, t=5, n=4):
    r = np.random.default_rng(seed)
    f = lambda *s: r.normal(size=s).astype("float32")
    env = (f(t, n, OBS), r.integers(0, ACT, (t, n)), 2 * f(t, n))
    return {
        "env": env,
        "done": r.random((t, n)) < 0.3,
        "state": LSTMState(f(n, HID), f(n, HID)),
        "temperature": np.float32(1.5),
    }


KEEP = []


def tensorflow_side():
    KEEP.append(drawn(TFImpala()))  # a tf.function holds its object weakly
    return KEEP[-1].unroll


SIDES = {
    "tensorflow": tensorflow_side,
    "chainer": lambda: drawn(ChainerImpala()).unroll,
}
