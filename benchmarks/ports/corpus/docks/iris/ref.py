"""IRIS: a discrete autoencoder's tokenizer and a causal transformer over the tokens, Keras functional."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
VOCAB, DIM, HEADS, SIDE = 11, 12, 3, 12


class Quantizer(layers.Layer):
    def build(self, shape):
        self.codebook = self.add_weight(shape=(VOCAB, shape[-1]), name="codebook")

    def call(self, z):
        d = (ops.sum(z ** 2, -1, keepdims=True) + ops.sum(self.codebook ** 2, -1)
             - 2 * ops.matmul(z, ops.transpose(self.codebook)))
        tokens = ops.argmin(d, axis=-1)
        return ops.take(self.codebook, tokens, axis=0), ops.min(d, axis=-1)


class CausalAttention(layers.Layer):
    def build(self, shape):
        self.qkv = layers.Dense(3 * DIM, name="qkv")
        self.proj = layers.Dense(DIM, name="proj")
        self.qkv.build(shape)
        self.proj.build(shape)

    def call(self, x):
        n = x.shape[1]
        q, k, v = ops.split(self.qkv(x), 3, axis=-1)
        heads = lambda t: ops.transpose(ops.reshape(t, (-1, n, HEADS, DIM // HEADS)), (0, 2, 1, 3))
        q, k, v = heads(q), heads(k), heads(v)
        scores = ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) / (DIM // HEADS) ** 0.5
        causal = np.tril(np.ones((n, n), "bool"))
        scores = ops.where(causal, scores, -1e9)
        out = ops.matmul(ops.softmax(scores, axis=-1), v)
        return self.proj(ops.reshape(ops.transpose(out, (0, 2, 1, 3)), (-1, n, DIM)))


class Positions(layers.Layer):
    def build(self, shape):
        self.table = self.add_weight(shape=shape[1:], name="table")

    def call(self, x):
        return x + self.table


def block(x):
    h = layers.LayerNormalization(epsilon=1e-6)(x)
    x = layers.Add()([x, CausalAttention()(h)])
    h = layers.LayerNormalization(epsilon=1e-6)(x)
    h = layers.Dense(2 * DIM, activation="gelu")(h)
    return layers.Add()([x, layers.Dense(DIM)(h)])


def build():
    frame = keras.Input((SIDE, SIDE, 3))
    action = keras.Input((4,))
    x = layers.Conv2D(8, 3, strides=2, padding="same")(frame)
    x = layers.GroupNormalization(4, epsilon=1e-5)(x)
    x = layers.Activation("silu")(x)
    x = layers.Conv2D(DIM, 3, strides=2, padding="same")(x)
    z = layers.Reshape((9, DIM))(x)
    tokens, distance = Quantizer()(z)
    a = layers.Reshape((1, DIM))(layers.Dense(DIM, use_bias=False)(action))
    x = Positions()(layers.Concatenate(axis=1)([tokens, a]))
    for _ in range(2):
        x = block(x)
    x = layers.LayerNormalization(epsilon=1e-6)(x)
    logits = layers.Dense(VOCAB)(x)
    value = layers.Dense(2)(x[:, -1])
    return keras.Model([frame, action], [logits, value, distance])


def make():
    r = np.random.default_rng(4)
    m = build()
    for w in m.weights:
        scale = 1.0 if w.name == "gamma" else 0.0
        w.assign(r.normal(size=w.shape) * (1.0 if w.name == "codebook" else 0.35) + scale)
    return m


def inputs(seed):
    r = np.random.default_rng(seed)
    frame = r.normal(size=(5, SIDE, SIDE, 3)).astype("float32")
    return frame, np.eye(4, dtype="float32")[r.integers(0, 4, 5)]
