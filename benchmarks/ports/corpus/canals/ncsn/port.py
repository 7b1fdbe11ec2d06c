import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"


def per_channel(v, like):
    return F.broadcast_to(v[:, :, None, None], like.shape)


class CondInstanceNormPlus(chainer.Chain):
    eps = 1e-5

    def __init__(self, ch, n_levels=10):
        super().__init__()
        with self.init_scope():
            self.emb = L.EmbedID(n_levels, 3 * ch)

    def forward(self, x, y):
        b, c = x.shape[:2]
        mu = F.mean(x, axis=(2, 3))
        centred = x - per_channel(mu, x)
        var = F.mean(centred ** 2, axis=(2, 3))
        h = centred / per_channel(F.sqrt(var + self.eps), x)

        dev = mu - F.broadcast_to(F.mean(mu, axis=1, keepdims=True), mu.shape)
        spread = F.sum(dev ** 2, axis=1, keepdims=True) / (c - 1)
        mu = dev / F.broadcast_to(F.sqrt(spread + self.eps), mu.shape)

        gamma, alpha, beta = F.split_axis(self.emb(y), 3, axis=1)
        h = h + per_channel(mu * alpha, h)
        return per_channel(gamma, h) * h + per_channel(beta, h)


class Res(chainer.Chain):
    def __init__(self, c_in, c_out, down=False, dilate=1):
        super().__init__()
        self.down = down
        with self.init_scope():
            self.n1 = CondInstanceNormPlus(c_in)
            self.c1 = L.Convolution2D(c_in, c_out, 3, pad=dilate, dilate=dilate)
            self.n2 = CondInstanceNormPlus(c_out)
            self.c2 = L.Convolution2D(c_out, c_out, 3, pad=dilate, dilate=dilate)
            if down or c_in != c_out:
                self.skip = L.Convolution2D(c_in, c_out, 1)

    def forward(self, x, y):
        h = F.elu(self.n1(x, y))
        h = self.c1(h)
        h = self.c2(F.elu(self.n2(h, y)))
        s = self.skip(x) if hasattr(self, "skip") else x
        if self.down:
            h, s = F.average_pooling_2d(h, 2), F.average_pooling_2d(s, 2)
        return h + s


class ChainedResidualPooling(chainer.Chain):
    def __init__(self, ch):
        super().__init__()
        with self.init_scope():
            self.n1, self.n2 = CondInstanceNormPlus(ch), CondInstanceNormPlus(ch)
            self.c1 = L.Convolution2D(ch, ch, 3, pad=1, nobias=True)
            self.c2 = L.Convolution2D(ch, ch, 3, pad=1, nobias=True)

    def forward(self, x, y):
        x = F.elu(x)
        p1 = self.c1(F.average_pooling_2d(self.n1(x, y), 5, 1, 2))
        p2 = self.c2(F.average_pooling_2d(self.n2(p1, y), 5, 1, 2))
        return x + p1 + p2


class ScoreNet(chainer.Chain):
    def __init__(self, ch=12, n_levels=10):
        super().__init__()
        self.sigmas = np.exp(np.linspace(np.log(2.0), np.log(0.05), n_levels)).astype(np.float32)
        with self.init_scope():
            self.stem = L.Convolution2D(1, ch, 3, pad=1)
            self.r1 = Res(ch, ch)
            self.r2 = Res(ch, 2 * ch, down=True)
            self.r3 = Res(2 * ch, 2 * ch, dilate=2)
            self.low = L.Convolution2D(2 * ch, ch, 3, pad=1)
            self.high = L.Convolution2D(ch, ch, 3, pad=1)
            self.crp = ChainedResidualPooling(ch)
            self.norm = CondInstanceNormPlus(ch)
            self.last = L.Convolution2D(ch, 1, 3, pad=1)

    def score(self, x, y):
        h = self.stem(2.0 * x - 1.0)
        fine = self.r1(h, y)
        coarse = self.r3(self.r2(fine, y), y)
        up = F.resize_images(self.low(coarse), fine.shape[2:])  # corners aligned
        h = self.crp(up + self.high(fine), y)
        h = self.last(F.elu(self.norm(h, y)))
        return h / self.sigmas[y].reshape(-1, 1, 1, 1)

    def forward(self, x, y, noise):
        s = self.score(x, y)
        eta = 2e-3 * np.square(self.sigmas[y] / self.sigmas[-1])
        eta = eta.reshape(-1, 1, 1, 1).astype(np.float32)
        drift = F.broadcast_to(chainer.as_variable(0.5 * eta), s.shape) * s
        return s, x + drift + np.sqrt(eta) * noise


def make():
    g = np.random.RandomState(71)
    net = ScoreNet()
    for _, p in sorted(net.namedparams()):
        p.array[...] = g.normal(0, 0.2, p.shape)
    return net


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}

    def conv(link, key):
        link.W.array[...] = sd[key + ".weight"]
        if link.b is not None:
            link.b.array[...] = sd[key + ".bias"]

    def norm(link, key):
        link.emb.W.array[...] = sd[key + ".embed.weight"]

    conv(ported.stem, "begin"), conv(ported.last, "end"), norm(ported.norm, "normalizer")
    for i in (1, 2, 3):
        r, key = ported[f"r{i}"], f"res{i}."
        norm(r.n1, key + "norm1"), norm(r.n2, key + "norm2")
        conv(r.c1, key + "conv1"), conv(r.c2, key + "conv2")
    conv(ported.r2.skip, "res2.shortcut")
    conv(ported.low, "refine.low"), conv(ported.high, "refine.high")
    for i in (0, 1):
        norm(ported.crp[f"n{i + 1}"], f"refine.pool.norms.{i}")
        conv(ported.crp[f"c{i + 1}"], f"refine.pool.convs.{i}")


def inputs(seed=0):
    g = np.random.default_rng(seed)
    x = g.uniform(0, 1, (5, 1, 16, 16)).astype(np.float32)
    return x, g.integers(0, 10, 5), g.standard_normal((5, 1, 16, 16)).astype(np.float32)
