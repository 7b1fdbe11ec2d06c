"""RWKV-4 language model in Keras layers."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

FRAMEWORK = "tensorflow"
VOCAB, DIM, DEPTH, HIDDEN = 50, 24, 2, 64


def shift(x):
    """the previous token's vector, zeros for the first"""
    return ops.pad(x[:, :-1], [[0, 0], [1, 0], [0, 0]])


def wkv(decay, bonus, k, v):
    """numerically stable weighted key value, one token after the other"""
    num = ops.zeros_like(k[:, 0])
    den = ops.zeros_like(k[:, 0])
    top = ops.full_like(k[:, 0], -1e30)
    out = []
    for t in range(k.shape[1]):
        kt, vt = k[:, t], v[:, t]
        q = ops.maximum(top, bonus + kt)
        e1, e2 = ops.exp(top - q), ops.exp(bonus + kt - q)
        out.append((e1 * num + e2 * vt) / (e1 * den + e2))
        q = ops.maximum(top + decay, kt)
        e1, e2 = ops.exp(top + decay - q), ops.exp(kt - q)
        num = e1 * num + e2 * vt
        den = e1 * den + e2
        top = q
    return ops.stack(out, axis=1)


class Mix(layers.Layer):
    """base: learned interpolation of a token with its predecessor"""

    names = ()

    def build(self, shape):
        for n in self.names:
            setattr(self, "mix_" + n, self.add_weight(name="mix_" + n, shape=(DIM,), initializer=keras.initializers.RandomUniform(0, 1)))

    def mixed(self, x, n):
        m = getattr(self, "mix_" + n)
        return x * m + shift(x) * (1 - m)


class TimeMix(Mix):
    names = ("k", "v", "r")

    def __init__(self, **kw):
        super().__init__(**kw)
        self.key, self.value, self.receptance, self.output_ = (
            layers.Dense(DIM, use_bias=False, name=n) for n in ("key", "value", "receptance", "output"))

    def build(self, shape):
        super().build(shape)
        self.decay = self.add_weight(name="decay", shape=(DIM,), initializer=keras.initializers.RandomUniform(-3, 1))
        self.bonus = self.add_weight(name="bonus", shape=(DIM,), initializer=keras.initializers.RandomNormal(0.3, 0.5))

    def call(self, x):
        k = self.key(self.mixed(x, "k"))
        v = self.value(self.mixed(x, "v"))
        r = ops.sigmoid(self.receptance(self.mixed(x, "r")))
        return self.output_(r * wkv(-ops.exp(self.decay), self.bonus, k, v))


class ChannelMix(Mix):
    names = ("k", "r")

    def __init__(self, **kw):
        super().__init__(**kw)
        self.key = layers.Dense(HIDDEN, use_bias=False, name="key")
        self.value = layers.Dense(DIM, use_bias=False, name="value")
        self.receptance = layers.Dense(DIM, use_bias=False, name="receptance")

    def call(self, x):
        k = ops.square(ops.relu(self.key(self.mixed(x, "k"))))
        return ops.sigmoid(self.receptance(self.mixed(x, "r"))) * self.value(k)


class RWKV(keras.Model):
    def __init__(self):
        super().__init__()
        norm = lambda n: layers.LayerNormalization(epsilon=1e-5, name=n)
        self.emb = layers.Embedding(VOCAB, DIM, name="emb")
        self.ln0, self.ln_out = norm("ln0"), norm("ln_out")
        self.ln1 = [norm(f"ln1_{i}") for i in range(DEPTH)]
        self.ln2 = [norm(f"ln2_{i}") for i in range(DEPTH)]
        self.att = [TimeMix(name=f"att_{i}") for i in range(DEPTH)]
        self.ffn = [ChannelMix(name=f"ffn_{i}") for i in range(DEPTH)]
        self.head = layers.Dense(VOCAB, use_bias=False, name="head")

    def call(self, tokens):
        x = self.ln0(self.emb(tokens))
        for ln1, att, ln2, ffn in zip(self.ln1, self.att, self.ln2, self.ffn):
            x = x + att(ln1(x))
            x = x + ffn(ln2(x))
        return self.head(self.ln_out(x))


def make():
    keras.utils.set_random_seed(90)
    net = RWKV()
    net(tf.constant(inputs(0)))
    g = np.random.default_rng(90)
    for v in net.weights:
        if v.name in ("gamma", "beta"):
            v.assign(g.normal(v.name == "gamma", 0.2, v.shape))
        elif v.name == "embeddings":
            v.assign(g.normal(0, 1, v.shape))
    return net


def inputs(seed=0):
    return np.random.default_rng(seed).integers(0, VOCAB, (4, 16))
