"""Conv-KNRM in Keras 3 (subclassed layers, all kernels at once)."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
VOCAB, EMB, FILTERS, NGRAMS, QLEN, DLEN = 30, 12, 8, 2, 5, 9


class KernelPooling(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.mus = np.array([1.0, 0.7, 0.3, -0.1, -0.5], "float32")
        self.sigmas = np.array([0.001, 0.1, 0.1, 0.1, 0.1], "float32")

    def call(self, sim, qmask, dmask):
        k = ops.exp(-ops.square(sim[..., None] - self.mus) / (2 * self.sigmas ** 2))
        k = k * dmask[:, None, :, None]
        tf = ops.sum(k, axis=2)
        tf = ops.log(ops.maximum(tf, 1e-10)) * 0.01
        return ops.sum(tf * qmask[:, :, None], axis=1)


class NGramEncoder(layers.Layer):
    def __init__(self, n, **kw):
        super().__init__(**kw)
        self.n = n
        self.conv = layers.Conv1D(FILTERS, n, activation="relu")

    def call(self, x):
        x = ops.pad(x, [[0, 0], [0, self.n - 1], [0, 0]])
        return ops.normalize(self.conv(x), axis=-1)


class ConvKNRM(keras.Model):
    def __init__(self):
        super().__init__()
        self.embedding = layers.Embedding(VOCAB, EMB)
        self.encoders = [NGramEncoder(n) for n in range(1, NGRAMS + 1)]
        self.pooling = KernelPooling()
        self.rank = layers.Dense(1, activation="tanh")

    def call(self, query, doc):
        qmask = ops.cast(ops.not_equal(query, 0), "float32")
        dmask = ops.cast(ops.not_equal(doc, 0), "float32")
        q = self.embedding(query) * qmask[..., None]
        d = self.embedding(doc) * dmask[..., None]
        qs = [enc(q) for enc in self.encoders]
        ds = [enc(d) for enc in self.encoders]
        pooled = []
        for a in qs:
            for b in ds:
                sim = ops.einsum("bqf,bdf->bqd", a, b)
                pooled.append(self.pooling(sim, qmask, dmask))
        phi = ops.concatenate(pooled, axis=-1)
        return self.rank(phi), phi


def make():
    model = ConvKNRM()
    model(*inputs(0))
    rs = np.random.RandomState(14)
    for w in model.weights:
        w.assign((rs.randn(*w.shape) * 0.4).astype("float32"))
    return model


def inputs(seed):
    rs = np.random.RandomState(seed)
    q = rs.randint(1, VOCAB, (4, QLEN))
    d = rs.randint(1, VOCAB, (4, DLEN))
    d[:, 1] = q[:, 0]
    d[:, 4:6] = q[:, 1:3]
    q[0, 4:] = 0
    q[2, 3:] = 0
    d[1, 7:] = 0
    d[2, 6:] = 0
    return q.astype("int32"), d.astype("int32")


def load(ported, original):
    ported.embedding.set_weights([original.embed.W.array])
    for enc, conv in zip(ported.encoders, original.convs):
        enc.conv.set_weights([conv.W.array.transpose(2, 1, 0), conv.b.array])
    ported.rank.set_weights([original.dense.W.array.T, original.dense.b.array])
