"""TCN encoder with a bivariate mixture density head (trajectory forecasting), Keras."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
K, C = 4, 16


def bias():
    return keras.initializers.RandomNormal(stddev=0.2)


def norm():
    return layers.LayerNormalization(epsilon=1e-6, beta_initializer=bias(),
                                     gamma_initializer=keras.initializers.RandomUniform(0.6, 1.4))


class ResidualBlock(layers.Layer):
    def __init__(self, filters, dilation, **kw):
        super().__init__(**kw)
        self.n1 = norm()
        self.c1 = layers.Conv1D(filters, 3, padding="causal", dilation_rate=dilation, bias_initializer=bias())
        self.n2 = norm()
        self.c2 = layers.Conv1D(filters, 3, padding="causal", dilation_rate=dilation, bias_initializer=bias())
        self.gate = layers.Conv1D(filters, 1, activation="sigmoid", bias_initializer=bias())
        self.skip = None
        self.filters = filters

    def build(self, shape):
        inner = (*shape[:-1], self.filters)
        for l, s in ((self.n1, shape), (self.c1, shape), (self.n2, inner), (self.c2, inner), (self.gate, inner)):
            l.build(s)
        if shape[-1] != self.filters:
            self.skip = layers.Conv1D(self.filters, 1, use_bias=False)
            self.skip.build(shape)

    def call(self, x):
        h = self.c1(ops.gelu(self.n1(x), approximate=False))
        h = self.c2(ops.gelu(self.n2(h), approximate=False))
        res = x if self.skip is None else self.skip(x)
        return res + self.gate(h) * h


class TCNMDN(keras.Model):
    def __init__(self):
        super().__init__()
        self.blocks = [ResidualBlock(f, d) for f, d in ((12, 1), (C, 2), (C, 4))]
        self.head = layers.Dense(6 * K, bias_initializer=bias())

    def call(self, x, y):
        h = x
        for b in self.blocks:
            h = b(h)
        o = self.head(ops.gelu(h, approximate=False))
        logit, mx, my, sx, sy, rho = ops.split(o, 6, axis=-1)
        log_pi = ops.log_softmax(logit, axis=-1)
        sx, sy = ops.softplus(sx) + 1e-2, ops.softplus(sy) + 1e-2
        rho = 0.95 * ops.tanh(rho)
        dx, dy = (y[..., :1] - mx) / sx, (y[..., 1:] - my) / sy
        om = 1.0 - rho ** 2
        log_n = -(dx ** 2 + dy ** 2 - 2 * rho * dx * dy) / (2 * om) - ops.log(2 * np.pi * sx * sy * ops.sqrt(om))
        log_p = ops.logsumexp(log_pi + log_n, axis=-1)
        pi = ops.exp(log_pi)
        mean = ops.stack([ops.sum(pi * mx, -1), ops.sum(pi * my, -1)], -1)
        second = ops.stack([ops.sum(pi * (sx ** 2 + mx ** 2), -1), ops.sum(pi * (sy ** 2 + my ** 2), -1)], -1)
        resp = ops.softmax(log_pi + log_n, axis=-1)
        return log_p, mean, second - mean ** 2, resp


def make():
    keras.utils.set_random_seed(31)
    m = TCNMDN()
    m(np.zeros((2, 14, 5), np.float32), np.zeros((2, 14, 2), np.float32))
    return m


def data(seed):
    g = np.random.default_rng(seed + 60)
    return g.normal(size=(4, 14, 5)).astype(np.float32), g.normal(0, 0.7, (4, 14, 2)).astype(np.float32)


def inputs(seed):
    return data(seed)
