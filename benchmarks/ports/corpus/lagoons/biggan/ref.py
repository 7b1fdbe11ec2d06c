"""BigGAN generator (Brock et al. 2019) in Chainer, after the chainer sngan_projection code base."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
LAYOUT = "NCHW"
CH, ZC, EMB = 8, 4, 5


class ConditionalBN(chainer.Chain):
    def __init__(self, c, n_cond):
        super().__init__()
        with self.init_scope():
            self.gain = L.Linear(n_cond, c, nobias=True)
            self.shift = L.Linear(n_cond, c, nobias=True)
        self.add_persistent("avg_mean", np.zeros(c, "float32"))
        self.add_persistent("avg_var", np.ones(c, "float32"))

    def __call__(self, x, cond):
        one = np.ones_like(self.avg_mean)
        h = F.fixed_batch_normalization(x, one, np.zeros_like(one), self.avg_mean, self.avg_var, eps=1e-4)
        gamma = F.broadcast_to((1.0 + self.gain(cond))[:, :, None, None], h.shape)
        beta = F.broadcast_to(self.shift(cond)[:, :, None, None], h.shape)
        return gamma * h + beta


def upsample(x):
    h, w = x.shape[2:]
    return F.unpooling_2d(x, 2, outsize=(h * 2, w * 2))


class GBlock(chainer.Chain):
    def __init__(self, ci, co):
        super().__init__()
        with self.init_scope():
            self.b1 = ConditionalBN(ci, ZC + EMB)
            self.c1 = L.Convolution2D(ci, co, 3, pad=1)
            self.b2 = ConditionalBN(co, ZC + EMB)
            self.c2 = L.Convolution2D(co, co, 3, pad=1)
            self.c_sc = L.Convolution2D(ci, co, 1)

    def __call__(self, x, cond):
        h = F.relu(self.b1(x, cond))
        h = self.c1(upsample(h))
        h = self.c2(F.relu(self.b2(h, cond)))
        return h + self.c_sc(upsample(x))


class SelfAttention(chainer.Chain):
    def __init__(self, c):
        super().__init__()
        with self.init_scope():
            self.theta = L.Convolution2D(c, c // 4, 1, nobias=True)
            self.phi = L.Convolution2D(c, c // 4, 1, nobias=True)
            self.g = L.Convolution2D(c, c // 2, 1, nobias=True)
            self.o = L.Convolution2D(c // 2, c, 1, nobias=True)
            self.gamma = chainer.Parameter(np.zeros((), "float32"))

    def __call__(self, x):
        n, c, h, w = x.shape
        theta = F.reshape(self.theta(x), (n, c // 4, h * w))
        phi = F.reshape(F.max_pooling_2d(self.phi(x), 2, 2), (n, c // 4, h * w // 4))
        g = F.reshape(F.max_pooling_2d(self.g(x), 2, 2), (n, c // 2, h * w // 4))
        beta = F.softmax(F.matmul(theta, phi, transa=True), axis=2)
        o = self.o(F.reshape(F.matmul(g, beta, transb=True), (n, c // 2, h, w)))
        return F.broadcast_to(self.gamma, o.shape) * o + x


class Generator(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.shared = L.Linear(5, EMB, nobias=True)
            self.l1 = L.Linear(ZC, CH * 4 * 4)
            self.block1 = GBlock(CH, CH)
            self.attn = SelfAttention(CH)
            self.block2 = GBlock(CH, 4)
            self.b_out = L.BatchNormalization(4, eps=1e-4)
            self.c_out = L.Convolution2D(4, 3, 3, pad=1)

    def __call__(self, z, y):
        zs = F.split_axis(z, 3, axis=1)
        e = self.shared(y)
        h = F.reshape(self.l1(zs[0]), (-1, CH, 4, 4))
        h = self.block1(h, F.concat([e, zs[1]], axis=1))
        h = self.attn(h)
        h = self.block2(h, F.concat([e, zs[2]], axis=1))
        with chainer.using_config("train", False):
            h = F.relu(self.b_out(h))
        return F.tanh(self.c_out(h))


def make():
    m = Generator()
    r = np.random.RandomState(7)
    for n, p in sorted(m.namedparams()):
        if n.endswith("gamma"):
            p.array[...] = 1.0 + 0.2 * r.randn(*p.shape)
        else:
            p.array[...] = r.randn(*p.shape) * (0.2 if p.ndim == 1 else 0.9 / np.prod(p.shape[1:]) ** 0.5)
    for b in (m.block1.b1, m.block1.b2, m.block2.b1, m.block2.b2, m.b_out):
        b.avg_mean[...] = 0.3 * r.randn(*b.avg_mean.shape)
        b.avg_var[...] = 0.6 + r.rand(*b.avg_var.shape)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return r.randn(4, 3 * ZC).astype("float32"), np.eye(5, dtype="float32")[r.permutation(5)[:4]]
