"""Backpropamine agent in Keras 3."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
I, UNITS, ACTS, T, CLIP = 7, 10, 4, 5, 0.6


class PlasticCell(layers.Layer):
    def __init__(self, units, **kw):
        super().__init__(**kw)
        self.units = units
        self.inp = layers.Dense(units)
        self.mod = layers.Dense(1, activation="tanh")
        self.fan_out = layers.Dense(units)

    def build(self, shape):
        u = self.units
        self.fixed = self.add_weight(shape=(u, u), name="fixed")
        self.alpha = self.add_weight(shape=(u, u), name="alpha")
        self.eta = self.add_weight(shape=(), name="eta")
        self.inp.build(shape)
        self.mod.build((None, u))
        self.fan_out.build((None, 1))
        self.built = True

    def call(self, x, states):
        h, hebb, trace = states
        rec = ops.einsum("bi,bij->bj", h, self.fixed + self.alpha * hebb)
        new = ops.tanh(self.inp(x) + rec)
        m = self.fan_out(self.mod(new))
        new_hebb = ops.clip(hebb + m[:, None, :] * trace, -CLIP, CLIP)
        eta = ops.sigmoid(self.eta)
        new_trace = (1 - eta) * trace + eta * ops.einsum("bi,bj->bij", h, new)
        return new, (new, new_hebb, new_trace)


class PlasticAgent(keras.Model):
    def __init__(self):
        super().__init__()
        self.cell = PlasticCell(UNITS)
        self.actor = layers.Dense(ACTS, activation="softmax")
        self.critic = layers.Dense(1)

    def call(self, x):
        b = ops.shape(x)[0]
        zeros = ops.zeros((b, UNITS, UNITS))
        states = (ops.zeros((b, UNITS)), zeros, zeros)
        hs = []
        for t in range(T):
            h, states = self.cell(x[:, t], states)
            hs.append(h)
        hs = ops.stack(hs, axis=1)
        return self.actor(hs), ops.squeeze(self.critic(hs), axis=-1), states[1]


def make():
    m = PlasticAgent()
    m(*inputs(0))
    r = np.random.default_rng(92)
    for w in m.weights:
        s = tuple(w.shape)
        v = 0.3 * r.normal(size=s) if len(s) < 2 else r.normal(size=s) / np.sqrt(s[0])
        w.assign(np.asarray(v, "float32"))
    return m


def inputs(seed):
    return (np.random.default_rng(seed).normal(size=(6, T, I)).astype("float32"),)


def load(ported, original):
    d = lambda k, l: k.set_weights([l.W.array.T, l.b.array])
    c, o = ported.cell, original
    d(c.inp, o.i2h), d(c.mod, o.h2da), d(c.fan_out, o.da_fan), d(ported.actor, o.h2o), d(ported.critic, o.h2v)
    c.fixed.assign(o.w.array), c.alpha.assign(o.alpha.array), c.eta.assign(o.eta.array[0])
