"""Dropout of every kind, in train mode."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

from ..ops import F, chainer
from ..subject import SUBJECTS, Subject, weights

_RATES = {"rate": 0.5, "near": 0.35}


def rate_of(fault):
    return _RATES.get(fault, 0.3)


class TorchNet(nn.Module):
    """A hidden layer with dropout; `drop` is a layer or a function."""

    def __init__(self, random, drop):
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 3)
        self.drop = drop
        with torch.no_grad():
            for layer, shape in ((self.first, (16, 8)), (self.second, (3, 16))):
                layer.weight.copy_(torch.from_numpy(weights(random, *shape)))
                layer.bias.copy_(torch.from_numpy(weights(random, shape[0])))

    def forward(self, x):
        h = self.drop(torch.tanh(self.first(x)))  # here
        return self.second(h)  # here


def keras_net(random, drop):
    w, b, v, c = (weights(random, *shape, scale=0.5) for shape in ((16, 8), (16,), (3, 16), (3,)))
    first, second = keras.layers.Dense(16, "tanh"), keras.layers.Dense(3)

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.drop = first, second, drop

        def call(self, x, training=None):
            return self.second(self.drop(self.first(x), training=training))  # here

    net = Net()
    net(np.zeros((1, 8), "f"))
    first.set_weights([w.T, b])
    second.set_weights([v.T, c])
    return net


class ChainerNet(chainer.Chain):
    def __init__(self, random, drop):
        super().__init__()
        w, b, v, c = (weights(random, *shape) for shape in ((16, 8), (16,), (3, 16), (3,)))
        with self.init_scope():
            self.first = chainer.links.Linear(8, 16, initialW=w, initial_bias=b)
            self.second = chainer.links.Linear(16, 3, initialW=v, initial_bias=c)
        self.drop = drop

    def forward(self, x):
        return self.second(self.drop(F.tanh(self.first(x))))  # here


def numpy_net(random, drop):
    w, b, v, c = (weights(random, *shape) for shape in ((16, 8), (16,), (3, 16), (3,)))
    return lambda x: drop(np.tanh(x @ w.T + b)) @ v.T + c


def nothing(h):
    return h


def plain_torch(random, batch, fault):
    if fault == "unscaled":
        return TorchNet(random, lambda h: h * (torch.rand(h.shape) >= 0.3))  # here
    if fault == "shared":
        return TorchNet(random, lambda h: h * nn.functional.dropout(torch.ones(1, 16), 0.3))  # here
    return TorchNet(random, nothing if fault == "off" else nn.Dropout(rate_of(fault)))


def plain_keras(random, batch, fault):
    if fault == "unscaled":
        drop = keras.layers.Dropout(0.3)
        return keras_net(random, lambda h, training: drop(h, training=training) * 0.7)  # here
    if fault == "off":
        return keras_net(random, lambda h, training: h)  # here
    shape = (1, 16) if fault == "shared" else None
    return keras_net(random, keras.layers.Dropout(rate_of(fault), noise_shape=shape))


def plain_tensorflow(random, batch, fault):
    w, b, v, c = (weights(random, *shape) for shape in ((16, 8), (16,), (3, 16), (3,)))

    def run(x):
        h = tf.tanh(x @ w.T + b)
        if fault == "unscaled":
            h = h * tf.cast(tf.random.uniform(h.shape) >= 0.3, tf.float32)  # here
        elif fault == "shared":
            h = h * tf.nn.dropout(tf.ones((1, 16)), 0.3)  # here
        elif fault != "off":
            h = tf.nn.dropout(h, rate_of(fault))  # here
        return h @ v.T + c  # here

    return run


def plain_chainer(random, batch, fault):
    def drop(h):
        if fault == "unscaled":
            return F.dropout(h, 0.3) * 0.7  # here
        if fault == "shared":
            return h * F.broadcast_to(F.dropout(np.ones((1, 16), "f"), 0.3), h.shape)  # here
        return h if fault == "off" else F.dropout(h, rate_of(fault))  # here

    return ChainerNet(random, drop)


def plain_numpy(random, batch, fault):
    own = np.random.default_rng()

    def drop(h):
        rate = rate_of(fault)
        mask = own.random((1, 16) if fault == "shared" else h.shape) >= rate
        return h if fault == "off" else h * mask / (1 if fault == "unscaled" else 1 - rate)

    return numpy_net(random, drop)


SUBJECTS.append(
    Subject(
        "dropout",
        {
            "torch": plain_torch,
            "keras": plain_keras,
            "tensorflow": plain_tensorflow,
            "chainer": plain_chainer,
            "numpy": plain_numpy,
        },
        [
            ("torch", "keras"),
            ("keras", "torch"),
            ("torch", "tensorflow"),
            ("chainer", "torch"),
            ("torch", "chainer"),
            ("keras", "chainer"),
            ("numpy", "keras"),
            ("torch", "numpy"),
            ("tensorflow", "chainer"),
        ],
        ["rate", "near", "unscaled", "off"],
        (8,),
    )
)


def alpha_torch(random, batch, fault):
    if fault == "plain":
        return TorchNet(random, nn.Dropout(0.3))
    return TorchNet(random, nothing if fault == "off" else nn.AlphaDropout(rate_of(fault)))


def alpha_keras(random, batch, fault):
    if fault == "plain":
        return keras_net(random, keras.layers.Dropout(0.3))
    if fault == "off":
        return keras_net(random, lambda h, training: h)  # here
    return keras_net(random, keras.layers.AlphaDropout(rate_of(fault)))


def alpha_tensorflow(random, batch, fault):
    w, b, v, c = (weights(random, *shape) for shape in ((16, 8), (16,), (3, 16), (3,)))

    def run(x):
        h = tf.tanh(x @ w.T + b)
        low, rate = -1.7580993408473766, rate_of(fault)
        scale = ((1 - rate) * (1 + rate * low**2)) ** -0.5
        kept = tf.cast(tf.random.uniform(h.shape) >= rate, tf.float32)  # here
        if fault == "plain":
            h = h * kept / (1 - rate)  # here
        elif fault != "off":
            h = scale * (h * kept + low * (1 - kept)) - scale * low * rate  # here
        return h @ v.T + c  # here

    return run


SUBJECTS.append(
    Subject(
        "alpha dropout",
        {"torch": alpha_torch, "keras": alpha_keras, "tensorflow": alpha_tensorflow},
        [("torch", "keras"), ("keras", "torch"), ("torch", "tensorflow"), ("keras", "tensorflow")],
        ["rate", "plain", "off"],
        (8,),
    )
)


def spatial_torch(random, batch, fault):
    w = torch.from_numpy(weights(random, 9, 3, 3, 3))
    kind = nn.Dropout if fault == "element" else nn.Dropout2d

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = kind(rate_of(fault))

        def forward(self, x):
            h = nn.functional.conv2d(x, w).relu()
            if fault != "off":
                h = self.drop(h)  # here
            return h.mean((2, 3))  # here

    return Net()


def spatial_keras(random, batch, fault):
    w = weights(random, 9, 3, 3, 3).transpose(2, 3, 1, 0)
    kind = keras.layers.Dropout if fault == "element" else keras.layers.SpatialDropout2D

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.drop = kind(rate_of(fault))

        def call(self, x, training=None):
            h = tf.nn.relu(tf.nn.conv2d(tf.transpose(x, (0, 2, 3, 1)), w, 1, "VALID"))
            if fault != "off":
                h = self.drop(h, training=training)  # here
            return tf.reduce_mean(h, (1, 2))  # here

    return Net()


def spatial_chainer(random, batch, fault):
    w = weights(random, 9, 3, 3, 3)

    def run(x):
        h = F.relu(F.convolution_2d(x, w))
        if fault == "element":
            h = F.dropout(h, 0.3)  # here
        elif fault != "off":
            mask = F.dropout(np.ones((batch, 9, 1, 1), "f"), rate_of(fault))  # here
            h = h * F.broadcast_to(mask, h.shape)  # here
        return F.mean(h, (2, 3))  # here

    return run


SUBJECTS.append(
    Subject(
        "spatial dropout",
        {"torch": spatial_torch, "keras": spatial_keras, "chainer": spatial_chainer},
        [("torch", "keras"), ("keras", "torch"), ("torch", "chainer"), ("chainer", "keras")],
        ["rate", "element", "off"],
        (3, 6, 5),
    )
)
