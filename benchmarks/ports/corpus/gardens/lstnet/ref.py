"""LSTNet (Lai et al. 2018) multivariate forecasting, Keras subclassed model."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
WINDOW, SERIES, KERNEL, FILTERS = 30, 6, 6, 10
SKIP, HID_R, HID_S, AR = 5, 12, 4, 8


class LSTNet(keras.Model):
    def __init__(self):
        super().__init__()
        self.conv = layers.Conv2D(FILTERS, (KERNEL, SERIES), activation="relu", name="conv")
        self.gru = layers.GRU(HID_R, name="gru")
        self.gru_skip = layers.GRU(HID_S, name="gru_skip")
        self.mix = layers.Dense(SERIES, name="mix")
        self.highway = layers.Dense(1, name="highway")

    def skip_part(self, c):
        periods = c.shape[1] // SKIP
        s = c[:, -periods * SKIP:]
        s = ops.reshape(s, (-1, periods, SKIP, FILTERS))
        s = ops.transpose(s, (0, 2, 1, 3))
        s = ops.reshape(s, (-1, periods, FILTERS))
        s = self.gru_skip(s)
        return ops.reshape(s, (-1, SKIP * HID_S))

    def call(self, x):
        scale = ops.max(ops.abs(x), axis=1, keepdims=True) + 1e-3
        z = x / scale
        c = self.conv(z[..., None])
        c = ops.squeeze(c, axis=2)
        r = self.gru(c)
        s = self.skip_part(c)
        res = self.mix(ops.concatenate([r, s], axis=-1))
        tail = ops.transpose(z[:, -AR:], (0, 2, 1))
        lin = ops.squeeze(self.highway(tail), axis=-1)
        return (res + lin) * ops.squeeze(scale, axis=1)


def make(seed=31):
    net = LSTNet()
    net(inputs(0)[0])
    r = np.random.default_rng(seed)
    for v in net.weights:
        if v.path.endswith("bias"):
            v.assign(r.normal(0, 0.3, v.shape))
        else:
            fan = int(np.prod(v.shape[:-1]))
            v.assign(r.normal(0, 1.2 / fan ** 0.5, v.shape))
    return net


def inputs(seed=0):
    r = np.random.default_rng(seed)
    t = np.arange(WINDOW)[None, :, None]
    level = r.uniform(0.5, 4, (6, 1, SERIES))
    wave = np.sin(2 * np.pi * (t / SKIP + r.random((6, 1, SERIES))))
    return ((level * (1 + 0.5 * wave + 0.02 * t) + 0.1 * r.normal(size=(6, WINDOW, SERIES))).astype("float32"),)
