"""Transformer-XL language model step (Dai et al. 2019), TensorFlow, variables in a tf.Module."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
VOCAB, D, HEADS, DH, LAYERS, T, M = 50, 24, 3, 8, 2, 8, 6


def layer_norm(x, g, b, eps=1e-5):
    mu, var = tf.nn.moments(x, [-1], keepdims=True)
    return (x - mu) * tf.math.rsqrt(var + eps) * g + b


def rel_shift(x):
    b, h, q, k = x.shape
    x = tf.pad(x, [[0, 0], [0, 0], [0, 0], [1, 0]])
    x = tf.reshape(x, [b, h, k + 1, q])
    return tf.reshape(x[:, :, 1:], [b, h, q, k])


class RelLayer(tf.Module):
    def __init__(self, r, name=None):
        super().__init__(name=name)

        def mat(*s, std=None):
            return tf.Variable(r.normal(0, std or 1.2 / s[0] ** 0.5, s).astype("float32"))
        self.wq, self.wk, self.wv, self.wr = (mat(D, HEADS, DH) for _ in range(4))
        self.wo = mat(HEADS, DH, D, std=0.25)
        self.w1, self.b1 = mat(D, 2 * D), mat(2 * D, std=0.2)
        self.w2, self.b2 = mat(2 * D, D), mat(D, std=0.2)
        self.g1, self.g2 = (tf.Variable(r.uniform(0.6, 1.4, D).astype("float32")) for _ in "12")
        self.n1, self.n2 = mat(D, std=0.2), mat(D, std=0.2)

    def __call__(self, x, mem, pos, u, v, mask):
        cat = tf.concat([mem, x], axis=1)
        q = tf.einsum("btd,dhk->bthk", x, self.wq)
        k = tf.einsum("bsd,dhk->bshk", cat, self.wk)
        val = tf.einsum("bsd,dhk->bshk", cat, self.wv)
        r = tf.einsum("sd,dhk->shk", pos, self.wr)
        ac = tf.einsum("bthk,bshk->bhts", q + u, k)
        bd = rel_shift(tf.einsum("bthk,shk->bhts", q + v, r))
        score = (ac + bd) / DH ** 0.5
        score = score * (1 - mask) - 1e30 * mask
        p = tf.nn.softmax(score, axis=-1)
        o = tf.einsum("bhts,bshk->bthk", p, val)
        x = layer_norm(x + tf.einsum("bthk,hkd->btd", o, self.wo), self.g1, self.n1)
        f = tf.nn.relu(tf.matmul(x, self.w1) + self.b1)
        return layer_norm(x + tf.matmul(f, self.w2) + self.b2, self.g2, self.n2)


class TransformerXL(tf.Module):
    def __init__(self, r):
        super().__init__()
        self.table = tf.Variable(r.normal(0, 1 / D ** 0.5, (VOCAB, D)).astype("float32"))
        self.u = tf.Variable(r.normal(0, 0.5, (HEADS, DH)).astype("float32"))
        self.v = tf.Variable(r.normal(0, 0.5, (HEADS, DH)).astype("float32"))
        self.layers = [RelLayer(r, name=f"layer{i}") for i in range(LAYERS)]
        self.out_bias = tf.Variable(r.normal(0, 0.2, VOCAB).astype("float32"))

    def positions(self, klen):
        seq = tf.range(klen - 1, -1, -1.0)
        inv = 1 / (10000 ** (tf.range(0, D, 2.0) / D))
        ang = tf.einsum("i,j->ij", seq, inv)
        return tf.concat([tf.sin(ang), tf.cos(ang)], axis=-1)

    def __call__(self, tokens, mems):
        x = tf.gather(self.table, tokens) * D ** 0.5
        t, m = x.shape[1], mems.shape[2]
        pos = self.positions(float(t + m))
        full = tf.ones([t, t])
        causal = full - tf.linalg.band_part(full, -1, 0)
        mask = tf.concat([tf.zeros([t, m]), causal], axis=1)
        new = []
        for i, layer in enumerate(self.layers):
            new.append(tf.concat([mems[i], x], axis=1)[:, -m:])
            x = layer(x, mems[i], pos, self.u, self.v, mask)
        logits = tf.matmul(x, self.table, transpose_b=True) + self.out_bias
        return logits, tf.stack(new)


def make(seed=10):
    return TransformerXL(np.random.default_rng(seed))


def inputs(seed=0):
    r = np.random.default_rng(seed)
    return r.integers(0, VOCAB, (4, T)), r.normal(0, 1, (LAYERS, 4, M, D)).astype("float32")
