"""DIAYN in Keras 3."""
import math

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
OBS, ACT, SKILLS, HID = 9, 3, 5, 16
LOG_STD_MIN, LOG_STD_MAX = -4.0, -0.5


def mlp(sizes, act, out):
    return keras.Sequential([layers.Dense(n, activation=act) for n in sizes] + [layers.Dense(out)])


class RunningNorm(layers.Layer):
    def build(self, shape):
        self.mean = self.add_weight(shape=(shape[-1],), initializer="zeros", trainable=False, name="mean")
        self.var = self.add_weight(shape=(shape[-1],), initializer="ones", trainable=False, name="var")

    def call(self, x):
        scale = ops.sqrt(self.var + 1e-8)
        return ops.clip((x - self.mean) / scale, -2.0, 2.0)


class DIAYN(keras.Model):
    def __init__(self, alpha=0.1, gamma=0.95):
        super().__init__()
        self.norm = RunningNorm()
        self.trunk = keras.Sequential([layers.Dense(HID, "elu"), layers.Dense(HID, "elu")])
        self.heads = layers.Dense(2 * ACT)
        self.d1 = layers.Dense(HID)
        self.ln = layers.LayerNormalization(epsilon=1e-5)
        self.d2 = layers.Dense(HID, "relu")
        self.logits = layers.Dense(SKILLS)
        self.q1 = mlp([HID, HID], "relu", 1)
        self.q2 = mlp([HID, HID], "relu", 1)
        self.alpha, self.gamma = alpha, gamma

    def act(self, s, z, eps):
        h = self.trunk(ops.concatenate([s, z], axis=-1))
        mu, log_std = ops.split(self.heads(h), 2, axis=-1)
        span = LOG_STD_MAX - LOG_STD_MIN
        log_std = LOG_STD_MIN + 0.5 * span * (ops.tanh(log_std) + 1)
        a = ops.tanh(mu + ops.exp(log_std) * eps)
        logp = -0.5 * ops.square(eps) - log_std - 0.5 * math.log(2 * math.pi)
        squash = ops.log(1 - ops.square(a) + 1e-6)
        return a, ops.sum(logp - squash, axis=-1, keepdims=True)

    def discriminate(self, s):
        h = ops.tanh(self.ln(self.d1(s)))
        return ops.log_softmax(self.logits(self.d2(h)), axis=-1)

    def call(self, obs, z, next_obs, eps):
        s, s_next = self.norm(obs), self.norm(next_obs)
        logq = self.discriminate(s_next)
        reward = ops.sum(logq * z, axis=-1, keepdims=True) + math.log(SKILLS)
        a, logp = self.act(s_next, z, eps)
        sza = ops.concatenate([s_next, z, a], axis=-1)
        q = ops.minimum(self.q1(sza), self.q2(sza))
        target = reward + self.gamma * (q - self.alpha * logp)
        current = self.q1(ops.concatenate([s, z, ops.zeros_like(a)], axis=-1))
        return a, reward, target, target - current


def make():
    r = np.random.default_rng(11)
    m = DIAYN()
    m(*[ops.convert_to_tensor(x) for x in inputs(0)])
    for w in m.weights:
        w.assign(np.abs(r.normal(size=w.shape) * 0.4) + 0.05)
    return m


def inputs(seed):
    r = np.random.default_rng(seed)
    z = np.eye(SKILLS, dtype="float32")[r.integers(0, SKILLS, 6)]
    f = lambda *s: r.normal(size=s).astype("float32")
    return f(6, OBS), z, f(6, OBS), f(6, ACT)


def load(m, o):
    n = lambda t: t.detach().numpy()
    dense = lambda k, l: k.set_weights([n(l.weight).T, n(l.bias)])
    m.norm.set_weights([n(o.norm.mean), n(o.norm.var)])
    for k, l in zip(m.trunk.layers, (o.policy.fc1, o.policy.fc2)):
        dense(k, l)
    p = o.policy
    m.heads.set_weights([np.concatenate([n(p.mu.weight), n(p.log_std.weight)]).T,
                         np.concatenate([n(p.mu.bias), n(p.log_std.bias)])])
    dense(m.d1, o.disc.fc1)
    m.ln.set_weights([n(o.disc.ln.weight), n(o.disc.ln.bias)])
    dense(m.d2, o.disc.fc2)
    dense(m.logits, o.disc.out)
    for k, c in ((m.q1, o.q1), (m.q2, o.q2)):
        for d, l in zip(k.layers, (c.fc1, c.fc2, c.q)):
            dense(d, l)
