"""Keras port of the Leela-style chess transformer."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
S, PLANES, D, HEADS, NBLOCKS, GEN = 16, 12, 16, 2, 2, 6
ALPHA = (2.0 * NBLOCKS) ** 0.25


def mish(x):
    return x * ops.tanh(ops.softplus(x))


class Smolgen(layers.Layer):
    def __init__(self, shared, **kw):
        super().__init__(**kw)
        self.compress = layers.Dense(4, use_bias=False)
        self.fc1 = layers.Dense(12, activation="silu")
        self.ln1 = layers.LayerNormalization(epsilon=1e-5)
        self.fc2 = layers.Dense(HEADS * GEN, activation="silu")
        self.ln2 = layers.LayerNormalization(epsilon=1e-5)
        self.shared = shared

    def call(self, x):
        h = ops.reshape(self.compress(x), (-1, S * 4))
        h = self.ln1(self.fc1(h))
        h = self.ln2(self.fc2(h))
        h = ops.reshape(h, (-1, HEADS, GEN))
        return ops.reshape(self.shared(h), (-1, HEADS, S, S))


class Encoder(layers.Layer):
    def __init__(self, shared, **kw):
        super().__init__(**kw)
        self.q, self.k, self.v, self.o = [layers.Dense(D) for _ in range(4)]
        self.smolgen = Smolgen(shared)
        self.ln1 = layers.LayerNormalization(epsilon=1e-5)
        self.ff1 = layers.Dense(2 * D, activation="relu")
        self.ff2 = layers.Dense(D)
        self.ln2 = layers.LayerNormalization(epsilon=1e-5)

    def call(self, x):
        shape = (-1, S, HEADS, D // HEADS)
        q = ops.reshape(self.q(x), shape)
        k = ops.reshape(self.k(x), shape)
        v = ops.reshape(self.v(x), shape)
        scale = float(D // HEADS) ** -0.5
        logits = ops.einsum("bqhd,bkhd->bhqk", q, k) * scale
        att = ops.softmax(logits + self.smolgen(x), axis=-1)
        out = ops.reshape(ops.einsum("bhqk,bkhd->bqhd", att, v), (-1, S, D))
        x = self.ln1(ALPHA * x + self.o(out))
        h = self.ff2(ops.square(self.ff1(x)))
        return self.ln2(ALPHA * x + h)


class ChessNet(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = layers.Dense(D)
        self.mult_gate = self.add_weight(shape=(S, D), initializer="ones", name="mult_gate")
        self.add_gate = self.add_weight(shape=(S, D), initializer="zeros", name="add_gate")
        self.shared = layers.Dense(S * S, use_bias=False)
        self.blocks = [Encoder(self.shared) for _ in range(NBLOCKS)]
        self.p_embed = layers.Dense(D)
        self.p_q = layers.Dense(8)
        self.p_k = layers.Dense(8)
        self.promo = layers.Dense(4, use_bias=False)
        self.v_embed = layers.Dense(3)
        self.v_fc = layers.Dense(10)
        self.v_out = layers.Dense(3, activation="softmax")

    def policy(self, x):
        x = mish(self.p_embed(x))
        q, k = self.p_q(x), self.p_k(x)
        moves = ops.einsum("bqd,bkd->bqk", q, k) / float(np.sqrt(8.0))
        promo = self.promo(k[:, -4:, :])
        promo = promo[:, :, :3] + promo[:, :, 3:]
        last = moves[:, -8:-4, -4:]
        promo = last[..., None] + promo[:, None]
        return ops.concatenate([ops.reshape(moves, (-1, S * S)), ops.reshape(promo, (-1, 48))], axis=1)

    def call(self, planes):
        x = mish(self.embed(planes))
        x = x * self.mult_gate + self.add_gate
        for b in self.blocks:
            x = b(x)
        v = ops.reshape(mish(self.v_embed(x)), (-1, S * 3))
        wdl = self.v_out(mish(self.v_fc(v)))
        return self.policy(x), wdl


def make():
    m = ChessNet()
    m(np.zeros((2, S, PLANES), "float32"))
    r = np.random.RandomState(11)
    for w in m.weights:
        a = r.randn(*w.shape)
        if w.name in ("gamma", "mult_gate"):
            a = 1 + 0.2 * a
        elif len(w.shape) > 1 and "gate" not in w.name:
            a = a / np.sqrt(w.shape[0])
        else:
            a = 0.2 * a
        w.assign(a.astype("float32"))
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randn(4, S, PLANES).astype("float32"),)


def load(ported, original):
    def n(t):
        return t.detach().numpy()

    def dense(a, b):
        a.kernel.assign(n(b.weight).T)
        if b.bias is not None:
            a.bias.assign(n(b.bias))

    def ln(a, b):
        a.gamma.assign(n(b.weight))
        a.beta.assign(n(b.bias))
    for name in ("embed", "shared", "p_embed", "p_q", "p_k", "promo", "v_embed", "v_fc", "v_out"):
        dense(getattr(ported, name), getattr(original, name))
    ported.mult_gate.assign(n(original.mult_gate))
    ported.add_gate.assign(n(original.add_gate))
    for a, b in zip(ported.blocks, original.blocks):
        for name in ("q", "k", "v", "o", "ff1", "ff2"):
            dense(getattr(a, name), getattr(b, name))
        ln(a.ln1, b.ln1)
        ln(a.ln2, b.ln2)
        for name in ("compress", "fc1", "fc2"):
            dense(getattr(a.smolgen, name), getattr(b.smolgen, name))
        ln(a.smolgen.ln1, b.smolgen.ln1)
        ln(a.smolgen.ln2, b.smolgen.ln2)
