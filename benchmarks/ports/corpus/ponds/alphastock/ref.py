"""AlphaStock: LSTM with history attention, cross-asset attention, buy-winners-sell-losers (Keras)."""
import os
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
ASSETS, K, FEAT, H, D, Q, G = 8, 5, 6, 10, 8, 2, 3


class HistoryLSTM(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.lstm = layers.LSTM(H, return_sequences=True)
        self.w1 = layers.Dense(H, use_bias=False)
        self.w2 = layers.Dense(H)
        self.score = layers.Dense(1, use_bias=False)

    def call(self, x):
        h = self.lstm(x)
        last = h[:, -1:, :]
        e = self.score(ops.tanh(self.w1(h) + self.w2(last)))
        alpha = ops.softmax(e, axis=1)
        return ops.sum(alpha * h, axis=1)


class CAAN(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.q = layers.Dense(D)
        self.k = layers.Dense(D)
        self.v = layers.Dense(D)
        self.rank_embed = layers.Embedding(ASSETS // Q, 4)
        self.rank_weight = layers.Dense(1, use_bias=False)
        self.winner = layers.Dense(1)

    def call(self, r, rank):
        q, k, v = self.q(r), self.k(r), self.v(r)
        gap = ops.abs(ops.expand_dims(rank, 2) - ops.expand_dims(rank, 1)) // Q
        psi = ops.sigmoid(self.rank_weight(self.rank_embed(gap)))[..., 0]
        beta = psi * ops.matmul(q, ops.transpose(k, (0, 2, 1))) / np.sqrt(float(D))
        a = ops.matmul(ops.softmax(beta, axis=-1), v)
        return ops.sigmoid(self.winner(a))[..., 0]


class AlphaStock(keras.Model):
    def __init__(self):
        super().__init__()
        self.extractor = HistoryLSTM()
        self.caan = CAAN()

    def call(self, x, rank):
        mean = ops.mean(x, axis=1, keepdims=True)
        std = ops.std(x, axis=1, keepdims=True)
        x = (x - mean) / (std + 1e-5)
        r = self.extractor(ops.reshape(x, (-1, K, FEAT)))
        s = self.caan(ops.reshape(r, (-1, ASSETS, H)), rank)
        top, win = ops.top_k(s, G)
        low, lose = ops.top_k(-s, G)
        long = ops.softmax(top, axis=1)
        short = ops.softmax(1.0 + low, axis=1)
        w = ops.sum(ops.one_hot(win, ASSETS) * long[..., None], axis=1)
        w = w - ops.sum(ops.one_hot(lose, ASSETS) * short[..., None], axis=1)
        return w, s


def make():
    m = AlphaStock()
    m(*[ops.convert_to_tensor(a) for a in inputs(0)])
    r = np.random.RandomState(10)
    for w in m.weights:
        s = tuple(w.shape)
        w.assign((r.randn(*s) * (2.0 / np.sqrt(s[0]) if len(s) > 1 else 0.4)).astype("f"))
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randn(4, ASSETS, K, FEAT).astype("f"),
            np.stack([r.permutation(ASSETS) for _ in range(4)]).astype("int32"))
