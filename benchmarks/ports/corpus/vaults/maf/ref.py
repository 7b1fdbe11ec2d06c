"""Masked autoregressive flow (Papamakarios et al. 2017), conditional, Chainer."""
import parity  # noqa: F401  (lets chainer load)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import Chain, ChainList, Parameter

FRAMEWORK = "chainer"


def degrees(dim, hidden):
    return np.arange(dim), np.arange(hidden) % (dim - 1)


class MaskedLinear(L.Linear):
    def __init__(self, mask):
        super().__init__(mask.shape[1], mask.shape[0])
        self.mask = mask.astype("float32")
        self.register_persistent("mask")

    def forward(self, x):
        return F.linear(x, self.W * self.mask, self.b)


class MADE(Chain):
    def __init__(self, dim, context, hidden):
        super().__init__()
        inp, hid = degrees(dim, hidden)
        to_hidden = hid[:, None] >= inp[None]
        inside = hid[:, None] >= hid[None]
        to_out = inp[:, None] > hid[None]
        with self.init_scope():
            self.joiner = MaskedLinear(to_hidden)
            self.context = L.Linear(context, hidden, nobias=True)
            self.trunk = MaskedLinear(inside)
            self.out = MaskedLinear(np.concatenate([to_out, to_out]))

    def forward(self, x, context):
        h = F.relu(self.joiner(x) + self.context(context))
        h = F.relu(self.trunk(h))
        m, a = F.split_axis(self.out(h), 2, axis=1)
        a = F.tanh(a)
        u = (x - m) * F.exp(-a)
        return u, -F.sum(a, axis=1)


class BatchNormFlow(Chain):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        with self.init_scope():
            self.log_gamma = Parameter(np.zeros(dim, "float32"))
            self.beta = Parameter(np.zeros(dim, "float32"))
        self.running_mean = np.zeros(dim, "float32")
        self.running_var = np.ones(dim, "float32")
        self.register_persistent("running_mean")
        self.register_persistent("running_var")

    def forward(self, x, context):
        x_hat = (x - self.running_mean) / np.sqrt(self.running_var + self.eps)
        y = F.exp(self.log_gamma) * x_hat + self.beta
        log_det = F.sum(self.log_gamma - 0.5 * np.log(self.running_var + self.eps))
        return y, F.broadcast_to(log_det, (len(x),))


class Reverse(Chain):
    def forward(self, x, context):
        return x[:, ::-1], 0.0


class MAF(ChainList):
    def __init__(self, dim=5, context=3, hidden=16, blocks=2):
        super().__init__()
        for _ in range(blocks):
            self.add_link(MADE(dim, context, hidden))
            self.add_link(BatchNormFlow(dim))
            self.add_link(Reverse())

    def forward(self, x, context):
        total = 0.0
        for flow in self:
            x, log_det = flow(x, context)
            total = total + log_det
        log_prob = F.sum(-0.5 * x**2 - 0.5 * np.log(2 * np.pi), axis=1)
        return x, log_prob + total


def make():
    net = MAF()
    rng = np.random.default_rng(71)
    for name, p in sorted(net.namedparams()):
        std = 1.2 / np.sqrt(p.shape[1]) if p.array.ndim > 1 else 0.3
        p.array[...] = rng.normal(0, std, p.shape)
    for flow in net:
        if isinstance(flow, BatchNormFlow):
            flow.running_mean[...] = rng.normal(0, 0.4, flow.running_mean.shape)
            flow.running_var[...] = rng.uniform(0.5, 2.0, flow.running_var.shape)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(6, 5)).astype("float32"), rng.normal(size=(6, 3)).astype("float32")
