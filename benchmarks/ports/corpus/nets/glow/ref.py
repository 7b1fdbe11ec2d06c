"""Two-level Glow on 8x8 images, raw TensorFlow ops, NHWC. Returns the latents and bits per dimension."""
import math

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"

LOG2PI = math.log(2 * math.pi)


def gaussian_logp(z, mean, logs):
    return tf.reduce_sum(-0.5 * (LOG2PI + 2 * logs + tf.square(z - mean) * tf.exp(-2 * logs)), [1, 2, 3])


def conv(x, w, b):
    return tf.nn.conv2d(x, w, strides=1, padding="SAME") + b


def flow_step(p, x, logdet):
    hw = float(x.shape[1] * x.shape[2])
    # actnorm
    x = (x + p["an_b"]) * tf.exp(p["an_logs"])
    logdet += hw * tf.reduce_sum(p["an_logs"])
    # invertible 1x1 convolution
    x = tf.einsum("bhwi,io->bhwo", x, p["inv_w"])
    logdet += hw * tf.linalg.slogdet(p["inv_w"])[1]
    # affine coupling
    xa, xb = tf.split(x, 2, axis=-1)
    h = tf.nn.relu(conv(xa, p["w1"], p["b1"]))
    h = tf.nn.relu(conv(h, p["w2"], p["b2"]))
    h = conv(h, p["w3"], p["b3"]) * tf.exp(3.0 * p["s3"])
    shift, scale = h[..., 0::2], tf.sigmoid(h[..., 1::2] + 2.0)
    xb = (xb + shift) * scale
    logdet += tf.reduce_sum(tf.math.log(scale), [1, 2, 3])
    return tf.concat([xa, xb], -1), logdet


class Glow(tf.Module):
    def __init__(self, rng, channels=2, levels=2, steps=2, hidden=10):
        super().__init__()

        def var(shape, std, mean=0.0):
            return tf.Variable((mean + std * rng.normal(size=shape)).astype(np.float32))

        self.steps, self.priors = [], []
        c = channels
        for level in range(levels):
            c *= 4
            level_steps = []
            for _ in range(steps):
                q = np.linalg.qr(rng.normal(size=(c, c)))[0] + 0.1 * rng.normal(size=(c, c))
                level_steps.append(dict(
                    an_b=var((c,), 0.2), an_logs=var((c,), 0.2), inv_w=tf.Variable(q.astype(np.float32)),
                    w1=var((3, 3, c // 2, hidden), 1 / math.sqrt(9 * c / 2)), b1=var((hidden,), 0.1),
                    w2=var((1, 1, hidden, hidden), 1 / math.sqrt(hidden)), b2=var((hidden,), 0.1),
                    w3=var((3, 3, hidden, c), 0.5 / math.sqrt(9 * hidden)), b3=var((c,), 0.1), s3=var((c,), 0.1)))
            self.steps.append(level_steps)
            if level < levels - 1:
                c //= 2
                self.priors.append(dict(w=var((3, 3, c, 2 * c), 0.5 / math.sqrt(9 * c)), b=var((2 * c,), 0.1)))
        self.top = dict(mean=var((c,), 0.3), logs=var((c,), 0.3))

    def __call__(self, x):
        dims = float(np.prod(x.shape[1:]))
        logdet = tf.zeros(x.shape[0])
        logp = tf.zeros(x.shape[0])
        zs = []
        for i, level in enumerate(self.steps):
            x = tf.nn.space_to_depth(x, 2)
            for p in level:
                x, logdet = flow_step(p, x, logdet)
            if i < len(self.priors):
                x, z = tf.split(x, 2, axis=-1)
                mean, logs = tf.split(conv(x, self.priors[i]["w"], self.priors[i]["b"]), 2, axis=-1)
                logp += gaussian_logp(z, mean, logs)
            else:
                z = x
                logp += gaussian_logp(z, self.top["mean"], self.top["logs"])
            zs.append(z)
        return zs[0], zs[1], -(logp + logdet) / (math.log(2.0) * dims)


def make():
    return Glow(np.random.default_rng(77))


def inputs(seed):
    return np.random.default_rng(seed).uniform(-0.5, 0.5, (4, 8, 8, 2)).astype(np.float32)
