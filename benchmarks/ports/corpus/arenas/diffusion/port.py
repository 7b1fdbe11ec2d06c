"""The conditional U-Net in Keras, channels last."""
import math

import keras
import numpy as np
from keras import layers, ops
from torch import nn

FRAMEWORK = "tensorflow"
ACT, TH, COND, D = 3, 8, 10, 16


def mish(x):
    return x * ops.tanh(ops.softplus(x))


class KBlock(layers.Layer):
    def __init__(self, o):
        super().__init__()
        self.conv, self.norm = layers.Conv1D(o, 3, padding="same"), layers.GroupNormalization(4, epsilon=1e-5)

    def call(self, x):
        return mish(self.norm(self.conv(x)))


class KRes(layers.Layer):
    def __init__(self, i, o):
        super().__init__()
        self.b1, self.b2 = KBlock(o), KBlock(o)
        self.cond = layers.Dense(2 * o)
        self.skip = layers.Conv1D(o, 1) if i != o else (lambda x: x)

    def call(self, x, cond):
        out = self.b1(x)
        scale, bias = ops.split(self.cond(mish(cond))[:, None], 2, axis=-1)
        out = scale * out + bias
        return self.b2(out) + self.skip(x)


class KUnet(keras.Model):
    def __init__(self):
        super().__init__()
        self.t1, self.t2 = layers.Dense(4 * D), layers.Dense(D)
        self.d1, self.d2 = KRes(ACT, 16), KRes(16, 24)
        self.down = layers.Conv1D(16, 3, strides=2, padding="valid")
        self.up1 = KRes(24, 16)
        self.up = layers.Conv1DTranspose(16, 4, strides=2, padding="same")
        self.last = KRes(32, 16)
        self.f1, self.f2 = KBlock(16), layers.Conv1D(ACT, 1)

    def time_embedding(self, t):
        half = D // 2
        rate = math.log(10000) / (half - 1)
        freq = ops.exp(ops.arange(half, dtype="float32") * -rate)
        ang = t[:, None] * freq[None]
        return ops.concatenate([ops.sin(ang), ops.cos(ang)], axis=-1)

    def call(self, sample, timestep, cond):
        t = self.t2(mish(self.t1(self.time_embedding(timestep))))
        g = ops.concatenate([t, cond], axis=-1)
        h = self.d1(sample, g)
        x = self.down(ops.pad(h, [[0, 0], [1, 1], [0, 0]]))
        x = self.up(self.up1(self.d2(x, g), g))
        x = self.last(ops.concatenate([x, h], axis=-1), g)
        return self.f2(self.f1(x))


def make():
    net = KUnet()
    net(np.zeros((4, TH, ACT), "float32"), np.zeros((4,), "float32"), np.zeros((4, COND), "float32"))
    return net


def load(net, ref):
    n = lambda p: p.detach().numpy()
    lin = lambda k, m: k.set_weights([n(m.weight).T, n(m.bias)])
    cv = lambda k, m: k.set_weights([n(m.weight).transpose(2, 1, 0), n(m.bias)])

    def block(k, m):
        cv(k.conv, m.block[0])
        k.norm.set_weights([n(m.block[1].weight), n(m.block[1].bias)])

    lin(net.t1, ref.time[1]), lin(net.t2, ref.time[3])
    for name in ("d1", "d2", "up1", "last"):
        k, m = getattr(net, name), getattr(ref, name)
        block(k.b1, m.b1), block(k.b2, m.b2), lin(k.cond, m.cond[1])
        if isinstance(m.skip, nn.Conv1d):
            cv(k.skip, m.skip)
    cv(net.down, ref.down), cv(net.up, ref.up)
    block(net.f1, ref.final[0]), cv(net.f2, ref.final[1])
