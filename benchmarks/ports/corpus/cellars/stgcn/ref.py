import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
N, T, KT, KS, HORIZON = 7, 12, 3, 3, 3


def scaled_laplacian(seed=9):
    r = np.random.RandomState(seed)
    w = r.rand(N, N) * (r.rand(N, N) < 0.6)
    w = (w + w.T) / 2
    np.fill_diagonal(w, 0)
    d = w.sum(1) + 0.1
    lap = np.eye(N) - w / np.sqrt(d[:, None] * d[None])
    lam = np.linalg.eigvalsh(lap).max()
    return (2 * lap / lam - np.eye(N)).astype("float32")


class TemporalGatedConv(layers.Layer):
    """(B, T, N, C) -> (B, T - KT + 1, N, C'): (conv_p + residual) * sigmoid(conv_q)"""

    def __init__(self, c_in, c_out, **kw):
        super().__init__(**kw)
        self.c_out = c_out
        self.align = layers.Conv2D(c_out, 1, use_bias=False) if c_in != c_out else None
        self.conv = layers.Conv2D(2 * c_out, (KT, 1))

    def call(self, x):
        res = x if self.align is None else self.align(x)
        res = res[:, KT - 1:]
        p, q = ops.split(self.conv(x), 2, axis=-1)
        return (p + res) * ops.sigmoid(q)


class ChebConv(layers.Layer):
    def __init__(self, c_in, c_out, **kw):
        super().__init__(**kw)
        self.theta = self.add_weight(shape=(KS, c_in, c_out), initializer="glorot_normal", name="theta")
        self.bias = self.add_weight(shape=(c_out,), initializer="zeros", name="bias")
        self.lap = self.add_weight(shape=(N, N), initializer="zeros", trainable=False, name="lap")
        self.lap.assign(scaled_laplacian())

    def call(self, x):
        t0 = x
        t1 = ops.einsum("nm,btmc->btnc", self.lap, x)
        terms = [t0, t1]
        for _ in range(2, KS):
            t2 = 2.0 * ops.einsum("nm,btmc->btnc", self.lap, terms[-1]) - terms[-2]
            terms.append(t2)
        z = ops.stack(terms, axis=-2)
        return ops.einsum("btnkc,kcd->btnd", z, self.theta) + self.bias


class STConvBlock(layers.Layer):
    def __init__(self, c_in, mid, c_out, **kw):
        super().__init__(**kw)
        self.t1 = TemporalGatedConv(c_in, mid)
        self.cheb = ChebConv(mid, mid)
        self.t2 = TemporalGatedConv(mid, c_out)
        self.norm = layers.LayerNormalization(axis=[2, 3], epsilon=1e-5)

    def call(self, x):
        x = self.t1(x)
        x = ops.relu(self.cheb(x) + x)
        x = self.t2(x)
        return self.norm(x)


class STGCN(keras.Model):
    def __init__(self):
        super().__init__()
        self.b1 = STConvBlock(2, 8, 10)
        self.b2 = STConvBlock(10, 8, 12)
        self.out_conv = layers.Conv2D(16, (T - 4 * (KT - 1), 1), activation="sigmoid")
        self.fc = layers.Dense(HORIZON)

    def call(self, x):
        x = self.b2(self.b1(x))
        x = self.out_conv(x)
        return self.fc(ops.squeeze(x, 1))


def make():
    keras.utils.set_random_seed(51)
    m = STGCN()
    m(np.zeros((1, T, N, 2), "float32"))
    r = np.random.RandomState(52)
    for w in m.weights:
        if w.name == "lap":
            continue
        if w.name == "gamma":
            w.assign(r.rand(*w.shape) + 0.5)
        elif len(w.shape) == 1 or w.name == "beta":
            w.assign(r.randn(*w.shape) * 0.3)
        else:
            w.assign(r.randn(*w.shape) * (1.0 / np.prod(w.shape[:-1])) ** 0.5)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randn(4, T, N, 2).astype("float32"),)
