"""RCAN super-resolution x2 (Zhang et al. 2018), Chainer."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
MEAN = np.array([0.4488, 0.4371, 0.4040], "f").reshape(1, 3, 1, 1)
CH = 12


class ChannelAttention(chainer.Chain):
    def __init__(self, ch, reduction=3):
        super().__init__()
        with self.init_scope():
            self.down = L.Convolution2D(ch, ch // reduction, 1)
            self.up = L.Convolution2D(ch // reduction, ch, 1)

    def forward(self, x):
        s = F.average_pooling_2d(x, x.shape[2:])
        s = F.relu(self.down(s))
        s = F.sigmoid(self.up(s))
        return x * F.broadcast_to(s, x.shape)


class RCAB(chainer.Chain):
    def __init__(self, ch):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(ch, ch, 3, pad=1)
            self.conv2 = L.Convolution2D(ch, ch, 3, pad=1)
            self.ca = ChannelAttention(ch)

    def forward(self, x):
        h = self.conv2(F.relu(self.conv1(x)))
        return x + self.ca(h)


class Group(chainer.Chain):
    def __init__(self, ch, n):
        super().__init__()
        with self.init_scope():
            self.blocks = chainer.ChainList(*[RCAB(ch) for _ in range(n)])
            self.tail = L.Convolution2D(ch, ch, 3, pad=1)

    def forward(self, x):
        h = x
        for b in self.blocks:
            h = b(h)
        return x + self.tail(h)


class RCAN(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.head = L.Convolution2D(3, CH, 3, pad=1)
            self.groups = chainer.ChainList(Group(CH, 2), Group(CH, 2))
            self.body = L.Convolution2D(CH, CH, 3, pad=1)
            self.expand = L.Convolution2D(CH, 4 * CH, 3, pad=1)
            self.tail = L.Convolution2D(CH, 3, 3, pad=1)

    def forward(self, lr):
        n, c, h, w = lr.shape
        x = lr - np.broadcast_to(MEAN, lr.shape)
        base = F.resize_images(x, (2 * h, 2 * w))
        x = self.head(x)
        y = x
        for g in self.groups:
            y = g(y)
        y = self.body(y) + x
        y = F.depth2space(self.expand(y), 2)
        y = self.tail(y) + base
        return y + np.broadcast_to(MEAN, y.shape)


def make(seed=14):
    chainer.config.train = False
    r = np.random.RandomState(seed)
    net = RCAN()
    for _, p in sorted(net.namedparams()):
        if p.array.ndim == 1:
            p.array[...] = r.normal(0, 0.1, p.shape)
        else:
            p.array[...] = r.normal(0, 1.0 / np.sqrt(np.prod(p.shape[1:])), p.shape)
    return net


def inputs(seed=0):
    r = np.random.RandomState(seed)
    yy, xx = np.mgrid[:10, :12] / 12.0
    img = [[0.5 + 0.3 * np.sin(r.uniform(1, 9) * xx + r.uniform(1, 9) * yy + r.uniform(0, 6))
            for _ in range(3)] for _ in range(4)]
    return (np.clip(np.array(img) + 0.05 * r.normal(size=(4, 3, 10, 12)), 0, 1).astype("f"),)
