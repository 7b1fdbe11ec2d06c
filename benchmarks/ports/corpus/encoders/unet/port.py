"""The U-Net denoiser in Keras, NHWC."""
import math

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
B, S, CH = 3, 12, 8


class ResKeras(layers.Layer):
    def __init__(self, cout):
        super().__init__()
        self.c1, self.n1 = layers.Conv2D(cout, 3, padding="same"), layers.GroupNormalization(4, epsilon=1e-5)
        self.c2, self.n2 = layers.Conv2D(cout, 3, padding="same"), layers.GroupNormalization(4, epsilon=1e-5)
        self.t = layers.Dense(cout)

    def call(self, x, e):
        h = ops.silu(self.n1(self.c1(x)))
        bias = self.t(e)[:, None, None, :]
        h = h + bias
        return ops.silu(self.n2(self.c2(h)))


class UNetKeras(keras.Model):
    def __init__(self):
        super().__init__()
        self.t1, self.t2 = layers.Dense(32, activation="silu"), layers.Dense(32)
        self.r1 = ResKeras(CH)
        self.pad = layers.ZeroPadding2D(1)
        self.down = layers.Conv2D(2 * CH, 3, 2, padding="valid")
        self.mid = ResKeras(2 * CH)
        self.grow = layers.UpSampling2D(2, interpolation="nearest")
        self.up = layers.Conv2D(CH, 3, padding="same")
        self.r2, self.out = ResKeras(CH), layers.Conv2D(2, 1)

    def embed(self, t, dim):
        half = dim // 2
        freq = ops.exp(-math.log(10000.0) * ops.arange(half, dtype="float32") / half)
        args = t[:, None] * freq[None]
        return ops.concatenate([ops.sin(args), ops.cos(args)], -1)

    def call(self, x, t):
        e = self.t2(self.t1(self.embed(t, 16)))
        s = self.r1(x, e)
        h = self.down(self.pad(s))
        h = self.mid(h, e)
        h = self.up(self.grow(h))
        h = ops.concatenate([h, s], -1)
        return self.out(self.r2(h, e))


def np_(p):
    return p.detach().numpy()


def make():
    net = UNetKeras()
    net(np.zeros((B, S, S, 2), "float32"), np.zeros(B, "float32"))
    return net


def load(net, ref):
    conv = lambda k, c: k.set_weights([np_(c.weight).transpose(2, 3, 1, 0), np_(c.bias)])
    dense = lambda k, c: k.set_weights([np_(c.weight).T, np_(c.bias)])
    dense(net.t1, ref.time[0]); dense(net.t2, ref.time[2])
    for k, c in ((net.down, ref.down), (net.up, ref.up), (net.out, ref.out)):
        conv(k, c)
    for k, c in ((net.r1, ref.r1), (net.mid, ref.mid), (net.r2, ref.r2)):
        conv(k.c1, c.c1); conv(k.c2, c.c2); dense(k.t, c.t)
        for a, b in ((k.n1, c.n1), (k.n2, c.n2)):
            a.set_weights([np_(b.weight), np_(b.bias)])
