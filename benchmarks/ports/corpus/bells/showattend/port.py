"""Show, Attend and Tell decoder in Keras 3 (subclassed)."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
B, P, D, E, H, A, V, T = 4, 6, 8, 7, 10, 9, 15, 5


class Attention(layers.Layer):
    def __init__(self):
        super().__init__()
        self.enc = layers.Dense(A)
        self.dec = layers.Dense(A, use_bias=False)
        self.full = layers.Dense(1)

    def call(self, feats, h):
        e = ops.tanh(self.enc(feats) + ops.expand_dims(self.dec(h), 1))
        alpha = ops.softmax(self.full(e), axis=1)
        ctx = ops.sum(alpha * feats, axis=1)
        return ctx, ops.squeeze(alpha, -1)


class Decoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = layers.Embedding(V, E)
        self.attention = Attention()
        self.init_h = layers.Dense(H, activation="tanh")
        self.init_c = layers.Dense(H, activation="tanh")
        self.f_beta = layers.Dense(D, activation="sigmoid")
        self.cell = layers.LSTMCell(H)
        self.l_h = layers.Dense(E)
        self.l_z = layers.Dense(E)
        self.l_o = layers.Dense(V)

    def call(self, feats, caption):
        mean = ops.mean(feats, axis=1)
        state = [self.init_h(mean), self.init_c(mean)]
        words = self.embed(caption)
        logits, alphas = [], []
        for t in range(caption.shape[1]):
            y = words[:, t]
            ctx, alpha = self.attention(feats, state[0])
            ctx = self.f_beta(state[0]) * ctx
            h, state = self.cell(ops.concatenate([y, ctx], axis=-1), state)
            out = ops.tanh(y + self.l_h(h) + self.l_z(ctx))
            logits.append(self.l_o(out))
            alphas.append(alpha)
        return ops.stack(logits, axis=1), ops.stack(alphas, axis=1)


def make():
    m = Decoder()
    m(*inputs(0))
    r = np.random.RandomState(3)
    for w in m.weights:
        if "float" in str(w.dtype):
            w.assign(0.5 * r.randn(*w.shape))
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randn(B, P, D).astype("float32"), r.randint(0, V, (B, T)).astype("int32"))


def load(p, o):
    def dense(a, b):
        a.set_weights([b.W.array.T] + ([b.b.array] if b.b is not None else []))
    p.embed.set_weights([o.embed.W.array])
    for k in ("enc", "dec", "full"):
        dense(getattr(p.attention, k), getattr(o.attention, k))
    for k in ("init_h", "init_c", "f_beta", "l_h", "l_z", "l_o"):
        dense(getattr(p, k), getattr(o, k))

    def gates(w):           # chainer: rows interleaved a, i, f, o; keras: blocks i, f, c, o
        g = w.reshape((H, 4) + w.shape[1:])
        return np.concatenate([g[:, 1], g[:, 2], g[:, 0], g[:, 3]], 0)
    p.cell.set_weights([gates(o.lstm.upward.W.array).T, gates(o.lstm.lateral.W.array).T, gates(o.lstm.upward.b.array)])
