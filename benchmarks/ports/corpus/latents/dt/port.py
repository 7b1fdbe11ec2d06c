"""The Decision Transformer in Keras."""
import math
import numpy as np
import keras
import tensorflow as tf

FRAMEWORK = "tensorflow"
S, A, D, NH, T, MAXT = 7, 3, 32, 4, 5, 20


class KBlock(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        L = keras.layers
        self.ln1, self.ln2 = L.LayerNormalization(epsilon=1e-5), L.LayerNormalization(epsilon=1e-5)
        self.qkv, self.proj, self.fc, self.out = L.Dense(3 * D), L.Dense(D), L.Dense(4 * D), L.Dense(D)

    def heads(self, t, N):
        return tf.transpose(tf.reshape(t, (-1, N, NH, D // NH)), (0, 2, 1, 3))

    def call(self, x, mask):
        N = x.shape[1]
        q, k, v = (self.heads(t, N) for t in tf.split(self.qkv(self.ln1(x)), 3, axis=-1))
        att = tf.matmul(q, k, transpose_b=True)
        att = att / math.sqrt(D // NH)
        att = tf.where(mask, att, tf.float32.min)
        y = tf.transpose(tf.matmul(tf.nn.softmax(att), v), (0, 2, 1, 3))
        x = x + self.proj(tf.reshape(y, (-1, N, D)))
        h = self.fc(self.ln2(x))
        h = tf.nn.gelu(h, approximate=True)
        return x + self.out(h)


class KerasDT(keras.Model):
    def __init__(self):
        super().__init__()
        L = keras.layers
        self.time = L.Embedding(MAXT, D)
        self.ret, self.state_in, self.action = L.Dense(D), L.Dense(D), L.Dense(D)
        self.ln = L.LayerNormalization(epsilon=1e-5)
        self.blocks = [KBlock(), KBlock()]
        self.head = L.Dense(A)

    def call(self, rtg, states, actions, timesteps, pad):
        te = self.time(timesteps)
        r, s, a = self.ret(rtg) + te, self.state_in(states) + te, self.action(actions) + te
        x = tf.reshape(tf.stack([r, s, a], axis=2), (-1, 3 * T, D))
        x = self.ln(x)
        keep = tf.repeat(tf.cast(pad, tf.bool), 3, axis=1)
        band = tf.linalg.band_part(tf.ones((3 * T, 3 * T)), -1, 0)
        mask = tf.cast(band, tf.bool)[None, None]
        mask = mask & keep[:, None, None, :]
        for b in self.blocks:
            x = b(x, mask)
        x = tf.reshape(x, (-1, T, 3, D))
        x = x[:, :, 1]
        return tf.tanh(self.head(x)) * pad[..., None]


def make():
    net = KerasDT()
    z = lambda *s: tf.zeros((3, T, *s))
    net(z(1), z(S), z(A), np.zeros((3, T), "int64"), tf.ones((3, T)))
    return net


def load(net, ref):
    n = lambda t: t.detach().numpy()
    lin = lambda d, s: d.set_weights([n(s.weight).T, n(s.bias)])
    ln = lambda d, s: d.set_weights([n(s.weight), n(s.bias)])
    net.time.set_weights([n(ref.time.weight)])
    lin(net.ret, ref.ret); lin(net.state_in, ref.state); lin(net.action, ref.action); lin(net.head, ref.head)
    ln(net.ln, ref.ln)
    for k, t in zip(net.blocks, ref.blocks):
        ln(k.ln1, t.ln1); ln(k.ln2, t.ln2)
        for nm in ("qkv", "proj", "fc", "out"):
            lin(getattr(k, nm), getattr(t, nm))
