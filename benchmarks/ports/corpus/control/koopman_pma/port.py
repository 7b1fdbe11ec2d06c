"""Chainer port of the Koopman predictor; attention by hand, lifted state kept as separate real / imaginary halves."""
import numpy as np
import parity  # noqa: F401  (chainer on numpy 2)
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"


class PMA(chainer.Chain):
    def __init__(self, n_in, emb, heads, seeds):
        super().__init__()
        self.emb, self.heads = emb, heads
        with self.init_scope():
            self.f1, self.f2 = L.Linear(n_in, emb), L.Linear(emb, emb)
            self.seeds = chainer.Parameter(chainer.initializers.Normal(1.0), (seeds, emb))
            self.wq, self.wk = L.Linear(emb, emb), L.Linear(emb, emb)
            self.wv, self.wo = L.Linear(emb, emb), L.Linear(emb, emb)
            self.ln = L.LayerNormalization(emb, eps=1e-5)
            self.ff = L.Linear(emb, emb)

    def split(self, x):
        b, n, _ = x.shape
        return F.transpose(F.reshape(x, (b, n, self.heads, -1)), (0, 2, 1, 3))

    def __call__(self, s, mask):
        b, n, _ = s.shape
        m = self.seeds.shape[0]
        e = self.f2(F.relu(self.f1(s, n_batch_axes=2)), n_batch_axes=2)
        q = F.broadcast_to(self.seeds, (b, m, self.emb))
        qh = self.split(self.wq(q, n_batch_axes=2))
        kh = self.split(self.wk(e, n_batch_axes=2))
        vh = self.split(self.wv(e, n_batch_axes=2))
        score = F.matmul(qh, kh, transb=True) / np.sqrt(self.emb // self.heads).astype(np.float32)
        keep = np.broadcast_to(mask[:, None, None, :] > 0, score.shape)
        score = F.where(keep, score, np.full(score.shape, -1e9, np.float32))
        att = F.softmax(score, axis=3)
        o = F.reshape(F.transpose(F.matmul(att, vh), (0, 2, 1, 3)), (b * m, self.emb))
        h = self.ln(F.reshape(q, (b * m, self.emb)) + self.wo(o))
        h += F.relu(self.ff(h))
        return F.reshape(h, (b, -1)), F.mean(att, axis=1)


class Koopman(chainer.Chain):
    def __init__(self, nx=4, nu=2, n_in=5, pairs=5, emb=16, heads=4, dt=0.2):
        super().__init__()
        self.dt, self.pairs = dt, pairs
        with self.init_scope():
            self.pool = PMA(n_in, emb, heads, 2)
            self.l1, self.l2 = L.Linear(nx, 24), L.Linear(24, 2 * pairs)
            self.spec = L.Linear(2 * emb, 2 * pairs)
            self.inp = L.Linear(nu, 2 * pairs, nobias=True)
            self.dec = L.Linear(2 * pairs, nx)

    def __call__(self, x, u, nbrs, mask):
        p = self.pairs
        ctx, att = self.pool(nbrs, mask)
        s = self.spec(ctx)
        damp, theta = F.exp(-self.dt * F.softplus(s[:, :p])), self.dt * s[:, p:]
        ar, ai = damp * F.cos(theta), damp * F.sin(theta)
        z = self.l2(F.tanh(self.l1(x)))
        re, im = z[:, :p], z[:, p:]
        ys = []
        for k in range(u.shape[1]):
            drive = self.inp(u[:, k])
            re, im = ar * re - ai * im + drive[:, :p], ai * re + ar * im + drive[:, p:]
            ys.append(self.dec(F.concat([re, im], axis=1)))
        z = F.reshape(F.stack([re, im], axis=2), (x.shape[0], 2 * p))      # back to (re0, im0, re1, ...)
        return F.stack(ys, axis=1), z, att


def make():
    np.random.seed(12)
    return Koopman()


def load(model, reference):
    sd = {k: v.numpy() for k, v in reference.state_dict().items()}

    def put(link, w, b=None):
        link.W.array[...] = w
        if b is not None:
            link.b.array[...] = b

    pool, p = model.pool, model.pairs
    put(pool.f1, sd["pool.phi.0.weight"], sd["pool.phi.0.bias"])
    put(pool.f2, sd["pool.phi.2.weight"], sd["pool.phi.2.bias"])
    pool.seeds.array[...] = sd["pool.seeds"]
    W, b = np.split(sd["pool.att.in_proj_weight"], 3), np.split(sd["pool.att.in_proj_bias"], 3)
    for link, wi, bi in zip((pool.wq, pool.wk, pool.wv), W, b):
        put(link, wi, bi)
    put(pool.wo, sd["pool.att.out_proj.weight"], sd["pool.att.out_proj.bias"])
    pool.ln.gamma.array[...] = sd["pool.ln.weight"]
    pool.ln.beta.array[...] = sd["pool.ln.bias"]
    put(pool.ff, sd["pool.ff.weight"], sd["pool.ff.bias"])
    halves = np.r_[0:2 * p:2, 1:2 * p:2]                       # interleaved pairs -> halves
    put(model.l1, sd["lift.0.weight"], sd["lift.0.bias"])
    put(model.l2, sd["lift.2.weight"][halves], sd["lift.2.bias"][halves])
    put(model.spec, sd["spec.weight"], sd["spec.bias"])
    put(model.inp, sd["B"][halves])
    put(model.dec, sd["C.weight"][:, halves], sd["C.bias"])
