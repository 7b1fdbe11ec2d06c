"""EIIE: the ensemble of identical independent evaluators for portfolio management (Jiang et al.)."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
ASSETS, WINDOW, FEATURES = 6, 10, 3  # features: close, high, low
COMMISSION = 0.03


class LastClose(layers.Layer):
    """Prices relative to the last close."""

    def call(self, prices):
        return prices / prices[:, :, -1:, :1]


class CashBias(layers.Layer):
    def build(self, shape):
        self.bias = self.add_weight(shape=(1, 1), name="bias")

    def call(self, scores):
        cash = ops.broadcast_to(self.bias, (ops.shape(scores)[0], 1))
        return ops.concatenate([cash, scores], axis=1)


class Drift(layers.Layer):
    """The weights after the market's move."""

    def call(self, weights, relatives):
        grown = weights * relatives
        return grown / ops.sum(grown, axis=-1, keepdims=True)


class Remainder(layers.Layer):
    """What is left of the portfolio after the commission: the fixed point of Ormos and Urban."""

    def __init__(self, c=COMMISSION, rounds=3, **kwargs):
        super().__init__(**kwargs)
        self.c, self.rounds = c, rounds

    def call(self, drifted, target):
        c = self.c
        mu = 1.0 - c * ops.sum(ops.abs(drifted[:, 1:] - target[:, 1:]), axis=1, keepdims=True)
        for _ in range(self.rounds):
            sold = ops.sum(ops.relu(drifted[:, 1:] - mu * target[:, 1:]), axis=1, keepdims=True)
            left = 1.0 - c * drifted[:, :1] - (2 * c - c * c) * sold
            mu = left / (1.0 - c * target[:, :1])
        return mu


class LogReturn(layers.Layer):
    def call(self, mu, weights, relatives):
        growth = ops.sum(weights * relatives, axis=1, keepdims=True)
        return ops.log(mu * growth)


def network():
    prices = keras.Input((ASSETS, WINDOW, FEATURES), name="prices")
    previous = keras.Input((ASSETS + 1,), name="previous")
    relatives = keras.Input((ASSETS + 1,), name="relatives")
    x = LastClose()(prices) - 1.0
    x = layers.Conv2D(4, (1, 3), activation="relu", name="conv1")(x)
    x = layers.Conv2D(8, (1, WINDOW - 2), activation="relu", name="conv2")(x)
    memory = layers.Reshape((ASSETS, 1, 1))(previous[:, 1:])
    x = layers.Concatenate(axis=-1)([x, memory])
    x = layers.Conv2D(1, (1, 1), name="vote")(x)
    x = layers.Flatten()(x)
    weights = layers.Softmax(name="weights")(CashBias(name="cash")(x))
    drifted = Drift()(previous, relatives)
    mu = Remainder()(drifted, weights)
    reward = LogReturn()(mu, weights, relatives)
    return keras.Model([prices, previous, relatives], [weights, mu, reward])


def make():
    net = network()
    rng = np.random.default_rng(12)
    for w in net.weights:
        fan = max(1, int(np.prod(w.shape[:-1])))
        w.assign((1.5 * rng.normal(size=w.shape) / np.sqrt(fan)).astype("float32"))
    net.get_layer("conv1").bias.assign([0.2, -0.1, 0.3, 0.15])
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 6
    prices = np.exp(0.35 * rng.normal(size=(b, ASSETS, WINDOW, FEATURES)) + rng.normal(size=(b, ASSETS, 1, 1)))
    previous = rng.dirichlet(np.ones(ASSETS + 1), size=b)
    relatives = np.concatenate([np.ones((b, 1)), np.exp(0.2 * rng.normal(size=(b, ASSETS)))], 1)
    return prices.astype("float32"), previous.astype("float32"), relatives.astype("float32")
