"""ColBERT scorer in Chainer; separate q/k/v projections, additive attention bias."""
import numpy as np
import chainer
from chainer import functions as F, links as L

FRAMEWORK = "chainer"


def gelu(x):
    return 0.5 * x * (1 + F.erf(x / np.float32(np.sqrt(2))))


class LayerNorm3(chainer.Chain):
    """Layer normalisation of (batch, tokens, features) over features."""

    def __init__(self, n, eps=1e-12):
        super().__init__()
        self.eps = eps
        with self.init_scope():
            self.gamma = chainer.Parameter(np.ones(n, "f"))
            self.beta = chainer.Parameter(np.zeros(n, "f"))

    def forward(self, x):
        mu = F.mean(x, axis=-1, keepdims=True)
        xc = x - F.broadcast_to(mu, x.shape)
        sd = F.sqrt(F.mean(xc * xc, axis=-1, keepdims=True) + self.eps)
        y = xc / F.broadcast_to(sd, x.shape)
        return y * F.broadcast_to(self.gamma, x.shape) + F.broadcast_to(self.beta, x.shape)


class SelfAttention(chainer.Chain):
    def __init__(self, d, heads):
        super().__init__()
        self.h, self.dk = heads, d // heads
        with self.init_scope():
            self.q, self.k, self.v, self.o = (L.Linear(d, d) for _ in range(4))

    def split(self, x):
        b, n, _ = x.shape
        return F.transpose(F.reshape(x, (b, n, self.h, self.dk)), (0, 2, 1, 3))

    def forward(self, x, bias):
        b, n, d = x.shape
        q, k, v = (self.split(f(x, n_batch_axes=2)) for f in (self.q, self.k, self.v))
        s = F.matmul(q, k, transb=True) / np.float32(self.dk ** 0.5)
        s = s + np.broadcast_to(bias[:, None, None, :], s.shape)
        y = F.matmul(F.softmax(s, axis=3), v)
        y = F.reshape(F.transpose(y, (0, 2, 1, 3)), (b, n, d))
        return self.o(y, n_batch_axes=2)


class Layer(chainer.Chain):
    def __init__(self, d, heads):
        super().__init__()
        with self.init_scope():
            self.att = SelfAttention(d, heads)
            self.n1, self.n2 = LayerNorm3(d), LayerNorm3(d)
            self.ff1, self.ff2 = L.Linear(d, 2 * d), L.Linear(2 * d, d)

    def forward(self, x, bias):
        h = self.n1(self.att(x, bias) + x)
        f = self.ff2(gelu(self.ff1(h, n_batch_axes=2)), n_batch_axes=2)
        return self.n2(f + h)


class Scorer(chainer.Chain):
    def __init__(self, vocab=70, d=32, heads=4, out=12):
        super().__init__()
        with self.init_scope():
            self.word = L.EmbedID(vocab, d)
            self.pos = L.EmbedID(32, d)
            self.ln = LayerNorm3(d)
            self.layers = chainer.ChainList(Layer(d, heads), Layer(d, heads))
            self.out = L.Linear(d, out, nobias=True)

    def embed(self, ids, visible):
        p = np.broadcast_to(np.arange(ids.shape[1], dtype="i"), ids.shape)
        x = self.ln(self.word(ids) + self.pos(p))
        bias = np.where(visible, 0, -1e9).astype("f")
        for layer in self.layers:
            x = layer(x, bias)
        return F.normalize(self.out(x, n_batch_axes=2), eps=1e-12, axis=2)

    def forward(self, qids, dids):
        qids = np.where(qids == 0, 4, qids)
        q = self.embed(qids, np.ones(qids.shape, bool))
        d = self.embed(dids, dids != 0)
        keep = (dids != 0) & ~np.isin(dids, (5, 6, 7))
        (a, m, h), (b, n, _) = q.shape, d.shape
        sim = F.matmul(F.reshape(q, (a * m, h)), F.reshape(d, (b * n, h)), transb=True)
        sim = F.reshape(sim, (a, m, b, n))
        ok = np.broadcast_to(keep[None, None], sim.shape)
        sim = F.where(ok, sim, np.full(sim.shape, -1e4, "f"))
        return F.sum(F.max(sim, axis=3), axis=1)


def make(seed=4):
    np.random.seed(seed)
    chainer.config.train = False
    return Scorer()


def inputs(seed=0):
    r = np.random.default_rng(seed)
    q = r.integers(8, 70, (4, 8))
    d = r.integers(5, 70, (5, 14))
    d[:, 4::5] = r.choice([5, 6, 7], d[:, 4::5].shape)
    q[:, :2], d[:, :2] = (1, 2), (1, 3)
    for i, n in enumerate((8, 5, 6, 7)):
        q[i, n:] = 0
    for i, n in enumerate((14, 9, 11, 13, 8)):
        d[i, n:] = 0
    return q.astype("int64"), d.astype("int64")


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}

    def ln(dst, key):
        dst.gamma.array[...], dst.beta.array[...] = sd[key + ".weight"], sd[key + ".bias"]

    def lin(dst, w, b):
        dst.W.array[...], dst.b.array[...] = w, b

    ported.word.W.array[...] = sd["bert.word.weight"]
    ported.pos.W.array[...] = sd["bert.pos.weight"]
    ln(ported.ln, "bert.ln")
    for i, layer in enumerate(ported.layers):
        k = f"bert.blocks.{i}."
        for dst, w, b in zip((layer.att.q, layer.att.k, layer.att.v),
                             np.split(sd[k + "qkv.weight"], 3), np.split(sd[k + "qkv.bias"], 3)):
            lin(dst, w, b)
        for dst, name in ((layer.att.o, "proj"), (layer.ff1, "up"), (layer.ff2, "down")):
            lin(dst, sd[k + name + ".weight"], sd[k + name + ".bias"])
        ln(layer.n1, k + "ln1")
        ln(layer.n2, k + "ln2")
    ported.out.W.array[...] = sd["linear.weight"]
