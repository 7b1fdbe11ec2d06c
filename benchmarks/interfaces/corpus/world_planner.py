"""A world model that plans.

Interface: a closure over three modules, and a bound tf.function; a dict observation, a discount
with a default; a tuple out that holds a list.
"""

import chainer
import chainer.functions as CF
import chainer.links as L
import numpy as np
import tensorflow as tf

from benchmarks.interfaces.weights import drawn


class CEncoder(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(11, 20)
            self.ln = L.LayerNormalization(20, eps=1e-5)
            self.out = L.Linear(20, 10)

    def forward(self, obs):
        x = CF.concat([obs["qpos"], obs["qvel"], obs["goal"]], axis=1)
        return CF.tanh(self.out(CF.elu(self.ln(self.fc(x)))))


class CGRU(chainer.Chain):
    """h' = z h + (1 - z) n, gates in one product."""

    def __init__(self, n_in, n_h):
        super().__init__()
        self.n_h = n_h
        with self.init_scope():
            self.gates = L.Linear(n_in + n_h, 2 * n_h)
            self.cand = L.Linear(n_in + n_h, n_h)

    def forward(self, x, h):
        r, z = CF.split_axis(CF.sigmoid(self.gates(CF.concat([x, h], axis=1))), 2, axis=1)
        n = CF.tanh(self.cand(CF.concat([x, r * h], axis=1)))
        return z * h + (1.0 - z) * n


class CHeads(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.reward = L.Linear(10 + 3, 1)
            self.cont = L.Linear(10, 1)
            self.value = L.Linear(10, 1)


def chainer_planner(enc, dyn, heads):
    def plan(obs, actions, discount=0.97):
        z = enc(obs)
        rewards, latents = [], []
        gain, total = 1.0, 0.0
        for t in range(actions.shape[1]):
            a = actions[:, t]
            r = heads.reward(CF.concat([z, a], axis=1))[:, 0]
            z = dyn(a, z)
            total = total + gain * r
            gain = gain * discount * CF.sigmoid(heads.cont(z))[:, 0]
            rewards.append(r)
            latents.append(z)
        total = total + gain * heads.value(z)[:, 0]
        return total, rewards, latents[-1]

    return plan


class TFWorld(tf.Module):
    def __init__(self):
        super().__init__()
        d = lambda *s: tf.Variable(tf.random.normal(s) * 0.3)
        self.fc, self.fcb = d(11, 20), d(20)
        self.gamma, self.beta = tf.Variable(tf.ones(20) + 0.1 * tf.random.normal((20,))), d(20)
        self.out, self.outb = d(20, 10), d(10)
        self.wr, self.wz, self.wn = d(13, 10), d(13, 10), d(13, 10)
        self.br, self.bz, self.bn = d(10), d(10), d(10)
        self.rew_z, self.rew_a, self.rew_b = d(10, 1), d(3, 1), d(1)
        self.cont, self.contb = d(10, 1), d(1)
        self.val, self.valb = d(10, 1), d(1)

    def encode(self, obs):
        x = tf.concat([obs["qpos"], obs["qvel"], obs["goal"]], 1) @ self.fc + self.fcb
        m, v = tf.nn.moments(x, [1], keepdims=True)
        x = (x - m) * tf.math.rsqrt(v + 1e-5) * self.gamma + self.beta
        return tf.tanh(tf.nn.elu(x) @ self.out + self.outb)

    def dynamics(self, a, h):
        x = tf.concat([a, h], 1)
        r = tf.sigmoid(x @ self.wr + self.br)
        z = tf.sigmoid(x @ self.wz + self.bz)
        n = tf.tanh(tf.concat([a, r * h], 1) @ self.wn + self.bn)
        return z * h + (1.0 - z) * n

    @tf.function
    def plan(self, obs, actions, discount=0.97):
        z = self.encode(obs)
        rewards = []
        gain = tf.ones(tf.shape(actions)[0])
        total = tf.zeros(tf.shape(actions)[0])
        for t in range(actions.shape[1]):
            a = actions[:, t]
            r = tf.squeeze(z @ self.rew_z + a @ self.rew_a + self.rew_b, 1)
            z = self.dynamics(a, z)
            total += gain * r
            cont = tf.sigmoid(z @ self.cont + self.contb)
            gain *= discount * cont[:, 0]
            rewards.append(r)
        total += gain * tf.squeeze(z @ self.val + self.valb, 1)
        return total, rewards, z


def inputs():
    r = np.random.default_rng(8)
    f = lambda *s: r.normal(size=s).astype("float32")
    return ({"qpos": f(9, 4), "qvel": f(9, 4), "goal": f(9, 3)}, f(9, 5, 3))


KEEP = []


def tensorflow_side():
    KEEP.append(drawn(TFWorld()))  # a tf.function holds its object weakly
    return KEEP[-1].plan


SIDES = {
    "tensorflow": tensorflow_side,
    "chainer": lambda: chainer_planner(drawn(CEncoder()), drawn(CGRU(3, 10)), drawn(CHeads())),
}
