"""Glow in Chainer (NCHW inside and at the input; latents handed back as NHWC to compare)."""
import parity  # noqa: F401  (makes chainer importable)
import math

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"


def expand(v, like):
    return F.broadcast_to(v[None, :, None, None], like.shape)


def log_normal(z, mean, logs):
    return F.sum(-0.5 * (math.log(2 * math.pi) + 2 * logs + (z - mean) ** 2 * F.exp(-2 * logs)), axis=(1, 2, 3))


def squeeze2d(x):
    b, c, h, w = x.shape
    x = F.reshape(x, (b, c, h // 2, 2, w // 2, 2))
    x = F.transpose(x, (0, 3, 5, 1, 2, 4))
    return F.reshape(x, (b, 4 * c, h // 2, w // 2))


class ActNorm(chainer.Link):
    def __init__(self, c):
        super().__init__()
        with self.init_scope():
            self.b = chainer.Parameter(0, (c,))
            self.logs = chainer.Parameter(0, (c,))

    def forward(self, x):
        y = (x + expand(self.b, x)) * F.exp(expand(self.logs, x))
        return y, x.shape[2] * x.shape[3] * F.sum(self.logs)


class InvConv(chainer.Link):
    def __init__(self, c):
        super().__init__()
        with self.init_scope():
            self.W = chainer.Parameter(np.eye(c, dtype=np.float32))

    def forward(self, x):
        y = F.convolution_2d(x, self.W[:, :, None, None])
        logabs = F.log(abs(F.det(self.W)))
        return y, x.shape[2] * x.shape[3] * logabs


class Coupling(chainer.Chain):
    def __init__(self, c, hidden):
        super().__init__()
        with self.init_scope():
            self.c1 = L.Convolution2D(c // 2, hidden, 3, pad=1)
            self.c2 = L.Convolution2D(hidden, hidden, 1)
            self.c3 = L.Convolution2D(hidden, c, 3, pad=1)
            self.scale = chainer.Parameter(0, (c,))

    def forward(self, x):
        xa, xb = F.split_axis(x, 2, axis=1)
        h = self.c3(F.relu(self.c2(F.relu(self.c1(xa)))))
        h = h * F.exp(3.0 * expand(self.scale, h))
        shift, s = h[:, 0::2], F.sigmoid(h[:, 1::2] + 2.0)
        y = F.concat([xa, (xb + shift) * s], axis=1)
        return y, F.sum(F.log(s), axis=(1, 2, 3))


class Step(chainer.Chain):
    def __init__(self, c, hidden=10):
        super().__init__()
        with self.init_scope():
            self.actnorm = ActNorm(c)
            self.invconv = InvConv(c)
            self.coupling = Coupling(c, hidden)

    def forward(self, x, logdet):
        for part in (self.actnorm, self.invconv, self.coupling):
            x, d = part(x)
            logdet = logdet + F.broadcast_to(d, logdet.shape)
        return x, logdet


class Glow(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.level1 = chainer.ChainList(Step(8), Step(8))
            self.prior1 = L.Convolution2D(4, 8, 3, pad=1)
            self.level2 = chainer.ChainList(Step(16), Step(16))
            self.top_mean = chainer.Parameter(0, (16,))
            self.top_logs = chainer.Parameter(0, (16,))

    def forward(self, x):
        total = chainer.Variable(np.zeros(len(x), np.float32))
        dims = x.size / len(x)
        h = squeeze2d(x)
        for step in self.level1:
            h, total = step(h, total)
        h, z1 = F.split_axis(h, 2, axis=1)
        mean, logs = F.split_axis(self.prior1(h), 2, axis=1)
        total = total + log_normal(z1, mean, logs)
        h = squeeze2d(h)
        for step in self.level2:
            h, total = step(h, total)
        total = total + log_normal(h, expand(self.top_mean, h), expand(self.top_logs, h))
        z1, z2 = (F.transpose(z, (0, 2, 3, 1)) for z in (z1, h))
        return z1, z2, -total / (math.log(2.0) * dims)


def make():
    return Glow()


def inputs(seed):
    x = np.random.default_rng(seed).uniform(-0.5, 0.5, (4, 8, 8, 2)).astype(np.float32)
    return x.transpose(0, 3, 1, 2).copy()


def load(port_model, ref_model):
    def put_conv(link, w, b):
        link.W.array[...] = w.numpy().transpose(3, 2, 0, 1)
        link.b.array[...] = b.numpy()

    for level, ref_steps in zip((port_model.level1, port_model.level2), ref_model.steps):
        for step, p in zip(level, ref_steps):
            step.actnorm.b.array[...] = p["an_b"].numpy()
            step.actnorm.logs.array[...] = p["an_logs"].numpy()
            step.invconv.W.array[...] = p["inv_w"].numpy().T
            put_conv(step.coupling.c1, p["w1"], p["b1"])
            put_conv(step.coupling.c2, p["w2"], p["b2"])
            put_conv(step.coupling.c3, p["w3"], p["b3"])
            step.coupling.scale.array[...] = p["s3"].numpy()
    put_conv(port_model.prior1, ref_model.priors[0]["w"], ref_model.priors[0]["b"])
    port_model.top_mean.array[...] = ref_model.top["mean"].numpy()
    port_model.top_logs.array[...] = ref_model.top["logs"].numpy()
    return port_model
