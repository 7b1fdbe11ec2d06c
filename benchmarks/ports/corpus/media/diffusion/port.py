"""A DDPM denoiser with a sinusoidal timestep embedding, in Keras (NHWC)."""
import math

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
T, C, TE = 100, 16, 32


class KRes(layers.Layer):
    def __init__(self, cin, cout, eps=1e-5):
        super().__init__()
        self.norm1 = layers.GroupNormalization(4, epsilon=eps)
        self.conv1 = layers.Conv2D(cout, 3, padding="same")
        self.time = layers.Dense(cout)
        self.norm2 = layers.GroupNormalization(4, epsilon=eps)
        self.conv2 = layers.Conv2D(cout, 3, padding="same")
        self.short = layers.Conv2D(cout, 1) if cin != cout else None

    def call(self, x, t):
        h = self.conv1(ops.silu(self.norm1(x)))
        h = h + self.time(ops.silu(t))[:, None, None, :]
        h = self.conv2(ops.silu(self.norm2(h)))
        return h + (x if self.short is None else self.short(x))


class KDDPM(keras.Model):
    def __init__(self):
        super().__init__()
        betas = np.linspace(1e-3, 0.05, T)
        self.abar = ops.convert_to_tensor(np.cumprod(1 - betas).astype("float32"))
        half = TE // 2
        self.freqs = ops.convert_to_tensor(np.exp(-math.log(10000) * np.arange(half) / half).astype("float32"))
        self.t1, self.t2 = layers.Dense(TE), layers.Dense(TE)
        self.inc = layers.Conv2D(C, 3, padding="same")
        self.down = KRes(C, 2 * C)
        self.mid = KRes(2 * C, 2 * C)
        self.up = KRes(3 * C, C)
        self.norm = layers.GroupNormalization(4, epsilon=1e-5)
        self.out = layers.Conv2D(3, 3, padding="same")
        self.gen = keras.random.SeedGenerator(7)

    def eps(self, x, t):
        a = ops.cast(t, "float32")[:, None] * self.freqs[None]
        parts = [ops.sin(a), ops.cos(a)]
        emb = ops.concatenate(parts, -1)
        emb = self.t2(ops.silu(self.t1(emb)))
        h0 = self.inc(x)
        h = self.down(layers.AveragePooling2D(2)(h0), emb)
        h = self.mid(h, emb)
        h = ops.repeat(ops.repeat(h, 2, axis=1), 2, axis=2)
        h = self.up(ops.concatenate([h, h0], -1), emb)
        return self.out(ops.silu(self.norm(h)))

    def call(self, x0, t):
        noise = keras.random.normal(ops.shape(x0), seed=self.gen)
        ab = ops.reshape(ops.take(self.abar, t), (-1, 1, 1, 1))
        xt = ops.sqrt(ab) * x0 + ops.sqrt(1.0 - ab) * noise
        pred = self.eps(xt, t)
        return ops.mean((pred - noise) ** 2, axis=(1, 2, 3))


def make():
    net = KDDPM()
    net(np.zeros((4, 8, 8, 3), "float32"), np.zeros(4, "int64"))
    return net


def load(net, ref):
    def one(m, layer):
        w, b = m.weight.detach().numpy(), m.bias.detach().numpy()
        layer.set_weights([{1: w, 2: w.T, 4: w.transpose(2, 3, 1, 0) if w.ndim == 4 else w}[w.ndim], b])

    for k in ("t1", "t2", "inc", "norm", "out"):
        one(getattr(ref, k), getattr(net, k))
    for k in ("down", "mid", "up"):
        a, b = getattr(ref, k), getattr(net, k)
        for n in ("norm1", "conv1", "time", "norm2", "conv2"):
            one(getattr(a, n), getattr(b, n))
        if b.short is not None:
            one(a.short, b.short)
