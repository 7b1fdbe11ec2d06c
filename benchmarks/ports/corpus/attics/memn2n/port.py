"""MemN2N as a Chainer chain; memories embedded by small links, the last also the output layer."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"


def encoding_matrix(n_words, n_units):
    weights = np.empty((n_words, n_units), np.float32)
    for j in range(n_words):
        for k in range(n_units):
            frac = (j + 1.0) / n_words
            weights[j, k] = (1.0 - frac) - ((k + 1.0) / n_units) * (1.0 - 2.0 * frac)
    return weights


class SentenceEncoder(chainer.Chain):
    """Embeds words and sums them over a sentence, weighted by position."""

    def __init__(self, n_vocab, n_units, n_memory):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units, ignore_label=0)
            self.temporal = L.EmbedID(n_memory, n_units)

    def sentences(self, ids):
        e = self.embed(ids)
        weights = encoding_matrix(ids.shape[-1], e.shape[-1])
        return F.sum(e * self.xp.broadcast_to(weights, e.shape), axis=-2)

    def forward(self, ids):
        batch, n_mem = ids.shape[:2]
        order = self.xp.tile(self.xp.arange(n_mem, dtype="i"), (batch, 1))
        return self.sentences(ids) + self.temporal(order)


class MemoryNetwork(chainer.Chain):
    def __init__(self, n_vocab=36, n_units=14, n_hops=3, n_memory=10):
        super().__init__()
        self.n_hops = n_hops
        with self.init_scope():
            self.encoders = chainer.ChainList(
                *(SentenceEncoder(n_vocab, n_units, n_memory) for _ in range(n_hops + 1)))

    def hop(self, u, m, c, blank):
        score = F.sum(m * F.broadcast_to(F.expand_dims(u, 1), m.shape), axis=2)
        score = F.where(blank, np.full(score.shape, -1e30, np.float32), score)
        p = F.softmax(score, axis=1)
        return u + F.sum(F.broadcast_to(F.expand_dims(p, 2), c.shape) * c, axis=1)

    def forward(self, story, query):
        blank = (story == 0).all(axis=2)
        u = self.encoders[0].sentences(query)
        memories = [enc(story) for enc in self.encoders]
        for k in range(self.n_hops):
            u = self.hop(u, memories[k], memories[k + 1], blank)
        return F.matmul(u, self.encoders[self.n_hops].embed.W, transb=True)


def make(seed=19):
    net = MemoryNetwork()
    r = np.random.RandomState(seed)
    for name, p in sorted(net.namedparams()):
        p.array[...] = 0.5 * r.randn(*p.shape)
        if name.endswith("embed/W"):
            p.array[0] = 0
    return net


def inputs(seed):
    r = np.random.default_rng(seed)
    b, m, s = 6, 8, 6
    story, query = r.integers(1, 36, (b, m, s)), r.integers(1, 36, (b, s))
    for i in range(b):
        for j in range(m):
            story[i, j, r.integers(3, s + 1):] = 0
        story[i, r.integers(4, m + 1):] = 0
        query[i, r.integers(3, s + 1):] = 0
    return story.astype("int32"), query.astype("int32")


def load(ported, original):
    for enc, words, times in zip(ported.encoders, original.words, original.times):
        enc.embed.W.array[...] = words.weight.detach().numpy()
        enc.temporal.W.array[...] = times.detach().numpy()
