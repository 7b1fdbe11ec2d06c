"""The tagger in Keras 3, with masks."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

FRAMEWORK = "tensorflow"
V, E, HID, L, T = 30, 12, 10, 6, 9


class KTagger(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = layers.Embedding(V, E)
        rnn = lambda **kw: layers.GRU(HID, return_sequences=True, reset_after=True, **kw)
        self.fwd, self.bwd = rnn(), rnn(go_backwards=True)
        self.emit = layers.Dense(L)
        self.start = self.add_weight(shape=(L,), name="start")
        self.end = self.add_weight(shape=(L,), name="end")
        self.trans = self.add_weight(shape=(L, L), name="trans")

    def gru(self, x, mask):
        f = self.fwd(x, mask=mask)
        b = ops.flip(self.bwd(x, mask=mask), axis=1)
        h = ops.concatenate([f, b], axis=-1)
        return h * ops.cast(mask, "float32")[..., None]

    def call(self, tokens, tags, lengths):
        mask = ops.arange(T)[None] < ops.cast(lengths, "int32")[:, None]
        e = self.emit(self.gru(self.embed(tokens), mask))
        m = ops.cast(mask, "float32")
        alpha = self.start + e[:, 0]
        one = ops.one_hot(tags, L)
        gold = ops.sum(one * e, axis=-1)
        score = ops.matmul(one[:, 0], self.start[:, None])[:, 0] + gold[:, 0]
        for i in range(1, T):
            x = alpha[:, :, None] + self.trans[None] + e[:, i, None, :]
            step = ops.logsumexp(x, axis=1)
            alpha = ops.where(mask[:, i, None], step, alpha)
            s = ops.sum(ops.matmul(one[:, i - 1], self.trans) * one[:, i], axis=-1) + gold[:, i]
            score = score + s * m[:, i]
        logz = ops.logsumexp(alpha + self.end, axis=1)
        final = ops.take_along_axis(tags, lengths[:, None] - 1, axis=1)[:, 0]
        score = score + ops.take(self.end, final)
        return e * m[..., None], logz, logz - score


def make():
    k = KTagger()
    k(tf.zeros((1, T), tf.int64), tf.zeros((1, T), tf.int64), tf.fill((1,), tf.constant(T, tf.int64)))
    return k


def load(k, t):
    n = lambda p: p.detach().numpy()
    k.embed.set_weights([n(t.embed.weight)])
    k.emit.set_weights([n(t.emit.weight).T, n(t.emit.bias)])
    for a in ("start", "end", "trans"):
        getattr(k, a).assign(n(getattr(t, a)))
    order = [1, 0, 2]
    gates = lambda w: np.concatenate([w[i * HID : (i + 1) * HID] for i in order])
    for suffix, layer in (("", k.fwd), ("_reverse", k.bwd)):
        wi, wh, bi, bh = (gates(n(getattr(t.gru, f"{p}_l0{suffix}"))) for p in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        layer.set_weights([wi.T, wh.T, np.stack([bi, bh])])
