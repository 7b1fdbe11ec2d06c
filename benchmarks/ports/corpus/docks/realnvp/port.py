"""The flow policy in TensorFlow: tf.Modules."""
import math

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
OBS, ACT, CTX, HID, FLOWS = 7, 4, 8, 12, 4


class Linear(tf.Module):
    def __init__(self, rng, n_in, n_out, name=None):
        super().__init__(name)
        self.w = tf.Variable(rng.normal(size=(n_in, n_out)).astype("float32") * 0.3, name="w")
        self.b = tf.Variable(rng.normal(size=(n_out,)).astype("float32") * 0.3, name="b")

    def __call__(self, x):
        return x @ self.w + self.b


class ActNorm(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.loc = tf.Variable(rng.normal(size=ACT).astype("float32"))
        self.log_scale = tf.Variable(rng.normal(size=ACT).astype("float32"))

    def __call__(self, x):
        return (x + self.loc) * tf.exp(self.log_scale), tf.reduce_sum(self.log_scale)


class Coupling(tf.Module):
    def __init__(self, rng, odd):
        super().__init__()
        self.mask = np.array([(i + odd) % 2 for i in range(ACT)], "float32")
        self.inp = Linear(rng, ACT + CTX, HID)
        self.hid = Linear(rng, HID, HID)
        self.params = Linear(rng, HID, 2 * ACT)
        self.rescale = tf.Variable(rng.normal(size=ACT).astype("float32"))

    def __call__(self, x, ctx):
        free = 1.0 - self.mask
        h = tf.concat([x * self.mask, ctx], axis=-1)
        h = tf.nn.leaky_relu(self.inp(h), alpha=0.1)
        h = tf.nn.leaky_relu(self.hid(h), alpha=0.1)
        s, t = tf.split(self.params(h), 2, axis=-1)
        s = tf.tanh(s) * self.rescale * free
        y = x * tf.exp(s) + t * free
        return y, tf.reduce_sum(s, axis=-1)


class FlowPolicy(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.ctx1 = Linear(rng, OBS, HID)
        self.ctx2 = Linear(rng, HID, CTX)
        self.norms = [ActNorm(rng) for _ in range(FLOWS)]
        self.couplings = [Coupling(rng, i % 2) for i in range(FLOWS)]
        self.low = tf.Variable(-0.5 - rng.uniform(size=ACT).astype("float32"), trainable=False)
        self.high = tf.Variable(0.5 + rng.uniform(size=ACT).astype("float32"), trainable=False)

    def __call__(self, obs, noise):
        ctx = self.ctx2(tf.tanh(self.ctx1(obs)))
        x, log_det = noise, tf.zeros(tf.shape(noise)[0])
        for norm, coupling in zip(self.norms, self.couplings):
            x, ld_norm = norm(x)
            x, ld_coupling = coupling(x, ctx)
            log_det += ld_norm + ld_coupling
            x = tf.reverse(x, axis=[-1])
        base = tf.reduce_sum(-0.5 * noise ** 2 - 0.5 * math.log(2 * math.pi), axis=-1)
        u = tf.tanh(x)
        half = 0.5 * (self.high - self.low)
        action = self.low + half * (u + 1.0)
        squash = tf.reduce_sum(tf.math.log(half) + tf.math.log1p(-tf.square(u) + 1e-6), axis=-1)
        return action, base - log_det - squash, x


def make():
    return FlowPolicy(np.random.default_rng(19))


def inputs(seed):
    r = np.random.default_rng(seed)
    return r.normal(size=(6, OBS)).astype("float32"), r.normal(size=(6, ACT)).astype("float32") * 0.6


def load(m, o):
    n = lambda t: t.detach().numpy()

    def lin(k, *ls):
        k.w.assign(np.concatenate([n(l.weight) for l in ls]).T)
        k.b.assign(np.concatenate([n(l.bias) for l in ls]))

    lin(m.ctx1, o.ctx[0]), lin(m.ctx2, o.ctx[2])
    for k, l in zip(m.norms, o.norms):
        k.loc.assign(n(l.loc)), k.log_scale.assign(n(l.log_scale))
    for k, l in zip(m.couplings, o.couplings):
        lin(k.inp, l.inp), lin(k.hid, l.hid), lin(k.params, l.scale, l.shift)
        k.rescale.assign(n(l.rescale))
    m.low.assign(n(o.low)), m.high.assign(n(o.high))
