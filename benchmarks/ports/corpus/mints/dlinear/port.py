"""DLinear with RevIN and a smoothed level, in Keras."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"


class RevIN(layers.Layer):
    def __init__(self, eps=1e-5, **kwargs):
        super().__init__(**kwargs)
        self.eps = eps

    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale")
        self.shift = self.add_weight(shape=(shape[-1],), initializer="zeros", name="shift")

    def call(self, x):
        mean, var = ops.moments(x, axes=[1], keepdims=True)
        std = ops.sqrt(var + self.eps)
        return (x - mean) / std * self.scale + self.shift, mean, std

    def inverse(self, y, mean, std):
        y = (y - self.shift) / (self.scale + self.eps**2)
        return y * std + mean


def decompose(x, kernel):
    half = kernel // 2
    padded = ops.concatenate([ops.repeat(x[:, :1], half, axis=1), x, ops.repeat(x[:, -1:], half, axis=1)], axis=1)
    trend = ops.average_pool(padded, kernel, strides=1, padding="valid")
    return x - trend, trend


class ExponentialLevel(layers.Layer):
    def build(self, shape):
        self.logit = self.add_weight(shape=(shape[-1],), name="logit")

    def call(self, x):
        a = ops.sigmoid(self.logit)
        level = x[:, 0]
        for t in range(1, x.shape[1]):
            level = level + a * (x[:, t] - level)
        return level


class DLinear(keras.Model):
    def __init__(self, horizon=5, channels=4, kernel=5):
        super().__init__()
        self.kernel = kernel
        self.revin = RevIN()
        self.mix = layers.Dense(channels, activation="tanh")
        self.smooth = ExponentialLevel()
        self.seasonal_head = layers.Dense(horizon)
        self.trend_head = layers.Dense(horizon)

    def call(self, x):
        x, mean, std = self.revin(x)
        x = x + self.mix(x)
        level = self.smooth(x)
        seasonal, trend = decompose(x, self.kernel)
        y = self.seasonal_head(ops.swapaxes(seasonal, 1, 2))
        y = y + self.trend_head(ops.swapaxes(trend, 1, 2))
        y = ops.swapaxes(y, 1, 2) + level[:, None]
        return self.revin.inverse(y, mean, std)


def make():
    net = DLinear()
    net(ops.convert_to_tensor(inputs(0)[0]))
    rng = np.random.default_rng(1)
    net.set_weights([rng.normal(size=w.shape).astype("float32") * 0.3 + 0.1 for w in net.weights])
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    return ((rng.normal(size=(5, 12, 4)).cumsum(axis=1) * 0.7 + 1.5).astype("float32"),)


def load(ported, original):
    ported.revin.set_weights([original.revin.weight.array, original.revin.bias.array])
    ported.smooth.set_weights([original.smoothing.array])
    pairs = ((ported.mix, original.mix), (ported.seasonal_head, original.linear_seasonal),
             (ported.trend_head, original.linear_trend))
    for k, c in pairs:
        k.set_weights([c.W.array.T, c.b.array])
