"""GRU-D (Che et al. 2018) over irregular sensor streams, attention read-out; original implementation."""
import numpy as np
import parity  # noqa: F401  (chainer on numpy 2)
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
D, H = 5, 24


class GRUD(chainer.Chain):
    def __init__(self):
        super().__init__()
        ini = chainer.initializers.Normal(0.3)
        kw = dict(initialW=chainer.initializers.LeCunNormal(), initial_bias=chainer.initializers.Normal(0.2))
        with self.init_scope():
            self.gx_w = chainer.Parameter(np.random.uniform(0.2, 0.9, D).astype(np.float32))
            self.gx_b = chainer.Parameter(ini, (D,))
            self.x_mean = chainer.Parameter(ini, (D,))
            self.gh = L.Linear(D, H, **kw)
            self.xz, self.xr, self.xh = L.Linear(D, H, **kw), L.Linear(D, H, **kw), L.Linear(D, H, **kw)
            self.hz, self.hr = L.Linear(H, H, nobias=True), L.Linear(H, H, nobias=True)
            self.hh = L.Linear(H, H, nobias=True)
            self.mz, self.mr = L.Linear(D, H, nobias=True), L.Linear(D, H, nobias=True)
            self.mh = L.Linear(D, H, nobias=True)
            self.att = L.Linear(H, 12, **kw)
            self.att_v = L.Linear(12, 1, nobias=True)
            self.out = L.Linear(H, 3, **kw)

    def impute(self, x, m, d, last):
        g = F.exp(-F.relu(F.scale(d, self.gx_w, axis=1) + F.broadcast_to(self.gx_b, d.shape)))
        mean = F.broadcast_to(self.x_mean, d.shape)
        return m * x + (1 - m) * (g * last + (1 - g) * mean)

    def __call__(self, x, m, delta):
        b, t, _ = x.shape
        h = np.zeros((b, H), np.float32)
        last = F.broadcast_to(self.x_mean, (b, D))
        hs = []
        for k in range(t):
            xk, mk, dk = x[:, k], m[:, k], delta[:, k]
            xi = self.impute(xk, mk, dk, last)
            last = F.where(mk > 0, xk, last)
            h = F.exp(-F.relu(self.gh(dk))) * h
            z = F.sigmoid(self.xz(xi) + self.hz(h) + self.mz(mk))
            r = F.sigmoid(self.xr(xi) + self.hr(h) + self.mr(mk))
            cand = F.tanh(self.xh(xi) + self.hh(r * h) + self.mh(mk))
            h = (1 - z) * h + z * cand
            hs.append(h)
        hs = F.stack(hs, axis=1)
        score = self.att_v(F.tanh(self.att(hs, n_batch_axes=2)), n_batch_axes=2)
        alpha = F.softmax(score, axis=1)
        pooled = F.sum(F.broadcast_to(alpha, hs.shape) * hs, axis=1)
        return F.log_softmax(self.out(pooled)), h, F.squeeze(alpha, 2)


def make():
    np.random.seed(9)
    return GRUD()


def inputs(seed):
    g = np.random.default_rng(seed + 300)
    b, t = 4, 7
    x = g.normal(size=(b, t, D)).astype(np.float32)
    m = (g.random((b, t, D)) > 0.5).astype(np.float32)
    stamps = np.cumsum(g.uniform(0.2, 1.2, (b, t)), 1)
    delta = np.zeros((b, t, D))
    for k in range(1, t):
        gap = (stamps[:, k] - stamps[:, k - 1])[:, None]
        delta[:, k] = gap + np.where(m[:, k - 1] > 0, 0.0, delta[:, k - 1])
    return x * m, m, delta.astype(np.float32)
