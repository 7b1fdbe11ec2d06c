"""Plan2Explore in Chainer."""
import parity  # noqa: F401
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
OBS, ACT, EMB, DET, STO, ENS, T = 6, 3, 8, 10, 4, 4, 5


def symlog(x):
    return np.sign(x) * F.log1p(F.absolute(x))


class MLP(chainer.Chain):
    def __init__(self, n_in, n_hid, n_out):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(n_in, n_hid)
            self.b = L.Linear(n_hid, n_out)

    def forward(self, x, n_batch_axes=1):
        return self.b(F.elu(self.a(x, n_batch_axes=n_batch_axes)), n_batch_axes=n_batch_axes)


class GRU(chainer.Chain):
    """torch's cell: gates r, z, n in one matrix each."""

    def __init__(self, n_in, n):
        super().__init__()
        with self.init_scope():
            self.x = L.Linear(n_in, 3 * n)
            self.h = L.Linear(n, 3 * n)

    def forward(self, x, h):
        xr, xz, xn = F.split_axis(self.x(x), 3, axis=1)
        hr, hz, hn = F.split_axis(self.h(h), 3, axis=1)
        r, z = F.sigmoid(xr + hr), F.sigmoid(xz + hz)
        n = F.tanh(xn + r * hn)
        return (1 - z) * n + z * h


def stats(x):
    mean, std = F.split_axis(x, 2, axis=-1)
    return mean, F.softplus(std) + 0.1


def kl_gauss(p, q):
    (m1, s1), (m2, s2) = p, q
    ratio = (s1 / s2) ** 2
    t = ((m1 - m2) / s2) ** 2
    return 0.5 * F.sum(ratio + t - 1 - F.log(ratio), axis=-1)


class Plan2Explore(chainer.Chain):
    def __init__(self, gamma=0.9):
        super().__init__()
        self.gamma = gamma
        with self.init_scope():
            self.encoder = MLP(OBS, 12, EMB)
            self.inp = L.Linear(STO + ACT, DET)
            self.cell = GRU(DET, DET)
            self.prior = L.Linear(DET, 2 * STO)
            self.post = L.Linear(DET + EMB, 2 * STO)
            self.h0 = chainer.Parameter(np.zeros(DET, "float32"))
            self.heads = chainer.ChainList(*[MLP(DET + STO + ACT, 12, EMB) for _ in range(ENS)])

    def disagreement(self, feat, actions):
        x = F.concat([feat, actions], axis=-1)
        preds = F.stack([head(x, n_batch_axes=2) for head in self.heads], axis=0)
        mean = F.mean(preds, axis=0)
        sq = (preds - F.broadcast_to(mean, preds.shape)) ** 2
        var = F.sum(sq, axis=0) / (ENS - 1)
        return F.mean(var, axis=-1), mean

    def forward(self, obs, actions):
        emb = self.encoder(symlog(obs), n_batch_axes=2)
        b = obs.shape[0]
        h = F.broadcast_to(F.tanh(self.h0), (b, DET))
        s, _ = stats(self.prior(h))
        prev = np.zeros((b, ACT), "float32")
        feats, kls = [], []
        for t in range(T):
            x = F.elu(self.inp(F.concat([s, prev], axis=1)))
            h = self.cell(x, h)
            prior = stats(self.prior(h))
            post = stats(self.post(F.concat([h, emb[:, t]], axis=1)))
            s = post[0]
            kls.append(F.maximum(kl_gauss(post, prior), np.full(b, 0.5, "float32")))
            feats.append(F.concat([h, s], axis=1))
            prev = actions[:, t]
        reward, pred = self.disagreement(F.stack(feats, axis=1), actions)
        returns, acc = [], np.zeros(b, "float32")
        for t in reversed(range(T)):
            acc = reward[:, t] + self.gamma * acc
            returns.insert(0, acc)
        error = F.sum((pred[:, :-1] - emb[:, 1:]) ** 2, axis=-1)
        return F.stack(returns, axis=1), F.stack(kls, axis=1), error


def make():
    r = np.random.default_rng(13)
    m = Plan2Explore()
    for p in m.params():
        p.array = r.normal(size=p.shape).astype("float32") * 0.4
    return m


def inputs(seed):
    r = np.random.default_rng(seed)
    return r.normal(size=(7, T, OBS)).astype("float32") * 2, r.uniform(-1, 1, size=(7, T, ACT)).astype("float32")


def load(m, o):
    n = lambda t: t.detach().numpy().copy()

    def lin(l, w, b):
        l.W.array, l.b.array = n(w), n(b)

    def mlp(k, s):
        lin(k.a, s[0].weight, s[0].bias)
        lin(k.b, s[2].weight, s[2].bias)

    mlp(m.encoder, o.encoder.net)
    for k in ("inp", "prior", "post"):
        l = getattr(o.dyn, k)
        lin(m[k], l.weight, l.bias)
    lin(m.cell.x, o.dyn.cell.weight_ih, o.dyn.cell.bias_ih)
    lin(m.cell.h, o.dyn.cell.weight_hh, o.dyn.cell.bias_hh)
    m.h0.array = n(o.dyn.h0)
    for k, s in zip(m.heads, o.ens.heads):
        mlp(k, s)
