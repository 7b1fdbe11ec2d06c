"""SNGAN projection discriminator, after pfnet-research/sngan_projection."""
import numpy as np
import parity
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"


def _l2normalize(v, eps=1e-12):
    return v / (((v ** 2).sum()) ** 0.5 + eps)


def max_singular_value(W, u, Ip=1):
    _u = u
    for _ in range(Ip):
        _v = _l2normalize(_u.dot(W.array))
        _u = _l2normalize(_v.dot(W.array.T))
    sigma = F.sum(F.linear(_u, F.transpose(W)) * _v)
    return sigma


class SNConvolution2D(L.Convolution2D):
    def __init__(self, cin, cout, k, pad=0):
        super().__init__(cin, cout, k, pad=pad)
        self.u = np.random.normal(size=(1, cout)).astype("f")
        self.register_persistent("u")

    @property
    def W_bar(self):
        W_mat = F.reshape(self.W, (self.W.shape[0], -1))
        sigma = max_singular_value(W_mat, self.u)
        return self.W / F.broadcast_to(F.reshape(sigma, (1, 1, 1, 1)), self.W.shape)

    def forward(self, x):
        return F.convolution_2d(x, self.W_bar, self.b, self.stride, self.pad)


class SNLinear(L.Linear):
    def __init__(self, cin, cout):
        super().__init__(cin, cout)
        self.u = np.random.normal(size=(1, cout)).astype("f")
        self.register_persistent("u")

    def forward(self, x):
        sigma = max_singular_value(self.W, self.u)
        return F.linear(x, self.W / F.broadcast_to(sigma, self.W.shape), self.b)


class SNEmbedID(L.EmbedID):
    def __init__(self, n, d):
        super().__init__(n, d)
        self.u = np.random.normal(size=(1, n)).astype("f")
        self.register_persistent("u")

    def forward(self, x):
        sigma = max_singular_value(self.W, self.u)
        return F.embed_id(x, self.W / F.broadcast_to(sigma, self.W.shape))


def _downsample(x):
    return F.average_pooling_2d(x, 2)


class OptimizedBlock(chainer.Chain):
    def __init__(self, cin, cout):
        super().__init__()
        with self.init_scope():
            self.c1 = SNConvolution2D(cin, cout, 3, pad=1)
            self.c2 = SNConvolution2D(cout, cout, 3, pad=1)
            self.c_sc = SNConvolution2D(cin, cout, 1)

    def forward(self, x):
        h = F.relu(self.c1(x))
        h = _downsample(self.c2(h))
        return h + self.c_sc(_downsample(x))


class Block(chainer.Chain):
    def __init__(self, cin, cout, downsample=False):
        super().__init__()
        self.downsample = downsample
        self.learnable_sc = cin != cout or downsample
        with self.init_scope():
            self.c1 = SNConvolution2D(cin, cout, 3, pad=1)
            self.c2 = SNConvolution2D(cout, cout, 3, pad=1)
            if self.learnable_sc:
                self.c_sc = SNConvolution2D(cin, cout, 1)

    def residual(self, x):
        h = F.relu(x)
        h = self.c1(h)
        h = F.relu(h)
        h = self.c2(h)
        return _downsample(h) if self.downsample else h

    def shortcut(self, x):
        if not self.learnable_sc:
            return x
        x = self.c_sc(x)
        return _downsample(x) if self.downsample else x

    def forward(self, x):
        return self.residual(x) + self.shortcut(x)


class Discriminator(chainer.Chain):
    def __init__(self, ch=8, n_classes=6):
        super().__init__()
        with self.init_scope():
            self.block1 = OptimizedBlock(3, ch)
            self.block2 = Block(ch, ch * 2, downsample=True)
            self.block3 = Block(ch * 2, ch * 2, downsample=False)
            self.l_y = SNEmbedID(n_classes, ch * 2)
            self.l6 = SNLinear(ch * 2, 4)

    def forward(self, x, y):
        h = self.block1(x)
        h = self.block2(h)
        h = self.block3(h)
        h = F.relu(h)
        h = F.sum(h, axis=(2, 3))  # global sum pooling
        output = self.l6(h)
        w_y = F.sum(self.l_y(y), axis=1)
        proj = F.sum(w_y * h, axis=1, keepdims=True)
        return output + F.broadcast_to(proj, output.shape)


def make():
    np.random.seed(5)
    m = Discriminator()
    for p in m.params():
        p.array[...] = np.random.normal(size=p.shape) * (0.3 if p.ndim > 1 else 0.2)
    chainer.config.train = False
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return r.randn(4, 3, 16, 16).astype("f"), r.randint(0, 6, (4, 2)).astype("i")
