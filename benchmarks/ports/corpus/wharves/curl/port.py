"""CURL in Chainer."""
import numpy as np
import chainer
from chainer import functions as F, links as L

FRAMEWORK = "chainer"
FRAMES, IMG, CROP, FEAT, ACT = 6, 20, 16, 12, 3


class Encoder(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.c1 = L.Convolution2D(FRAMES, 8, ksize=3, stride=2)
            self.c2 = L.Convolution2D(8, 8, ksize=3)
            self.c3 = L.Convolution2D(8, 8, ksize=3)
            self.fc = L.Linear(72, FEAT)
            self.norm = L.LayerNormalization(FEAT, eps=1e-5)

    def forward(self, x):
        h = F.relu(self.c1(x * (1.0 / 255)))
        h = F.relu(self.c2(h))
        h = F.relu(self.c3(h))
        return F.tanh(self.norm(self.fc(h)))


class CURL(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.online = Encoder()
            self.momentum = Encoder()
            self.W = chainer.Parameter(np.zeros((FEAT, FEAT), "f"))
            self.pi1, self.pi2 = L.Linear(FEAT, 24), L.Linear(24, 2 * ACT)
            self.q1, self.q2 = L.Linear(FEAT + ACT, 24), L.Linear(24, 1)

    def actor(self, z):
        mu, raw = F.split_axis(self.pi2(F.relu(self.pi1(z))), 2, 1)
        lo, hi = -10.0, 2.0
        return mu, lo + 0.5 * (hi - lo) * (F.tanh(raw) + 1.0)

    def critic(self, z, a):
        return self.q2(F.relu(self.q1(F.concat((z, a)))))

    def forward(self, query, key):
        m = (IMG - CROP) // 2
        query = query[:, :, m:m + CROP, m:m + CROP]
        key = key[:, :, m:m + CROP, m:m + CROP]
        z = self.online(query)
        with chainer.no_backprop_mode():
            z_key = self.momentum(key)
        sim = F.matmul(F.matmul(z, self.W), z_key, transb=True)
        sim = sim - F.broadcast_to(F.max(sim, axis=1, keepdims=True), sim.shape)
        loss = F.softmax_cross_entropy(sim, np.arange(len(sim), dtype=np.int32))
        mu, log_std = self.actor(z)
        return sim, loss, mu, log_std, self.critic(z, F.tanh(mu))


def make(seed=8):
    rng = np.random.RandomState(seed)
    m = CURL()
    for name, p in sorted(m.namedparams()):
        if name.endswith("gamma"):
            p.array[...] = rng.uniform(0.6, 1.4, p.shape)
        else:
            p.array[...] = rng.randn(*p.shape) * (1.5 / p.array[0].size ** 0.5 if p.ndim > 1 else 0.2)
    return m


def inputs(seed=0):
    r = np.random.RandomState(seed)
    base = r.randint(0, 256, (6, FRAMES, IMG, IMG))
    pos = np.clip(base + r.randint(-30, 31, base.shape), 0, 255)
    return base.astype("float32"), pos.astype("float32")


def load(ported, original):
    def put(link, mod):
        link.W.array[...] = mod.weight.detach().numpy()
        link.b.array[...] = mod.bias.detach().numpy()
    for e, s in ((ported.online, original.encoder), (ported.momentum, original.encoder_target)):
        for c, k in zip((e.c1, e.c2, e.c3), s.convs):
            put(c, k)
        put(e.fc, s.fc)
        e.norm.gamma.array[...] = s.ln.weight.detach().numpy()
        e.norm.beta.array[...] = s.ln.bias.detach().numpy()
    ported.W.array[...] = original.W.detach().numpy()
    put(ported.pi1, original.trunk[0]), put(ported.pi2, original.trunk[2])
    put(ported.q1, original.Q[0]), put(ported.q2, original.Q[2])
