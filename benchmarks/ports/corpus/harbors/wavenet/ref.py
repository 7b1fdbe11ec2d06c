"""WaveNet in small (van den Oord et al. 2016), conditioned on a speaker, in Chainer."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
MU, TIME, SPEAKERS, RES, SKIP, DILATIONS = 255, 40, 5, 12, 16, (1, 2, 4, 8)


class CausalConv(chainer.Chain):
    def __init__(self, n_in, n_out, dilate=1):
        super().__init__()
        self.dilate = dilate
        with self.init_scope():
            self.conv = L.Convolution1D(n_in, n_out, 2, pad=dilate, dilate=dilate)

    def forward(self, x):
        return self.conv(x)[:, :, : -self.dilate]


class ResidualBlock(chainer.Chain):
    def __init__(self, dilate):
        super().__init__()
        with self.init_scope():
            self.conv = CausalConv(RES, 2 * RES, dilate)
            self.speaker = L.Linear(RES, 2 * RES, nobias=True)
            self.res, self.skip = L.Convolution1D(RES, RES, 1), L.Convolution1D(RES, SKIP, 1)

    def forward(self, x, speaker):
        h = self.conv(x)
        h += F.broadcast_to(self.speaker(speaker)[:, :, None], h.shape)
        a, b = F.split_axis(h, 2, axis=1)
        z = F.tanh(a) * F.sigmoid(b)
        return x + self.res(z), self.skip(z)


class WaveNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(SPEAKERS, RES)
            self.front = CausalConv(1, RES)
            self.blocks = chainer.ChainList(*(ResidualBlock(d) for d in DILATIONS))
            self.mid = L.Convolution1D(SKIP, SKIP, 1)
            self.out = L.Convolution1D(SKIP, 2, 1)

    def compress(self, wave):
        return F.sign(wave) * F.log1p(MU * F.absolute(wave)) / float(np.log1p(MU))

    def forward(self, wave, speaker):
        x = self.compress(chainer.as_variable(wave))[:, None]
        x = F.pad(x[:, :, :-1], ((0, 0), (0, 0), (1, 0)), "constant")  # predict from the past alone
        x, g, total = self.front(x), self.embed(speaker), 0
        for block in self.blocks:
            x, skip = block(x, g)
            total += skip
        y = self.out(F.relu(self.mid(F.relu(total))))
        mean, log_scale = y[:, 0], F.clip(y[:, 1], -7.0, 7.0)
        return mean, F.exp(log_scale)


def make(seed=0):
    net, rng = WaveNet(), np.random.default_rng(seed)
    for _, p in sorted(net.namedparams()):
        p.array[...] = rng.normal(0, np.prod(p.shape[1:]) ** -0.5 if p.ndim > 1 else 0.2, p.shape)
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(TIME)
    wave = 0.6 * np.sin(t * rng.uniform(0.2, 0.9, (4, 1))) + rng.normal(0, 0.1, (4, TIME))
    return np.clip(wave, -1, 1).astype("float32"), np.array([0, 3, 1, 4], "int32")
