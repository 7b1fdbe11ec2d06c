"""LLaMA-like blocks: RMSNorm, rotary causal attention, SwiGLU, a tied head; in plain TensorFlow."""
import math

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
DM, NH = 32, 4
HD = DM // NH


class TFLM:
    def __init__(self):
        self.w = {}

    def lin(self, x, name):
        return tf.einsum("...i,oi->...o", x, self.w[name + ".weight"])

    def rms(self, x, name):
        eps = 1e-6
        ms = tf.reduce_mean(tf.square(x), -1, keepdims=True)
        return x * tf.math.rsqrt(ms + eps) * self.w[name + ".weight"]

    def rope(self, x, t):
        inv = 10000.0 ** (-np.arange(0, HD, 2) / HD)
        ang = np.arange(t)[:, None] * inv[None]
        cos, sin = tf.constant(np.cos(ang), tf.float32), tf.constant(np.sin(ang), tf.float32)
        a, b = tf.split(x, 2, -1)
        return tf.concat([a * cos - b * sin, b * cos + a * sin], -1)

    def attention(self, x, name):
        b, t, _ = x.shape

        def heads(m):
            return tf.transpose(tf.reshape(self.lin(x, f"{name}.{m}"), (b, t, NH, HD)), (0, 2, 1, 3))

        q, k, v = self.rope(heads("q"), t), heads("k"), heads("v")
        k = self.rope(k, t)
        scale = math.sqrt(HD)
        s = tf.matmul(q, k, transpose_b=True) / scale
        band = tf.linalg.band_part(tf.ones((t, t)), -1, 0)
        s = tf.where(band > 0, s, -1e9)
        y = tf.transpose(tf.matmul(tf.nn.softmax(s, -1), v), (0, 2, 1, 3))
        return self.lin(tf.reshape(y, (b, t, DM)), f"{name}.o")

    def __call__(self, tokens):
        x = tf.nn.embedding_lookup(self.w["embed.weight"], tokens)
        for n in ("blocks.0", "blocks.1"):
            x = x + self.attention(self.rms(x, n + ".n1"), n)
            y = self.rms(x, n + ".n2")
            g, u = self.lin(y, n + ".gate"), self.lin(y, n + ".up")
            h = tf.nn.silu(g) * u
            x = x + self.lin(h, n + ".down")
        return tf.matmul(self.rms(x, "norm"), self.w["embed.weight"], transpose_b=True)


def make():
    return TFLM()


def load(net, ref):
    net.w = {k: tf.constant(v.numpy()) for k, v in ref.state_dict().items()}
