import math

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
LOOKBACK, HORIZON, WIDTH, DEPTH, DEGREE, HARMONICS, PERIOD = 12, 5, 16, 3, 2, 2, 4


def trend(size):
    t = tf.range(size, dtype=tf.float32) / size
    return tf.stack([t ** float(i) for i in range(DEGREE + 1)])


def seasonality(size):
    t = tf.range(size, dtype=tf.float32) / HORIZON
    ang = 2 * math.pi * tf.range(1, HARMONICS + 1, dtype=tf.float32)[:, None] * t
    return tf.concat([tf.cos(ang), tf.sin(ang)], 0)


class Block(tf.Module):
    def __init__(self, kind, name=None):
        super().__init__(name)
        self.kind = kind
        make_basis = {"trend": trend, "seasonal": seasonality, "generic": None}[kind]
        if make_basis is None:
            out = LOOKBACK + HORIZON
        else:
            self.back_basis, self.fore_basis = make_basis(LOOKBACK), make_basis(HORIZON)
            out = 2 * int(self.back_basis.shape[0])
        dims = [LOOKBACK] + [WIDTH] * DEPTH + [out]
        self.w = [tf.Variable(tf.zeros((i, o))) for i, o in zip(dims, dims[1:])]
        self.b = [tf.Variable(tf.zeros((o,))) for o in dims[1:]]

    def __call__(self, x):
        for w, b in zip(self.w[:-1], self.b[:-1]):
            x = tf.nn.relu(tf.matmul(x, w) + b)
        theta = tf.matmul(x, self.w[-1]) + self.b[-1]
        if self.kind == "generic":
            return tf.split(theta, [LOOKBACK, HORIZON], axis=1)
        f, b = tf.split(theta, 2, axis=1)
        return tf.matmul(b, self.back_basis), tf.matmul(f, self.fore_basis)


class NBeats(tf.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [Block(k) for k in ("trend", "trend", "seasonal", "seasonal", "generic")]

    @tf.function
    def __call__(self, x, mask, target):
        scale = tf.reduce_sum(tf.abs(x) * mask, 1, keepdims=True) / tf.reduce_sum(mask, 1, keepdims=True)
        z = x / scale
        residual = tf.reverse(z * mask, [1])
        rmask = tf.reverse(mask, [1])
        forecast = residual[:, :1]
        parts = []
        for block in self.blocks:
            back, fore = block(residual)
            residual = (residual - back) * rmask
            forecast = forecast + fore
            parts.append(fore)
        y = forecast * scale
        err = tf.abs(y - target)
        smape = 200.0 * tf.reduce_mean(err / (tf.abs(y) + tf.abs(target)), 1)
        valid = mask[:, :-PERIOD]
        naive = tf.reduce_sum(tf.abs(x[:, PERIOD:] - x[:, :-PERIOD]) * valid, 1) / tf.reduce_sum(valid, 1)
        mase = tf.reduce_mean(err, 1) / naive
        return {"forecast": y, "parts": tf.stack(parts, 1), "residual": residual, "smape": smape, "mase": mase}


def make():
    return NBeats()


def load(port_model, ref_model):
    for dst, src in zip(port_model.blocks, ref_model.blocks):
        for i, (w, b) in enumerate(src.hidden + [src.theta]):
            dst.w[i].assign(w)
            dst.b[i].assign(b)
