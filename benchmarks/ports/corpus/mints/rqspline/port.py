"""Rational-quadratic spline flow as a tf.Module."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
BIN_EPS = 1e-3
SLOPE_EPS = 1e-3


class Dense(tf.Module):
    def __init__(self, fin, fout, rng):
        super().__init__()
        self.w = tf.Variable(rng.normal(size=(fin, fout)).astype("float32") * 0.5)
        self.b = tf.Variable(rng.normal(size=(fout,)).astype("float32") * 0.5)

    def __call__(self, x):
        return x @ self.w + self.b


def bin_edges(logits, bound):
    k = logits.shape[-1]
    p = BIN_EPS + (1.0 - BIN_EPS * k) * tf.nn.softmax(logits)
    edges = tf.concat([tf.zeros_like(p[..., :1]), tf.cumsum(p, axis=-1)], -1)
    edges = 2.0 * bound * edges - bound
    return edges, edges[..., 1:] - edges[..., :-1]


def spline(x, width_logits, height_logits, slope_logits, bound=3.0):
    k = width_logits.shape[-1]
    edge_logit = np.log(np.expm1(1.0 - SLOPE_EPS))
    slope_logits = tf.pad(slope_logits, [[0, 0], [0, 0], [1, 1]], constant_values=edge_logit)
    slopes = SLOPE_EPS + tf.nn.softplus(slope_logits)
    xk, dx = bin_edges(width_logits, bound)
    yk, dy = bin_edges(height_logits, bound)
    index = tf.reduce_sum(tf.cast(x[..., None] >= xk, tf.int32), -1) - 1
    index = tf.clip_by_value(index, 0, k - 1)
    at = lambda t: tf.gather(t, index, axis=-1, batch_dims=2)
    s = at(dy) / at(dx)
    d0, d1 = at(slopes), at(slopes[..., 1:])
    t = (tf.clip_by_value(x, -bound, bound) - at(xk)) / at(dx)
    tt = t * (1.0 - t)
    den = s + (d0 + d1 - 2.0 * s) * tt
    y = at(yk) + at(dy) * (s * t**2 + d0 * tt) / den
    slope = s**2 * (d1 * t**2 + 2.0 * s * tt + d0 * (1.0 - t) ** 2)
    logdet = tf.math.log(slope) - 2.0 * tf.math.log(den)
    inside = tf.abs(x) <= bound
    return tf.where(inside, y, x), tf.where(inside, logdet, 0.0)


class Coupling(tf.Module):
    def __init__(self, dim, bins, hidden, rng):
        super().__init__()
        self.half, self.bins, self.hidden = dim // 2, bins, hidden
        self.inp = Dense(self.half, hidden, rng)
        self.res = [Dense(hidden, hidden, rng), Dense(hidden, hidden, rng)]
        self.out = Dense(hidden, (dim - self.half) * (3 * bins - 1), rng)

    def conditioner(self, a):
        h = self.inp(a)
        return self.out(h + self.res[1](tf.nn.relu(self.res[0](tf.nn.relu(h)))))

    def __call__(self, x):
        a, b = x[:, : self.half], x[:, self.half :]
        theta = tf.reshape(self.conditioner(a), (x.shape[0], -1, 3 * self.bins - 1))
        w, h, d = tf.split(theta, [self.bins, self.bins, self.bins - 1], axis=-1)
        w, h = w / self.hidden**0.5, h / self.hidden**0.5
        b, logdet = spline(b, w, h, d)
        return tf.concat([a, b], 1), tf.reduce_sum(logdet, -1)


class Flow(tf.Module):
    def __init__(self, dim=6, bins=5, hidden=12, layers=2, seed=0):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.steps = [Coupling(dim, bins, hidden, rng) for _ in range(layers)]

    def __call__(self, x):
        logdet = 0.0
        for step in self.steps:
            x, ld = step(x)
            logdet += ld
            x = x[:, ::-1]
        prior = -0.5 * tf.reduce_sum(x**2 + np.log(2 * np.pi), -1)
        return x, prior + logdet


def make():
    return Flow(seed=9)


def inputs(seed):
    return (np.random.default_rng(seed).normal(size=(8, 6)).astype("float32") * 1.5,)


def load(ported, original):
    for s, c in zip(ported.steps, original.couplings):
        pairs = [(s.inp, c.net.initial), (s.res[0], c.net.block[0]), (s.res[1], c.net.block[1]), (s.out, c.net.final)]
        for d, l in pairs:
            d.w.assign(l.weight.detach().numpy().T)
            d.b.assign(l.bias.detach().numpy())
