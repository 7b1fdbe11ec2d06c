"""Glow-like flow on vectors in Keras: actnorm, LU linear, masked coupling; with log-determinants."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
DIM, CONTEXT = 6, 3


class ActNorm(layers.Layer):
    def build(self, shape):
        self.loc = self.add_weight(shape=(DIM,), initializer="zeros", name="loc")
        self.log_scale = self.add_weight(shape=(DIM,), initializer="zeros", name="log_scale")

    def call(self, x):
        y = (x - self.loc) * ops.exp(self.log_scale)
        return y, ops.broadcast_to(ops.sum(self.log_scale), (ops.shape(x)[0],))


class LULinear(layers.Layer):
    def __init__(self, seed, **kwargs):
        super().__init__(**kwargs)
        self.order = np.random.default_rng(seed).permutation(DIM)

    def build(self, shape):
        self.lower = self.add_weight(shape=(DIM, DIM), name="lower")
        self.upper = self.add_weight(shape=(DIM, DIM), name="upper")
        self.log_diagonal = self.add_weight(shape=(DIM,), initializer="zeros", name="log_diagonal")

    def call(self, x):
        x = ops.take(x, self.order, axis=-1)
        lower = ops.tril(self.lower, k=-1) + ops.eye(DIM)
        upper = ops.triu(self.upper, k=1) + ops.diag(ops.exp(self.log_diagonal))
        y = ops.matmul(ops.matmul(x, upper), lower)
        return y, ops.sum(self.log_diagonal) * ops.ones_like(x[:, 0])


class Coupling(layers.Layer):
    """The masked half goes through; the rest is scaled and shifted by a net of it and the context."""

    def __init__(self, parity, hidden=16, **kwargs):
        super().__init__(**kwargs)
        self.mask = ((np.arange(DIM) + parity) % 2).astype("float32")
        self.hidden = layers.Dense(hidden, activation="swish")
        self.shift = layers.Dense(DIM)
        self.scale = layers.Dense(DIM, activation="tanh")

    def build(self, shape):
        self.gain = self.add_weight(shape=(DIM,), initializer="ones", name="gain")

    def call(self, x, context):
        kept = x * self.mask
        h = self.hidden(ops.concatenate([kept, context], axis=-1))
        log_s = self.scale(h) * self.gain * (1.0 - self.mask)
        shift = self.shift(h) * (1.0 - self.mask)
        return kept + (1.0 - self.mask) * (x * ops.exp(log_s) + shift), ops.sum(log_s, axis=-1)


class Flow(keras.Model):
    def __init__(self, depth=2):
        super().__init__()
        self.norms = [ActNorm() for _ in range(depth)]
        self.linears = [LULinear(seed) for seed in range(depth)]
        self.couplings = [Coupling(k % 2) for k in range(depth)]

    def call(self, x, context):
        # dequantised pixels to the real line
        p = 0.05 + 0.9 * x
        z = ops.log(p) - ops.log(1.0 - p)
        log_det = ops.sum(np.log(0.9).astype("float32") - ops.log(p) - ops.log(1.0 - p), axis=-1)
        for norm, linear, coupling in zip(self.norms, self.linears, self.couplings):
            z, d = norm(z)
            log_det += d
            z, d = linear(z)
            log_det += d
            z, d = coupling(z, context)
            log_det += d
        prior = -0.5 * ops.sum(z**2 + np.log(2 * np.pi).astype("float32"), axis=-1)
        bits = -(prior + log_det) / (DIM * np.log(2.0).astype("float32"))
        return z, log_det, bits


def make():
    keras.utils.set_random_seed(7)
    net = Flow()
    net(ops.ones((1, DIM)) * 0.5, ops.ones((1, CONTEXT)))
    rng = np.random.default_rng(7)
    for v in net.weights:
        v.assign(v + 0.3 * rng.normal(size=v.shape))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    return (
        rng.uniform(size=(5, DIM)).astype("float32"),
        rng.normal(size=(5, CONTEXT)).astype("float32"),
    )
