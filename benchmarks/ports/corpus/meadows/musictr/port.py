"""Music Transformer in Chainer: relative positions are looked up, not skewed."""
import parity  # noqa: F401  (makes chainer importable here)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
N_EVENT, T, D, H, D_FF = 24, 10, 16, 4, 32


class Norm(chainer.Chain):
    def __init__(self, size):
        super().__init__()
        with self.init_scope():
            self.ln = L.LayerNormalization(size, eps=1e-6)

    def forward(self, x):
        return F.reshape(self.ln(F.reshape(x, (-1, x.shape[-1]))), x.shape)


class RelAttention(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.query = L.Linear(D, D)
            self.key = L.Linear(D, D)
            self.value = L.Linear(D, D)
            self.merge = L.Linear(D, D)
            self.rel = chainer.Parameter(chainer.initializers.Normal(0.5), (H, T, D // H))

    def split(self, x):
        x = F.reshape(x, (x.shape[0], T, H, D // H))
        return F.transpose(x, (0, 2, 1, 3))

    def forward(self, x):
        q = self.split(self.query(x, n_batch_axes=2))
        k = self.split(self.key(x, n_batch_axes=2))
        v = self.split(self.value(x, n_batch_axes=2))
        scores = F.matmul(q, k, transb=True)
        # distance j - i is at row T - 1 + j - i; the future is masked anyway
        steps = np.arange(T)
        index = np.clip(T - 1 + steps[None, :] - steps[:, None], 0, T - 1)
        table = F.reshape(self.rel[:, index.ravel()], (H, T, T, D // H))
        scores = scores + F.einsum("bhid,hijd->bhij", q, table)
        scores = scores * (D // H) ** -0.5
        past = np.broadcast_to(np.tril(np.ones((T, T), dtype=bool)), scores.shape)
        scores = F.where(past, scores, np.full(scores.shape, -1e9, "float32"))
        y = F.matmul(F.softmax(scores, axis=3), v)
        y = F.reshape(F.transpose(y, (0, 2, 1, 3)), x.shape)
        return self.merge(y, n_batch_axes=2)


class EncoderLayer(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.att = RelAttention()
            self.ln1 = Norm(D)
            self.ff1 = L.Linear(D, D_FF)
            self.ff2 = L.Linear(D_FF, D)
            self.ln2 = Norm(D)

    def forward(self, x):
        h = self.ln1(x + self.att(x))
        ff = self.ff2(F.relu(self.ff1(h, n_batch_axes=2)), n_batch_axes=2)
        return self.ln2(h + ff)


class MusicTransformer(chainer.Chain):
    def __init__(self, n_layers=2):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(N_EVENT, D)
            self.body = chainer.ChainList(*[EncoderLayer() for _ in range(n_layers)])
            self.logits = L.Linear(D, N_EVENT)

    def forward(self, events):
        x = self.embed(events) * D ** 0.5
        for layer in self.body:
            x = layer(x)
        return F.log_softmax(self.logits(x, n_batch_axes=2), axis=2)


def make(seed=1):
    np.random.seed(seed)
    return MusicTransformer()


def inputs(seed=0):
    return np.random.default_rng(seed).integers(0, N_EVENT, size=(4, T)).astype("int32")


def load(ported, original):
    def linear(link, dense):
        link.W.array[...] = dense.w.numpy().T
        link.b.array[...] = dense.b.numpy()

    ported.embed.W.array[...] = original.embedding.numpy()
    linear(ported.logits, original.head)
    for mine, theirs in zip(ported.body, original.layers):
        attention = theirs.attention
        linear(mine.att.query, attention.q)
        linear(mine.att.key, attention.k)
        linear(mine.att.value, attention.v)
        linear(mine.att.merge, attention.out)
        mine.att.rel.array[...] = attention.relative.numpy()
        linear(mine.ff1, theirs.up)
        linear(mine.ff2, theirs.down)
        for norm, source in ((mine.ln1, theirs.norm1), (mine.ln2, theirs.norm2)):
            norm.ln.gamma.array[...] = source.gamma.numpy()
            norm.ln.beta.array[...] = source.beta.numpy()
