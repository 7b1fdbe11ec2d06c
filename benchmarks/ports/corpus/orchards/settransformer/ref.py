"""Set Transformer (Lee et al. 2019) over sets of different sizes, Chainer."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
ELEMENTS, FEATURES, DIM, HEADS, INDUCING, SEEDS, OUT = 9, 5, 24, 4, 6, 3, 4


class MAB(chainer.Chain):
    """Multihead attention block of queries over a set."""

    def __init__(self, dim_q, dim_k):
        super().__init__()
        with self.init_scope():
            self.fc_q = L.Linear(dim_q, DIM)
            self.fc_k = L.Linear(dim_k, DIM)
            self.fc_v = L.Linear(dim_k, DIM)
            self.fc_o = L.Linear(DIM, DIM)
            self.ln0 = L.LayerNormalization(DIM, eps=1e-5)
            self.ln1 = L.LayerNormalization(DIM, eps=1e-5)

    def heads(self, x):
        batch, count, _ = x.shape
        return x.reshape(batch, count, HEADS, DIM // HEADS).transpose(0, 2, 1, 3)

    def norm(self, link, x):
        return link(x.reshape(-1, DIM)).reshape(x.shape)

    def forward(self, queries, keys, present=None):
        q = self.fc_q(queries, n_batch_axes=2)
        k = self.fc_k(keys, n_batch_axes=2)
        v = self.fc_v(keys, n_batch_axes=2)
        score = F.matmul(self.heads(q), self.heads(k), transb=True) / np.sqrt(DIM).astype("f")
        if present is not None:
            lowest = np.where(present[:, None, None, :] > 0, 0, -1e9).astype("f")
            score = score + np.broadcast_to(lowest, score.shape)
        attended = F.matmul(F.softmax(score, axis=3), self.heads(v))
        attended = attended.transpose(0, 2, 1, 3).reshape(q.shape)
        h = self.norm(self.ln0, q + attended)
        return self.norm(self.ln1, h + F.relu(self.fc_o(h, n_batch_axes=2)))


class ISAB(chainer.Chain):
    def __init__(self, dim_in):
        super().__init__()
        with self.init_scope():
            self.inducing = chainer.Parameter(chainer.initializers.Normal(0.6), (1, INDUCING, DIM))
            self.gather = MAB(DIM, dim_in)
            self.scatter = MAB(dim_in, DIM)

    def forward(self, x, present):
        points = F.broadcast_to(self.inducing, (x.shape[0], INDUCING, DIM))
        return self.scatter(x, self.gather(points, x, present))


class SetTransformer(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.isab1 = ISAB(FEATURES)
            self.isab2 = ISAB(DIM)
            self.seeds = chainer.Parameter(chainer.initializers.Normal(0.6), (1, SEEDS, DIM))
            self.pma = MAB(DIM, DIM)
            self.sab = MAB(DIM, DIM)
            self.head = L.Linear(SEEDS * DIM, OUT)

    def forward(self, elements, present):
        h = self.isab2(self.isab1(elements, present), present)
        seeds = F.broadcast_to(self.seeds, (h.shape[0], SEEDS, DIM))
        pooled = self.pma(seeds, h, present)
        pooled = self.sab(pooled, pooled)
        return self.head(pooled.reshape(-1, SEEDS * DIM))


def make(seed=0):
    np.random.seed(seed)
    net = SetTransformer()
    for name, p in net.namedparams():
        if name.endswith("/gamma"):
            p.data[...] = np.random.uniform(0.6, 1.4, p.shape)
        elif name.endswith(("/b", "/beta")):
            p.data[...] = np.random.normal(0, 0.2, p.shape)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, ELEMENTS + 1, size=5)
    present = (np.arange(ELEMENTS) < sizes[:, None]).astype("float32")
    elements = rng.normal(size=(5, ELEMENTS, FEATURES)).astype("float32") * present[..., None]
    return elements, present
