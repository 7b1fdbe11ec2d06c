"""The Decision Transformer in Keras on TensorFlow, its attention written out."""
import math

import keras
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
D, NH, L, K, S, A = 24, 3, 2, 5, 7, 3


class KBlock(layers.Layer):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = layers.LayerNormalization(epsilon=1e-5), layers.LayerNormalization(epsilon=1e-5)
        self.qkv, self.proj = layers.Dense(3 * D), layers.Dense(D)
        self.fc1, self.fc2 = layers.Dense(4 * D), layers.Dense(D)

    def call(self, x, keep):
        b, n = tf.shape(x)[0], x.shape[1]
        qkv = tf.reshape(self.qkv(self.ln1(x)), (b, n, 3, NH, D // NH))
        q, k, v = tf.unstack(tf.transpose(qkv, (2, 0, 3, 1, 4)))
        scores = tf.matmul(q, k, transpose_b=True) / math.sqrt(D // NH)
        scores = tf.where(keep[:, None], scores, -1e9)
        a = tf.matmul(tf.nn.softmax(scores), v)
        x = x + self.proj(tf.reshape(tf.transpose(a, (0, 2, 1, 3)), (b, n, D)))
        h = keras.activations.gelu(self.fc1(self.ln2(x)), approximate=False)
        return x + self.fc2(h)


class KerasDT(keras.Model):
    def __init__(self):
        super().__init__()
        self.time = layers.Embedding(40, D)
        self.er, self.es, self.ea = layers.Dense(D), layers.Dense(D), layers.Dense(D)
        self.ln = layers.LayerNormalization(epsilon=1e-5)
        self.blocks = [KBlock() for _ in range(L)]
        self.head = layers.Dense(A, activation="tanh")

    def call(self, rtg, states, actions, timesteps, valid):
        t = self.time(timesteps)
        r, s, a = self.er(rtg) + t, self.es(states) + t, self.ea(actions) + t
        tokens = tf.stack([r, s, a], axis=2)
        x = self.ln(tf.reshape(tokens, (-1, 3 * K, D)))
        i = tf.range(3 * K)
        causal = i[:, None] >= i[None, :]
        pad = tf.repeat(tf.cast(valid, tf.bool), 3, axis=1)
        keep = tf.logical_or(causal[None] & pad[:, None, :], (i[:, None] == i[None, :])[None])
        for block in self.blocks:
            x = block(x, keep)
        h = tf.reshape(x, (-1, K, 3, D))
        return self.head(h[:, :, 1])


def make():
    model = KerasDT()
    z = lambda *s: tf.zeros(s)
    i = lambda *s: tf.ones(s, tf.int64)
    model(z(4, K, 1), z(4, K, S), z(4, K, A), i(4, K), i(4, K))
    return model


def load(dst, src):
    def lin(k, w, b): k.set_weights([w.detach().numpy().T, b.detach().numpy()])
    def ln(k, t): k.set_weights([t.weight.detach().numpy(), t.bias.detach().numpy()])
    dst.time.set_weights([src.time.weight.detach().numpy()])
    for n in ("er", "es", "ea", "head"):
        lin(getattr(dst, n), getattr(src, n).weight, getattr(src, n).bias)
    ln(dst.ln, src.ln)
    for kb, tb in zip(dst.blocks, src.blocks):
        ln(kb.ln1, tb.ln1); ln(kb.ln2, tb.ln2)
        lin(kb.qkv, tb.attn.in_proj_weight, tb.attn.in_proj_bias)
        lin(kb.proj, tb.attn.out_proj.weight, tb.attn.out_proj.bias)
        lin(kb.fc1, tb.mlp[0].weight, tb.mlp[0].bias); lin(kb.fc2, tb.mlp[2].weight, tb.mlp[2].bias)
