"""Residual dense network for super-resolution in Chainer."""
import numpy as np
import parity
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
LAYOUT = "NCHW"
MEAN = np.array([0.4488, 0.4371, 0.4040], "f")


class RDB(chainer.Chain):
    def __init__(self, g0, g, c):
        super().__init__()
        self.c = c
        with self.init_scope():
            for i in range(c):
                setattr(self, "conv%d" % i, L.Convolution2D(g0 + i * g, g, 3, pad=1))
            self.lff = L.Convolution2D(g0 + c * g, g0, 1)

    def forward(self, x):
        h = x
        for i in range(self.c):
            h = F.concat((h, F.relu(self["conv%d" % i](h))), axis=1)
        return self.lff(h) + x


class RDN(chainer.Chain):
    def __init__(self, d=3, g0=8, g=4, c=3, scale=2):
        super().__init__()
        self.d, self.scale = d, scale
        with self.init_scope():
            self.sfe1 = L.Convolution2D(3, g0, 3, pad=1)
            self.sfe2 = L.Convolution2D(g0, g0, 3, pad=1)
            for i in range(d):
                setattr(self, "rdb%d" % i, RDB(g0, g, c))
            self.gff1 = L.Convolution2D(d * g0, g0, 1)
            self.gff2 = L.Convolution2D(g0, g0, 3, pad=1)
            self.up1 = L.Convolution2D(g0, g0 * scale ** 2, 3, pad=1)
            self.up2 = L.Convolution2D(g0, 3, 3, pad=1)

    def forward(self, x):
        mean = MEAN.reshape(1, 3, 1, 1)
        x = x - mean
        f_1 = self.sfe1(x)
        h = self.sfe2(f_1)
        outs = []
        for i in range(self.d):
            h = self["rdb%d" % i](h)
            outs.append(h)
        h = self.gff2(self.gff1(F.concat(outs, axis=1)))
        h = h + f_1
        h = F.depth2space(self.up1(h), self.scale)
        h = self.up2(h)
        return h + mean


def make():
    r = np.random.RandomState(8)
    m = RDN()
    for p in m.params():
        p.array[...] = r.normal(0, 1.2 / np.sqrt(np.prod(p.shape[1:])) if p.ndim > 1 else 0.2, p.shape)
    return m


def inputs(seed):
    return (np.random.RandomState(seed).rand(4, 3, 8, 10).astype("f"),)
