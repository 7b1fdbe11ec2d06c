"""BiMPM (Wang et al. 2017): bilateral multi-perspective matching, in Keras."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
EPS = 1e-8


def cosine(a, b):
    dot = ops.sum(a * b, axis=-1)
    norm = ops.sqrt(ops.sum(a * a, axis=-1)) * ops.sqrt(ops.sum(b * b, axis=-1))
    return dot / ops.maximum(norm, EPS)


class PerspectiveMatch(layers.Layer):
    """Full, max-pooling and attentive matching of one direction."""

    def __init__(self, perspectives, last, **kwargs):
        super().__init__(**kwargs)
        self.perspectives, self.last = perspectives, last

    def build(self, p_shape, q_shape):
        dim = p_shape[-1]
        self.w_full = self.add_weight(shape=(self.perspectives, dim), name="w_full")
        self.w_max = self.add_weight(shape=(self.perspectives, dim), name="w_max")
        self.w_att = self.add_weight(shape=(self.perspectives, dim), name="w_att")

    def call(self, p, q):
        final = q[:, -1:, :] if self.last else q[:, :1, :]
        pw = ops.expand_dims(p, 2) * self.w_full
        full = cosine(pw, ops.expand_dims(final, 2) * self.w_full)

        pm = ops.expand_dims(p, 2) * self.w_max
        qm = ops.expand_dims(q, 2) * self.w_max
        pairs = cosine(ops.expand_dims(pm, 2), ops.expand_dims(qm, 1))
        pooled = ops.max(pairs, axis=2)

        att = cosine(ops.expand_dims(p, 2), ops.expand_dims(q, 1))
        mean_q = ops.matmul(att, q) / (ops.sum(ops.abs(att), axis=2, keepdims=True) + EPS)
        attentive = cosine(ops.expand_dims(p, 2) * self.w_att, ops.expand_dims(mean_q, 2) * self.w_att)
        return ops.concatenate([full, pooled, attentive], axis=-1)


class BiMPM(keras.Model):
    def __init__(self, vocab=15, dim=6, hidden=5, perspectives=3, classes=3):
        super().__init__()
        self.hidden = hidden
        self.embedding = layers.Embedding(vocab, dim)
        self.context = layers.Bidirectional(layers.LSTM(hidden, return_sequences=True))
        self.match_fw = PerspectiveMatch(perspectives, last=True)
        self.match_bw = PerspectiveMatch(perspectives, last=False)
        self.aggregate = layers.Bidirectional(layers.LSTM(hidden))
        self.fc1 = layers.Dense(8, activation="tanh")
        self.fc2 = layers.Dense(classes)

    def matching(self, p, q):
        h = self.hidden
        forward = self.match_fw(p[..., :h], q[..., :h])
        backward = self.match_bw(p[..., h:], q[..., h:])
        return ops.concatenate([forward, backward], axis=-1)

    def call(self, p_ids, q_ids):
        p = self.context(self.embedding(p_ids))
        q = self.context(self.embedding(q_ids))
        agg_p = self.aggregate(self.matching(p, q))
        agg_q = self.aggregate(self.matching(q, p))
        return self.fc2(self.fc1(ops.concatenate([agg_p, agg_q], axis=-1)))


def make():
    net = BiMPM()
    net(*[ops.convert_to_tensor(a) for a in inputs(0)])
    rng = np.random.default_rng(13)
    net.set_weights([rng.normal(size=w.shape).astype("float32") * 0.6 for w in net.weights])
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 15, size=(4, 7)).astype("int32"), rng.integers(0, 15, size=(4, 6)).astype("int32")
