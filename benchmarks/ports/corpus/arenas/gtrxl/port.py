"""The GTrXL block in Keras."""
import keras
import numpy as np
import tensorflow as tf
from torch import nn

FRAMEWORK = "tensorflow"
D, HEADS, DH, T, M = 24, 3, 8, 5, 4


class Gate(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        for n in ("Wr", "Ur", "Wz", "Uz", "Wg", "Ug"):
            setattr(self, n, keras.layers.Dense(D, use_bias=False))

    def build(self, *_):
        self.bg = self.add_weight(shape=(D,), name="bg")

    def call(self, x, y):
        r = tf.sigmoid(self.Wr(y) + self.Ur(x))
        z = self.Wz(y) + self.Uz(x)
        z = tf.sigmoid(z - self.bg)
        h = tf.tanh(self.Wg(y) + self.Ug(r * x))
        return (1.0 - z) * x + z * h


class RelAttention(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.kv = keras.layers.Dense(2 * HEADS * DH, use_bias=False)
        self.q, self.pos = (keras.layers.Dense(HEADS * DH, use_bias=False) for _ in range(2))
        self.out = keras.layers.Dense(D, use_bias=False)

    def build(self, *_):
        self.u = self.add_weight(shape=(HEADS, DH), name="u")
        self.v = self.add_weight(shape=(HEADS, DH), name="v")

    def rel_shift(self, x):
        b, h, q, k = x.shape
        x = tf.reshape(tf.pad(x, [[0, 0], [0, 0], [0, 0], [1, 0]]), (b, h, k + 1, q))
        return tf.reshape(x[:, :, 1:], (b, h, q, k))

    def call(self, x, mem, r):
        b, t, n = x.shape[0], x.shape[1], mem.shape[1] + x.shape[1]
        k, v = tf.split(self.kv(tf.concat([mem, x], 1)), 2, -1)
        k, v = tf.reshape(k, (b, n, HEADS, DH)), tf.reshape(v, (b, n, HEADS, DH))
        q = tf.reshape(self.q(x), (b, t, HEADS, DH))
        p = tf.reshape(self.pos(r), (n, HEADS, DH))
        content = tf.einsum("bqhd,bkhd->bhqk", q + self.u, k)
        position = self.rel_shift(tf.einsum("bqhd,khd->bhqk", q + self.v, p))
        score = (content + position) / DH**0.5
        last = n - t
        allowed = tf.range(n)[None] <= tf.range(t)[:, None] + last
        attn = tf.nn.softmax(tf.where(allowed, score, -1e9))
        return self.out(tf.reshape(tf.einsum("bhqk,bkhd->bqhd", attn, v), (b, t, HEADS * DH)))


class KerasGTrXL(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = keras.layers.Dense(D)
        self.ln1, self.ln2 = (keras.layers.LayerNormalization(epsilon=1e-5) for _ in range(2))
        self.attention = RelAttention()
        self.gate1, self.gate2 = Gate(), Gate()
        self.mlp1, self.mlp2 = keras.layers.Dense(48, "relu"), keras.layers.Dense(D)
        self.logits, self.value = keras.layers.Dense(4), keras.layers.Dense(1)

    def call(self, obs, mem):
        x = self.embed(obs)
        pos = tf.range(M + T - 1, -1, -1.0)
        ang = pos[:, None] / 10000.0 ** (tf.range(0, D, 2, dtype=tf.float32) / D)
        r = tf.concat([tf.sin(ang), tf.cos(ang)], -1)
        y = tf.nn.relu(self.attention(self.ln1(x), self.ln1(mem), r))
        x = self.gate1(x, y)
        y = tf.nn.relu(self.mlp2(self.mlp1(self.ln2(x))))
        x = self.gate2(x, y)
        return self.logits(x), self.value(x)[..., 0]


def copy(mine, theirs):
    for name, p in theirs.named_parameters(recurse=False):
        getattr(mine, name).assign(p.detach().numpy())
    for name, m in theirs.named_children():
        k = getattr(mine, name)
        if isinstance(m, nn.Linear):
            k.set_weights([m.weight.detach().numpy().T] + ([m.bias.detach().numpy()] if m.bias is not None else []))
        elif isinstance(m, nn.LayerNorm):
            k.set_weights([m.weight.detach().numpy(), m.bias.detach().numpy()])
        else:
            copy(k, m)


def make():
    net = KerasGTrXL()
    net(np.zeros((4, T, 10), "float32"), np.zeros((4, M, D), "float32"))
    return net


def load(net, ref):
    copy(net, ref)
