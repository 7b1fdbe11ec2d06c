"""PARROT-like behavioural prior: conditional RealNVP over actions (mask formulation), tanh-squashed."""
import math

import keras
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
OBS, ACT, HID, LAYERS = 8, 6, 24, 4
PERMS = np.random.RandomState(4).permutation(ACT), np.random.RandomState(9).permutation(ACT)


class ActNorm(keras.layers.Layer):
    def build(self, shape):
        self.shift = self.add_weight(shape=(ACT,), initializer=keras.initializers.RandomNormal(0, 0.3, seed=1), name="shift")
        self.logs = self.add_weight(shape=(ACT,), initializer=keras.initializers.RandomNormal(0, 0.3, seed=2), name="logs")

    def call(self, x):
        return (x + self.shift) * tf.exp(self.logs), tf.reduce_sum(self.logs)

    def invert(self, y):
        return y * tf.exp(-self.logs) - self.shift, -tf.reduce_sum(self.logs)


class MaskedCoupling(keras.layers.Layer):
    def __init__(self, parity):
        super().__init__()
        self.b = tf.constant(((np.arange(ACT) + parity) % 2).astype("float32"))
        self.hidden = keras.layers.Dense(HID, activation="tanh")
        self.s = keras.layers.Dense(ACT)
        self.t = keras.layers.Dense(ACT)

    def params(self, kept, obs):
        h = self.hidden(tf.concat([kept, obs], axis=-1))
        s = 0.8 * tf.tanh(self.s(h)) * (1.0 - self.b)
        t = self.t(h) * (1.0 - self.b)
        return s, t

    def call(self, x, obs):
        s, t = self.params(x * self.b, obs)
        return x * tf.exp(s) + t, tf.reduce_sum(s, axis=-1)

    def invert(self, y, obs):
        s, t = self.params(y * self.b, obs)
        return (y - t) * tf.exp(-s), -tf.reduce_sum(s, axis=-1)


class FlowPrior(keras.Model):
    """__call__(obs, action, z): density of a dataset action and the action produced by a latent."""

    def __init__(self):
        super().__init__()
        self.norms = [ActNorm() for _ in range(LAYERS)]
        self.couplings = [MaskedCoupling(i % 2) for i in range(LAYERS)]

    def call(self, obs, action, z):
        u = tf.atanh(tf.clip_by_value(action, -0.999, 0.999))
        x, logdet = u, -self.tanh_jacobian(u)
        for i in range(LAYERS):
            x, ld = self.norms[i](x)
            logdet += ld
            x, ld = self.couplings[i](x, obs)
            logdet += ld
            x = tf.gather(x, PERMS[i % 2], axis=-1)
        logp = self.base(x) + logdet

        y, fwd = z, tf.zeros_like(z[:, 0])
        for i in reversed(range(LAYERS)):
            y = tf.gather(y, np.argsort(PERMS[i % 2]), axis=-1)
            y, ld = self.couplings[i].invert(y, obs)
            fwd += ld
            y, ld = self.norms[i].invert(y)
            fwd += ld
        sample_logp = self.base(z) - fwd - self.tanh_jacobian(y)
        return {"latent": x, "log_prob": logp, "sample": tf.tanh(y), "sample_log_prob": sample_logp}

    @staticmethod
    def base(x):
        return -0.5 * tf.reduce_sum(x ** 2 + math.log(2 * math.pi), axis=-1)

    @staticmethod
    def tanh_jacobian(u):
        return tf.reduce_sum(2.0 * (math.log(2.0) - u - tf.nn.softplus(-2.0 * u)), axis=-1)


def make():
    keras.utils.set_random_seed(13)
    m = FlowPrior()
    m(tf.zeros((1, OBS)), tf.zeros((1, ACT)), tf.zeros((1, ACT)))
    rng = np.random.RandomState(6)
    for c in m.couplings:
        for d in (c.hidden, c.s, c.t):
            k, b = d.get_weights()
            d.set_weights([k, rng.normal(0, 0.2, b.shape).astype("float32")])
    return m


def inputs(seed):
    rng = np.random.RandomState(seed)
    return (rng.randn(6, OBS).astype("float32"), np.tanh(rng.randn(6, ACT)).astype("float32") * 0.98,
            rng.randn(6, ACT).astype("float32"))
