"""PatchTST (Nie et al. 2023) in Keras: channel-independent forecasts from patches, with RevIN."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
CONTEXT, CHANNELS, HORIZON = 40, 3, 6
PATCH, STRIDE, DIM, HEADS, DEPTH = 8, 4, 12, 3, 2
PATCHES = (CONTEXT - PATCH) // STRIDE + 2


class RevIN(layers.Layer):
    def build(self, shape):
        self.gain = self.add_weight(shape=(shape[-1],), name="gain", initializer="ones")
        self.shift = self.add_weight(shape=(shape[-1],), name="shift", initializer="zeros")

    def call(self, x):
        mean = ops.mean(x, axis=1, keepdims=True)
        std = ops.sqrt(ops.var(x, axis=1, keepdims=True) + 1e-5)
        return (x - mean) / std * self.gain + self.shift, mean, std

    def inverse(self, y, mean, std):
        y = (y - self.shift) / (self.gain + 1e-10)
        return y * std + mean


class Encoder(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.qkv = [layers.Dense(DIM) for _ in range(3)]
        self.out = layers.Dense(DIM)
        self.bn1 = layers.BatchNormalization(epsilon=1e-5)
        self.ff1 = layers.Dense(2 * DIM)
        self.ff2 = layers.Dense(DIM)
        self.bn2 = layers.BatchNormalization(epsilon=1e-5)

    def call(self, x, previous=None):
        split = lambda t: ops.transpose(ops.reshape(t, (-1, PATCHES, HEADS, DIM // HEADS)), (0, 2, 1, 3))
        q, k, v = (split(dense(x)) for dense in self.qkv)
        scores = ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) * (DIM // HEADS) ** -0.5
        if previous is not None:
            scores = scores + previous
        mixed = ops.matmul(ops.softmax(scores), v)
        mixed = ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), (-1, PATCHES, DIM))
        x = self.bn1(x + self.out(mixed))
        x = self.bn2(x + self.ff2(ops.gelu(self.ff1(x), approximate=False)))
        return x, scores


class PatchTST(keras.Model):
    def __init__(self):
        super().__init__()
        self.revin = RevIN()
        self.embed = layers.Dense(DIM)
        self.encoders = [Encoder(name=f"encoder{i}") for i in range(DEPTH)]
        self.head = layers.Dense(HORIZON)

    def build(self, shape):
        self.position = self.add_weight(shape=(PATCHES, DIM), name="position")

    def call(self, series):
        x, mean, std = self.revin(series)
        x = ops.transpose(x, (0, 2, 1))
        x = ops.concatenate([x, ops.repeat(x[:, :, -1:], STRIDE, axis=2)], axis=2)
        patches = ops.stack([x[:, :, s * STRIDE : s * STRIDE + PATCH] for s in range(PATCHES)], axis=2)
        z = self.embed(ops.reshape(patches, (-1, PATCHES, PATCH))) + self.position
        scores = None
        for encoder in self.encoders:
            z, scores = encoder(z, scores)
        z = ops.reshape(ops.transpose(z, (0, 2, 1)), (-1, CHANNELS, DIM * PATCHES))
        y = ops.transpose(self.head(z), (0, 2, 1))
        return self.revin.inverse(y, mean, std)


def make():
    net = PatchTST()
    net(inputs(0))
    rng = np.random.default_rng(81)
    for w in net.weights:
        if "variance" in w.path:
            w.assign(rng.uniform(0.5, 2.0, w.shape))
        elif "gamma" in w.path or "gain" in w.path:
            w.assign(rng.uniform(0.6, 1.5, w.shape))
        else:
            w.assign(0.25 * rng.normal(size=w.shape))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    t = np.arange(CONTEXT)[None, :, None]
    wave = np.sin(t / rng.uniform(2, 6, (4, 1, CHANNELS)) + rng.uniform(0, 6, (4, 1, CHANNELS)))
    return (wave + 0.03 * t + 0.3 * rng.normal(size=(4, CONTEXT, CHANNELS)) + 2).astype("float32")
