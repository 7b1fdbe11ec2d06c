"""T5-style encoder with relative position bias, as subclassed Keras layers; masked mean, classifier."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
VOCAB, DIM, HEADS, FF, BUCKETS, FAR = 50, 24, 3, 36, 8, 16


class RMSNorm(layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale")

    def call(self, x):
        variance = ops.mean(ops.square(x), axis=-1, keepdims=True)
        return x * ops.rsqrt(variance + 1e-6) * self.scale


def buckets(length):
    """bidirectional buckets of memory position - query position"""
    relative = np.arange(length)[None, :] - np.arange(length)[:, None]
    half = BUCKETS // 2
    out = (relative > 0) * half
    n = np.abs(relative)
    exact = half // 2
    large = exact + (np.log(np.maximum(n, 1) / exact) / np.log(FAR / exact) * (half - exact)).astype(int)
    return (out + np.where(n < exact, n, np.minimum(large, half - 1))).astype("int32")


class RelativeBias(layers.Layer):
    def build(self, shape):
        self.table = self.add_weight(shape=(BUCKETS, HEADS), initializer="normal", name="table")

    def call(self, tokens):
        values = ops.take(self.table, buckets(tokens.shape[1]), axis=0)
        return ops.expand_dims(ops.transpose(values, (2, 0, 1)), 0)


class SelfAttention(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.q, self.k, self.v, self.o = (layers.Dense(DIM, use_bias=False, name=n) for n in "qkvo")

    def heads(self, x):
        return ops.transpose(ops.reshape(x, (-1, x.shape[1], HEADS, DIM // HEADS)), (0, 2, 1, 3))

    def call(self, x, bias):
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        scores = ops.matmul(q, ops.transpose(k, (0, 1, 3, 2)))
        scores = scores + bias
        mixed = ops.matmul(ops.softmax(scores, axis=-1), v)
        return self.o(ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), (-1, x.shape[1], DIM)))


class Block(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.norm1, self.norm2 = RMSNorm(), RMSNorm()
        self.attention = SelfAttention()
        self.wi_0, self.wi_1 = layers.Dense(FF, use_bias=False), layers.Dense(FF, use_bias=False)
        self.wo = layers.Dense(DIM, use_bias=False)

    def call(self, x, bias):
        x = x + self.attention(self.norm1(x), bias)
        h = self.norm2(x)
        h = ops.gelu(self.wi_0(h), approximate=True) * self.wi_1(h)
        return x + self.wo(h)


class T5Classifier(keras.Model):
    def __init__(self, depth=2, classes=4):
        super().__init__()
        self.embed = layers.Embedding(VOCAB, DIM)
        self.relative = RelativeBias()
        self.blocks = [Block() for _ in range(depth)]
        self.final = RMSNorm()
        self.head = layers.Dense(classes)

    def call(self, tokens):
        real = ops.cast(ops.not_equal(tokens, 0), "float32")
        bias = self.relative(tokens) + (1. - real[:, None, None, :]) * -1e9
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x, bias)
        x = self.final(x) * real[..., None]
        return self.head(ops.sum(x, axis=1) / ops.sum(real, axis=1, keepdims=True))


def make(seed=0):
    model = T5Classifier()
    model(inputs())
    rng = np.random.default_rng(seed)
    for w in model.weights:
        noise = rng.normal(size=w.shape)
        small = {"kernel": w.shape[0] ** -0.5, "bias": 0.2, "scale": 0.2}
        w.assign((w.name == "scale") + noise * small.get(w.name, 0.7))
    return model


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    tokens = rng.integers(1, VOCAB, size=(5, 12))
    lengths = rng.integers(5, 13, size=(5, 1))
    return np.where(np.arange(12) < lengths, tokens, 0).astype("int32")
