"""GQN (Eslami et al. 2018) in Chainer: pool representation and convolutional LSTM generator (prior means)."""
import numpy as np
import parity  # noqa: F401  lets chainer load
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
LAYOUT = "NCHW"
IMG, VIEWS, VP, CR, CH, CZ, STEPS = 8, 2, 7, 8, 6, 3, 3
G = IMG // 2


class Representation(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(3, CR, 2, stride=2)
            self.conv_skip = L.Convolution2D(CR + VP, CR, 3, pad=1)
            self.conv2 = L.Convolution2D(CR + VP, CR, 3, pad=1)
            self.conv3 = L.Convolution2D(CR, CR, 1)

    def forward(self, x, v):
        h = F.relu(self.conv1(x))
        v = F.broadcast_to(F.reshape(v, v.shape + (1, 1)), v.shape + h.shape[2:])
        hv = F.concat((h, v), axis=1)
        skip = F.relu(self.conv_skip(hv))
        h = F.relu(self.conv2(hv)) + skip
        return F.relu(self.conv3(h))


class GeneratorCore(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.lstm = L.Convolution2D(CH + CZ + VP + CR, 4 * CH, 3, pad=1)
            self.upsample_h = L.Deconvolution2D(CH, CH, 2, stride=2, nobias=True)

    def forward(self, h, c, z, v, r, u):
        v = F.broadcast_to(F.reshape(v, v.shape + (1, 1)), v.shape + h.shape[2:])
        gates = self.lstm(F.concat((h, z, v, r), axis=1))
        f, i, g, o = F.split_axis(gates, 4, axis=1)
        c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
        h = F.sigmoid(o) * F.tanh(c)
        u = u + self.upsample_h(h)
        return h, c, u


class GQN(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.rep = Representation()
            self.cores = chainer.ChainList(*[GeneratorCore() for _ in range(STEPS)])
            self.prior = L.Convolution2D(CH, 2 * CZ, 3, pad=1)
            self.obs = L.Convolution2D(CH, 3, 1)

    def forward(self, images, viewpoints, query):
        b = images.shape[0]
        r = self.rep(F.reshape(images, (b * VIEWS, 3, IMG, IMG)), F.reshape(viewpoints, (b * VIEWS, VP)))
        r = F.sum(F.reshape(r, (b, VIEWS, CR, G, G)), axis=1)
        h = np.zeros((b, CH, G, G), "float32")
        c = np.zeros((b, CH, G, G), "float32")
        u = np.zeros((b, CH, IMG, IMG), "float32")
        kls = []
        for core in self.cores:
            mean, ln_var = F.split_axis(self.prior(h), 2, axis=1)
            kls.append(F.mean(mean ** 2 + F.exp(ln_var) - ln_var - 1, axis=(2, 3)))
            h, c, u = core(h, c, mean, query, r, u)
        return F.sigmoid(self.obs(u)), F.stack(kls, axis=1)


def make():
    chainer.config.train = False
    rng = np.random.RandomState(19)
    m = GQN()
    for _, p in sorted(m.namedparams()):
        s = 1.2 / np.sqrt(p.array[0].size) if p.ndim > 1 else 0.2
        p.array[...] = rng.randn(*p.shape).astype("float32") * s
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.rand(4, VIEWS, 3, IMG, IMG).astype("float32"), r.randn(4, VIEWS, VP).astype("float32"),
            r.randn(4, VP).astype("float32"))
