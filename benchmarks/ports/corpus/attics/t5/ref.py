"""T5-style (v1.1) encoder-decoder in Keras, small."""
import math

import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"
SUBCLASS = True


class RMSNorm(layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale")

    def call(self, x):
        var = ops.mean(ops.square(x), axis=-1, keepdims=True)
        return x * ops.rsqrt(var + 1e-6) * self.scale


def relative_bucket(rel, bidirectional, buckets=8, max_distance=20):
    out = np.zeros_like(rel)
    n = -rel
    if bidirectional:
        buckets //= 2
        out += (n < 0) * buckets
        n = np.abs(n)
    else:
        n = np.maximum(n, 0)
    exact = buckets // 2
    far = exact + (np.log(np.maximum(n, 1) / exact) / math.log(max_distance / exact) * (buckets - exact)).astype(int)
    return out + np.where(n < exact, n, np.minimum(far, buckets - 1))


class Attention(layers.Layer):
    def __init__(self, dim, heads, size, rel=None, **kw):
        super().__init__(**kw)
        self.heads, self.size, self.rel = heads, size, rel
        self.q, self.k, self.v = (layers.Dense(heads * size, use_bias=False, name=n) for n in "qkv")
        self.o = layers.Dense(dim, use_bias=False, name="o")
        if rel is not None:
            self.bias = layers.Embedding(8, heads, name="relative_bias")

    def position_bias(self, tq, tk):
        rel = np.arange(tk)[None, :] - np.arange(tq)[:, None]
        table = self.bias(relative_bucket(rel, self.rel == "both"))
        return ops.expand_dims(ops.transpose(table, (2, 0, 1)), 0)

    def heads_first(self, x):
        b, t = ops.shape(x)[:2]
        return ops.transpose(ops.reshape(x, (b, t, self.heads, self.size)), (0, 2, 1, 3))

    def call(self, x, memory, bias):
        q, k, v = self.heads_first(self.q(x)), self.heads_first(self.k(memory)), self.heads_first(self.v(memory))
        scores = ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) + bias
        ctx = ops.transpose(ops.matmul(ops.softmax(scores, axis=-1), v), (0, 2, 1, 3))
        return self.o(ops.reshape(ctx, ops.shape(ctx)[:2] + (self.heads * self.size,)))


class GatedFF(layers.Layer):
    def __init__(self, dim, hidden, **kw):
        super().__init__(**kw)
        self.wi_0, self.wi_1 = layers.Dense(hidden, use_bias=False), layers.Dense(hidden, use_bias=False)
        self.wo = layers.Dense(dim, use_bias=False)

    def call(self, x):
        return self.wo(keras.activations.gelu(self.wi_0(x), approximate=True) * self.wi_1(x))


class T5(keras.Model):
    def __init__(self, vocab=50, dim=16, heads=2, size=8, hidden=28, depth=2):
        super().__init__()
        self.dim, self.depth = dim, depth
        self.shared = layers.Embedding(vocab, dim)
        att = lambda rel: Attention(dim, heads, size, rel)
        self.enc_att = [att("both" if i == 0 else None) for i in range(depth)]
        self.enc_ff = [GatedFF(dim, hidden) for _ in range(depth)]
        self.dec_att = [att("causal" if i == 0 else None) for i in range(depth)]
        self.dec_cross = [att(None) for _ in range(depth)]
        self.dec_ff = [GatedFF(dim, hidden) for _ in range(depth)]
        self.enc_norms = [RMSNorm() for _ in range(2 * depth + 1)]
        self.dec_norms = [RMSNorm() for _ in range(3 * depth + 1)]
        self.lm_head = layers.Dense(vocab, use_bias=False)

    def call(self, source, target):
        hide = (1.0 - ops.cast(ops.not_equal(source, 0), "float32"))[:, None, None, :] * -1e9
        ts, tt = source.shape[1], target.shape[1]
        x, n = self.shared(source), self.enc_norms
        bias = self.enc_att[0].position_bias(ts, ts) + hide
        for i in range(self.depth):
            y = n[2 * i](x)
            x = x + self.enc_att[i](y, y, bias)
            x = x + self.enc_ff[i](n[2 * i + 1](x))
        memory = n[-1](x)
        z, n = self.shared(target), self.dec_norms
        causal = (1.0 - np.tril(np.ones((tt, tt), "float32"))) * -1e9
        bias = self.dec_att[0].position_bias(tt, tt) + causal
        for i in range(self.depth):
            y = n[3 * i](z)
            z = z + self.dec_att[i](y, y, bias)
            z = z + self.dec_cross[i](n[3 * i + 1](z), memory, hide)
            z = z + self.dec_ff[i](n[3 * i + 2](z))
        return self.lm_head(n[-1](z))


def make(seed=17):
    model = T5()
    model(*[a[:1] for a in inputs(0)])
    r = np.random.default_rng(seed)
    for w in model.weights:
        z = r.standard_normal(w.shape)
        w.assign(1 + 0.25 * z if w.name == "scale" else z if "embed" in w.name else 1.2 * z / np.sqrt(w.shape[0]))
    return model


def inputs(seed):
    r = np.random.default_rng(seed)
    src, tgt = r.integers(2, 50, (4, 11)), r.integers(2, 50, (4, 7))
    for i, n in enumerate((11, 8, 6, 9)):
        src[i, n - 1] = 1
        src[i, n:] = 0
    tgt[:, 0] = 0
    return src.astype("int32"), tgt.astype("int32")
