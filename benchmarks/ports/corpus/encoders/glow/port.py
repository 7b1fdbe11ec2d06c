"""Conditional Glow in TensorFlow."""
import math

import tensorflow as tf

FRAMEWORK = "tensorflow"
B, D, C, STEPS = 6, 8, 5, 3


class StepTF(tf.Module):
    def __init__(self, s):
        super().__init__()
        v = lambda p: tf.Variable(p.detach().numpy().copy())
        self.bias, self.logs, self.mix = v(s.bias), v(s.logs), v(s.mix)
        self.w1, self.b1, self.w2, self.b2 = v(s.net[0].weight.T), v(s.net[0].bias), v(s.net[2].weight.T), v(s.net[2].bias)

    def __call__(self, x, cond):
        x = (x + self.bias) * tf.exp(self.logs)
        logdet = tf.reduce_sum(self.logs)
        x = tf.matmul(x, self.mix, transpose_b=True)
        logdet = logdet + tf.linalg.slogdet(self.mix)[1]
        a, b = tf.split(x, 2, axis=-1)
        joined = tf.concat([a, cond], -1)
        h = tf.tanh(joined @ self.w1 + self.b1)
        raw, shift = tf.split(h @ self.w2 + self.b2, 2, axis=-1)
        scale = tf.sigmoid(raw + 2.0)
        b = (b + shift) * scale
        x = tf.concat([a, b], -1)
        x = tf.reverse(x, [-1])
        return x, logdet + tf.reduce_sum(tf.math.log(scale), -1)


class GlowTF(tf.Module):
    def __call__(self, x, cond):
        total = tf.zeros(tf.shape(x)[0])
        for s in self.steps:
            x, ld = s(x, cond)
            total = total + ld
        prior = -0.5 * tf.reduce_sum(x ** 2, -1) - 0.5 * D * math.log(2 * math.pi)
        return {"z": x, "log_prob": prior + total}


def make():
    return GlowTF()


def load(net, src):
    net.steps = [StepTF(s) for s in src.steps]
