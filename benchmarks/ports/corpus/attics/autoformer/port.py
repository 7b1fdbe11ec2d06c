"""Autoformer with Keras layers and tf.signal."""
import math

import numpy as np
import tensorflow as tf
import keras
from keras import layers

FRAMEWORK = "tensorflow"
SUBCLASS = True


def decompose(x, window):
    half = (window - 1) // 2
    front = tf.repeat(x[:, :1], half, axis=1)
    back = tf.repeat(x[:, -1:], half, axis=1)
    trend = tf.nn.avg_pool1d(tf.concat([front, x, back], axis=1), window, 1, "VALID")
    return x - trend, trend


def circular(x):
    return tf.concat([x[:, -1:], x, x[:, :1]], axis=1)


class SeasonalNorm(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.ln = layers.LayerNormalization(epsilon=1e-5)

    def call(self, x):
        y = self.ln(x)
        return y - tf.reduce_mean(y, axis=1, keepdims=True)


class AutoCorrelation(layers.Layer):
    def __init__(self, dim, heads, factor=2, **kw):
        super().__init__(**kw)
        self.heads, self.factor, self.dim = heads, factor, dim
        self.query, self.key, self.value, self.out = (layers.Dense(dim) for _ in range(4))

    def split(self, x):
        b, t = x.shape[0], x.shape[1]
        return tf.transpose(tf.reshape(x, [b, t, self.heads, self.dim // self.heads]), [0, 2, 3, 1])

    def call(self, x, memory):
        n = x.shape[1]
        q, k, v = self.split(self.query(x)), self.split(self.key(memory)), self.split(self.value(memory))
        missing = n - memory.shape[1]
        if missing > 0:
            k, v = (tf.pad(a, [[0, 0], [0, 0], [0, 0], [0, missing]]) for a in (k, v))
        else:
            k, v = k[..., :n], v[..., :n]
        spectrum = tf.signal.rfft(q) * tf.math.conj(tf.signal.rfft(k))
        corr = tf.signal.irfft(spectrum, fft_length=[n])
        score = tf.reduce_mean(corr, axis=[1, 2])
        best, lag = tf.math.top_k(score, int(self.factor * math.log(n)))
        best = tf.nn.softmax(best)
        where = (tf.range(n)[None, None] + lag[..., None]) % n             # B K T
        series = tf.transpose(v, [0, 3, 1, 2])                             # B T H E
        rolled = tf.gather(series, where, axis=1, batch_dims=1)            # B K T H E
        mixed = tf.einsum("bk,bkthe->bthe", best, rolled)
        return self.out(tf.reshape(mixed, [x.shape[0], n, self.dim]))


class Feed(layers.Layer):
    def __init__(self, dim, hidden, **kw):
        super().__init__(**kw)
        self.up = layers.Dense(hidden, use_bias=False)
        self.down = layers.Dense(dim, use_bias=False)

    def call(self, x):
        return self.down(keras.activations.gelu(self.up(x), approximate=False))


class Autoformer(keras.Model):
    def __init__(self, channels=3, dim=16, heads=4, hidden=24, window=5, label=12, pred=12):
        super().__init__()
        self.label, self.pred, self.window = label, pred, window
        self.enc_value = layers.Conv1D(dim, 3, use_bias=False)
        self.dec_value = layers.Conv1D(dim, 3, use_bias=False)
        self.enc_mark = layers.Dense(dim, use_bias=False)
        self.dec_mark = layers.Dense(dim, use_bias=False)
        self.enc_attn = [AutoCorrelation(dim, heads) for _ in range(2)]
        self.enc_feed = [Feed(dim, hidden) for _ in range(2)]
        self.enc_norm, self.dec_norm = SeasonalNorm(), SeasonalNorm()
        self.self_attn, self.cross_attn = AutoCorrelation(dim, heads), AutoCorrelation(dim, heads)
        self.dec_feed = Feed(dim, hidden)
        self.trend_conv = layers.Conv1D(channels, 3, use_bias=False)
        self.project = layers.Dense(channels)

    def encode(self, h):
        for attn, feed in zip(self.enc_attn, self.enc_feed):
            h, _ = decompose(h + attn(h, h), self.window)
            h, _ = decompose(h + feed(h), self.window)
        return self.enc_norm(h)

    def decode(self, z, memory):
        z, t1 = decompose(z + self.self_attn(z, z), self.window)
        z, t2 = decompose(z + self.cross_attn(z, memory), self.window)
        z, t3 = decompose(z + self.dec_feed(z), self.window)
        return self.dec_norm(z), self.trend_conv(circular(t1 + t2 + t3))

    def call(self, x, x_mark, y_mark):
        seasonal, trend = decompose(x, self.window)
        mean = tf.repeat(tf.reduce_mean(x, axis=1, keepdims=True), self.pred, axis=1)
        trend = tf.concat([trend[:, -self.label:], mean], axis=1)
        seasonal = tf.concat([seasonal[:, -self.label:], tf.zeros_like(mean)], axis=1)
        memory = self.encode(self.enc_value(circular(x)) + self.enc_mark(x_mark))
        z = self.dec_value(circular(seasonal)) + self.dec_mark(y_mark)
        z, drift = self.decode(z, memory)
        return (self.project(z) + trend + drift)[:, -self.pred:]


def make(seed=9):
    m = Autoformer()
    m(np.zeros((1, 24, 3), "f4"), np.zeros((1, 24, 2), "f4"), np.zeros((1, 24, 2), "f4"))
    r = np.random.default_rng(seed)
    for w in m.weights:
        z = r.standard_normal(w.shape)
        w.assign(1 + 0.2 * z if w.name == "gamma" else 0.2 * z)
    return m


def inputs(seed):
    r = np.random.default_rng(seed)
    t = np.arange(36)
    b = 4
    phase = r.uniform(0, 6.28, (b, 1, 3))
    x = np.sin(2 * np.pi * t[None, :24, None] / r.uniform(5, 9, (b, 1, 3)) + phase) + 0.04 * t[None, :24, None]
    x = x + 0.3 * r.standard_normal(x.shape) + r.uniform(-1, 1, (b, 1, 3))
    start = r.integers(0, 24, (b, 1))
    mark = np.stack([((start + t) % 24) / 23.0 - 0.5, (((start + t) // 24) % 7) / 6.0 - 0.5], -1)
    return tuple(a.astype("float32") for a in (x, mark[:, :24], mark[:, 12:]))


def load(ported, original):
    a = lambda p: p.detach().numpy()

    def dense(dst, src):
        dst.set_weights([a(src.weight).T] + ([] if src.bias is None else [a(src.bias)]))

    def attn(dst, src):
        for d, s in ((dst.query, src.q), (dst.key, src.k), (dst.value, src.v), (dst.out, src.o)):
            dense(d, s)

    def conv(dst, src):
        dst.set_weights([a(src.weight).transpose(2, 1, 0)])

    def feed(dst, src):
        dense(dst.up, src.fc1)
        dense(dst.down, src.fc2)

    conv(ported.enc_value, original.enc_value)
    conv(ported.dec_value, original.dec_value)
    dense(ported.enc_mark, original.enc_mark)
    dense(ported.dec_mark, original.dec_mark)
    for i, layer in enumerate(original.encoder):
        attn(ported.enc_attn[i], layer.attn)
        feed(ported.enc_feed[i], layer)
    for d, s in ((ported.enc_norm, original.enc_norm), (ported.dec_norm, original.dec_norm)):
        d.ln.set_weights([a(s.norm.weight), a(s.norm.bias)])
    attn(ported.self_attn, original.decoder.self_attn)
    attn(ported.cross_attn, original.decoder.cross_attn)
    feed(ported.dec_feed, original.decoder)
    conv(ported.trend_conv, original.decoder.trend)
    dense(ported.project, original.proj)
