"""Chainer port of the epinet bandit agent."""
import numpy as np
import parity  # noqa: F401  (lets chainer load)
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
CTX, ARMS, K, Z, HID = 6, 4, 5, 3, 10
PRIOR_SCALE, BETA = 0.7, 1.5


class Prior(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(CTX, 5)
            self.b = L.Linear(5, ARMS)

    def forward(self, x):
        return self.b(F.elu(self.a(x)))


class Base(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc1 = L.Linear(CTX, HID)
            self.fc2 = L.Linear(HID, HID)
            self.out = L.Linear(HID, ARMS)

    def forward(self, x):
        phi = F.relu(self.fc2(F.relu(self.fc1(x))))
        return self.out(phi), phi


class Agent(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.base = Base()
            self.l1 = L.Linear(CTX + HID + Z, 8)
            self.l2 = L.Linear(8, ARMS * Z)
            self.priors = chainer.ChainList(*[Prior() for _ in range(Z)])

    def forward(self, x, index):
        b = len(x)
        mu, phi = self.base(x)
        norm = F.sqrt(F.sum(F.square(index), axis=-1, keepdims=True))
        index = float(np.sqrt(Z)) * index / F.broadcast_to(norm, (b, K, Z))
        # all the indices at once: (B*K, ...)
        rep = F.concat([F.repeat(x, K, axis=0), F.repeat(phi, K, axis=0)], axis=1)
        z = F.reshape(index, (b * K, Z))
        mat = self.l2(F.relu(self.l1(F.concat([rep, z], axis=1))))
        mat = F.reshape(mat, (b * K, ARMS, Z))
        learned = F.reshape(F.squeeze(F.matmul(mat, F.expand_dims(z, 2)), 2), (b, K, ARMS))
        outs = F.stack([p(x) for p in self.priors], axis=1)            # B, Z, ARMS
        prior = PRIOR_SCALE * F.matmul(index, outs)                   # B, K, ARMS
        q = F.broadcast_to(F.expand_dims(mu, 1), (b, K, ARMS)) + learned + prior
        mean = F.mean(q, axis=1)
        dev = q - F.broadcast_to(F.expand_dims(mean, 1), (b, K, ARMS))
        var = F.sum(F.square(dev), axis=1) / (K - 1)
        ucb = mean + BETA * F.sqrt(var)
        best = F.mean(F.max(q, axis=2), axis=1, keepdims=True)
        gap = F.broadcast_to(best, (b, ARMS)) - mean
        ratio = gap ** 2 / (var + 1e-2)
        policy = F.softmax(-ratio, axis=1)
        thompson = F.mean(F.softmax(q / 0.1, axis=2), axis=1)
        return q, ucb, gap, policy, thompson


def make():
    m = Agent()
    r = np.random.RandomState(31)
    for _, p in sorted(m.namedparams()):
        a = r.randn(*p.shape)
        p.array[...] = a / np.sqrt(p.shape[1]) if p.ndim > 1 else 0.3 * a
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return r.randn(6, CTX).astype("float32"), r.randn(6, K, Z).astype("float32")


def load(ported, original):
    def lin(a, b):
        a.W.array[...] = b.weight.detach().numpy()
        a.b.array[...] = b.bias.detach().numpy()
    for n in ("fc1", "fc2", "out"):
        lin(getattr(ported.base, n), getattr(original.base, n))
    lin(ported.l1, original.epinet.l1)
    lin(ported.l2, original.epinet.l2)
    for a, b in zip(ported.priors, original.epinet.priors):
        lin(a.a, b[0])
        lin(a.b, b[2])
